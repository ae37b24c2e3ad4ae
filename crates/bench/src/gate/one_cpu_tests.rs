use super::*;
use std::process::Command;

/// Whether a process has nothing to do but the one test.
const ALONE: &str = "BAILIWICK_TEST_ALONE";

/// It is tried in a process of its own: other tests look at how many CPUs there are.
#[test]
fn what_is_started_meanwhile_has_one_cpu_and_what_comes_after_has_all() {
    if std::env::var_os(ALONE).is_none() {
        let name = "what_is_started_meanwhile_has_one_cpu_and_what_comes_after_has_all";
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("gate::one_cpu::tests::{name}")])
            .env(ALONE, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{output:?}"
        );
        return;
    }
    let cpus = || {
        let mut nproc = Command::new("nproc");
        nproc
            .env_remove("OMP_NUM_THREADS")
            .env_remove("OMP_THREAD_LIMIT");
        let out = nproc.output().unwrap().stdout;
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
