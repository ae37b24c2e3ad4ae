use super::*;

const MAPS: &str = "\
555500000000-555500001000 r-xp 00000000 fe:00 12 /usr/bin/qemu-system-x86_64
Size:                  4 kB
Pss:                   3 kB
Pss_Dirty:             1 kB
7f0000000000-7f0010000000 rwxp 00000000 00:00 0 
Pss:                 500 kB
7f1000000000-7f1020000000 rw-p 00000000 00:01 9 /memfd:memory (deleted)
Pss:               90000 kB
VmFlags: rd wr
";

#[test]
fn each_mapping_counts_where_it_belongs() {
    let mut memory = HostMemory::default();
    memory.add(MAPS, true, 512 << 20);
    memory.add("1000-2000 r-xp 0 0:0 1 /x\nPss: 4 kB\n", false, 512 << 20);
    let expected = HostMemory {
        guest: 90_000,
        translations: 500,
        monitor: 3,
        others: 4,
    };
    assert_eq!(memory, expected);
    assert_eq!(memory.beyond(), 507.0 / 1024.0);
}

#[test]
fn a_process_is_found_with_what_it_has_started() {
    let mut child = std::process::Command::new("sh")
        .args(["-c", "sleep 60 & wait"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let grandchild = loop {
        let all = family(child.id());
        if let Some(other) = all.iter().find(|pid| **pid != child.id()) {
            break *other;
        }
    };
    assert!(family(std::process::id()).contains(&grandchild));
    let pid = rustix::process::Pid::from_raw(grandchild.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    child.wait().unwrap();
}
