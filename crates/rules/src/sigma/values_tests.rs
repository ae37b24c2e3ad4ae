use super::oracle::{carry, command, event, hits, process};
use super::{Pattern, Token};

fn text(text: &str) -> Token {
    Token::Text(text.to_owned())
}

/// The command lines that a value finds, and those that it does not.
fn check(selection: &str, found: &[&str], not: &[&str]) {
    let detection = process(selection);
    for line in found {
        assert!(
            hits(&detection, &command(line)),
            "{selection} finds {line:?}"
        );
    }
    for line in not {
        assert!(
            !hits(&detection, &command(line)),
            "{selection} does not find {line:?}"
        );
    }
}

#[test]
fn a_backslash_takes_the_meaning_from_wildcards_and_itself_alone() {
    use Token::{Many, One};
    for (value, tokens) in [
        (r"a*b", vec![text("a"), Many, text("b")]),
        (r"a?b", vec![text("a"), One, text("b")]),
        (r"a\*b", vec![text("a*b")]),
        (r"a\?b", vec![text("a?b")]),
        (r"a\\*b", vec![text(r"a\"), Many, text("b")]),
        (r"a\\?b", vec![text(r"a\"), One, text("b")]),
        (r"a\\\*b", vec![text(r"a\*b")]),
        (r"a\b", vec![text(r"a\b")]),
        (r"a\\b", vec![text(r"a\b")]),
        (r"a\\\b", vec![text(r"a\\b")]),
        (r"a\\\\b", vec![text(r"a\\b")]),
        (r"a\", vec![text(r"a\")]),
        (r"\\", vec![text(r"\")]),
        (r"a**b", vec![text("a"), Many, text("b")]),
        (r"??", vec![One, One]),
        (r"*", vec![Many]),
        (r"", vec![]),
    ] {
        assert_eq!(Pattern::read(value).tokens(), tokens, "{value}");
    }
}

#[test]
fn wildcards_find_what_the_specification_says() {
    check(
        "CommandLine: 'prog?.exe'",
        &["progA.exe", "PROG1.EXE", "progé.exe"],
        &["prog.exe", "progAB.exe"],
    );
    check(
        "CommandLine: 'v*.exe'",
        &["v.exe", "v21.2.1.exe", "v\n.exe"],
        &["av.exe", "v.exe2"],
    );
    check(r"CommandLine: 'a\*b'", &["a*b"], &["aXb", r"a\*b"]);
    check(r"CommandLine: 'a\\*b'", &[r"a\b", r"a\xxb"], &["ab", "a*b"]);
    check(
        r"CommandLine: 'a.b[c](d)$*z'",
        &["A.B[c](d)$ z"],
        &["axb[c](d)$z"],
    );
    check("CommandLine|contains: 'a?c'", &["xxabcxx", "a c"], &["ac"]);
    check("CommandLine|startswith: 'a*c'", &["abcx"], &["xabc"]);
    check("CommandLine: '*'", &["", "x"], &[]);
}

#[test]
fn texts_are_the_same_whatever_their_case_unless_cased() {
    check("CommandLine: CuRl", &["curl", "CURL"], &["curl "]);
    check("CommandLine|cased: CuRl", &["CuRl"], &["curl"]);
    check("CommandLine|contains|cased: 'A?c'", &["xAbcx"], &["xabcx"]);
    check(
        "CommandLine: GRÖSSE",
        &["größe".replace('ß', "ss").as_str(), "GRÖSSE"],
        &["grosse"],
    );
    check("CommandLine|contains: ÉTÉ", &["l'été"], &["ete"]);
    check("CommandLine|startswith: Ä", &["äx"], &["xä"]);
    check("CommandLine|endswith: Ä", &["xä"], &["äx"]);
    check(
        "CommandLine: [ascii, Ünï, other]",
        &["ASCII", "ünÏ", "Other"],
        &["uni"],
    );
    check("CommandLine|contains: '– x'", &["a – X"], &["a - x"]);
}

#[test]
fn numbers_truths_and_empty_texts_are_values_too() {
    check("CommandLine: 7", &["7"], &["07"]);
    check("CommandLine: true", &["TRUE"], &["1"]);
    check("CommandLine: ''", &[""], &["x"]);
    check(
        "CommandLine: [1.50, 0x1F]",
        &["1.50", "0x1f"],
        &["1.5", "31"],
    );
    let port = |selection: &str| {
        carry(
            "network_connection",
            &format!("s: {{{selection}}}\ncondition: s"),
        )
    };
    let at = |number: i64| {
        event([
            ("socket.port", number.into()),
            ("socket.transport", "tcp".into()),
        ])
    };
    let one = port("DestinationPort: 443").unwrap();
    assert_eq!(one.to_cel(), "socket.port == 443");
    assert!(hits(&one, &at(443)) && !hits(&one, &at(80)));
    let two = port("DestinationPort: [80, '443']").unwrap();
    assert_eq!(two.to_cel(), "socket.port in [80, 443]");
    assert!(hits(&two, &at(443)));
    for (value, words) in [
        ("DestinationPort: '44*'", "no whole number"),
        ("DestinationPort: 010", "no whole number"),
        ("DestinationPort: 0x1f", "no whole number"),
        ("DestinationPort: 1.5", "no whole number"),
        ("DestinationPort: true", "no whole number"),
        ("DestinationPort|contains: 44", "do not fit"),
        ("DestinationPort|re: 44", "do not fit"),
    ] {
        let said = port(value).unwrap_err().reason.to_string();
        assert!(said.contains(words), "{value}: {said}");
    }
}

#[test]
fn null_is_a_value_that_is_not_there_and_the_empty_text_one_that_is() {
    let with = |cwd: Option<&str>| {
        let mut event = command("x");
        if let Some(cwd) = cwd {
            event.insert("process.exec.cwd".into(), cwd.into());
        }
        event
    };
    let null = process("CurrentDirectory: null");
    assert_eq!(null.to_cel(), "!has(process.exec.cwd)");
    assert!(hits(&null, &with(None)) && !hits(&null, &with(Some(""))));
    let empty = process("CurrentDirectory: ''");
    assert!(hits(&empty, &with(Some(""))) && !hits(&empty, &with(None)));
    let either = process("CurrentDirectory: [null, /tmp]");
    assert!(hits(&either, &with(None)) && hits(&either, &with(Some("/TMP"))));
    assert!(!hits(&either, &with(Some("/"))));
    assert_eq!(process("Image: null").to_cel(), "false");
}

#[test]
fn a_map_is_all_of_its_fields_and_a_list_any_of_its_maps() {
    check(
        "CommandLine|contains: a\nImage|endswith: /x",
        &["a"],
        &["b"],
    );
    check("CommandLine|contains: a\nImage|endswith: /y", &[], &["a"]);
    check(
        "- CommandLine: a\n- CommandLine: b\n  Image: /usr/bin/x",
        &["a", "b"],
        &["c"],
    );
    check(
        "- Image: nosuch\n  CommandLine: a\n- CommandLine: b",
        &["b"],
        &["a"],
    );
    check("CommandLine|contains|all: [a, b]", &["b a"], &["a", "b"]);
    check("CommandLine|contains: [a, b]", &["a", "b"], &["c"]);
}

#[test]
fn keywords_are_looked_for_in_every_text() {
    check(
        "- EvilService\n- 'svc?n'",
        &["x evilservice y", "a svc-n b", "/usr/bin/x EVILSERVICE"],
        &["svcn"],
    );
    check("[bin]", &["anything, because the executable has it"], &[]);
    check("needle", &["a Needle"], &["a"]);
    check(
        "'|all': [one, ' two ']",
        &["one  two "],
        &["one", "one two"],
    );
    check("'|cased': [One]", &["One"], &["one"]);
    check(
        "- needle\n- CommandLine|startswith: q",
        &["a needle", "q"],
        &["a"],
    );
    for (selection, words) in [
        ("['*']", "found in every event"),
        ("['']", "found in every event"),
        ("[null]", "a keyword is a text"),
        ("[[a]]", "a list in a list"),
        ("{'|re': a}", "does not fit"),
        ("{'|startswith': a}", "does not fit"),
        ("[]", "empty"),
        ("{}", "empty"),
        ("null", "empty"),
        ("{CommandLine: []}", "empty"),
        ("{CommandLine: {a: b}}", "a value is a text"),
        ("{CommandLine: [[a]]}", "a value is a text"),
    ] {
        let detection = format!("s: {selection}\ncondition: s");
        let said = carry("process_creation", &detection)
            .unwrap_err()
            .reason
            .to_string();
        assert!(said.contains(words), "{selection}: {said}");
    }
}

#[test]
fn a_rule_cannot_become_more_than_it_may() {
    let dashes = "CommandLine|windash|contains: ['-a-b-c', '-d-e-f']";
    assert!(process(dashes).to_cel().len() > 2_000);
    for selection in [
        format!("CommandLine|contains: [{}]", "a, ".repeat(5_000)),
        format!("CommandLine|windash: [{}]", "'-a-b-c', ".repeat(50)),
        format!("CommandLine|re: [{}]", "'a+', ".repeat(200)),
    ] {
        let detection = format!("s: {{{selection}}}\ncondition: s");
        let skipped = carry("process_creation", &detection).unwrap_err();
        assert!(
            matches!(skipped.reason, super::Reason::Limit(_)),
            "{skipped}"
        );
    }
}
