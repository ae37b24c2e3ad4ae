use super::*;
use bailiwick_event::fields::{EventType, Headers, Record};

fn request() -> Record<'static> {
    let mut record = Record::new(EventType::HttpRequest);
    let request = &mut record.http_request;
    request.url = Some("http://a.test:8080/old/x?y=1".into());
    request.path = Some("/old/x".into());
    request.query = Some("y=1".into());
    request.headers = Some(Headers(vec![
        ("Cookie".into(), "a".into()),
        ("COOKIE".into(), "b".into()),
        ("X-Kept".into(), "one".into()),
    ]));
    record
}

fn replace(target: RewriteTarget, header: &str, pattern: &str, with: &str) -> Rewrite {
    Rewrite::Replace {
        target,
        header: header.into(),
        pattern: pattern.into(),
        with: with.into(),
    }
}

#[test]
fn headers_are_stripped_set_and_replaced_whatever_their_case() {
    let mut record = request();
    assert_eq!(
        Rewrite::StripHeader("cookie".into()).apply(&mut record),
        Ok(true)
    );
    let set = Rewrite::SetHeader {
        name: "X-New".into(),
        value: "1".into(),
    };
    assert_eq!(set.apply(&mut record), Ok(true));
    let header = replace(RewriteTarget::Header, "x-kept", "o(n)e", "$1$1");
    assert_eq!(header.apply(&mut record), Ok(true));
    assert_eq!(header.apply(&mut record), Ok(false));
    let headers = record.http_request.headers.unwrap();
    assert_eq!(headers.names(), ["x-kept", "x-new"]);
    assert_eq!(headers.find("x-kept").as_deref(), Some("nn"));
}

#[test]
fn a_url_keeps_its_machine() {
    let mut record = request();
    let rewrite = replace(RewriteTarget::Url, "", "^/old/(.*)$", "/new/$1");
    assert_eq!(rewrite.apply(&mut record), Ok(true));
    let request = &record.http_request;
    assert_eq!(request.url.as_deref(), Some("http://a.test:8080/new/x?y=1"));
    assert_eq!(
        (request.path.as_deref(), request.query.as_deref()),
        (Some("/new/x"), Some("y=1"))
    );
    for bad in ["http://b.test/", "//x\r\nHost: b", "/a b"] {
        let rewrite = replace(RewriteTarget::Url, "", "^.*$", bad);
        assert!(rewrite.apply(&mut record).is_err(), "{bad}");
    }
}

#[test]
fn no_value_begins_another_header() {
    let mut record = request();
    let rewrite = replace(RewriteTarget::Header, "x-kept", "one", "a\r\nx-evil: b");
    assert!(rewrite.apply(&mut record).is_err());
    let set = Rewrite::SetHeader {
        name: "x".into(),
        value: "a\nb".into(),
    };
    assert!(set.check(EventType::HttpRequest).is_err());
}

#[test]
fn every_text_in_arguments_is_replaced() {
    let mut record = Record::new(EventType::McpRequest);
    record.mcp_request.arguments =
        Some(serde_json::json!({"a": ["secret", 1], "b": {"c": "my secret"}}));
    let rewrite = replace(RewriteTarget::Arguments, "", "secret", "***");
    assert_eq!(rewrite.apply(&mut record), Ok(true));
    let expected = serde_json::json!({"a": ["***", 1], "b": {"c": "my ***"}});
    assert_eq!(record.mcp_request.arguments, Some(expected));
}

#[test]
fn what_an_event_does_not_have_cannot_be_rewritten() {
    let strip = Rewrite::StripHeader("cookie".into());
    assert!(strip.check(EventType::HttpRequest).is_ok());
    let said = strip.check(EventType::DnsRequest).unwrap_err().to_string();
    assert!(said.contains("nothing of it can be changed"), "{said}");
    let host = Rewrite::StripHeader("Host".into());
    assert!(host.check(EventType::HttpRequest).is_err());
    let url = replace(RewriteTarget::Url, "", "(", "");
    assert!(url.check(EventType::HttpRequest).is_err());
    let rule = Rule::enforcement("r", EventType::HttpRequest, "true", Action::Rewrite);
    assert!(
        Compiled::new(rule)
            .unwrap_err()
            .to_string()
            .contains("go together")
    );
}

#[test]
fn what_a_rule_that_stops_hardly_means_is_told() {
    let told = |when: &str, action| {
        let rule = Rule::enforcement("r", EventType::HttpRequest, when, action);
        let warnings = Compiled::new(rule).unwrap().warnings();
        let texts = warnings
            .iter()
            .map(|w| format!("{}; {}", w.message, w.help));
        texts.collect::<Vec<_>>().join("\n")
    };
    let cookie = "http.request.header('Cookie') == 'x'";
    let said = told(cookie, Action::Deny);
    assert!(
        said.contains("an event without the header \"Cookie\" is refused"),
        "{said}"
    );
    assert!(said.contains("header(\"Cookie\").exists() && "), "{said}");
    assert_eq!(told(cookie, Action::Observe), "");
    assert_eq!(
        told(
            &format!("http.request.header('cookie').exists() && {cookie}"),
            Action::Deny
        ),
        ""
    );
    let untold = "has(common.process.executable) && common.process.executable.contains('x')";
    let said = told(untold, Action::Deny);
    assert_eq!(
        said,
        "no event of a run has `common.process.executable` yet; the rule is for recorded events and for boundaries to come"
    );
}
