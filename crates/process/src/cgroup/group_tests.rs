use super::*;

fn begun_of_this() -> u64 {
    begun(std::process::id()).unwrap()
}

#[test]
fn a_group_is_named_after_its_maker_and_removed_by_him() {
    let parent = tempfile::tempdir().unwrap();
    let group = Group::make(parent.path()).unwrap();
    let name = group
        .path()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        name,
        format!("bailiwick-{}-{}", std::process::id(), begun_of_this())
    );
    assert!(!is_left_over(&name));
    drop(group);
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
}

#[test]
fn what_a_dead_supervisor_left_is_swept_and_nothing_else_is() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);
    let own = format!("bailiwick-{}-{}", std::process::id(), begun_of_this());
    // A process of that number lives, but began at another time.
    let dead = format!("bailiwick-{}-{}", std::process::id(), begun_of_this() + 1);
    let busy = "bailiwick-4194305-1";
    for name in [
        &own,
        &dead,
        busy,
        "bailiwick-4194306-1",
        "bailiwick-x",
        "other-4194307-1",
    ] {
        fs::create_dir(at(name)).unwrap();
    }
    // As the kernel refuses to remove a group with processes in it.
    fs::write(at(busy).join("process"), "").unwrap();
    sweep(parent.path());
    let mut left: Vec<_> = fs::read_dir(parent.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    let mut expected = vec![own.as_str(), busy, "bailiwick-x", "other-4194307-1"];
    expected.sort_unstable();
    assert_eq!(left, expected);
}

#[test]
fn limits_are_written_as_the_kernel_reads_them_and_only_where_it_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in [
        "memory.max",
        "memory.oom.group",
        "memory.swap.max",
        "cpu.max",
    ] {
        fs::write(at(name), "").unwrap();
    }
    let bounds = Bounds {
        memory: Some(1 << 20),
        processes: Some(10),
        cpu: Some(1500),
        ..Bounds::default()
    };
    let exact = limit(folder.path(), &bounds).unwrap();
    assert_eq!(
        (exact.memory, exact.processes, exact.cpu),
        (true, false, true)
    );
    let read = |name: &str| fs::read_to_string(at(name)).unwrap();
    assert_eq!(read("memory.max"), "1048576");
    assert_eq!(read("memory.swap.max"), "0");
    assert_eq!(read("memory.oom.group"), "1");
    assert_eq!(read("cpu.max"), "150000 100000");
    assert!(!at("pids.max").exists());
    assert_eq!(quota(1), 1000);
    let empty = tempfile::tempdir().unwrap();
    assert!(limit(empty.path(), &bounds).is_err());
}
