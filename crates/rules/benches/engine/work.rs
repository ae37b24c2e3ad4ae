//! The event, the policy and the rules that are measured.

use bailiwick_event::fields::{EventType, Headers, Record};
use bailiwick_rules::{Action, Compiled, Rule, Severity};
use std::sync::Arc;

pub(crate) const ON: EventType = EventType::HttpRequest;

pub(crate) const HOST: &str = r#"http.request.host.contains("google")"#;
pub(crate) const HEADER: &str = r#"http.request.header("authorization").exists()"#;
pub(crate) const FULL: &str = r#"http.request.host.contains("google") && http.request.url.contains("google") && http.request.path.startsWith("/admin") && http.request.header("authorization").exists() && http.request.body.text.contains("secret")"#;

/// A POST to `googleapis.com:443` with a body and sixteen common and request fields.
pub(crate) fn event() -> Record<'static> {
    let mut record = Record::new(ON);
    let common = &mut record.common;
    common.id = Some(7);
    common.session = Some("20261120-113247-3f9a2c".into());
    common.backend = Some("process".into());
    common.pid = Some(4711);
    common.ppid = Some(4700);
    common.executable = Some("/usr/bin/curl".into());
    common.argv = Some(vec!["curl".into(), "-d".into(), "@-".into()]);
    common.cwd = Some("/home/me/project".into());
    let request = &mut record.http_request;
    request.method = Some("POST".into());
    request.scheme = Some("https".into());
    request.host = Some("googleapis.com".into());
    request.port = Some(443);
    request.path = Some("/admin/upload".into());
    request.query = Some("kind=report".into());
    request.url = Some("https://googleapis.com/admin/upload?kind=report".into());
    request.headers = Some(Headers(vec![
        ("Authorization".into(), "Bearer abc".into()),
        ("Content-Type".into(), "text/plain".into()),
    ]));
    request.body_state = Some("captured".into());
    request.body_text = Some("token=secret".into());
    request.body_size = Some(12);
    record
}

pub(crate) fn enforcement(id: String, when: &str) -> Rule {
    Rule::enforcement(&id, ON, when, Action::Deny)
}

pub(crate) fn detection(id: String, when: &str) -> Rule {
    Rule::detection(&id, ON, when, Severity::High)
}

/// What the reference measures as "100 rules": all but the last are `false`.
pub(crate) fn as_the_reference(count: usize, make: fn(String, &str) -> Rule) -> Vec<Rule> {
    let rule = |n| {
        make(
            format!("r{n:05}"),
            if n + 1 == count { FULL } else { "false" },
        )
    };
    (0..count).map(rule).collect()
}

/// Rules of two clauses, of six kinds; the event is matched by the last alone.
pub(crate) fn realistic(count: usize, make: fn(String, &str) -> Rule) -> Vec<Rule> {
    let when = |n: usize| match n % 6 {
        _ if n + 1 == count => {
            r#"http.request.host == "googleapis.com" && http.request.path.startsWith("/admin")"#
                .to_owned()
        }
        0 => {
            format!(r#"http.request.host == "api{n}.example.com" && http.request.method == "POST""#)
        }
        1 => format!(
            r#"http.request.host.domain("tenant{n}.example.org") && http.request.path.startsWith("/v1/")"#
        ),
        2 => format!(
            r#"http.request.path.contains("/internal{n}/") && http.request.method != "GET""#
        ),
        3 => format!(
            r#"http.request.host.endsWith(".region{n}.cloud.test") && http.request.port == 443"#
        ),
        4 => format!(
            r#"http.request.header("authorization").contains("team{n}") && http.request.method == "POST""#
        ),
        _ => format!(r#"http.request.url.contains("upload-{n}") && http.request.body.size > 1000"#),
    };
    (0..count)
        .map(|n| make(format!("r{n:05}"), &when(n)))
        .collect()
}

pub(crate) fn compiled(rules: Vec<Rule>) -> Vec<Arc<Compiled>> {
    let one = |rule| Arc::new(Compiled::new(rule).expect("the rules that are measured compile"));
    rules.into_iter().map(one).collect()
}
