use super::*;

fn here() -> Environment {
    Environment::observe()
}

#[test]
fn this_machine_is_itself_and_no_other() {
    let a = here();
    assert!(a.is_same_machine(&here()));
    let mut b = here();
    b.host.push('x');
    assert!(!a.is_same_machine(&b));
    let mut b = here();
    b.accelerator = "tcg".to_owned();
    assert!(!a.is_same_machine(&b));
}

#[test]
fn this_machine_is_described() {
    let e = here();
    assert!(e.ram_bytes > 0 && e.cpus > 0 && !e.topology.is_empty());
    assert_eq!(e.architecture, std::env::consts::ARCH);
    assert!(
        ["local-kvm", "local-tcg", "nested", "cloud-direct"].contains(&e.class.as_str()),
        "{}",
        e.class
    );
}

#[test]
fn an_unknown_load_is_taken_for_the_worst() {
    let mut e = here();
    e.cpus = 4;
    e.load_before = "2.00 1.00 0.50 1/100 1234".to_owned();
    assert_eq!(e.load_per_cpu(), 0.5);
    e.load_before = UNKNOWN.to_owned();
    assert_eq!(e.load_per_cpu(), f64::INFINITY);
}

#[test]
fn the_file_system_is_that_of_the_innermost_mount() {
    let mounts = "21 1 8:1 / / rw - ext4 /dev/a rw\n\
                  22 21 0:5 / /srv rw - xfs /dev/b rw\n\
                  23 22 0:6 / /srv/work rw shared:1 - btrfs /dev/c rw\n";
    assert_eq!(mounted(mounts, Path::new("/srv/work/x"), 0), "btrfs");
    assert_eq!(mounted(mounts, Path::new("/srv/workshop"), 0), "xfs");
    assert_eq!(mounted(mounts, Path::new("/home"), 0), "ext4");
    assert_eq!(mounted("nonsense", Path::new("/home"), 0), UNKNOWN);
}

#[test]
fn a_cloud_s_machine_is_told_from_a_nested_one() {
    let vendor = |name: &str| BTreeMap::from([("sys_vendor".to_owned(), name.to_owned())]);
    assert_eq!(class("kvm", &vendor("Amazon EC2")), "cloud-direct");
    assert_eq!(class("kvm", &vendor("QEMU")), "nested");
    assert!(class("none", &BTreeMap::new()).starts_with("local-"));
}
