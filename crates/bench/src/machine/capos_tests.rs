use super::*;

const SAID: &str = "capos: cpus=2 memory=1 KiB at 3 us\ncosts: init cpus=2 ns=16425522\n\
    costs: nop times=2000 ns=4000000,2000000\ncosts: call times=0 ns=1\ncosts: map times=5 ns=x\n";

#[test]
fn a_line_is_read_as_microseconds_of_one() {
    assert_eq!(samples(SAID, "nop"), Ok(vec![2.0, 1.0]));
}

#[test]
fn what_was_not_said_or_makes_no_sense_has_no_figure() {
    for (name, why) in [
        (
            "spawn",
            "nothing was said of spawn: costs: map times=5 ns=x",
        ),
        ("call", "no list of times"),
        ("map", "no list of times"),
    ] {
        let verdict = samples(SAID, name).unwrap_err();
        assert!(verdict.reason().contains(why), "{}", verdict.reason());
    }
    let said = "costs: FAILED: a page stays\nmore\n";
    let verdict = samples(said, "nop").unwrap_err();
    assert!(verdict.reason().contains("a page stays"));
}

#[test]
fn the_kernels_own_count_of_processors_is_believed_and_nothing_else() {
    assert_eq!(counted(SAID, 2), Ok(()));
    assert!(counted(SAID, 1).is_err());
    assert!(counted("", 1).is_err());
}
