use super::*;

#[test]
fn parts_stand_on_lines_of_their_own() {
    let mut text = Text::default();
    text.end_part();
    text.push("a");
    text.push("b");
    text.end_part();
    text.end_part();
    text.push("");
    text.push("c");
    assert_eq!(text.into_string().as_deref(), Some("ab\nc"));
    assert_eq!(Text::default().into_string(), None);
}

#[test]
fn it_ends_at_the_bound_and_never_within_a_character() {
    let mut text = Text::default();
    text.push(&"x".repeat(MAX_TEXT - 1));
    text.push("é");
    text.push("y");
    assert_eq!(text.into_string(), Some("x".repeat(MAX_TEXT - 1)));
    assert_eq!(beginning("éé", 3), "é");
    assert_eq!(beginning("é", 0), "");
}
