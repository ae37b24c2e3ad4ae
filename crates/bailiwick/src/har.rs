//! `bailiwick log --har`: the requests of a session in the format that browsers and proxies exchange
//! (HAR 1.2). What a session does not record is left empty: headers, which hold credentials, and bodies
//! but for those that the policy keeps.

use bailiwick_event::json::lines;
use bailiwick_event::{Act, Event, Failure, KeptBodies, KeptBody, RuleRef, Verdict};
use bailiwick_ledger::SessionReader;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// The requests among these rows and their answers.
pub(crate) fn har(events: &[Event], reader: &SessionReader) -> Result<String, Failure> {
    let answer = |event: &Event| match &event.act {
        Act::HttpResponse { request, .. } => Some((*request, event.clone())),
        _ => None,
    };
    let answers: HashMap<u64, Event> = events.iter().filter_map(answer).collect();
    let later = Later::of(events, &answers);
    let entries: Vec<Value> = events
        .iter()
        .filter(|event| !later.same.contains(&event.id))
        .filter_map(|event| {
            let answer = answers.get(&event.id);
            entry(event, answer, later.refused.get(&event.id).copied(), reader)
        })
        .collect();
    let whole = json!({ "log": {
        "version": "1.2",
        "creator": { "name": "bailiwick", "version": env!("CARGO_PKG_VERSION") },
        "entries": entries,
    } });
    let text = lines(&whole);
    text.map(|text| text + "\n")
        .map_err(|error| Failure::fault(format!("the export cannot be written: {error}")))
}

/// What later rows say of requests.
#[derive(Default)]
struct Later<'e> {
    /// By which rule a request was refused after its own row: by a person's answer, by a rule about
    /// calls to models or about answers, by a secret that was found in its body.
    refused: HashMap<u64, &'e RuleRef>,
    /// Rows that are about a request that has another row too.
    same: HashSet<u64>,
}

impl<'e> Later<'e> {
    fn of(events: &'e [Event], answers: &HashMap<u64, Event>) -> Self {
        let mut found = Self::default();
        // The rows of requests that were let pass, by what they asked for.
        let mut passed: HashMap<String, u64> = HashMap::new();
        for event in events {
            let rule = &event.decision.rule;
            let denied = event.decision.verdict == Verdict::Deny;
            match &event.act {
                Act::Answered { row, .. } if event.is_refusal() => {
                    found.refused.insert(*row, rule);
                }
                Act::ModelRequest(call) if event.is_refusal() => {
                    found.refused.insert(call.request, rule);
                }
                Act::ModelResponse(answer) if event.is_refusal() => {
                    found.refused.insert(answer.request, rule);
                }
                Act::HttpResponse { request, .. } if event.is_refusal() => {
                    found.refused.entry(*request).or_insert(rule);
                }
                // What comes of a rewritten request has a row of its own.
                Act::Http { .. } if event.decision.verdict == Verdict::Rewrite => {
                    found.same.insert(event.id);
                }
                Act::Http { .. } if denied && rule.id.starts_with("secrets.") => {
                    let row = passed.remove(&event.act.resource());
                    let unanswered = |row: &u64| match answers.get(row).map(|e| &e.act) {
                        Some(Act::HttpResponse { status, .. }) => *status == 0,
                        _ => true,
                    };
                    if let Some(row) = row.filter(unanswered) {
                        found.refused.insert(row, rule);
                        found.same.insert(event.id);
                    }
                }
                Act::Http { .. } if !denied => {
                    passed.insert(event.act.resource(), event.id);
                }
                _ => {}
            }
        }
        found
    }
}

/// One request; none where the row is another.
fn entry(
    event: &Event,
    answer: Option<&Event>,
    refused: Option<&RuleRef>,
    reader: &SessionReader,
) -> Option<Value> {
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
    let refused = refused.or_else(|| {
        let denied = event.decision.verdict == Verdict::Deny;
        denied.then_some(&event.decision.rule)
    });
    let seen = Answer::of(answer, refused);
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
    fn of(answer: Option<&Event>, refused: Option<&RuleRef>) -> Self {
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
            return match refused {
                Some(rule) => none(403, format!("refused by {rule}")),
                None => none(0, "no answer".to_owned()),
            };
        };
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        Self {
            // What the program got of an answer that was refused.
            status: if refused.is_some() { 403 } else { *status },
            text: match (refused, problem) {
                (Some(rule), _) => format!("refused by {rule}"),
                (None, Some(problem)) => problem.to_string(),
                (None, None) => String::new(),
            },
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
