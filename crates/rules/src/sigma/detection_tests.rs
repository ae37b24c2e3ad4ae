use super::oracle::{carry, process};
use super::*;

/// The JSON of a detection with this condition.
fn json(condition: &str) -> String {
    format!(r#"{{"schema": 1, "title": "T", "on": "process.exec", "condition": {condition}}}"#)
}

fn refused(condition: &str) -> String {
    match Detection::parse(&json(condition)) {
        Ok(detection) => panic!("{condition} was read as {detection:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_detection_is_written_so() {
    let detection = carry(
        "proxy",
        "s:\n  cs-user-agent|contains: [a, b]\n  c-uri: 'x*y?'\n  cs-method|re|i: ^P\n\
         f:\n  cs-host|fieldref: c-uri\ncondition: s and not f",
    );
    let value = serde_json::to_value(detection.unwrap()).unwrap();
    let expected = serde_json::json!({
        "schema": 1,
        "title": "T",
        "on": "http.request",
        "condition": {"all": [
            {"match": {"header": "user-agent", "op": "contains", "values": ["a", "b"]}},
            {"match": {"field": "http.request.url", "op": "wildcard",
                "value": ["x", {"wild": "*"}, "y", {"wild": "?"}]}},
            {"match": {"field": "http.request.method", "op": "re", "value": "^P", "flags": "i"}},
            {"not": {"match": {"field": "http.request.host", "op": "fieldref",
                "ref": {"field": "http.request.url"}, "as": "equals"}}},
        ]},
    });
    assert_eq!(value, expected);
}

#[test]
fn what_is_written_is_read_again() {
    for selection in [
        "CommandLine: a",
        "CommandLine|cased: [a, b]",
        "CommandLine|contains|all: [a, 'b*c']",
        "CommandLine|cased: ['a*', '*', '?']",
        "CommandLine|re|i|s: [a, b]",
        "ParentImage|exists: false",
        "ParentImage: null",
        "ParentImage|neq: [a, 'b?']",
        "Image|fieldref|endswith|cased: ParentImage",
        "Image|cidr: [10.0.0.0/8, '::1']",
        "[a, 'b*c', d]",
        "- a\n- Image: b",
    ] {
        let detection = process(selection);
        let json = serde_json::to_string(&detection).unwrap();
        assert_eq!(Detection::parse(&json).unwrap(), detection, "{json}");
        let again: Detection = serde_json::from_str(&json).unwrap();
        assert_eq!(again.to_cel(), detection.to_cel());
    }
    let ports = carry(
        "network_connection",
        "s: {DestinationPort|gte: [1, 2]}\nt: {DestinationPort: 5}\ncondition: s or t",
    );
    let json = serde_json::to_string(ports.as_ref().unwrap()).unwrap();
    assert_eq!(Detection::parse(&json).unwrap(), ports.unwrap());
}

#[test]
fn what_a_rule_says_of_itself_is_kept() {
    let text = "title: ' A rule '\nid: 5f0a\nstatus: test\ndescription: |\n  Two\n  lines\n\
        references: https://a.test\nauthor: Somebody\ndate: 2025-01-31\nmodified: 2025-02-01\n\
        level: high\ntags: [attack.t1105]\nfalsepositives: [Updates]\nfields: [query]\n\
        custom: {a: b}\nlogsource: {category: dns}\ndetection: {s: {query: a}, condition: s}\n";
    let detection = read(text).remove(0).unwrap();
    assert_eq!(detection.title, "A rule");
    assert_eq!(detection.id.as_deref(), Some("5f0a"));
    assert_eq!(detection.status.as_deref(), Some("test"));
    assert_eq!(detection.description, "Two\nlines");
    assert_eq!(detection.references, ["https://a.test"]);
    assert_eq!(detection.author.as_deref(), Some("Somebody"));
    assert_eq!(detection.date.as_deref(), Some("2025-01-31"));
    assert_eq!(detection.level, Some(Level::High));
    assert_eq!(detection.tags, ["attack.t1105"]);
    assert_eq!(detection.falsepositives, ["Updates"]);
    assert_eq!(detection.fields, ["query"]);
    let json = serde_json::to_string(&detection).unwrap();
    assert_eq!(Detection::parse(&json).unwrap(), detection);
}

#[test]
fn a_mistake_is_told_with_its_path() {
    let leaf = r#"{"match": {"field": "process.exec.command", "op": "equals", "value": "a"}}"#;
    for (condition, said) in [
        ("5", "condition: an object is expected and a number"),
        ("{}", "condition: one of"),
        (r#"{"some": []}"#, "condition.some: one of"),
        (r#"{"all": []}"#, "condition.all: a group has at least one"),
        (r#"{"all": {}}"#, "condition.all: a list is expected"),
        (
            &format!(r#"{{"all": [{leaf}, {{"any": []}}]}}"#),
            "condition.all[1].any: a group",
        ),
        (
            &format!(r#"{{"all": [{leaf}], "any": []}}"#),
            "condition: one of",
        ),
        (
            r#"{"match": {"op": "equals", "value": "a"}}"#,
            "condition.match: \"field\" or",
        ),
        (
            r#"{"match": {"field": "a.b", "op": "equals", "value": "a"}}"#,
            "condition.match.field: no event has",
        ),
        (
            r#"{"match": {"field": "file.path", "op": "equals", "value": "a"}}"#,
            "condition.match.field: process.exec events",
        ),
        (
            r#"{"match": {"header": "a", "op": "equals", "value": "a"}}"#,
            "condition.match.header: process.exec events",
        ),
        (
            r#"{"match": {"field": "process.exec.argv", "op": "equals", "value": "a"}}"#,
            "condition.match: this test needs a value of the type string",
        ),
        (
            r#"{"match": {"field": "process.exec.command", "op": "lt", "value": 5}}"#,
            "condition.match: this test needs a value of the type int",
        ),
        (
            r#"{"match": {"field": "process.exec.command", "op": "equals", "values": ["a", 5]}}"#,
            "condition.match.values[1]: a text is expected and a number",
        ),
        (
            r#"{"match": {"field": "process.exec.command", "op": "equals", "values": []}}"#,
            "condition.match.values: a test has",
        ),
        (
            r#"{"match": {"field": "process.exec.command", "op": "equals"}}"#,
            "condition.match: \"value\" or",
        ),
        (
            r#"{"match": {"field": "process.exec.command", "op": "equals", "value": "a", "values": []}}"#,
            "excludes",
        ),
        (
            r#"{"match": {"field": "process.exec.command", "op": "like", "value": "a"}}"#,
            "condition.match.op: \"like\" is no test",
        ),
        (
            r#"{"match": {"field": "process.exec.command", "op": "re", "value": "("}}"#,
            "condition.match.value: unclosed group",
        ),
        (
            r#"{"match": {"field": "process.exec.command", "op": "re", "value": "a", "flags": "x"}}"#,
            "condition.match.flags: the flags",
        ),
        (
            r#"{"match": {"field": "process.exec.command", "op": "re", "value": "a", "case": true}}"#,
            "condition.match.case: this key has no meaning",
        ),
        (
            r#"{"match": {"field": "process.exec.command", "op": "cidr", "values": ["::/0", "10.0.0.1/8"]}}"#,
            "condition.match.values[1]: ",
        ),
        (
            r#"{"match": {"field": "process.exec.command", "op": "wildcard", "value": ["a", {"wild": "+"}]}}"#,
            "condition.match.value[1].wild: a wildcard",
        ),
        (
            r#"{"match": {"field": "process.exec.command", "op": "fieldref", "ref": {"field": "common.id"}}}"#,
            "needs a value of the type int",
        ),
        (
            r#"{"match": {"field": "process.exec.command", "op": "exists", "x": 1}}"#,
            "condition.match.x: this key",
        ),
    ] {
        let error = refused(condition);
        assert!(error.contains(said), "{condition}: {error}");
    }
}

#[test]
fn what_stands_around_the_condition_is_checked_too() {
    let good = json(r#"{"match": {"op": "keyword", "value": "a"}}"#);
    Detection::parse(&good).unwrap();
    for (from, to, said) in [
        (
            "\"schema\": 1",
            "\"schema\": 2",
            "schema: this version reads schema 1, not 2",
        ),
        ("\"schema\": 1, ", "", "\"schema\" is missing"),
        (
            "\"title\": \"T\"",
            "\"title\": \" \"",
            "title: a rule has a title",
        ),
        (
            "\"title\": \"T\"",
            "\"title\": 5",
            "title: a text is expected",
        ),
        ("process.exec", "process", "on: no event has the type"),
        (
            "\"schema\": 1",
            "\"schema\": 1, \"level\": \"huge\"",
            "level: \"huge\" is no level",
        ),
        (
            "\"schema\": 1",
            "\"schema\": 1, \"tags\": [1]",
            "tags[0]: a text",
        ),
        (
            "\"schema\": 1",
            "\"schema\": 1, \"x\": 1",
            "x: this key has no meaning",
        ),
        ("}", "", "the text is no JSON"),
    ] {
        let error = Detection::parse(&good.replacen(from, to, 1))
            .unwrap_err()
            .to_string();
        assert!(error.contains(said), "{to}: {error}");
    }
}

#[test]
fn depth_and_size_are_bounded() {
    let leaf = r#"{"match": {"op": "keyword", "value": "a"}}"#;
    let deep = |n: usize| format!("{}{leaf}{}", r#"{"not": "#.repeat(n), "}".repeat(n));
    assert!(Detection::parse(&json(&deep(MAX_DEPTH - 1))).is_ok());
    assert!(refused(&deep(MAX_DEPTH)).contains("levels"));
    assert!(refused(&deep(100_000)).contains("recursion"));
    let many = format!(
        r#"{{"any": [{leaf}{}]}}"#,
        format!(", {leaf}").repeat(MAX_PARTS)
    );
    assert!(refused(&many).contains("parts"));
    let mut built = process("Image: a");
    for _ in 0..MAX_DEPTH {
        built.condition = Condition::All(vec![built.condition]);
    }
    assert!(built.validate().unwrap_err().message.contains("levels"));
}
