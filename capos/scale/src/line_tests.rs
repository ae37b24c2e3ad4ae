#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

const LINE: &str = "scale: workload=primes variant=process workers=2 cpus=2 verified=true count=216816 \
                    checksum=312471072265 root=- elapsed=90 each=80,90 locks=0 ipis=0 timer=0 switches=0 \
                    calls=0";

#[test]
fn a_result_is_read_among_other_lines() {
    let found = told(&format!("capos: cpus=2\r\n{LINE}\r\ncapos: init exit=0\n")).unwrap();
    assert_eq!((found.workers, found.cpus, found.elapsed), (2, 2, 90));
    assert_eq!(found.each, [80, 90]);
    assert!(found.verified && found.activity.unwrap().is_none());
    let linux = LINE.split(" locks").next().unwrap();
    assert_eq!(told(linux).unwrap().activity, None);
}

#[test]
fn what_is_not_written_as_it_has_to_be_is_no_result() {
    for (from, to, why) in [
        ("elapsed=90", "elapsed=91", "slowest"),
        ("elapsed=90", "elapsed=0", "slowest"),
        ("elapsed=90", "", "elapsed"),
        ("workers=2", "workers=-2", "workers"),
        ("each=80,90", "each=80,,90", "each"),
        ("cpus=2", "cpus=2 cpus=4", "cpus"),
        ("ipis=0", "ipis=none", "ipis"),
        ("scale:", "worker:", "no result"),
        ("calls=0", "calls=0\nscale: again", "more than one"),
    ] {
        let error = told(&LINE.replace(from, to)).unwrap_err();
        assert!(error.contains(why), "{to}: {error}");
    }
    assert!(!told(&LINE.replace("true", "yes")).unwrap().verified);
}

#[test]
fn a_program_that_crashed_is_why_there_is_no_result() {
    let said = "capos: cpus=2\r\ncapos: crash: process worker-1 (5), thread 1: page fault\r\n";
    let error = told(&format!("{said}{LINE}\n")).unwrap_err();
    assert_eq!(
        error,
        "a program crashed: process worker-1 (5), thread 1: page fault"
    );
    // Half a line is not all that will be said.
    assert_eq!(crash("capos: crash: process wor"), None);
}
