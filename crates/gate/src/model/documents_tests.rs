use super::*;
use proptest::prelude::*;

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<String>, bool, bool) {
    let mut documents = Documents::default();
    let mut read = Vec::new();
    for piece in pieces {
        documents.feed(piece, |document| {
            read.push(String::from_utf8_lossy(document).into_owned());
        });
    }
    (read, documents.dropped(), documents.is_open())
}

fn whole(text: &str) -> Vec<String> {
    let (documents, dropped, open) = read([text.as_bytes()]);
    assert!(!dropped && !open, "{text}");
    documents
}

#[test]
fn one_object_lines_and_a_list_are_read_alike() {
    assert_eq!(
        whole(" {\"a\": {\"b\": [1, {}]}} \n"),
        ["{\"a\": {\"b\": [1, {}]}}"]
    );
    assert_eq!(
        whole("{\"a\":1}\n{\"a\":2}\r\n"),
        ["{\"a\":1}", "{\"a\":2}"]
    );
    assert_eq!(
        whole("[{\"a\":1}\n,\r\n{\"a\":2}]"),
        ["{\"a\":1}", "{\"a\":2}"]
    );
    assert_eq!(whole("[]"), [""; 0]);
    assert_eq!(whole(""), [""; 0]);
}

#[test]
fn brackets_in_texts_are_no_brackets() {
    for text in [
        r#"{"a":"}"}"#,
        r#"{"a":"\"}"}"#,
        r#"{"a":"\\"}"#,
        r#"{"{":"[{"}"#,
    ] {
        assert_eq!(whole(text), [text]);
    }
}

#[test]
fn other_bytes_are_skipped_to_the_end_of_their_line() {
    let (documents, dropped, _) = read(["oops {\"a\":1}\n{\"a\":2}\n}\n{\"a\":3}".as_bytes()]);
    assert_eq!(documents, ["{\"a\":2}", "{\"a\":3}"]);
    assert!(dropped);
    let (documents, dropped, _) = read(["{},{}".as_bytes()]);
    assert_eq!(
        (documents.len(), dropped),
        (1, true),
        "a comma is for lists"
    );
}

#[test]
fn an_object_that_has_not_ended_is_open() {
    for text in ["{", "{\"a\":\"}", "[{\"a\":1},{"] {
        assert!(read([text.as_bytes()]).2, "{text}");
    }
}

#[test]
fn too_large_an_object_is_left_out_and_the_next_one_read() {
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_EVENT));
    let text = format!("{large}\n{{\"b\":1}}");
    for size in [1 << 16, usize::MAX] {
        let (documents, dropped, _) = read(text.as_bytes().chunks(size.min(text.len())));
        assert_eq!(documents, ["{\"b\":1}"]);
        assert!(dropped);
    }
    let fits = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_EVENT - 8));
    assert_eq!(whole(&fits).len(), 1);
}

proptest! {
    #[test]
    fn any_pieces_give_the_same_objects(
        parts in proptest::collection::vec(
            prop_oneof![
                Just("{"), Just("}"), Just("["), Just("]"), Just("\""), Just("\\"), Just(","),
                Just("\n"), Just(" "), Just("a"), Just("{\"a\":1}"),
            ],
            0..40,
        ),
        size in 1usize..9,
    ) {
        let text = parts.concat();
        prop_assert_eq!(read(text.as_bytes().chunks(size)), read([text.as_bytes()]));
    }
}
