use super::{OPTIONS, without_effect};

#[test]
fn an_option_without_effect_is_found() {
    let fragment = "# a comment\nCONFIG_A=y\nCONFIG_B=n\nCONFIG_C=8\nCONFIG_D=\"x=y\"\n";
    let good = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=8\nCONFIG_D=\"x=y\"\nCONFIG_AB=y\n";
    assert!(without_effect(fragment, good).is_empty());
    let bad = "CONFIG_B=y\nCONFIG_C=16\nCONFIG_D=\"x=y\"\n";
    assert_eq!(
        without_effect(fragment, bad),
        [
            "CONFIG_A=y (is: n)",
            "CONFIG_B=n (is: y)",
            "CONFIG_C=8 (is: 16)"
        ]
    );
}

#[test]
fn what_a_guest_must_not_have_is_said_and_nothing_is_said_twice() {
    for option in [
        "MODULES",
        "IPV6",
        "DEBUG_FS",
        "KALLSYMS",
        "DEVMEM",
        "DEVPORT",
        "PROC_KCORE",
        "KEXEC",
        "BPF_SYSCALL",
        "IO_URING",
        "MAGIC_SYSRQ",
        "COREDUMP",
        "VIRTIO_NET",
        "ETHERNET",
        "PACKET",
    ] {
        let line = format!("\nCONFIG_{option}=n\n");
        assert!(OPTIONS.contains(&line), "{option}");
    }
    let mut names: Vec<_> = OPTIONS
        .lines()
        .filter(|line| line.starts_with("CONFIG_"))
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name)
        .collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}
