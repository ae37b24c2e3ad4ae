use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn any_bytes_survive_json(bytes: Vec<u8>) {
        let text = Text::from(bytes);
        let json = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(serde_json::from_str::<Text>(&json).unwrap(), text);
    }

    #[test]
    fn nothing_shown_can_command_a_terminal(bytes: Vec<u8>) {
        let shown = Text::from(bytes).to_string();
        prop_assert!(shown.chars().all(harmless), "{:?}", shown);
    }

    #[test]
    fn different_bytes_are_shown_differently(a: Vec<u8>, b: Vec<u8>) {
        prop_assume!(a != b);
        prop_assert_ne!(Text::from(a).to_string(), Text::from(b).to_string());
    }
}

#[test]
fn an_escape_sequence_is_shown_as_text() {
    assert_eq!(Text::from("a\u{1b}[2Jb\n").to_string(), "a\\u{1b}[2Jb\\n");
    assert_eq!(Text::from("x\u{202e}y").to_string(), "x\\u{202e}y");
    assert_eq!(Text::from(vec![b'a', 0xff]).to_string(), "a\\xff");
}
