#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

#[test]
fn lists_of_processors_are_read_as_the_kernel_writes_them() {
    assert_eq!(
        cpus_of_list("0-2,5,\t1".replace('\t', "").as_str()).unwrap(),
        [0, 1, 2, 5]
    );
    assert_eq!(cpus_of_list("\t0\n").unwrap(), [0]);
    for wrong in ["", "a", "3-1", "1,,2", "0-99999999", "-1"] {
        assert!(
            cpus_of_list(wrong).unwrap_err().contains("no list"),
            "{wrong}"
        );
    }
}

#[test]
fn a_host_without_cores_for_all_says_so() {
    let host = Host {
        cpus: vec![0, 1],
        cores: 1,
    };
    assert!(host.has_cores(1) && !host.has_cores(2));
    assert!(host.words().join("\n").contains("share a core"));
}

#[test]
fn what_others_did_is_read_of_the_line_of_all_processors() {
    let stat = "cpu  32770 1 7733 147040 3050 2 294 2793 5 5\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
    let busy = Busy::of(stat);
    assert_eq!(busy.stolen, 27_930_000_000);
    assert_eq!(busy.all, (32770 + 1 + 7733 + 2 + 294 + 2793) * 10_000_000);
    let more = Busy {
        all: busy.all + 7,
        stolen: busy.stolen + 3,
    };
    assert_eq!(more.since(busy), Busy { all: 7, stolen: 3 });
    assert_eq!(Busy::of(""), Busy::default());
    assert_eq!(Busy::of("cpu  1 2 3\n").stolen, 0);
}
