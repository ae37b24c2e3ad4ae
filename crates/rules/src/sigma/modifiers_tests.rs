use super::oracle::{carry, command, event, hits, process};

fn finds(selection: &str, line: &str) -> bool {
    hits(&process(selection), &command(line))
}

fn refused(selection: &str) -> String {
    let detection = format!("s:\n  {selection}\ncondition: s");
    let skipped = carry("process_creation", &detection).unwrap_err();
    skipped.reason.to_string()
}

#[test]
fn each_modifier_compares_as_the_specification_says() {
    for (selection, found, not) in [
        ("CommandLine|contains: b", "aBc", "ac"),
        ("CommandLine|startswith: a", "Ab", "ba"),
        ("CommandLine|endswith: a", "bA", "ab"),
        ("CommandLine|cased: Ab", "Ab", "ab"),
        ("CommandLine|contains|all: [a, b]", "b-a", "b"),
        ("CommandLine|all|contains: [a, b]", "b-a", "a"),
        ("CommandLine|re: '^a.c$'", "abc", "ABC"),
        ("CommandLine|re: 'b|c'", "xcx", "x"),
        ("CommandLine|re|i: '^a.c$'", "ABC", "ABCD"),
        ("CommandLine|re|m: '^b$'", "a\nb\nc", "ab"),
        ("CommandLine|re|s: 'a.c'", "a\nc", "ac"),
        ("CommandLine|re|i|m|s: '^A.C$'", "x\na\nc\ny", "xa\nc"),
        ("CommandLine|re: ['^a', 'z$']", "xyz", "b"),
        (
            "CommandLine|base64|contains: ping",
            "echo cGluZw== | sh",
            "echo cGluZX",
        ),
        ("CommandLine|windash|contains: ' -x'", "a /x", "a x"),
        ("CommandLine|contains|windash: ' -x'", "a \u{2013}X", "a x"),
        ("CommandLine|neq: a", "b", "A"),
        ("CommandLine|neq: [a, b]", "c", "b"),
        ("CommandLine|neq|cased: a", "A", "a"),
        ("CommandLine|neq: 'a*'", "ba", "ab"),
    ] {
        assert!(finds(selection, found), "{selection} finds {found}");
        assert!(!finds(selection, not), "{selection} does not find {not}");
    }
}

#[test]
fn base64_is_found_at_each_of_the_three_offsets() {
    let selection = "CommandLine|base64offset|contains: /bin/bash";
    let detection = process(selection);
    for before in ["", "a", "ab", "abc", "abcd"] {
        for after in ["", "x", "xy", "xyz"] {
            let whole = format!("{before}/bin/bash{after}");
            let encoded = super::encode::base64(whole.as_bytes());
            assert!(hits(&detection, &command(&encoded)), "{whole}");
        }
    }
    assert_eq!(
        detection.to_cel(),
        "process.exec.command.lowerAscii().contains(\"l2jpbi9iyxno\") || \
         process.exec.command.lowerAscii().contains(\"9iaw4vymfza\") || \
         process.exec.command.lowerAscii().contains(\"vymlul2jhc2\")"
    );
    assert!(refused("CommandLine|base64offset|contains: a").contains("too short"));
    assert!(refused("CommandLine|base64offset|contains: ''").contains("too short"));
}

#[test]
fn base64_is_that_of_the_standard() {
    for (bytes, text) in [
        ("", ""),
        ("f", "Zg=="),
        ("fo", "Zm8="),
        ("foo", "Zm9v"),
        ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
        ("\u{3ff}\u{3ff}", "z7/Pvw=="),
    ] {
        assert_eq!(super::encode::base64(bytes.as_bytes()), text);
    }
}

#[test]
fn utf16_is_what_base64_encodes() {
    for (selection, line) in [
        ("CommandLine|wide|base64: cmd", "YwBtAGQA"),
        ("CommandLine|utf16le|base64: cmd", "YwBtAGQA"),
        ("CommandLine|utf16be|base64: cmd", "AGMAbQBk"),
        ("CommandLine|utf16|base64: cmd", "//5jAG0AZAA="),
        (
            "CommandLine|utf16le|base64offset|contains: cmd",
            "xxYwBtAGQAxx",
        ),
    ] {
        assert!(finds(selection, line), "{selection}");
    }
}

