use super::*;

fn read(json: &str) -> (Option<Tree>, Budget) {
    let mut budget = Budget::default();
    (Tree::read(json.as_bytes(), &mut budget), budget)
}

#[test]
fn only_known_keys_are_kept_in_one_spelling() {
    let (tree, budget) = read(r#"{"model":"m","secret":[1,{"model":2}],"finishReason":"STOP"}"#);
    let tree = tree.unwrap();
    assert_eq!(tree.name("model"), Some("m"));
    assert_eq!(tree.name("finish_reason"), Some("STOP"));
    assert!(matches!(&tree, Tree::Map(entries) if entries.len() == 2));
    assert!(!budget.over && !budget.twice);
}

#[test]
fn what_is_said_twice_is_not_known() {
    for json in [
        r#"{"model":"a","model":"a"}"#,
        r#"{"model":"a","mod\u0065l":"b"}"#,
        r#"{"id":1,"model":"a","model":null,"model":"c"}"#,
    ] {
        let (tree, budget) = read(json);
        let tree = tree.unwrap();
        assert_eq!(tree.get("model"), Some(&Tree::Unclear), "{json}");
        assert!(budget.twice);
    }
    let (tree, _) = read(r#"{"finish_reason":"a","finishReason":"b"}"#);
    assert_eq!(tree.unwrap().name("finish_reason"), None);
}

#[test]
fn a_number_is_whole_and_not_negative_or_none() {
    for (json, number) in [
        ("0", Some(0)),
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551616", None),
        ("-1", None),
        ("-0", None),
        ("1.0", None),
        ("1e3", None),
        ("\"1\"", None),
        ("[1]", None),
        ("true", None),
        ("null", None),
    ] {
        let (tree, _) = read(&format!(r#"{{"index":{json}}}"#));
        assert_eq!(tree.unwrap().number("index"), number, "{json}");
    }
}

#[test]
fn deep_nesting_is_refused_and_skipped_nesting_is_not_remembered() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(&nested(100)).0.is_some());
    assert!(read(&nested(100_000)).0.is_none());
    let (tree, _) = read(&format!(r#"{{"x":{},"index":7}}"#, nested(100_000)));
    assert_eq!(tree.unwrap().number("index"), Some(7));
}

#[test]
fn what_is_no_whole_document_is_none() {
    for json in [
        "",
        "{",
        "{}x",
        "{} {}",
        "nul",
        "{\"model\":\"a}",
        "[1,]",
        "\u{feff}{}",
    ] {
        assert_eq!(read(json).0, None, "{json:?}");
    }
    let mut budget = Budget::default();
    assert_eq!(Tree::read(b"{\"model\":\"\xff\"}", &mut budget), None);
}

#[test]
fn values_and_texts_are_bounded() {
    let (tree, budget) = read(&format!("[{}1]", "1,".repeat(2 * MAX_VALUES)));
    assert!(budget.over);
    assert!(matches!(tree, Some(Tree::List(list)) if list.len() == MAX_VALUES - 1));
    let (tree, budget) = read(&format!("[{}{{}}]", "{},".repeat(MAX_VALUES)));
    assert!(budget.over && tree.is_some());

    let long = "x".repeat(MAX_STRING + 1);
    let (tree, budget) = read(&format!(r#"{{"text":"{long}","name":"{long}"}}"#));
    let tree = tree.unwrap();
    assert_eq!(tree.text("text").map(str::len), Some(MAX_STRING));
    assert_eq!(tree.name("name"), None);
    assert!(!budget.over, "a long text is no less of an answer");

    let many = format!(
        "[{}1]",
        format!("\"{}\",", "x".repeat(MAX_STRING)).repeat(20)
    );
    let Some(Tree::List(list)) = read(&many).0 else {
        panic!("a list");
    };
    let kept: usize = list.iter().filter_map(Tree::as_text).map(str::len).sum();
    assert_eq!(kept, MAX_STRINGS);
}
