//! A program that takes without end is stopped at its limit, and the machine goes on meanwhile.
//! Each bomb is bounded in itself, so that one which is not stopped fails its test and no more.

use crate::support::{Outcome, Sandbox, host_command};
use bailiwick_event::{Act, LimitKind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Lights a bomb under these limits while somebody else uses the machine.
#[track_caller]
fn light(limits: &str, bomb: &str) -> Outcome {
    beside_others(limits, bomb, |sandbox| sandbox.exec(["python3", "bomb.py"]))
}

/// The same with a bomb that goes on until it is on record that processes are at their limit.
#[track_caller]
fn light_until_recorded(limits: &str, bomb: &str) -> Outcome {
    beside_others(limits, bomb, |sandbox| {
        sandbox.exec_until_recorded(["python3", "bomb.py"], "limits.processes")
    })
}

#[track_caller]
fn beside_others(limits: &str, bomb: &str, light: impl FnOnce(&Sandbox) -> Outcome) -> Outcome {
    let sandbox = Sandbox::new()
        .policy(&format!("extends = [\"default\"]\n[limits]\n{limits}\n"))
        .file("bomb.py", bomb);
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let elsewhere = scope.spawn(|| {
            let mut done = 0;
            loop {
                let script = "d=$(mktemp) && head -c 1000000 /dev/zero > $d && wc -c < $d; rm $d";
                let output = host_command("sh").args(["-c", script]).output().unwrap();
                assert_eq!(output.stdout, b"1000000\n", "{output:?}");
                done += 1;
                if ended.load(Ordering::Relaxed) {
                    return done;
                }
            }
        });
        let outcome = light(&sandbox);
        ended.store(true, Ordering::Relaxed);
        assert!(elsewhere.join().unwrap() > 0);
        outcome
    })
}

/// The run was ended by this limit, which is the last line.
#[track_caller]
fn ended_by(outcome: &Outcome, kind: LimitKind) {
    let rule = format!("limits.{}", kind.name());
    outcome.code(137).refused_by(&rule);
    let last = outcome.stderr().lines().last().unwrap().to_owned();
    assert!(last.contains(&format!("by {rule} (")), "{last}");
}

/// Processes were refused at 64, and that is on record.
#[track_caller]
fn held_at_64(outcome: &Outcome) {
    outcome.refused_by("limits.processes");
    for event in outcome.denied() {
        if let Act::Limit {
            kind: LimitKind::Processes,
            observed,
            ..
        } = event.act
        {
            assert!((62..=64).contains(&observed), "{observed}");
        }
    }
}

#[test]
fn a_fork_bomb_is_held_at_its_limit_until_its_time_is_over() {
    let outcome = light(
        "processes = 64\nwall = \"8s\"",
        "import os\nwhile True:\n try: os.fork()\n except OSError: pass\n",
    );
    held_at_64(&outcome);
    ended_by(&outcome, LimitKind::Wall);
}

#[test]
fn a_bomb_of_threads_is_held_at_its_limit() {
    let outcome = light_until_recorded(
        "processes = 64",
        "import os, threading, time
while not os.path.exists('seen'):
    try: threading.Thread(target=time.sleep, args=(600,)).start()
    except RuntimeError: time.sleep(0.02)
os._exit(0)",
    );
    held_at_64(outcome.success());
}

#[test]
fn a_bomb_of_programs_started_by_vfork_is_held_at_its_limit() {
    let outcome = light_until_recorded(
        "processes = 64",
        "import os, time
while not os.path.exists('seen'):
    try: os.posix_spawnp('sleep', ['sleep', '600'], os.environ)
    except OSError: time.sleep(0.02)",
    );
    held_at_64(outcome.success());
}

/// The sandbox is ended at 128 MiB of whatever kind.
#[track_caller]
fn ends_at_128_mib(bomb: &str) {
    ended_by(&light("memory = \"128MiB\"", bomb), LimitKind::Memory);
}

#[test]
fn a_memory_bomb_of_many_processes_ends() {
    ends_at_128_mib(
        "import os, time
for n in range(16):
    if os.fork() == 0:
        x = bytearray(60 << 20)
        for i in range(0, len(x), 4096): x[i] = 1
        time.sleep(600)
time.sleep(600)",
    );
}

#[test]
fn a_memory_bomb_of_a_shared_mapping_ends() {
    ends_at_128_mib(
        "import mmap, time
m = mmap.mmap(-1, 1 << 30)
for i in range(0, len(m), 4096): m[i] = 1
time.sleep(600)",
    );
}

