//! A limit holds, is an event, and is the last line.

use crate::support::processes::state;
use crate::support::{Backend, Background, Sandbox, children, wait};
use std::ffi::OsString;

on_every_backend! {
    forking_without_end_stops_at_the_limit,
    a_run_over_its_time_is_ended,
    a_file_over_its_size_is_cut,
    memory_over_the_limit_ends_the_run,
    a_limit_that_only_the_look_at_the_end_saw_ends_the_run_as_any_other,
    open_files_are_limited,
    cpus_are_limited,
    shared_memory_and_scratch_files_count_as_memory,
    a_stopped_supervisor_does_not_stop_the_clock,
    a_workspace_that_grows_over_its_limit_ends_the_run,
    output_over_its_size_is_cut_there_and_ends_the_run,
    a_stdin_that_can_be_written_is_no_way_round_the_limit_on_output,
    output_within_its_size_is_as_without_a_limit,
    counted_output_keeps_its_order_and_its_reader,
    a_reader_who_does_not_read_does_not_stop_the_clock,
}

const DEFAULT: &str = "extends = [\"default\"]\n";

/// Forks until it fails, holds what it has until that is on record, and says how many there were.
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
while not os.path.exists("seen"): time.sleep(0.01)
for pid in children: os.kill(pid, 9)
END"#;

fn forking_without_end_stops_at_the_limit(on: Backend) {
    let policy = format!("{DEFAULT}[limits]\nprocesses = 64\n");
    let sandbox = Sandbox::on(on).policy(&policy);
    let outcome = sandbox.run_until_recorded(BOMB, "limits.processes");
    outcome
        .success()
        .refused_by("limits.processes")
        .stderr_has("limits.processes");
    let text = outcome.stdout();
    let number: u32 = text.split(' ').nth(2).unwrap().parse().unwrap();
    assert!((50..=64).contains(&number), "{text}");
}

fn a_run_over_its_time_is_ended(on: Backend) {
    let policy = format!("{DEFAULT}[limits]\nwall = \"1s\"\n");
    Sandbox::on(on)
        .policy(&policy)
        .run("sleep 600 & sleep 600")
        .code(137)
        .refused_by("limits.wall")
        .stderr_has("policy-1.toml:3:");
}

fn a_file_over_its_size_is_cut(on: Backend) {
    let policy = format!("{DEFAULT}[limits]\nfile_size = \"1MiB\"\n");
    let sandbox = Sandbox::on(on).policy(&policy);
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

fn memory_over_the_limit_ends_the_run(on: Backend) {
    let policy = format!("{DEFAULT}[limits]\nmemory = \"128MiB\"\n");
    let sandbox = Sandbox::on(on).policy(&policy);
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
    sandbox.run(many).code(137).refused_by("limits.memory");
}

fn a_limit_that_only_the_look_at_the_end_saw_ends_the_run_as_any_other(on: Backend) {
    let memory = (
        "memory = \"12MiB\"",
        "sleep 60 & exec fallocate -l 12200KiB /tmp/big",
    );
    // No kernel runs in as little.
    let memory = (on == Backend::Process).then_some(memory);
    // Behind the first looks. On a slow machine another may see it: that ends the run as well.
    let disk = ("disk = \"1MiB\"", "sleep 0.2; head -c 3M /dev/zero > big");
    for (limit, command) in memory.into_iter().chain([disk]) {
        let policy = format!("{DEFAULT}[limits]\n{limit}\n");
        let name = limit.split(' ').next().unwrap();
        let outcome = Sandbox::on(on).policy(&policy).run(command);
        outcome.code(137).refused_by(&format!("limits.{name}"));
    }
}

fn open_files_are_limited(on: Backend) {
    let policy = format!("{DEFAULT}[limits]\nopen_files = 32\n");
    Sandbox::on(on)
        .policy(&policy)
        .run("ulimit -n; ulimit -Hn")
        .success()
        .stdout_is("32\n32\n");
}

fn cpus_are_limited(on: Backend) {
    let policy = format!("{DEFAULT}[limits]\ncpu = 1.0\n");
    Sandbox::on(on)
        .policy(&policy)
        .run("nproc")
        .success()
        .stdout_is("1\n");
}

fn shared_memory_and_scratch_files_count_as_memory(on: Backend) {
    let policy = format!("{DEFAULT}[limits]\nmemory = \"128MiB\"\n");
    let sandbox = Sandbox::on(on).policy(&policy);
    let shared = "python3 -c '
import mmap, time
held = [mmap.mmap(-1, 50 << 20) for _ in range(8)]
for m in held:
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

fn a_stopped_supervisor_does_not_stop_the_clock(on: Backend) {
    let policy = format!("{DEFAULT}[limits]\nwall = \"1s\"\n");
    let sandbox = Sandbox::on(on).policy(&policy);
    let policy = sandbox.scratch().root().join("policy-1.toml");
    let mut child = sandbox
        .command()
        .args(["run", "--policy", policy.to_str().unwrap(), "-c"])
        .arg("while :; do date > beat; sleep 0.02; done")
        .spawn()
        .unwrap();
    let beat = sandbox.workspace().join("beat");
    wait::until("the command runs", || beat.exists());
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::STOP).unwrap();
    let first = children(child.id());
    assert!(!first.is_empty(), "it has no pid 1");
    // With the first process of the sandbox all others have ended; nobody has waited for it.
    wait::until("the sandbox ends without its supervisor", || {
        first
            .iter()
            .all(|pid| matches!(state(*pid), None | Some('Z')))
    });
    let last = std::fs::metadata(&beat).unwrap().modified().unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::CONT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(137));
    let still = std::fs::metadata(&beat).unwrap().modified().unwrap();
    assert_eq!(still, last, "it ran on");
}

