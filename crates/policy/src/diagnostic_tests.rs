use super::*;
use proptest::prelude::*;

fn diagnostic(text: &str, span: Range<usize>) -> Diagnostic {
    let source = Arc::new(SourceText::new("p.toml", None, text.to_owned()));
    Diagnostic::error(&source, span, "it is wrong", "mend it")
}

#[test]
fn the_caret_stands_under_the_offending_text() {
    let text = "a = 1\nwrite = [\"x\"]\n";
    assert_eq!(
        diagnostic(text, 15..18).to_string(),
        "p.toml:2:10: error: it is wrong\n 2 | write = [\"x\"]\n   |          ^^^\nhelp: mend it"
    );
}

#[test]
fn tabs_and_wide_characters_do_not_move_the_caret() {
    let text = "\t\"日本\" = bad";
    let start = text.find("bad").unwrap();
    let shown = diagnostic(text, start..start + 3).to_string();
    let lines: Vec<_> = shown.lines().collect();
    assert_eq!(lines[1], " 1 |     \"日本\" = bad");
    // Four blanks, two quotes, two wide characters, " = ".
    assert_eq!(lines[2], format!("   | {}^^^", " ".repeat(4 + 2 + 4 + 3)));
    assert!(
        lines[0].starts_with("p.toml:1:9:"),
        "columns are characters: {}",
        lines[0]
    );
}

#[test]
fn a_hostile_line_cannot_command_the_terminal() {
    let text = "x = \"\u{1b}]0;owned\u{7}\u{202e}\"";
    let shown = diagnostic(text, 4..text.len()).to_string();
    assert!(
        !shown.contains(['\u{1b}', '\u{7}', '\u{202e}']),
        "{shown:?}"
    );
    let lines: Vec<_> = shown.lines().collect();
    assert_eq!(
        lines[1].width(),
        lines[2].width(),
        "the caret covers the escapes"
    );
}

#[test]
fn a_very_long_line_is_cut_on_both_sides() {
    let text = format!("{}bad{}", "a".repeat(500_000), "b".repeat(400_000));
    let shown = diagnostic(&text, 500_000..500_003).to_string();
    assert!(
        shown.len() < 1000 && shown.contains("…aaa") && shown.contains("bbb…"),
        "{shown}"
    );
}

proptest! {
    #[test]
    fn every_span_of_every_text_can_be_shown(text: String, a: usize, b: usize) {
        let (a, b) = (a % (text.len() + 3), b % (text.len() + 3));
        let shown = diagnostic(&text, a.min(b)..a.max(b)).to_string();
        prop_assert!(shown.lines().count() == 4, "{:?}", shown);
        prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n'));
    }
}
