use super::*;
use proptest::prelude::*;

fn source(text: &str) -> Arc<SourceText> {
    Arc::new(SourceText::new("x.json", None, text.to_owned()))
}

fn error(text: &str) -> String {
    read(&source(text)).unwrap_err().to_string()
}

/// The same value without places.
fn plain(node: &Node) -> serde_json::Value {
    match &node.value {
        Value::Null => serde_json::Value::Null,
        Value::Flag(flag) => (*flag).into(),
        Value::Number(text) => serde_json::from_str(text).unwrap(),
        Value::Text(text) => text.as_str().into(),
        Value::List(nodes) => nodes.iter().map(plain).collect(),
        Value::Table(pairs) => {
            serde_json::Value::Object(pairs.iter().map(|(k, n)| (k.clone(), plain(n))).collect())
        }
    }
}

#[test]
fn comments_and_trailing_commas_are_read_and_a_url_is_no_comment() {
    let text =
        "// first\n{ \"a\": [1, -2.5e3, \"b//c\", /* in */ null,], \"d\": {\"e\": true,}, }\n/**/";
    let node = read(&source(text)).unwrap();
    assert_eq!(
        plain(&node),
        serde_json::json!({"a": [1, -2.5e3, "b//c", null], "d": {"e": true}})
    );
    let Value::Table(pairs) = &node.value else {
        panic!()
    };
    assert_eq!(&text[pairs[1].1.span.clone()], "{\"e\": true,}");
}

#[test]
fn a_mistake_is_shown_where_it_is() {
    for (text, place) in [
        ("", "x.json:1:1: error: the file ends too early"),
        ("{\n  \"a\": 1\n  \"b\": 2\n}", "x.json:3:3: error: a comma"),
        ("{\"a\" 1}", "x.json:1:6: error: a \":\" is missing"),
        (
            "{\"a\": 1, \"a\": 2}",
            "x.json:1:10: error: the key \"a\" stands here twice",
        ),
        ("[yes]", "x.json:1:2: error: \"yes\" is no value"),
        (
            "['a']",
            "x.json:1:2: error: a text stands between double quotes",
        ),
        ("[\"a\n\"]", "x.json:1:2: error: this text has no end"),
        ("[\"\\q\"]", "x.json:1:2: error: this text has an escape"),
        ("[01]", "x.json:1:2: error: this is no number"),
        (
            "[] []",
            "x.json:1:4: error: something stands behind the end",
        ),
        ("[,]", "x.json:1:2: error: this is no value"),
        ("{} /* ", "x.json:1:4: error: this comment has no end"),
    ] {
        assert!(error(text).starts_with(place), "{text}: {}", error(text));
        assert!(error(text).contains("help: "), "{text}");
    }
    assert!(error(&"[".repeat(100_000)).contains("lie in one another"));
}

fn some_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "\\PC*".prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::btree_map(".*", inner, 0..4)
                .prop_map(|m| serde_json::Value::Object(m.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_json_says_is_what_is_read(value in some_json()) {
        for text in [value.to_string(), format!("{value:#}")] {
            let node = read(&source(&text));
            prop_assert_eq!(plain(&node.unwrap()), value.clone());
        }
    }

    #[test]
    fn no_text_makes_it_panic_and_every_complaint_can_be_shown(
        text in prop_oneof![".*", "[\\[\\]{}:,\"/* \n\\\\a1-]{0,40}"]
    ) {
        if let Err(found) = read(&source(&text)) {
            prop_assert!(found.to_string().contains("error: "));
        }
    }
}