fn a_workspace_that_grows_over_its_limit_ends_the_run(on: Backend) {
    let policy = format!("{DEFAULT}[limits]\ndisk = \"20MiB\"\n");
    let sandbox = Sandbox::on(on)
        .file("before", vec![1; 30 << 20])
        .policy(&policy);
    sandbox
        .run(
            "i=0; while [ $i -lt 600 ]; do dd if=/dev/zero of=f$i bs=1M count=1 status=none; \
              i=$((i+1)); sleep 0.05; done",
        )
        .code(137)
        .refused_by("limits.disk")
        .stderr_has("policy-1.toml:3:");
    let bytes: u64 = sandbox
        .host("du -sk f* | awk '{s+=$1} END {print s}'")
        .trim()
        .parse()
        .unwrap();
    // It was ended long before it was done, which takes it half a minute.
    assert!((20 << 10..400 << 10).contains(&bytes), "{bytes} KiB");
    sandbox
        .run("rm f*; dd if=/dev/zero of=g bs=1M count=10 status=none")
        .success();
}

/// Says something without end, and goes on saying it when nobody listens.
const CHATTER: &str = "trap '' PIPE; while :; do echo 0123456789 || :; done";

fn output_over_its_size_is_cut_there_and_ends_the_run(on: Backend) {
    let policy = format!("{DEFAULT}[limits]\noutput = \"100KB\"\n");
    let sandbox = Sandbox::on(on).policy(&policy);
    let outcome = sandbox.run(CHATTER);
    outcome
        .code(137)
        .refused_by("limits.output")
        .stderr_has("policy-1.toml:3:");
    assert_eq!(outcome.stdout_bytes().len(), 100_000);
    // Both streams count, and a command that ends by itself before it can be ended is no success.
    let tries = match on {
        Backend::Process => 10,
        Backend::Vm => 3,
    };
    for _ in 0..tries {
        let both = sandbox
            .run("head -c 60000 /dev/zero | tr '\\0' x >&2; head -c 60000 /dev/zero | tr '\\0' y");
        both.code(137).refused_by("limits.output");
        let ours = both.stderr().matches('x').count() + both.stdout_bytes().len();
        assert!((100_000..100_010).contains(&ours), "{ours}");
    }
}

