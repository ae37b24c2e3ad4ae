use super::*;
use std::process::Command;

#[test]
fn what_is_started_meanwhile_has_one_cpu_and_what_comes_after_has_all() {
    let cpus = || {
        let out = Command::new("nproc").output().unwrap().stdout;
        String::from_utf8(out).unwrap().trim().to_owned()
    };
    let before = cpus();
    let one = OneCpu::take().unwrap();
    let meanwhile = std::thread::spawn(|| sched_getaffinity(None).unwrap().count());
    assert_eq!(meanwhile.join().unwrap(), 1);
    assert_eq!(cpus(), "1");
    drop(one);
    assert_eq!(cpus(), before);
}
