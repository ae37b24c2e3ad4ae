//! Requests that a rule lets pass in another form. The changes are made on what is sent to the
//! server, and the changed request is decided again as if the program had sent it so.

use crate::http_asked::Asked;
use bailiwick_event::fields::{EventType, Headers, Record};
use bailiwick_rules::Rewrite;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use std::borrow::Cow;

/// A message's headers as rules see them; a value that is no text is read with replacement
/// characters.
pub(crate) fn seen(headers: &HeaderMap) -> Headers<'_> {
    let pairs = headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes());
        (Cow::Borrowed(name.as_str()), value)
    });
    Headers(pairs.collect())
}

/// The same, apart from the message.
fn owned(headers: &HeaderMap) -> Headers<'static> {
    let pairs = seen(headers).0.into_iter();
    let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
    Headers(pairs.map(|(name, value)| (own(name), own(value))).collect())
}

/// Makes the changes; says why where what would come of them cannot be sent.
pub(crate) fn apply(
    rewrites: &[Rewrite],
    asked: &mut Asked,
    headers: &mut HeaderMap,
) -> Result<(), String> {
    let mut record = Record::new(EventType::HttpRequest);
    let (path, query) = match asked.path.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (&*asked.path, None),
    };
    record.http_request.path = Some(Cow::Owned(path.to_owned()));
    record.http_request.query = query.map(|query| Cow::Owned(query.to_owned()));
    record.http_request.headers = Some(owned(headers));
    let before = record.clone();
    for rewrite in rewrites {
        if matches!(rewrite, Rewrite::Replace { target, .. } if target.name() == "body") {
            return Err("the body of a request is not changed here".into());
        }
        rewrite
            .apply(&mut record)
            .map_err(|error| error.to_string())?;
    }
    if record.http_request.headers != before.http_request.headers {
        *headers = sent(record.http_request.headers.as_ref())?;
    }
    let path = record.http_request.path.unwrap_or_default();
    asked.path = match record.http_request.query {
        Some(query) => format!("{path}?{query}"),
        None => path.into_owned(),
    };
    Ok(())
}

fn sent(headers: Option<&Headers<'_>>) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    for (name, value) in headers.iter().flat_map(|headers| &headers.0) {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|e| e.to_string())?;
        let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|e| e.to_string())?;
        map.append(name, value);
    }
    Ok(map)
}
