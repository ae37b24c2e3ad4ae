use super::*;

fn words(accelerator: Accelerator, ram: Ram) -> Vec<String> {
    let machine = Machine {
        accelerator,
        memory: 512 << 20,
        cpus: 2,
        ram,
        disk: None,
        reads_disk: false,
    };
    let words = machine.words(Path::new("/usr/bin/qemu"));
    words
        .into_iter()
        .map(|word| word.into_string().unwrap())
        .collect()
}

#[test]
fn a_machine_has_no_network_card_and_nothing_that_nobody_asked_for() {
    for accelerator in [Accelerator::Kvm, Accelerator::Tcg] {
        let words = words(accelerator, Ram::Anonymous);
        for needed in ["-nodefaults", "-no-user-config", "-no-reboot", "-sandbox"] {
            assert!(words.iter().any(|word| word == needed), "{needed}");
        }
        for word in &words {
            assert!(!word.contains("net") && !word.contains("9p"), "{word}");
        }
        let drives: Vec<_> = words.iter().filter(|word| word.contains("file=")).collect();
        assert!(
            drives.iter().all(|drive| drive.contains("readonly=on")),
            "{drives:?}"
        );
    }
}

#[test]
fn addresses_are_random_where_the_processor_runs_the_guest() {
    assert!(!append(Accelerator::Kvm).contains("norandmaps"));
    assert!(append(Accelerator::Tcg).contains("norandmaps"));
}

#[test]
fn a_translated_machine_with_one_processor_has_its_memory_barriers() {
    let smp = |accelerator, cpus| processors(accelerator, cpus);
    assert_eq!(smp(Accelerator::Tcg, 1), "1,maxcpus=2");
    assert_eq!(smp(Accelerator::Tcg, 2), "2");
    assert_eq!(smp(Accelerator::Kvm, 1), "1");
}

#[test]
fn only_a_copy_waits_for_its_state_and_only_a_template_is_written() {
    let has = |ram, word: &str| {
        words(Accelerator::Tcg, ram)
            .iter()
            .any(|w| w.contains(word))
    };
    assert!(has(Ram::Copied, "-incoming") && has(Ram::Copied, "share=off"));
    assert!(has(Ram::Loaded, "-incoming") && has(Ram::Loaded, "memory-backend-ram"));
    for ram in [Ram::Anonymous, Ram::Written, Ram::Copied, Ram::Loaded] {
        assert_eq!(has(ram, "-kernel"), !has(ram, "-incoming"), "{ram:?}");
    }
    assert!(!has(Ram::Anonymous, "-incoming") && has(Ram::Anonymous, "share=off"));
    assert!(!has(Ram::Written, "-incoming") && has(Ram::Written, "share=on"));
}