#[test]
fn a_memory_bomb_of_memory_files_that_nobody_maps_ends() {
    ends_at_128_mib(
        "import os, time
part = b'x' * (1 << 20)
files = [os.memfd_create('bomb') for n in range(64)]
for n in range(16):
    for f in files: os.write(f, part)
time.sleep(600)",
    );
}

#[test]
fn a_memory_bomb_of_segments_that_nobody_has_attached_ends() {
    ends_at_128_mib(
        "import ctypes, time
c = ctypes.CDLL(None)
c.shmat.restype = ctypes.c_void_p
c.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
c.shmdt.argtypes = [ctypes.c_void_p]
for n in range(128):
    at = c.shmat(c.shmget(0, 8 << 20, 0o1600), None, 0)
    ctypes.memset(at, 1, 8 << 20)
    c.shmdt(at)
time.sleep(600)",
    );
}

/// Fills a folder that is memory.
fn filler(folder: &str) -> String {
    format!(
        "import time
part = b'x' * (1 << 20)
try:
    with open('{folder}/bomb', 'wb', 0) as f:
        for n in range(1024): f.write(part)
except OSError: pass
time.sleep(600)"
    )
}

#[test]
fn filling_the_scratch_folders_ends() {
    ends_at_128_mib(&filler("/tmp"));
    ends_at_128_mib(&filler("/dev/shm"));
}

#[test]
fn files_without_content_in_the_scratch_folders_are_memory_too() {
    let bomb = "import time
try:
    for n in range(1 << 18): open(f'/tmp/{n}', 'w').close()
except OSError: pass
time.sleep(600)";
    ended_by(&light("memory = \"24MiB\"", bomb), LimitKind::Memory);
}

#[test]
fn without_a_limit_the_scratch_folders_are_a_part_of_the_memory() {
    let outcome = Sandbox::new().run(
        "for d in /tmp /dev/shm /var/tmp /run/lock; do df -B1 --output=size $d | tail -n 1; done; \
         awk '/MemTotal/ {printf \"%.0f\\n\", $2 * 1024}' /proc/meminfo",
    );
    let numbers: Vec<u64> = outcome
        .success()
        .stdout()
        .lines()
        .map(|line| line.trim().parse().unwrap())
        .collect();
    let (total, folders) = numbers.split_last().unwrap();
    assert!(
        folders.iter().all(|size| *size <= total / 4 + 4096),
        "{numbers:?}"
    );
}

/// The run is ended when the workspace has grown by 16 MiB.
#[track_caller]
fn ends_at_16_mib(bomb: &str) {
    let outcome = light("disk = \"16MiB\"", bomb);
    ended_by(&outcome, LimitKind::Disk);
}

#[test]
fn a_disk_bomb_of_many_files_ends() {
    ends_at_16_mib(
        "part = b'x' * (64 << 10)
for n in range(1 << 14): open(str(n), 'wb').write(part)",
    );
}

#[test]
fn a_disk_bomb_of_one_file_ends_also_where_it_had_holes() {
    ends_at_16_mib(
        "part = b'x' * 4096
with open('hole', 'wb', 0) as f:
    f.truncate(1 << 40)
    for n in range(1 << 18):
        f.seek(n * 65536)
        f.write(part)",
    );
}

#[test]
fn a_disk_bomb_of_files_without_content_ends() {
    ends_at_16_mib("for n in range(1 << 18): open(str(n), 'w').close()");
}

#[test]
fn disk_space_cannot_be_taken_at_once_under_a_limit() {
    let take = "import ctypes, os, struct
c = ctypes.CDLL(None, use_errno=True)
f = os.open('big', os.O_CREAT | os.O_WRONLY)
print(c.fallocate(f, 0, ctypes.c_long(0), ctypes.c_long(1 << 28)), ctypes.get_errno())
os.ftruncate(f, 0)
# struct space_resv of falloc.h; FS_IOC_RESVSP64 from the file's start.
room = struct.pack('hhqqii16x', 0, 0, 0, 1 << 28, 0, 0)
c.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p]
print(c.ioctl(f, 0x4030582a, room), ctypes.get_errno())
os.ftruncate(f, 0)";
    let sandbox = |policy: &str| Sandbox::new().policy(policy).file("take.py", take);
    let run = |policy: &str| sandbox(policy).exec(["python3", "take.py"]);
    run("extends = [\"default\"]")
        .success()
        .stdout_is("0 0\n0 0\n");
    let limited = run("extends = [\"default\"]\n[limits]\ndisk = \"16MiB\"");
    limited
        .success()
        .stdout_is("-1 95\n-1 1\n")
        .nothing_refused();
}