#[test]
fn each_dash_stands_for_every_other() {
    for from in ['-', '/', '\u{2013}', '\u{2014}', '\u{2015}'] {
        let detection = process(&format!("CommandLine|windash: 'a {from}b {from}c*'"));
        for one in ['-', '/', '\u{2013}', '\u{2014}', '\u{2015}'] {
            for two in ['-', '/', '\u{2013}', '\u{2014}', '\u{2015}'] {
                assert!(hits(&detection, &command(&format!("a {one}B {two}C d"))));
            }
        }
        assert!(!hits(&detection, &command("a b c")));
    }
    assert!(refused("CommandLine|windash: '-a-b-c-d'").contains("more than 125"));
}

#[test]
fn networks_hold_addresses_and_nothing_else() {
    let socket = |value: &str| {
        let detection = format!("s: {{DestinationIp|cidr: {value}}}\ncondition: s");
        carry("network_connection", &detection)
    };
    let at = |address: &str| {
        event([
            ("socket.port", 1.into()),
            ("socket.address", address.into()),
        ])
    };
    let lan = socket("['10.0.0.0/8', 'fd00::/8', '192.168.1.7']").unwrap();
    for address in ["10.1.2.3", "fd12::1", "192.168.1.7"] {
        assert!(hits(&lan, &at(address)), "{address}");
    }
    for address in ["11.0.0.1", "fe80::1", "192.168.1.8", "no address", ""] {
        assert!(!hits(&lan, &at(address)), "{address}");
    }
    assert!(!hits(&lan, &event([("socket.port", 1.into())])));
    assert_eq!(
        socket("10.0.0.0/8").unwrap().to_cel(),
        "has(socket.address) && isIP(socket.address) && \
         cidr(\"10.0.0.0/8\").containsIP(socket.address)"
    );
    for value in [
        "10.0.0.0/33",
        "10.0.0.1/8",
        "10.0/8",
        "x",
        "'10.0.0.0/+8'",
        "'::/129'",
    ] {
        assert!(socket(value).is_err(), "{value}");
    }
    assert!(
        socket("'0.0.0.0/0'").is_ok() && socket("'::/0'").is_ok() && socket("'::1/128'").is_ok()
    );
}

#[test]
fn a_field_is_there_or_not() {
    let mut there = command("x");
    there.insert("process.exec.parent".into(), "".into());
    let (yes, no) = (
        process("ParentImage|exists: true"),
        process("ParentImage|exists: false"),
    );
    assert!(hits(&yes, &there) && !hits(&yes, &command("x")));
    assert!(!hits(&no, &there) && hits(&no, &command("x")));
    assert_eq!(process("Image|exists: true").to_cel(), "true");
    assert!(refused("Image|exists: maybe").contains("true or false"));
    assert!(refused("Image|exists|all: true").contains("goes with no other"));
}

#[test]
fn numbers_are_less_or_greater() {
    let port = |selection: &str, port: i64| {
        let detection = format!("s: {{{selection}}}\ncondition: s");
        let detection = carry("network_connection", &detection).unwrap();
        hits(&detection, &event([("socket.port", port.into())]))
    };
    for (modifier, holds) in [
        ("lt", [true, false, false]),
        ("lte", [true, true, false]),
        ("gt", [false, false, true]),
        ("gte", [false, true, true]),
        ("neq", [true, false, true]),
    ] {
        for (number, holds) in [4, 5, 6].into_iter().zip(holds) {
            let found = port(&format!("DestinationPort|{modifier}: 5"), number);
            assert_eq!(found, holds, "{number} {modifier} 5");
        }
    }
    assert!(port("DestinationPort|lt: [3, 9]", 8));
    assert!(port("DestinationPort|lt: -1", -2));
    assert!(refused("CommandLine|lt: 5").contains("compares numbers"));
}

