use super::*;

/// What a text is read as, printed again.
fn read(text: &str) -> String {
    let ast = parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    ast.show(ast.root())
}

fn wrong(text: &str) -> String {
    match parse(text) {
        Ok(ast) => panic!("{text} was read as {}", ast.show(ast.root())),
        Err(error) => error.to_string(),
    }
}

#[test]
fn operators_bind_as_the_specification_says() {
    for (text, same) in [
        (
            "1 + 2 * 3 == 7 && true || false",
            "1 + 2 * 3 == 7 && true || false",
        ),
        ("(1 + 2) * 3", "(1 + 2) * 3"),
        ("1 - (2 - 3)", "1 - (2 - 3)"),
        ("(1 - 2) - 3", "1 - 2 - 3"),
        ("a && (b || c) && d", "a && (b || c) && d"),
        ("a ? b : c ? d : e", "a ? b : c ? d : e"),
        ("(a ? b : c) ? d : e", "(a ? b : c) ? d : e"),
        ("!!a", "!!a"),
        ("-(-1)", "-(-1)"),
        ("--1", "-(-1)"),
        ("-(1).a", "-(1.a)"),
        ("-(1)[0].b(2)", "-(1[0].b(2))"),
        ("-(-(1).a)", "--(1.a)"),
        ("-(x + 1)", "-(x + 1)"),
        ("-x.y", "-x.y"),
        ("!(a in [1, 2])", "!(a in [1, 2])"),
        ("1 < 2 == true", "1 < 2 == true"),
        ("[1, 2,]", "[1, 2]"),
        ("{1: 'a', 2u: b'x',}", "{1: \"a\", 2u: b\"x\"}"),
        ("a.b[0].c(1).d", "a.b[0].c(1).d"),
        ("a.`b-c`.d", "a.`b-c`.d"),
        ("x.map(i, i > 0, i * 2)", "x.map(i, i > 0, i * 2)"),
        ("x.existsOne(i, i)", "x.exists_one(i, i)"),
        ("1 // a note\n + 2", "1 + 2"),
        (".a.b == 1", "a.b == 1"),
    ] {
        assert_eq!(read(text), same, "{text}");
        assert_eq!(read(&read(text)), same, "{text}, twice");
    }
}

#[test]
fn literals_say_what_the_specification_says() {
    let literal = |text: &str| match parse(text).unwrap().nodes.last().unwrap() {
        Node::Literal(literal) => literal.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(literal("-9223372036854775808"), Literal::Int(i64::MIN));
    assert_eq!(literal("0xFFu"), Literal::Uint(255));
    assert_eq!(literal("-0x55555555"), Literal::Int(-1_431_655_765));
    assert_eq!(literal("1e-3"), Literal::Double(0.001));
    assert_eq!(literal(".5"), Literal::Double(0.5));
    for (text, says) in [
        (
            r#""\a\b\f\n\r\t\v\\\?\"\'\`""#,
            "\u{7}\u{8}\u{c}\n\r\t\u{b}\\?\"'`",
        ),
        (r#"'\x41\u00e9\U0001F431\303'"#, "Aé🐱Ã"),
        (r#"r'\n'"#, "\\n"),
        ("'''a\n'b'''", "a\n'b"),
        (r#"R"\""#, "\\"),
    ] {
        assert_eq!(literal(text), Literal::Text(says.into()), "{text}");
    }
    assert_eq!(
        literal(r"b'\303\xff\n'"),
        Literal::Bytes([0o303, 0xff, b'\n'].into())
    );
    assert_eq!(literal("b'é'"), Literal::Bytes([0xc3, 0xa9].into()));
    assert_eq!(literal("rb'\\x'"), Literal::Bytes([b'\\', b'x'].into()));
}

#[test]
fn a_mistake_is_told_with_its_remedy() {
    for (text, words) in [
        ("", "a field, a value or a list is expected"),
        ("a = b", "write == to compare"),
        ("a and b", "write && for"),
        ("not a", "write ! for \"not\""),
        ("a && not b.c", "write ! for \"not\""),
        ("a == \u{201c}b\u{201d}", "between \" and \""),
        ("a =~ 'b'", "write a.matches("),
        ("a contains 'b'", "write a.contains("),
        ("a is 'b'", "write == to compare"),
        ("a & b", "write && for"),
        ("'abc", "closing quote"),
        ("'a\nb'", "does not end on its line"),
        ("9223372036854775808", "too large"),
        ("18446744073709551616u", "too large"),
        ("1e999", "too large"),
        ("12ab", "is no number"),
        (r"'\q'", "is no escape"),
        (r"'\x+1'", "takes 2 hexadecimal digits"),
        (r"'\u+041'", "takes 4 hexadecimal digits"),
        (r"b'\1+1'", "takes 3 octal digits"),
        (r"'\ud800'", "is no character"),
        (r"b'\u00e9'", "is no escape"),
        ("f(1,)", "an argument is expected"),
        ("x.all(1, true)", "the name of a variable"),
        ("x.all(i)", "takes a variable"),
        ("has(x)", "has() asks"),
        ("for", "reserved"),
        ("a.in", "a name is expected"),
        ("[1, 2", "\"]\" is expected"),
        ("a b", "an operator or the end"),
    ] {
        let said = wrong(text);
        assert!(said.contains(words), "{text:?}: {said}");
    }
}

#[test]
fn the_place_of_a_mistake_is_its_bytes() {
    let error = parse("http.request.host == \"a\" && *").unwrap_err();
    assert_eq!(error.span.range(), 28..29);
}

#[test]
fn depth_length_and_parts_are_bounded() {
    let deep =
        |n: usize, open: &str, close: &str| format!("{}1{}", open.repeat(n), close.repeat(n));
    assert!(parse(&deep(60, "(", ")")).is_ok());
    for text in [
        deep(10_000, "(", ")"),
        deep(10_000, "[", "]"),
        deep(10_000, "!", ""),
        deep(10_000, "f(", ")"),
        deep(5_000, "-", ""),
        format!("1{}", " + 1".repeat(10_000)),
        format!("a{}", ".b".repeat(10_000)),
        format!("a{}", "[0]".repeat(10_000)),
        format!("{}1", "true ? 1 : ".repeat(5_000)),
    ] {
        let said = wrong(&text);
        assert!(said.contains("levels"), "{said}");
    }
    assert!(wrong(&" ".repeat(MAX_LENGTH + 1)).contains("bytes"));
    assert!(wrong(&format!("[{}]", "1,".repeat(MAX_NODES))).contains("parts"));
    // A chain of one operator is one level, however long.
    assert!(parse(&format!("a{}", " || a".repeat(5_000))).is_ok());
}
