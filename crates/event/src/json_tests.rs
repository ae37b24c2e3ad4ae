use super::*;
use crate::Text;
use proptest::prelude::*;
use serde_json::{from_str, json};

/// What a terminal or an editor obeys or hides, and has no escape of its own in JSON.
const HOSTILE: &str = "\u{7f}\u{80}\u{9b}\u{9f}\u{ad}\u{61c}\u{200b}\u{200e}\u{200f}\u{2028}\u{2029}\
    \u{202a}\u{202e}\u{2066}\u{2069}\u{feff}\u{fff9}\u{e0041}";

#[test]
fn what_a_terminal_obeys_is_a_number_in_names_and_in_values() {
    let value = json!({ HOSTILE: [HOSTILE, "\u{9b}31m é 漢 \"\n"] });
    for text in [of(&value), lines(&value).unwrap()] {
        assert!(text.chars().all(|c| c == '\n' || harmless(c)), "{text:?}");
        assert!(text.contains(r#"\u009b31m é 漢 \"\n""#), "{text}");
        assert!(text.contains(r"\udb40\udc41"), "{text}");
        assert_eq!(from_str::<Value>(&text).unwrap(), value);
    }
}

#[test]
fn what_is_harmless_is_laid_out_as_ever() {
    let value = json!({ "a": [1, 2.5, null, true], "b": { "c": "é" }, "d": [], "e": {} });
    assert_eq!(of(&value), value.to_string());
    assert_eq!(lines(&value).unwrap(), format!("{value:#}"));
}

proptest! {
    #[test]
    fn a_reader_has_the_same_string(text in any::<String>()) {
        let written = line(&Text::from(text.as_str())).unwrap();
        prop_assert!(written.chars().all(harmless));
        prop_assert_eq!(from_str::<String>(&written).unwrap(), text);
    }
}
