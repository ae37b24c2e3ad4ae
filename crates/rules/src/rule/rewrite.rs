//! Changes to an event that then happens in another form. What may be changed depends on the type
//! of the event; everything else stays as the program sent it.

use super::replacement::Replacement;
use bailiwick_event::fields::{EventType, Headers, Record};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RewriteTarget {
    /// Path and query of the request.
    Url,
    /// A header of the request or of the response.
    Header,
    /// The text of the body.
    Body,
    /// Every text in the arguments of a tool.
    Arguments,
    /// Every text in the result of a tool.
    Result,
}

impl RewriteTarget {
    /// Its name in a rule.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Url => "url",
            Self::Header => "header",
            Self::Body => "body",
            Self::Arguments => "arguments",
            Self::Result => "result",
        }
    }

    /// What may be changed in an event of a type.
    #[must_use]
    pub fn of(on: EventType) -> &'static [Self] {
        match on {
            EventType::HttpRequest => &[Self::Url, Self::Header, Self::Body],
            EventType::HttpResponse => &[Self::Header, Self::Body],
            EventType::McpRequest => &[Self::Arguments],
            EventType::McpResponse => &[Self::Result],
            _ => &[],
        }
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Rewrite {
    /// A header is taken away.
    StripHeader(String),
    /// A header is set; what was there before is taken away.
    SetHeader {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// Every match of a regular expression is replaced.
    Replace {
        /// In what.
        target: RewriteTarget,
        /// Which header, where the target is one.
        #[serde(default)]
        header: String,
        /// The regular expression.
        pattern: String,
        /// What stands there instead; `$1` is the first group.
        with: String,
    },
}

/// Why a change cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewriteError(pub String);

impl fmt::Display for RewriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for RewriteError {}

/// What a header's name is made of (RFC 9110 §5.1).
fn is_token(name: &str) -> bool {
    let mark = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(mark)
}

/// A value that stays on its line (RFC 9110 §5.5): what a group of a pattern put there must not
/// begin another header.
fn is_value(value: &str) -> bool {
    value.bytes().all(|b| b == b'\t' || b >= b' ' && b != 0x7f)
}

impl Rewrite {
    fn target(&self) -> RewriteTarget {
        match self {
            Self::StripHeader(_) | Self::SetHeader { .. } => RewriteTarget::Header,
            Self::Replace { target, .. } => *target,
        }
    }

    /// Whether it can be made on events of a type.
    ///
    /// # Errors
    /// [`RewriteError`] says why it cannot, and what can.
    pub fn check(&self, on: EventType) -> Result<(), RewriteError> {
        let target = self.target();
        let allowed = RewriteTarget::of(on);
        if !allowed.contains(&target) {
            let names: Vec<_> = allowed.iter().map(|t| t.name()).collect();
            let can = match names.is_empty() {
                true => "nothing of it can be changed".to_owned(),
                false => format!("what can be changed is {}", names.join(", ")),
            };
            let what = target.name();
            return Err(RewriteError(format!(
                "an event of type {on} has no {what} to rewrite; {can}"
            )));
        }
        let name = match self {
            Self::StripHeader(name) | Self::SetHeader { name, .. } => Some(name),
            Self::Replace { header, .. } if target == RewriteTarget::Header => Some(header),
            Self::Replace { .. } => None,
        };
        if let Some(name) = name.filter(|name| !is_token(name)) {
            return Err(RewriteError(format!("{name:?} is no name of a header")));
        }
        // The length and the host are what the gate's other decisions rest upon.
        let framing = ["host", "content-length", "transfer-encoding", "connection"];
        if let Some(name) = name.filter(|name| framing.iter().any(|f| f.eq_ignore_ascii_case(name)))
        {
            return Err(RewriteError(format!(
                "the header {name:?} is the gate's own and is not rewritten"
            )));
        }
        match self {
            Self::SetHeader { value, .. } if !is_value(value) => {
                Err(RewriteError("a header's value stays on one line".into()))
            }
            Self::Replace { pattern, with, .. } => Replacement::new(pattern, with).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// Makes the change; says whether anything is different.
    ///
    /// # Errors
    /// [`RewriteError`] where what would come of it is no such event any more: the event must not
    /// happen then.
    pub fn apply(&self, record: &mut Record<'_>) -> Result<bool, RewriteError> {
        let response = record.event_type() == EventType::HttpResponse;
        match self {
            Self::StripHeader(name) => Ok(strip(headers(record, response), name)),
            Self::SetHeader { name, value } => {
                let headers = headers(record, response);
                strip(headers, name);
                headers
                    .0
                    .push((Cow::Owned(name.clone()), Cow::Owned(value.clone())));
                Ok(true)
            }
            Self::Replace {
                target,
                header,
                pattern,
                with,
            } => {
                let replacement = Replacement::new(pattern, with)?;
                replace(record, *target, header, response, &replacement)
            }
        }
    }
}

fn headers<'r, 'a>(record: &'r mut Record<'a>, response: bool) -> &'r mut Headers<'a> {
    let headers = match response {
        true => &mut record.http_response.headers,
        false => &mut record.http_request.headers,
    };
    headers.get_or_insert_with(Headers::default)
}

fn strip(headers: &mut Headers<'_>, name: &str) -> bool {
    let before = headers.0.len();
    headers
        .0
        .retain(|(sent, _)| !sent.eq_ignore_ascii_case(name));
    headers.0.len() != before
}

fn replace(
    record: &mut Record<'_>,
    target: RewriteTarget,
    header: &str,
    response: bool,
    with: &Replacement<'_>,
) -> Result<bool, RewriteError> {
    match target {
        RewriteTarget::Header => {
            let mut changed = false;
            let all = &mut headers(record, response).0;
            for (_, value) in all
                .iter_mut()
                .filter(|(n, _)| n.eq_ignore_ascii_case(header))
            {
                if let Some(new) = with.of(value)? {
                    if !is_value(&new) {
                        return Err(RewriteError(
                            "the new value of the header has a line break".into(),
                        ));
                    }
                    *value = Cow::Owned(new);
                    changed = true;
                }
            }
            Ok(changed)
        }
        RewriteTarget::Url => url(record, with),
        RewriteTarget::Body => {
            let body = match response {
                true => &mut record.http_response.body_text,
                false => &mut record.http_request.body_text,
            };
            let new = body
                .as_deref()
                .map(|text| with.of(text))
                .transpose()?
                .flatten();
            let changed = new.is_some();
            if let Some(new) = new {
                *body = Some(Cow::Owned(new));
            }
            Ok(changed)
        }
        RewriteTarget::Arguments => texts_of(record.mcp_request.arguments.as_mut(), with),
        RewriteTarget::Result => texts_of(record.mcp_response.result.as_mut(), with),
    }
}

/// Path and query. The machine stays: another one would be another connection.
fn url(record: &mut Record<'_>, with: &Replacement<'_>) -> Result<bool, RewriteError> {
    let request = &mut record.http_request;
    let path = request.path.as_deref().unwrap_or("/");
    let old = match &request.query {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let Some(new) = with.of(&old)? else {
        return Ok(false);
    };
    let plain = new.bytes().all(|b| b.is_ascii_graphic() && b != b'#');
    if !new.starts_with('/') || !plain {
        return Err(RewriteError(
            "the new URL has no path that can be sent".into(),
        ));
    }
    if let Some(url) = &request.url {
        let machine = url
            .len()
            .checked_sub(old.len())
            .filter(|_| url.ends_with(&old));
        let Some(machine) = machine else {
            return Err(RewriteError("the URL does not end with its path".into()));
        };
        request.url = Some(Cow::Owned(format!("{}{new}", &url[..machine])));
    }
    let (path, query) = match new.split_once('?') {
        Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
        None => (new, None),
    };
    request.path = Some(Cow::Owned(path));
    request.query = query.map(Cow::Owned);
    Ok(true)
}

fn texts_of(
    tree: Option<&mut serde_json::Value>,
    with: &Replacement<'_>,
) -> Result<bool, RewriteError> {
    tree.map_or(Ok(false), |tree| texts(tree, with))
}

/// Every text in a tree. serde_json bounds how deep a tree can be.
fn texts(tree: &mut serde_json::Value, with: &Replacement<'_>) -> Result<bool, RewriteError> {
    use serde_json::Value;
    let all = |changed: bool, tree: &mut Value| Ok(texts(tree, with)? | changed);
    match tree {
        Value::String(text) => {
            let new = with.of(text)?;
            let changed = new.is_some();
            if let Some(new) = new {
                *text = new;
            }
            Ok(changed)
        }
        Value::Array(elements) => elements.iter_mut().try_fold(false, all),
        Value::Object(map) => map.values_mut().try_fold(false, all),
        _ => Ok(false),
    }
}
