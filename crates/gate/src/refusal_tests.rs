use super::*;
use bailiwick_event::{Origin, RuleRef};

fn refusal() -> Refusal {
    let rule = RuleRef {
        id: "network.default".into(),
        origin: Origin::new("./bailiwick.toml", 3, 1),
    };
    Refusal {
        decision: Decision::deny(
            rule,
            "no rule allows it",
            "add \"evil.test\" to network.allow",
        ),
        resource: "GET http://evil.test:80/".into(),
    }
}

async fn answer(accept: &'static str) -> (String, String) {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
    let response = refusal().response(&headers);
    assert_eq!(response.status(), 403);
    assert_eq!(response.headers()["x-bailiwick-rule"], "network.default");
    let kind = response.headers()[CONTENT_TYPE]
        .to_str()
        .unwrap()
        .to_owned();
    let body = response.into_body();
    (kind, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_person_reads_three_lines() {
    let (kind, body) = answer("*/*").await;
    assert!(kind.starts_with("text/plain"));
    assert_eq!(
        body,
        "refused by policy: GET http://evil.test:80/\n\
         rule: network.default (./bailiwick.toml:3:1)\n\
         remedy: add \"evil.test\" to network.allow\n"
    );
}

#[tokio::test]
async fn a_program_that_prefers_json_gets_every_field() {
    let (kind, body) = answer("application/json, text/plain, */*").await;
    assert_eq!(kind, "application/json");
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        body,
        serde_json::json!({
            "error": "refused by policy",
            "rule": "network.default",
            "origin": "./bailiwick.toml:3:1",
            "resource": "GET http://evil.test:80/",
            "remedy": "add \"evil.test\" to network.allow",
            "retry": false,
        })
    );
}

#[tokio::test]
async fn the_quality_decides_before_the_order() {
    for (accept, json) in [
        ("application/json;q=0.5, text/html", false),
        ("text/html;q=0.2, application/problem+json;q=0.9", true),
        ("text/html, application/json", false),
        ("image/png", false),
        ("application/json;q=0", false),
    ] {
        let (kind, _) = answer(accept).await;
        assert_eq!(kind == "application/json", json, "{accept}");
    }
}
