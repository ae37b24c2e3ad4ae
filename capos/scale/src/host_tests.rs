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
fn what_another_machine_took_is_read_of_the_line_of_all_processors() {
    let stat = "cpu  32770 0 7733 147040 3050 0 294 2793 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
    assert_eq!(stolen_of(stat), 27_930_000_000);
    assert_eq!(stolen_of(""), 0);
    assert_eq!(stolen_of("cpu  1 2 3\n"), 0);
}
