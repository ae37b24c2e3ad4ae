use super::*;
use std::collections::BTreeSet;

#[test]
fn ids_names_and_ordinals_are_unique() {
    let ids: BTreeSet<u64> = ALL.iter().map(|interface| interface.id).collect();
    assert_eq!(ids.len(), ALL.len());
    for source in KernelSource::ALL {
        assert_eq!(KernelSource::of_name(source.name()), Some(*source));
        assert_eq!(KernelSource::of_ordinal(source.ordinal()), Some(*source));
        assert_eq!(
            Interface::of(source.interface().id),
            Some(&source.interface())
        );
    }
    assert_eq!(KernelSource::of_name("terminal_session"), None);
    assert_eq!(KernelSource::of_ordinal(6), None);
}

#[test]
fn methods_have_the_ordinals_of_the_schema() {
    assert_eq!(CONSOLE.method("writeLine"), Some(1));
    assert_eq!(VIRTUAL_MEMORY.method("decommit"), Some(5));
    assert_eq!(THREAD_CONTROL.method("exitThread"), Some(2));
    assert_eq!(ENDPOINT.method("call"), None);
    assert_eq!(NULL.id.to_be_bytes(), *b"nullcap0");
    assert_eq!(ACTIVITY.id.to_be_bytes(), *b"activity");
}
