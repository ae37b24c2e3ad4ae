use super::*;

#[test]
fn classes_of_results_are_never_mixed() {
    assert_eq!(class(Accelerator::Tcg, "none"), "local-tcg");
    assert_eq!(class(Accelerator::Tcg, "kvm"), "nested-tcg");
    assert_eq!(class(Accelerator::Kvm, "none"), "local-kvm");
    assert_eq!(class(Accelerator::Kvm, "a hypervisor"), "nested");
}
