//! A refusal by policy, as an HTTP answer. The program that was refused is often an agent: the
//! answer says which line of which file refused and what would mend it, and that trying again
//! will not, so that it stops instead of looking for a way around.

use bailiwick_event::{Act, Decision};
use hyper::body::Bytes;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};

/// What was refused, and by which decision.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) decision: Decision,
    /// What it was about; safe to show.
    pub(crate) resource: String,
}

impl Refusal {
    pub(crate) fn new(act: &Act, decision: Decision) -> Self {
        Self {
            decision,
            resource: act.resource(),
        }
    }

    /// The answer to a request with these headers.
    pub(crate) fn response(&self, asked: &HeaderMap) -> Response<Bytes> {
        let rule = &self.decision.rule;
        let json = prefers_json(asked);
        let body = if json {
            let mut body = serde_json::json!({
                "error": "refused by policy",
                "rule": rule.id,
                "origin": rule.origin.to_string(),
                "resource": self.resource,
                "remedy": self.decision.remedy,
                "retry": false,
            });
            if let Some(reason) = self.decision.told_reason() {
                body["reason"] = reason.into();
            }
            bailiwick_event::json::of(&body) + "\n"
        } else {
            let reason = self.decision.told_reason();
            let reason = reason.map_or(String::new(), |reason| format!("\nreason: {reason}"));
            format!(
                "refused by policy: {}\nrule: {rule}{reason}\nremedy: {}\n",
                self.resource, self.decision.remedy
            )
        };
        let kind = if json {
            "application/json"
        } else {
            "text/plain; charset=utf-8"
        };
        let mut response = plain(StatusCode::FORBIDDEN, body);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        if let Ok(id) = HeaderValue::from_str(&rule.id) {
            headers.insert("x-bailiwick-rule", id);
        }
        response
    }
}

/// An answer of the gate's own, as text.
pub(crate) fn plain(status: StatusCode, body: String) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

/// Of a request's headers those by which it is answered.
pub(crate) fn accept(headers: &HeaderMap) -> HeaderMap {
    let values = headers.get_all(ACCEPT).iter();
    values.map(|value| (ACCEPT, value.clone())).collect()
}

/// Whether the client likes JSON better than text: the higher quality wins, then the earlier.
fn prefers_json(headers: &HeaderMap) -> bool {
    let mut best: Option<(bool, f32)> = None;
    for value in headers.get_all(ACCEPT) {
        for part in value.to_str().unwrap_or_default().split(',') {
            let mut parameters = part.split(';').map(str::trim);
            let kind = parameters.next().unwrap_or_default().to_ascii_lowercase();
            let json = kind == "application/json" || kind.ends_with("+json");
            if !json && !kind.starts_with("text/") && kind != "*/*" {
                continue;
            }
            let quality = parameters
                .find_map(|p| p.strip_prefix("q=")?.parse().ok())
                .unwrap_or(1.0);
            if quality > best.map_or(0.0, |(_, q)| q) {
                best = Some((json, quality));
            }
        }
    }
    best.is_some_and(|(json, _)| json)
}

#[cfg(test)]
#[path = "refusal_tests.rs"]
mod tests;
