use super::*;

#[test]
fn a_row_too_many_is_as_wrong_as_one_too_few() {
    let of = |counts: &[(&str, u64)]| {
        let mut tally = Tally::default();
        counts.iter().for_each(|(kind, n)| tally.add(kind, *n));
        tally
    };
    let expected = of(&[(REQUESTS, 3), (ANSWERS, 3), (NAMES, 0)]);
    assert_eq!(expected.differs(&of(&[(ANSWERS, 3), (REQUESTS, 3)])), None);
    for (found, said) in [
        (
            of(&[(ANSWERS, 3), (REQUESTS, 4)]),
            "requests allowed: 4 instead of 3",
        ),
        (of(&[(REQUESTS, 3)]), "answers with 200: 0 instead of 3"),
        (
            of(&[(REQUESTS, 3), (ANSWERS, 3), (NAMES, 1)]),
            "names allowed: 1 instead of 0",
        ),
    ] {
        assert_eq!(expected.differs(&found).as_deref(), Some(said));
    }
}
