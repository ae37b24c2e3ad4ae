//! A limit holds, is an event, and is the last line.

use crate::support::Sandbox;
use std::time::Duration;

const DEFAULT: &str = "extends = [\"default\"]\n";

/// Forks until it fails, holds what it has for a moment, and says how many there were.
const BOMB: &str = r#"python3 - <<'END'
import os, time
children = []
try:
    while len(children) < 3000:
        pid = os.fork()
        if pid == 0:
            time.sleep(60)
            os._exit(0)
        children.append(pid)
except OSError as error:
    print("stopped at", len(children), error.errno)
time.sleep(0.3)
for pid in children: os.kill(pid, 9)
END"#;

#[test]
fn forking_without_end_stops_at_the_limit() {
    let policy = format!("{DEFAULT}[limits]\nprocesses = 64\n");
    let outcome = Sandbox::new().policy(&policy).run(BOMB);
    outcome
        .success()
        .refused_by("limits.processes")
        .stderr_has("limits.processes");
    let text = outcome.stdout();
    let number: u32 = text.split(' ').nth(2).unwrap().parse().unwrap();
    assert!((50..=64).contains(&number), "{text}");
}

#[test]
fn a_run_over_its_time_is_ended() {
    let policy = format!("{DEFAULT}[limits]\nwall = \"1s\"\n");
    Sandbox::new()
        .policy(&policy)
        .within(Duration::from_secs(20))
        .run("sleep 600 & sleep 600")
        .code(137)
        .refused_by("limits.wall")
        .stderr_has("policy-1.toml:3:");
}

#[test]
fn a_file_over_its_size_is_cut() {
    let policy = format!("{DEFAULT}[limits]\nfile_size = \"1MiB\"\n");
    let sandbox = Sandbox::new().policy(&policy);
    sandbox
        .exec(["dd", "if=/dev/zero", "of=big", "bs=64k", "count=64"])
        .failure();
    assert_eq!(
        std::fs::metadata(sandbox.workspace().join("big"))
            .unwrap()
            .len(),
        1 << 20
    );
}

#[test]
fn memory_over_the_limit_ends_the_run() {
    let policy = format!("{DEFAULT}[limits]\nmemory = \"128MiB\"\n");
    let sandbox = Sandbox::new().policy(&policy);
    sandbox
        .run("python3 -c 'x = bytearray(400 << 20)'")
        .failure()
        .stderr_has("MemoryError");
    // Several processes, each below the limit of one.
    let many = "for i in 1 2 3 4; do python3 -c '
import time
x = bytearray(60 << 20)
for i in range(0, len(x), 4096): x[i] = 1
time.sleep(60)' & done; wait";
    sandbox
        .within(Duration::from_secs(30))
        .run(many)
        .code(137)
        .refused_by("limits.memory");
}

#[test]
fn open_files_are_limited() {
    let policy = format!("{DEFAULT}[limits]\nopen_files = 32\n");
    Sandbox::new()
        .policy(&policy)
        .run("ulimit -n; ulimit -Hn")
        .success()
        .stdout_is("32\n32\n");
}

#[test]
fn cpus_are_limited() {
    let policy = format!("{DEFAULT}[limits]\ncpu = 1.0\n");
    Sandbox::new()
        .policy(&policy)
        .run("nproc")
        .success()
        .stdout_is("1\n");
}

#[test]
fn shared_memory_and_scratch_files_count_as_memory() {
    let policy = format!("{DEFAULT}[limits]\nmemory = \"128MiB\"\n");
    let sandbox = Sandbox::new()
        .policy(&policy)
        .within(Duration::from_secs(30));
    let shared = "python3 -c '
import mmap, time
m = mmap.mmap(-1, 400 << 20)
for i in range(0, len(m), 4096): m[i] = 1
time.sleep(60)'";
    sandbox.run(shared).code(137).refused_by("limits.memory");
    let hidden = "python3 -c '
import ctypes, os, time
for i in range(4):
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(4, 0)
        x = bytearray(60 << 20)
        for i in range(0, len(x), 4096): x[i] = 1
        time.sleep(60)
time.sleep(60)'";
    sandbox.run(hidden).code(137).refused_by("limits.memory");
}

#[test]
fn a_stopped_supervisor_does_not_stop_the_clock() {
    let policy = format!("{DEFAULT}[limits]\nwall = \"1s\"\n");
    let sandbox = Sandbox::new().policy(&policy);
    let policy = sandbox.scratch().root().join("policy-1.toml");
    let mut child = sandbox
        .command()
        .args(["run", "--policy", policy.to_str().unwrap(), "-c"])
        .arg("while :; do date > beat; sleep 0.02; done")
        .spawn()
        .unwrap();
    let beat = sandbox.workspace().join("beat");
    while !beat.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::STOP).unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    let last = std::fs::metadata(&beat).unwrap().modified().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let still = std::fs::metadata(&beat).unwrap().modified().unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::CONT).unwrap();
    assert_eq!(still, last, "it ran on");
    assert_eq!(child.wait().unwrap().code(), Some(137));
}
