//! Requests that a rule lets pass in another form. The changes are made on what is sent to the
//! server, and the changed request is decided again as if the program had sent it so. What cannot
//! be sent in the form that the rule gives it is not sent at all.

use crate::http_asked::Asked;
use bailiwick_event::fields::{EventType, Headers, Record};
use bailiwick_rules::{Rewrite, RewriteTarget};
use hyper::Uri;
use hyper::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue,
    TRANSFER_ENCODING,
};
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

/// What of a message can be changed.
pub(crate) struct Changed<'m> {
    pub(crate) headers: &'m mut HeaderMap,
    /// None of an answer.
    pub(crate) asked: Option<&'m mut Asked>,
    /// None where it is not known as a whole.
    pub(crate) body: Option<&'m mut String>,
}

/// Makes the changes; says why where what would come of them cannot be sent. Gives whether the body
/// is another.
pub(crate) fn apply(rewrites: &[Rewrite], message: &mut Changed<'_>) -> Result<bool, String> {
    let headers = &mut *message.headers;
    let mut other = false;
    for rewrite in rewrites {
        match rewrite {
            Rewrite::StripHeader(name) => {
                headers.remove(name);
            }
            Rewrite::SetHeader { name, value } => {
                stays(headers, name)?;
                let name: HeaderName = name.parse().map_err(said)?;
                headers.insert(name, value.parse().map_err(said)?);
            }
            Rewrite::Replace {
                target: RewriteTarget::Header,
                header,
                ..
            } => replace_header(rewrite, header, headers)?,
            Rewrite::Replace {
                target: RewriteTarget::Url,
                ..
            } if message.asked.is_some() => {
                if let Some(asked) = &mut message.asked {
                    replace_url(rewrite, asked)?;
                }
            }
            Rewrite::Replace {
                target: RewriteTarget::Body,
                ..
            } => {
                let body = message.body.as_mut();
                let body = body.ok_or("its body is not known as a whole")?;
                other |= replace_body(rewrite, body)?;
            }
            Rewrite::Replace { target, .. } => {
                return Err(format!("its {} is not changed here", target.name()));
            }
        }
    }
    if other {
        // What says how it was coded and how long it was is true no more.
        for name in [CONTENT_LENGTH, TRANSFER_ENCODING, CONTENT_ENCODING] {
            headers.remove(name);
        }
    }
    Ok(other)
}

fn replace_body(rewrite: &Rewrite, body: &mut String) -> Result<bool, String> {
    let mut record = Record::new(EventType::HttpRequest);
    record.http_request.body_text = Some(Cow::Owned(std::mem::take(body)));
    let changed = rewrite.apply(&mut record).map_err(said)?;
    *body = record
        .http_request
        .body_text
        .unwrap_or_default()
        .into_owned();
    Ok(changed)
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A header that the client's own `Connection` names would be taken away again on its way.
fn stays(headers: &HeaderMap, name: &str) -> Result<(), String> {
    let named = |value: &HeaderValue| {
        let tokens = value.as_bytes().split(|b| *b == b',');
        tokens
            .map(<[u8]>::trim_ascii)
            .any(|token| token.eq_ignore_ascii_case(name.as_bytes()))
    };
    match headers.get_all(CONNECTION).iter().any(named) {
        true => Err(format!("its Connection header takes {name:?} away again")),
        false => Ok(()),
    }
}

fn replace_header(rewrite: &Rewrite, name: &str, headers: &mut HeaderMap) -> Result<(), String> {
    let name: HeaderName = name.parse().map_err(said)?;
    let mut record = Record::new(EventType::HttpRequest);
    let value = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let pair = |v: &HeaderValue| (Cow::Owned(name.to_string()), Cow::Owned(value(v)));
    record.http_request.headers = Some(Headers(headers.get_all(&name).iter().map(pair).collect()));
    if !rewrite.apply(&mut record).map_err(said)? {
        return Ok(());
    }
    stays(headers, name.as_str())?;
    headers.remove(&name);
    for (_, value) in record.http_request.headers.unwrap_or_default().0 {
        headers.append(
            &name,
            HeaderValue::from_bytes(value.as_bytes()).map_err(said)?,
        );
    }
    Ok(())
}

fn replace_url(rewrite: &Rewrite, asked: &mut Asked) -> Result<(), String> {
    let mut record = Record::new(EventType::HttpRequest);
    let (path, query) = match asked.path.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (&*asked.path, None),
    };
    record.http_request.path = Some(Cow::Owned(path.to_owned()));
    record.http_request.query = query.map(|query| Cow::Owned(query.to_owned()));
    if !rewrite.apply(&mut record).map_err(said)? {
        return Ok(());
    }
    let path = record.http_request.path.unwrap_or_default();
    let new = match record.http_request.query {
        Some(query) => format!("{path}?{query}"),
        None => path.into_owned(),
    };
    // What hyper does not take it would not send, and the old one must not be sent instead.
    new.parse::<Uri>()
        .map_err(|e| format!("the new URL cannot be sent: {e}"))?;
    asked.path = new;
    Ok(())
}

#[cfg(test)]
#[path = "rewriting_tests.rs"]
mod tests;
