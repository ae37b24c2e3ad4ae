use super::*;
use crate::expr::parse;
use bailiwick_event::fields::EventType;

fn checked(text: &str, on: Option<EventType>) -> Result<Checked, String> {
    let mut ast = parse(text).map_err(|e| e.to_string())?;
    check(&mut ast, on).map_err(|all| {
        let all: Vec<_> = all.iter().map(ToString::to_string).collect();
        all.join("\n")
    })
}

fn wrong(text: &str) -> String {
    match checked(text, Some(EventType::HttpRequest)) {
        Ok(_) => panic!("{text} was accepted"),
        Err(said) => said,
    }
}

#[test]
fn every_mistake_is_told_with_what_was_meant() {
    for (text, words) in [
        (
            "http.request.hots == 'a'",
            "did you mean `http.request.host`?",
        ),
        ("host == 'a'", "did you mean `http.request.host`?"),
        ("http.request == 'a'", "is a group of fields"),
        ("dns.request.qname == 'a'", "never has `dns.request.qname`"),
        ("http.request.host == 1", "string and int are never equal"),
        (
            "http.request.query == null",
            "ask whether it is there with has",
        ),
        ("http.request.host.contain('a')", "did you mean `contains`?"),
        (
            "http.request.host.contains(1)",
            "does not take (string, int)",
        ),
        (
            "contains(http.request.host, 'a')",
            "write value.contains(…)",
        ),
        ("'a' in http.request.host", "use contains(…)"),
        (
            "http.request.port + 1.0 > 2.0",
            "numbers of two types are not mixed",
        ),
        (
            "'a' + http.request.port == 'a'",
            "convert the other: string(…)",
        ),
        ("http.request.host && true", "this is string"),
        (
            "http.request.host.matches('(')",
            "the regular expression is none",
        ),
        (
            "http.request.host.matches('(a{1000}){1000}')",
            "becomes too large",
        ),
        ("http.request.host.matches('(?=a)')", "look-around"),
        ("http.request.path.glob('[')", "the pattern is none"),
        ("cidr('10.0.0.0').containsIP('1.2.3.4')", "is no network"),
        (
            "cidr('::ffff:10.0.0.0/104').containsIP('10.1.2.3')",
            "write it as one",
        ),
        ("http.request.host.domain('co.uk')", "is a public suffix"),
        (
            "common.process.argv.all(http, true)",
            "is the name of fields",
        ),
        (
            "http.request.host.exists(x, true)",
            "goes over a list or a map",
        ),
        ("timestamp('x') == timestamp(0)", "is no time"),
    ] {
        let said = wrong(text);
        assert!(said.contains(words), "{text}: {said}");
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let said = wrong("http.request.hots == 'a' && http.request.port == 'b'");
    assert_eq!(said.lines().count(), 2, "{said}");
}

#[test]
fn what_is_known_only_later_is_left_for_later() {
    for text in [
        "mcp.request.arguments.path.startsWith('/etc')",
        "mcp.request.arguments['a'][0].b == 1",
        "has(mcp.request.arguments.path) && mcp.request.arguments.path == 'x'",
        "mcp.request.arguments.all(k, k != 'x')",
        "common.labels.team == 'a'",
    ] {
        let checked = checked(text, Some(EventType::McpRequest)).unwrap();
        assert_eq!(checked.ty, Ty::Bool, "{text}");
    }
}

#[test]
fn headers_are_asked_by_name() {
    let text = "http.request.header('authorization').exists() && http.request.header('a').contains('b') && 'x' in http.request.headers && http.request.query.exists()";
    assert!(checked(text, Some(EventType::HttpRequest)).is_ok());
    assert!(wrong("http.request.header(1) == 'a'").contains("a header's name is a text"));
}

#[test]
fn to_ask_for_what_is_always_there_is_warned_of() {
    let checked = checked("has(http.request.host)", Some(EventType::HttpRequest)).unwrap();
    assert_eq!(checked.warnings.len(), 1);
}

#[test]
fn patterns_and_mistakes_are_told_up_to_a_number() {
    let many = vec![r"http.request.host.matches('(\\w{30}){9}')"; 1000].join(" || ");
    let said = wrong(&many);
    assert!(said.lines().count() <= 20, "{said}");
    let fine = vec!["http.request.host.matches('a+')"; 101].join(" || ");
    assert!(wrong(&fine).contains("at most 100 patterns"));
}
