//! `bailiwick log --har`: the requests of a session in the format that browsers and proxies exchange
//! (HAR 1.2). What a session does not record is left empty: headers, which hold credentials, and bodies
//! but for those that the policy keeps.

use bailiwick_event::{Act, Event, Failure, KeptBodies, KeptBody, Verdict};
use bailiwick_ledger::SessionReader;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::HashMap;

/// The requests among these rows and their answers.
pub(crate) fn har(events: &[Event], reader: &SessionReader) -> Result<String, Failure> {
    let answer = |event: &Event| match &event.act {
        Act::HttpResponse { request, .. } => Some((*request, event.clone())),
        _ => None,
    };
    let answers: HashMap<u64, Event> = events.iter().filter_map(answer).collect();
    let entries: Vec<Value> = events
        .iter()
        .filter_map(|event| entry(event, answers.get(&event.id), reader))
        .collect();
    let whole = json!({ "log": {
        "version": "1.2",
        "creator": { "name": "bailiwick", "version": env!("CARGO_PKG_VERSION") },
        "entries": entries,
    } });
    let text = serde_json::to_string_pretty(&whole);
    text.map(|text| text + "\n")
        .map_err(|error| Failure::fault(format!("the export cannot be written: {error}")))
}

/// One request; none where the row is another.
fn entry(event: &Event, answer: Option<&Event>, reader: &SessionReader) -> Option<Value> {
    let Act::Http {
        method,
        host,
        port,
        path,
        scheme,
        ..
    } = &event.act
    else {
        return None;
    };
    let name = host.to_string_lossy();
    let shown = if name.contains(':') {
        format!("[{name}]")
    } else {
        name
    };
    let port = match *port {
        port if port == scheme.port() => String::new(),
        port => format!(":{port}"),
    };
    let path = path.to_string_lossy();
    let query: Vec<Value> = path
        .split_once('?')
        .into_iter()
        .flat_map(|(_, query)| query.split('&'))
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            json!({ "name": name, "value": value })
        })
        .collect();
    let seen = Answer::of(event, answer);
    let started = Timestamp::from_nanosecond(i128::from(event.time_ns)).ok()?;
    let (posted, content) = bodies(answer, &seen, reader);
    let mut whole = json!({
        "startedDateTime": started.to_string(),
        "time": seen.wait + seen.receive,
        "request": {
            "method": method.to_string_lossy(),
            "url": format!("{}://{shown}{port}{path}", scheme.name()),
            "httpVersion": "unknown",
            "cookies": [],
            "headers": [],
            "queryString": query,
            "headersSize": -1,
            "bodySize": seen.sent,
        },
        "response": {
            "status": seen.status,
            "statusText": seen.text,
            "httpVersion": "unknown",
            "cookies": [],
            "headers": [],
            "content": content,
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": seen.received,
        },
        "cache": {},
        "timings": { "send": 0, "wait": seen.wait, "receive": seen.receive },
        "comment": format!(
            "row {}: {} by {}", event.id, event.decision.verdict, event.decision.rule
        ),
    });
    if let Some(posted) = posted {
        whole["request"]["postData"] = posted;
    }
    Some(whole)
}

/// The bodies of a request and its answer, as far as they were kept.
fn bodies(answer: Option<&Event>, seen: &Answer, reader: &SessionReader) -> (Option<Value>, Value) {
    let kept = match answer.map(|event| &event.act) {
        Some(Act::HttpResponse { bodies, .. }) => bodies.as_deref().cloned().unwrap_or_default(),
        _ => KeptBodies::default(),
    };
    let read = |kept: Option<KeptBody>| {
        let body = kept.and_then(|kept| Some((reader.body(&kept.hash)?, kept.cut)))?;
        let comment = if body.1 { "cut short" } else { "" };
        Some(match String::from_utf8(body.0) {
            Ok(text) => json!({ "text": text, "comment": comment }),
            Err(other) => json!({
                "text": BASE64_STANDARD.encode(other.as_bytes()),
                "encoding": "base64",
                "comment": comment,
            }),
        })
    };
    let posted = read(kept.request).map(|mut posted| {
        // The type of what was asked is not recorded.
        posted["mimeType"] = json!("");
        posted
    });
    let mut content = read(kept.response).unwrap_or_else(|| json!({}));
    content["size"] = json!(seen.received);
    content["mimeType"] = json!(seen.kind);
    (posted, content)
}

/// What came of a request; sizes in bytes, -1 where they are not known; times in milliseconds.
struct Answer {
    status: u16,
    text: String,
    kind: String,
    sent: i64,
    received: i64,
    wait: f64,
    receive: f64,
}

impl Answer {
    fn of(request: &Event, answer: Option<&Event>) -> Self {
        let none = |status: u16, text: String| Self {
            status,
            text,
            kind: String::new(),
            sent: -1,
            received: -1,
            wait: 0.0,
            receive: 0.0,
        };
        let Some(Act::HttpResponse {
            status,
            content_type,
            sent,
            received,
            first_ns,
            duration_ns,
            problem,
            ..
        }) = answer.map(|event| &event.act)
        else {
            // The gate's own answer.
            return match request.decision.verdict {
                Verdict::Deny => none(403, format!("refused by {}", request.decision.rule)),
                _ => none(0, "no answer".to_owned()),
            };
        };
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        Self {
            status: *status,
            text: problem
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            kind: content_type
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            sent: number(*sent),
            received: number(*received),
            wait: milliseconds(*first_ns),
            receive: milliseconds(duration_ns.saturating_sub(*first_ns)),
        }
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "a request of 52 days is not measured"
)]
fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}
