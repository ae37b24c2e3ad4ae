use super::*;

#[test]
fn only_a_machine_that_begins_is_given_a_kernel() {
    for ram in [Ram::Anonymous, Ram::Written, Ram::Copied, Ram::Loaded] {
        let begins = [Path::new("/a/kernel"), Path::new("/a/initrd")];
        let shows = [Path::new("/a/root"), Path::new("/a/guest")];
        let all = own(shows, begins, ram, Accelerator::Tcg);
        let has = |at: &str| all.iter().any(|own| own.at == Path::new(at));
        assert!(has(machine::ROOT), "{ram:?}");
        for at in [machine::KERNEL, machine::INITRD] {
            assert_eq!(has(at), matches!(ram, Ram::Anonymous | Ram::Written));
        }
        assert!(all.iter().all(|own| own.access == OwnAccess::Read));
    }
}
