use super::condition::matches;
use super::oracle::{carry, command, hits};

/// Selections that each find one letter.
const LETTERS: &str = "a: {CommandLine|contains: x1}
b: {CommandLine|contains: x2}
c: {CommandLine|contains: x3}
sel_one: {CommandLine|contains: x4}
sel_two: {CommandLine|contains: x5}
_hidden: {CommandLine|contains: x6}
";

fn with(condition: &str) -> Result<super::Detection, super::Skipped> {
    carry(
        "process_creation",
        &format!("{LETTERS}condition: {condition}"),
    )
}

fn finds(condition: &str, text: &str) -> bool {
    hits(&with(condition).unwrap(), &command(text))
}

fn refused(condition: &str) -> String {
    with(condition).unwrap_err().reason.to_string()
}

#[test]
fn not_binds_more_strongly_than_and_and_and_more_than_or() {
    for (condition, same) in [
        ("a or b and c", "a or (b and c)"),
        ("a and b or c", "(a and b) or c"),
        ("not a and b", "(not a) and b"),
        ("not a or b", "(not a) or b"),
        ("a and not b or c", "(a and (not b)) or c"),
        ("NOT a AND b Or c", "((not a) and b) or c"),
        ("not not a", "a"),
        ("not(a or b)and c", "(not (a or b)) and c"),
        ("1 of sel* and a", "(sel_one or sel_two) and a"),
        ("not 1 of sel* and a", "(not (sel_one or sel_two)) and a"),
        ("a or all of sel_*", "a or (sel_one and sel_two)"),
    ] {
        let (one, two) = (with(condition).unwrap(), with(same).unwrap());
        assert_eq!(one.condition, two.condition, "{condition}");
        for set in 0..64 {
            let text: String = (0..6)
                .filter(|n| set >> n & 1 == 1)
                .map(|n| format!("x{} ", n + 1))
                .collect();
            hits(&one, &command(&text));
        }
    }
    assert!(finds("a or b and c", "x1"));
    assert!(!finds("(a or b) and c", "x1"));
    assert!(!finds("not a or b", "x1"));
    assert!(finds("not a and b", "x2"));
}

#[test]
fn them_are_all_selections_but_those_that_begin_with_an_underscore() {
    for (condition, text, found) in [
        ("1 of them", "x3", true),
        ("any of them", "x5", true),
        ("1 of them", "x6", false),
        ("all of them", "x1 x2 x3 x4", false),
        ("ALL OF THEM", "x1 x2 x3 x4 x5", true),
        ("1 of *", "x6", false),
        ("1 of _hid*", "x6", true),
        ("_hidden", "x6", true),
        ("1 of sel_one", "x4", true),
        ("1 of *_t*", "x5", true),
        ("1 of *_t*", "x4", false),
    ] {
        assert_eq!(finds(condition, text), found, "{condition} for {text}");
    }
}

#[test]
fn a_star_in_the_name_of_selections_stands_for_any_characters() {
    for (pattern, name, same) in [
        ("sel*", "sel", true),
        ("sel*", "selection_1", true),
        ("sel", "selection", false),
        ("*", "x", true),
        ("*_x", "a_x", true),
        ("*_x", "a_xy", false),
        ("a*b*c", "a1b2c", true),
        ("a*b*c", "abc", true),
        ("a*b*c", "acb", false),
        ("a*a", "a", false),
    ] {
        assert_eq!(matches(pattern, name), same, "{pattern} {name}");
    }
}

#[test]
fn of_several_conditions_any_may_match() {
    let list = "[a and b, c]";
    assert!(finds(list, "x3"));
    assert!(finds(list, "x1 x2"));
    assert!(!finds(list, "x1"));
    assert!(refused("[]").contains("a text or a list"));
}

#[test]
fn what_is_no_condition_is_told() {
    for (condition, words) in [
        ("a | count() by Image > 5", "counted over several events"),
        ("1 of them | count() > 5", "counted over several events"),
        ("a near b", "several events"),
        ("2 of sel*", "\"2 of\" is not supported"),
        ("a b", "\"and\" or \"or\" is expected and \"b\""),
        ("(a or b", "not closed"),
        ("a or b)", "\")\" stands here"),
        ("a and", "ends where a selection"),
        ("and a", "a selection is expected and \"and\""),
        ("()", "a selection is expected and \")\""),
        (
            "nosuch",
            "no selection is called \"nosuch\"; the selections are a, b",
        ),
        ("1 of none*", "no selection has a name like \"none*\""),
        ("1 of", "followed by \"them\""),
        ("''", "ends where a selection"),
        ("{a: b}", "a text or a list of texts"),
    ] {
        let said = refused(condition);
        assert!(said.contains(words), "{condition}: {said}");
    }
}

#[test]
fn depth_and_size_are_bounded() {
    let deep = |n: usize| format!("{}a{}", "(".repeat(n), ")".repeat(n));
    assert!(with(&deep(20)).is_ok());
    assert!(refused(&deep(2_000)).contains("levels"));
    assert!(refused(&format!("{}a", "not ".repeat(2_000))).contains("levels"));
    assert!(refused(&vec!["a"; 4_000].join(" or ")).contains("bytes"));
    assert!(with(&vec!["a"; 500].join(" and ")).is_ok());

    // As deep as it gets, the condition is still read.
    let mut nested = "a".to_owned();
    for _ in 0..7 {
        nested = format!("(b and not (c or {nested}))");
    }
    assert!(with(&nested).is_ok());
}

#[test]
fn a_timeframe_is_a_reason_to_skip() {
    let rule = format!("{LETTERS}timeframe: 5m\ncondition: a");
    let skipped = carry("process_creation", &rule).unwrap_err();
    assert!(
        skipped.reason.to_string().contains("timeframe"),
        "{skipped}"
    );
    assert_eq!((skipped.line, skipped.title.as_str()), (11, "T"));
}
