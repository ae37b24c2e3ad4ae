//! What holds for any bytes.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn no_bytes_are_too_much(
        which in 0usize..ANSWERS.len(),
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let (api, form, _) = ANSWERS[which];
        let _ = read(api, form, bytes);
    }

    #[test]
    fn any_pieces_of_any_bytes_give_the_same_answer(
        which in 0usize..ANSWERS.len(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        sizes in proptest::collection::vec(1usize..200, 1..9),
        header: bool,
    ) {
        let (api, form, text) = ANSWERS[which];
        let mut bytes = text.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let form = header.then_some(form);
        let mut whole = Reader::new(api, form);
        whole.feed(&bytes);
        let mut reader = Reader::new(api, form);
        let mut rest = bytes.as_slice();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*size).min(rest.len()));
            reader.feed(piece);
            rest = after;
        }
        prop_assert_eq!(reader.has_begun(), whole.has_begun());
        prop_assert_eq!(reader.finish(), whole.finish());
    }
}