fn a_stdin_that_can_be_written_is_no_way_round_the_limit_on_output(on: Backend) {
    let policy = format!("{DEFAULT}[limits]\noutput = \"10KB\"\n");
    let sandbox = Sandbox::on(on).policy(&policy);
    let script = "printf 'first\\nsecond\\n' > both
        \"$B\" run --policy \"$P\" -c 'read x; echo $x; echo more >&0' 0<>both; echo $?
        python3 - <<'E'
import os, socket, subprocess
ours, theirs = socket.socketpair()
ours.sendall(b'typed\\n'); ours.shutdown(socket.SHUT_WR)
run = [os.environ['B'], 'run', '--policy', os.environ['P'], '-c', 'cat; head -c 50000 /dev/zero >&0']
print(subprocess.run(run, stdin=theirs, stderr=subprocess.DEVNULL).returncode, flush=True)
theirs.close()
print(len(ours.recv(1 << 20)))
E";
    let shell = sandbox
        .shell(script)
        .env("P", sandbox.scratch().root().join("policy-1.toml"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&shell.stdout);
    let complaints = String::from_utf8_lossy(&shell.stderr);
    assert_eq!(said, "first\n1\ntyped\n1\n0\n", "{complaints}");
    let both = std::fs::read_to_string(sandbox.workspace().join("both")).unwrap();
    assert_eq!(both, "first\nsecond\n");
}

fn output_within_its_size_is_as_without_a_limit(on: Backend) {
    let policy = format!("{DEFAULT}[limits]\noutput = \"100KB\"\n");
    let sandbox = Sandbox::on(on).policy(&policy);
    let outcome = sandbox.run("head -c 99990 /dev/zero; echo error >&2; exit 3");
    outcome.code(3).nothing_refused().stderr_has("error\n");
    assert_eq!(outcome.stdout_bytes().len(), 99_990);
}

fn counted_output_keeps_its_order_and_its_reader(on: Backend) {
    let policy = format!("{DEFAULT}[limits]\noutput = \"100MB\"\n");
    let sandbox = Sandbox::on(on).policy(&policy);
    let script = "b() { \"$B\" run --policy \"$P\" -c \"$1\"; }
        b 'echo 1; echo 2 >&2; echo 3; echo 4 >/dev/stderr' > both 2>&1
        b 'yes; echo $? >&2' | head -n 1";
    let shell = sandbox
        .shell(script)
        .env("P", sandbox.scratch().root().join("policy-1.toml"))
        .output()
        .unwrap();
    // Two streams that are one file stay one.
    let both = std::fs::read_to_string(sandbox.workspace().join("both")).unwrap();
    assert_eq!(both, "1\n2\n3\n4\n");
    // A reader who goes away ends the writer, as always.
    let said = String::from_utf8_lossy(&shell.stderr);
    assert_eq!(String::from_utf8_lossy(&shell.stdout), "y\n", "{said}");
    assert!(
        ["141\n", "1\n"].iter().any(|code| said.ends_with(code)),
        "{said}"
    );
}

fn a_reader_who_does_not_read_does_not_stop_the_clock(on: Backend) {
    let policy = format!("{DEFAULT}[limits]\noutput = \"10MB\"\nwall = \"1s\"\n");
    let sandbox = Sandbox::on(on).policy(&policy);
    let policy = sandbox.scratch().root().join("policy-1.toml");
    let mut child = sandbox
        .command()
        .args(["run", "--policy", policy.to_str().unwrap(), "-c", "yes"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(137));
}

#[test]
fn the_record_says_whether_limits_are_exact_as_doctor_does() {
    let policy = format!("{DEFAULT}[limits]\nmemory = \"512MiB\"\ncpu = 1.0\n");
    let sandbox = Sandbox::new().policy(&policy);
    let doctor = sandbox.bailiwick(["doctor"]).stdout();
    let row = doctor.lines().find(|line| line.starts_with("exact limits"));
    let exact = row.unwrap().ends_with(" works");
    let layers = |outcome: &crate::support::Outcome| {
        outcome.success();
        match outcome.events().remove(0).act {
            bailiwick_event::Act::SessionStart { layers, .. } => layers,
            other => panic!("{other:?}"),
        }
    };
    let with = layers(&sandbox.run("true"));
    let said = with.iter().find(|l| l.starts_with("limits (")).unwrap();
    match exact {
        true => assert!(
            said.starts_with("limits (exact: memory processes cpu"),
            "{said}"
        ),
        false => assert!(
            said.starts_with("limits (not exact: memory whole cpus; no control"),
            "{said}"
        ),
    }
    // What costs something is not there where nothing asks for it.
    let without = layers(&Sandbox::new().run("true"));
    assert!(
        !without.iter().any(|l| l.starts_with("limits (")),
        "{without:?}"
    );
}

#[test]
fn limits_that_end_a_run_end_it_without_namespaces() {
    for (limit, script) in [
        ("output = \"10KB\"", "yes & sleep 100"),
        ("wall = \"300ms\"", "sleep 100 & sleep 100"),
        (
            "disk = \"5MB\"",
            "head -c 20000000 /dev/zero > f; sleep 100 & sleep 100",
        ),
    ] {
        let policy = format!("extends = [\"default\"]\n[limits]\n{limit}\n");
        let sandbox = Sandbox::new().without_namespaces().policy(&policy);
        let limit = limit.split(' ').next().unwrap();
        for _ in 0..3 {
            let outcome = sandbox.run(script);
            outcome.code(137).stderr_has(&format!("limits.{limit}"));
            sandbox.host("rm -f f");
        }
    }
}

#[test]
fn what_others_free_meanwhile_hides_nothing_that_was_written() {
    let policy = "extends = [\"default\"]\n[limits]\ndisk = \"10MB\"\n";
    let sandbox = Sandbox::new().policy(policy);
    let others = sandbox.scratch().root().join("others");
    std::fs::write(&others, vec![1; 40_000_000]).unwrap();
    let script = "echo up; read go; head -c 12000000 /dev/zero > own; exit 4";
    let mut words: Vec<OsString> = vec!["run".into()];
    words.extend(sandbox.options().iter().cloned());
    words.extend(["-c", script].map(Into::into));
    let mut run = Background::start(&sandbox, words, "up");
    std::fs::remove_file(others).unwrap();
    run.types("go\n");
    assert_eq!(run.ends(), Some(137));
}

/// Three megabytes where a look that goes by paths, or by what the command's user may read, sees nothing.
#[test]
fn what_a_command_hides_from_itself_is_counted() {
    let policy = "extends = [\"default\"]\n[limits]\ndisk = \"1MiB\"\n";
    let big = "head -c 3M /dev/zero > big";
    // Two folders, each as deep as a path can be long, one in the other.
    let deep = "import os
below = lambda name: '/'.join([name * 200] * 15)
for name in 'de': os.makedirs(below(name))
open(below('d') + '/big', 'wb').write(b'x' * (3 << 20))
os.rename('d' * 200, below('e') + '/d')";
    for (hidden, command) in [
        ("not readable", format!("mkdir d; cd d; {big}; chmod 000 .")),
        (
            "not searchable",
            format!("mkdir d; cd d; {big}; chmod 444 ."),
        ),
        ("not listed", format!("mkdir d; cd d; {big}; chmod 333 .")),
        (
            "gone through",
            "mkdir -p d/s; chmod 111 d; head -c 3M /dev/zero > d/s/big".to_owned(),
        ),
        ("deep", format!("python3 -c \"{deep}\"")),
    ] {
        println!("{hidden}");
        let sandbox = Sandbox::new().policy(policy);
        let outcome = sandbox.run(&command);
        let _ = std::fs::set_permissions(
            sandbox.workspace().join("d"),
            std::os::unix::fs::PermissionsExt::from_mode(0o700),
        );
        outcome.code(137).refused_by("limits.disk");
    }
}

/// As programs' own tests do: nothing is written in it.
#[test]
fn a_folder_that_a_command_closes_to_itself_takes_no_more_than_it_has() {
    let policy = "extends = [\"default\"]\n[limits]\ndisk = \"1MiB\"\n";
    // Closed for as long as it takes to be looked at; a slow machine looks less often.
    Sandbox::new()
        .policy(policy)
        .run("mkdir d; chmod 000 d; sleep 0.6; ls d 2>/dev/null && exit 3; chmod 700 d; rmdir d; exit 5")
        .code(5)
        .nothing_refused();
}
