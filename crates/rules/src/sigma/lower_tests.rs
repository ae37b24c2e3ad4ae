use super::oracle::{carry, command, event, hits, process};
use super::*;
use crate::expr::{self, Literal, Node};
use proptest::prelude::*;

fn cel(category: &str, detection: &str) -> String {
    carry(category, detection).unwrap().to_cel()
}

#[test]
fn conditions_are_written_so() {
    for (category, detection, text) in [
        (
            "process_creation",
            "s: {CommandLine|contains: [' -O ', b], Image|endswith: /Curl}\ncondition: s",
            "(process.exec.command.lowerAscii().contains(\" -o \") || \
             process.exec.command.lowerAscii().contains(\"b\")) && \
             (process.exec.executable.lowerAscii().endsWith(\"/curl\") || \
             process.exec.executable.lowerAscii() == \"curl\")",
        ),
        (
            "process_creation",
            "s: {Image: /usr/bin/curl}\ncondition: s",
            "process.exec.executable.lowerAscii() in [\"/usr/bin/curl\", \"curl\"]",
        ),
        (
            "process_creation",
            "s: {Image|endswith: curl}\ncondition: s",
            "process.exec.executable.lowerAscii().endsWith(\"curl\")",
        ),
        (
            "process_creation",
            "s: {ParentImage: [/a, /b]}\nf: {CommandLine|cased: X}\ncondition: s and not f",
            "has(process.exec.parent) && process.exec.parent.lowerAscii() in [\"/a\", \"/b\"] && \
             !(process.exec.command == \"X\")",
        ),
        (
            "proxy",
            "s: {cs-user-agent|startswith: Wget, c-uri-query: 'a*b'}\ncondition: s",
            "(has(http.request.headers) && http.request.header(\"user-agent\").exists()) && \
             http.request.header(\"user-agent\").lowerAscii().startsWith(\"wget\") && \
             has(http.request.query) && http.request.query.matches(\"(?is)^a.*b$\")",
        ),
        (
            "dns",
            "s: {query|re|i: '^[a-z]{20}\\.'}\ncondition: s",
            "dns.request.qname.matches(\"(?i)^[a-z]{20}\\\\.\")",
        ),
    ] {
        assert_eq!(cel(category, detection), text);
    }
}

/// A list of values must not fall apart where `and` or `not` stands beside it.
#[test]
fn values_stay_together_beside_and_and_behind_not() {
    let detection = "s: {CommandLine|contains: [a, b]}\nt: {Image|endswith: /y}\n";
    let both = carry(
        "process_creation",
        &format!("{detection}condition: s and t"),
    )
    .unwrap();
    assert!(!hits(&both, &command("a")), "{}", both.to_cel());
    let neither = carry("process_creation", &format!("{detection}condition: not s")).unwrap();
    assert!(!hits(&neither, &command("b")), "{}", neither.to_cel());
    assert!(hits(&neither, &command("c")));
    let socket = "s: {DestinationHostname: [a, b], DestinationPort: 1}\ncondition: s";
    let socket = carry("network_connection", socket).unwrap();
    let other_port = event([("socket.host", "a".into()), ("socket.port", 2.into())]);
    assert!(!hits(&socket, &other_port), "{}", socket.to_cel());
}

/// `not` of a selection of several fields is the opposite of all of it, not of its first field.
#[test]
fn not_is_the_opposite_of_the_whole_selection() {
    let detection = "f: {CommandLine|contains: a, Image|endswith: /x}\ncondition: not f";
    let detection = carry("process_creation", detection).unwrap();
    assert!(!hits(&detection, &command("a")));
    assert!(hits(&detection, &command("b")), "{}", detection.to_cel());
    let guarded = "f: {CurrentDirectory: /a, ParentImage: /b}\ncondition: not f";
    let guarded = carry("process_creation", guarded).unwrap();
    let mut event = command("x");
    assert!(hits(&guarded, &event));
    event.insert("process.exec.cwd".into(), "/a".into());
    assert!(hits(&guarded, &event), "{}", guarded.to_cel());
    event.insert("process.exec.parent".into(), "/b".into());
    assert!(!hits(&guarded, &event));
}

