use super::*;
use crate::testing::{allowed, network, refused, with_http};

fn ask(policy: &NetworkPolicy, method: &str, host: &str, connected: &str, path: &str) -> Decision {
    let text = |s: &str| Text::from(s);
    http(
        policy,
        &text(method),
        &text(host),
        &text(connected),
        80,
        &text(path),
    )
}

/// An ordinary host, another one, and one that may only be read below `/v1`.
fn policy() -> NetworkPolicy {
    let open = network(&["www.example.com", "cdn.example.net"], &["bad.example"]);
    with_http(open, "api.example.com:80", &["GET"], &["/v1/**"])
}

#[test]
fn a_request_may_ask_for_its_connection_or_for_what_is_allowed_too() {
    for (host, connected) in [
        ("www.example.com", "www.example.com"),
        ("WWW.example.com.", "www.example.com"),
        ("cdn.example.net", "www.example.com"),
    ] {
        assert_eq!(
            allowed(&ask(&policy(), "POST", host, connected, "/x")),
            "network.allow"
        );
    }
    for (host, connected, rule) in [
        (
            "attacker.example",
            "www.example.com",
            "network.host-mismatch",
        ),
        ("bad.example", "www.example.com", "network.deny"),
        (
            "169.254.169.254",
            "www.example.com",
            "network.host-mismatch",
        ),
        ("www.example.com", "attacker.example", "network.default"),
        ("", "www.example.com", "network.bad-name"),
        (
            "www.example.com@attacker.example",
            "www.example.com",
            "network.bad-name",
        ),
    ] {
        assert_eq!(
            refused(&ask(&policy(), "GET", host, connected, "/")),
            rule,
            "{host} {connected}"
        );
    }
}

#[test]
fn method_and_path_must_fit_a_rule_where_there_is_one() {
    let api = |method, path| {
        ask(
            &policy(),
            method,
            "api.example.com",
            "api.example.com",
            path,
        )
    };
    assert_eq!(allowed(&api("GET", "/v1/users?all=1")), "network.http");
    for (method, path) in [
        ("POST", "/v1/users"),
        ("get", "/v1/users"),
        ("GET", "/v2/users"),
        ("GET", "/admin?x=/v1/users"),
        ("GET", "/v1/../admin"),
        ("GET", "/v1/%2e%2e/admin"),
        ("GET", "/v1/..%2fadmin"),
        ("GET", "/v1/..\\admin"),
        ("GET", "/v1/%00"),
        ("GET", "http://api.example.com/v1/users"),
        ("GET", ""),
    ] {
        let decision = api(method, path);
        assert_eq!(refused(&decision), "network.http", "{method} {path}");
        assert_eq!(decision.rule.origin.line, 30);
    }
}

#[test]
fn the_rules_of_the_connection_and_of_the_header_both_hold() {
    for (host, connected) in [
        ("api.example.com", "www.example.com"),
        ("www.example.com", "api.example.com"),
    ] {
        allowed(&ask(&policy(), "GET", host, connected, "/v1/users"));
        let decision = ask(&policy(), "DELETE", host, connected, "/v1/users");
        assert_eq!(refused(&decision), "network.http", "{host} on {connected}");
    }
}

#[test]
fn a_path_that_is_no_text_fits_no_rule() {
    let path = Text::from(b"/v1/\xff".to_vec());
    let ask = |host: &str| {
        http(
            &policy(),
            &"GET".into(),
            &host.into(),
            &host.into(),
            80,
            &path,
        )
    };
    assert_eq!(refused(&ask("api.example.com")), "network.http");
    allowed(&ask("www.example.com"));
}