#[test]
fn fields_are_compared_with_each_other() {
    let with = |parent: Option<&str>, line: &str| {
        let mut event = command(line);
        event.extend(parent.map(|parent| ("process.exec.parent".to_owned(), parent.into())));
        event
    };
    for (modifiers, parent, line, found) in [
        ("fieldref", "/bin/SH", "/BIN/sh", true),
        ("fieldref", "/bin/sh", "/bin/bash", false),
        ("fieldref|cased", "a", "A", false),
        ("fieldref|startswith", "a", "Ab", true),
        ("fieldref|endswith", "a", "ba", true),
        ("contains|fieldref", "a", "bac", true),
        ("fieldref|neq", "a", "b", true),
        ("fieldref|neq", "a", "a", false),
    ] {
        let detection = process(&format!("CommandLine|{modifiers}: ParentImage"));
        assert_eq!(
            hits(&detection, &with(Some(parent), line)),
            found,
            "{modifiers}"
        );
        if modifiers != "fieldref|neq" {
            assert!(!hits(&detection, &with(None, line)), "{modifiers}");
        }
    }
    assert!(refused("CommandLine|fieldref: User").contains("\"User\" has no counterpart"));
    let ports = "s: {DestinationPort|fieldref: DestinationIp}\ncondition: s";
    let skipped = carry("network_connection", ports).unwrap_err();
    assert!(skipped.reason.to_string().contains("cannot be compared"));
    let same = "s: {DestinationPort|fieldref: ProcessId}\ncondition: s";
    let detection = carry("network_connection", same).unwrap();
    assert!(hits(
        &detection,
        &event([("socket.port", 5.into()), ("common.process.pid", 5.into())])
    ));
    assert!(!hits(&detection, &event([("socket.port", 5.into())])));
}

#[test]
fn chains_without_a_meaning_are_refused() {
    for (selection, words) in [
        ("CommandLine|expand: '%x%'", "\"expand\""),
        ("CommandLine|hour: 5", "no field is a date"),
        ("CommandLine|nosuch: a", "\"nosuch\" is unknown"),
        ("'CommandLine|': a", "\"\" is unknown"),
        ("CommandLine|Contains: a", "\"Contains\" is unknown"),
        ("CommandLine|contains|contains: a", "twice"),
        ("CommandLine|contains|startswith: a", "exclude each other"),
        ("CommandLine|re|contains: a", "goes with no other"),
        ("CommandLine|re|cidr: a", "how the value is compared"),
        ("CommandLine|i: a", "behind \"re\" only"),
        ("CommandLine|re|all|i: a", "behind \"re\" only"),
        ("CommandLine|re|cased: a", "\"cased\""),
        ("CommandLine|re|base64: a", "can be encoded"),
        ("CommandLine|contains|base64: a", "stands behind \"base64\""),
        ("CommandLine|base64|windash: a", "before those that encode"),
        ("CommandLine|wide: a", "UTF-16"),
        ("CommandLine|base64|utf16: a", "UTF-16"),
        ("CommandLine|wide|utf16le|base64: a", "UTF-16 twice"),
        ("CommandLine|base64: 'a*'", "with wildcards"),
        ("CommandLine|neq|contains: a", "\"neq\""),
        ("CommandLine|neq|all: [a, b]", "\"neq\""),
        ("CommandLine|contains: null", "null goes with no modifier"),
        ("CommandLine|lt|fieldref: Image", "\"fieldref\""),
    ] {
        let said = refused(selection);
        assert!(said.contains(words), "{selection}: {said}");
    }
}

#[test]
fn regular_expressions_that_would_be_read_otherwise_are_refused() {
    for (pattern, words) in [
        ("(?=a)b", "look-around"),
        ("(?<!a)b", "look-around"),
        (r"(a)\1", "backreference"),
        ("(", "unclosed group"),
        (r"\<script\>", "another meaning"),
        ("[a[b]]", "class within a class"),
        ("[a&&b]", "operation on classes"),
        ("a++b", "possessive"),
        (r"a\b{start}b", "another meaning"),
        ("(?R)a", "another meaning"),
        ("(?i-u:a)", "another meaning"),
        (r"\p{Nosuch}", "Unicode"),
    ] {
        let said = refused(&format!("CommandLine|re: '{pattern}'"));
        assert!(said.contains(words), "{pattern}: {said}");
    }
    let repetition = super::pcre::check("a{,3}", super::Flags::default());
    assert!(repetition.is_err(), "PCRE takes a{{,3}} for itself");
    for pattern in [
        r"a\.b",
        "[[:alpha:]]+",
        "(?:a|b){2,3}?",
        r"\bcurl\b.*\s-o",
        "(?i)abc",
        "[^a-z]",
    ] {
        assert!(
            finds(&format!("CommandLine|re: '{pattern}|$'"), "x"),
            "{pattern}"
        );
    }
    let huge = refused(r"CommandLine|re: '(\w{1000}){1000}'");
    assert!(huge.contains("size"), "{huge}");
}
