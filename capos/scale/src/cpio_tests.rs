#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

#[test]
fn a_program_of_any_length_is_followed_by_the_end_on_a_boundary() {
    for length in 0..9 {
        let bytes = archive(&vec![7; length]);
        assert_eq!(&bytes[..14], b"07070100000000");
        assert_eq!(&bytes[54..62], format!("{length:08x}").as_bytes());
        assert_eq!(&bytes[110..115], b"init\0");
        assert_eq!(bytes[116..116 + length], vec![7; length]);
        let end = (116 + length).next_multiple_of(4);
        assert_eq!(&bytes[end..end + 6], b"070701");
        assert_eq!(&bytes[end + 110..end + 121], b"TRAILER!!!\0");
        assert_eq!(bytes.len() % 4, 0);
    }
}