/// A missing value matches nothing, differs from nothing, and is never an error.
#[test]
fn a_missing_value_matches_nothing_and_its_opposite_is_true() {
    for (modifiers, value) in [
        ("", "a"),
        ("", "[a, b]"),
        ("|contains", "[a, b]"),
        ("|re", "."),
        ("", "'*'"),
        ("", "'a*b'"),
        ("", "''"),
        ("|fieldref", "CommandLine"),
        ("|neq", "a"),
        ("|neq", "[a, 'b*c']"),
        ("|neq|fieldref", "CommandLine"),
        ("|cidr", "10.0.0.0/8"),
        ("|exists", "true"),
        ("|cased", "a"),
        ("", "ÄÖ"),
    ] {
        let selection = format!("s: {{ParentImage{modifiers}: {value}}}\n");
        let plain = carry("process_creation", &format!("{selection}condition: s")).unwrap();
        assert!(!hits(&plain, &command("x")), "{}", plain.to_cel());
        let not = carry("process_creation", &format!("{selection}condition: not s")).unwrap();
        assert!(hits(&not, &command("x")), "{}", not.to_cel());
    }
}

/// No value becomes syntax, in a text, in a pattern, in a regular expression or in a network.
#[test]
fn no_value_becomes_syntax() {
    for value in [
        r#"a" || true || ""#,
        r#"\" || true || \""#,
        "a\\",
        "line\nfeed",
        "${x}",
        "*\"?\\",
        "it's",
        "(a|b)[c]",
        "\u{2028}\u{202e}\u{0}",
    ] {
        let yaml = serde_json::to_string(value).unwrap();
        for modifiers in ["", "|contains", "|cased", "|startswith", "|base64"] {
            let detection = format!("s:\n  CommandLine{modifiers}: {yaml}\ncondition: s");
            let Ok(detection) = carry("process_creation", &detection) else {
                assert!(
                    modifiers == "|base64" && value.contains('*'),
                    "{value:?} {modifiers}"
                );
                continue;
            };
            assert!(!hits(&detection, &command("something else")), "{value:?}");
        }
    }
}

#[test]
fn the_deepest_detection_is_still_read() {
    let leaf = || process("ParentImage|contains: [ä, b]").condition;
    let mut condition = leaf();
    for n in 1..MAX_DEPTH {
        condition = match n % 3 {
            0 => Condition::Not(Box::new(condition)),
            1 if n + 1 < MAX_DEPTH => Condition::Any(vec![condition, leaf()]),
            _ => Condition::All(vec![condition, leaf()]),
        };
    }
    let deep = Detection {
        condition,
        ..process("Image: a")
    };
    deep.validate().unwrap();
    hits(&deep, &command("x"));
}

fn literals(text: &str) -> Vec<String> {
    let ast = expr::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    (0..ast.len() as u32)
        .filter_map(|id| match ast.node(id) {
            Node::Literal(Literal::Text(text)) => Some(text.to_string()),
            _ => None,
        })
        .collect()
}

fn with(test: Match) -> Detection {
    let detection = Detection {
        condition: Condition::Match(test),
        ..process("CommandLine: a")
    };
    detection.validate().unwrap();
    detection
}

proptest! {
    #[test]
    fn a_value_is_the_literal_of_the_condition(
        values in prop::collection::vec(".*", 1..4),
        how in prop::sample::select(How::ALL.map(|(how, _)| how).to_vec()),
    ) {
        let of = Operand::Field(bailiwick_event::fields::Field::ExecParent);
        let text = |case| Match::Text { of: of.clone(), how, values: values.clone(), case };
        prop_assert_eq!(literals(&with(text(true)).to_cel()), values.clone());

        let of_line = |test: Detection, line: &str| {
            let mut event = command("");
            event.insert("process.exec.parent".into(), line.into());
            hits(&test, &event)
        };
        prop_assert!(of_line(with(text(false)), &values[0]));
        let pattern = Pattern::new(vec![
            Token::Many, Token::Text(values[0].clone()), Token::One, Token::Text(values[0].clone()),
        ]);
        let line = format!("x{}ä{}", values[0], values[0]);
        let wild = Match::Wildcard { of: of.clone(), values: vec![pattern], case: true };
        prop_assert!(of_line(with(wild), &line));
    }

    #[test]
    fn a_rule_with_any_value_is_read_and_printed(value in "\\PC*") {
        let yaml = serde_json::to_string(&value).unwrap();
        let text = super::oracle::rule("dns", &format!("s:\n  query|cased: {yaml}\ncondition: s"));
        let detection = read(&text).remove(0).unwrap();
        let json = serde_json::to_string(&detection).unwrap();
        prop_assert_eq!(&Detection::parse(&json).unwrap(), &detection);
        if let Some(literal) = Pattern::read(&value).as_literal() {
            prop_assert_eq!(literals(&detection.to_cel()), vec![literal.to_owned()]);
        }
    }
}
