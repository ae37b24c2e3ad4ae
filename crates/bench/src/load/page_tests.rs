use super::*;

#[test]
fn a_body_is_known_wherever_it_is_cut_and_no_byte_of_it_can_differ() {
    let whole: Vec<u8> = piece().iter().chain(&piece()).copied().collect();
    for (at, end) in [
        (0, 10),
        (5, PIECE + 7),
        (PIECE - 1, PIECE + 1),
        (0, 2 * PIECE),
    ] {
        let mut part = whole[at..end].to_vec();
        assert!(is_body(at as u64, &part));
        assert!(is_body((at + 3 * PIECE) as u64, &part));
        let last = part.len() - 1;
        part[last] ^= 1;
        assert!(!is_body(at as u64, &part));
    }
    assert!(!is_body(1, &whole[..10]));
}
