//! A machine on which something is missing, or whose clock jumps.

use crate::support::{Sandbox, host_command, run_to_end};
use std::time::Duration;

#[test]
fn without_proc_nothing_starts_and_the_message_says_what_is_missing() {
    let sandbox = Sandbox::new();
    let text = sandbox
        .elsewhere(
            r#"
plain "$BAILIWICK" run -- true
mnt tmpfs size=1m /proc
bw run -- touch began 2>&1
ls "$WS"
echo "-- doctor"
bw doctor 2>&1
echo "-- record"
bw log --json 2>&1
bw sessions list --json 2>&1"#,
        )
        .stdout();
    let parts: Vec<&str> = text.split("-- ").collect();
    let [run, doctor, record] = parts[..] else {
        panic!("{text}")
    };
    assert!(
        run.contains("exit 125\n") && !run.contains("began"),
        "{text}"
    );
    assert!(run.contains("there is no /proc here"), "{text}");
    assert!(run.contains("mount -t proc proc /proc"), "{text}");
    assert!(
        doctor.contains("there is no /proc here") && doctor.contains("exit 1\n"),
        "{text}"
    );
    assert!(record.contains("exec_start"), "{text}");
    assert_eq!(record.matches("\"state\":\"ended\"").count(), 1, "{text}");
}

#[test]
fn a_sandbox_has_terminals_shared_memory_and_system_folders_that_the_host_has_not() {
    let sandbox = Sandbox::new();
    let text = sandbox
        .elsewhere(
            r#"
for folder in /dev/pts /dev/shm /run /sys /var/tmp; do
    test -d $folder || continue
    case "$BAILIWICK" in $folder/*) continue ;; esac
    mnt tmpfs size=1m $folder
    bw run -- python3 -c 'import os, pty
pty.openpty()
open("/dev/shm/x", "w").write("x")
open("/var/tmp/x", "w").write("x")
print("works")' 2>&1
    umount $folder
done"#,
        )
        .stdout();
    assert!(text.matches("works\nexit 0\n").count() >= 4, "{text}");
    assert_eq!(
        text.matches("works").count(),
        text.matches("exit").count(),
        "{text}"
    );
}

/// A sandbox whose supervisor's wall clock says what the file `clock` of the workspace adds to it.
fn with_clock(policy: &str) -> Sandbox {
    let sandbox = Sandbox::new().policy(policy);
    let library = sandbox.scratch().root().join("clock.so");
    let source = sandbox
        .scratch()
        .write("clock.c", include_str!("../support/clock.c"));
    let mut compile = host_command("cc");
    compile
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(source)
        .arg("-ldl");
    run_to_end(&mut compile, &[], PATIENCE).success();
    let clock = sandbox.workspace().join("clock");
    sandbox
        .host_env("LD_PRELOAD", library)
        .host_env("CLOCK", clock)
}

/// Long enough for a limit of a second, on the busiest machine, and nothing to a clock that was set back by a
/// year.
const PATIENCE: Duration = Duration::from_secs(120);

const DAY: i64 = 86_400;

#[test]
fn a_clock_that_jumps_keeps_rows_sessions_and_limits_in_their_order() {
    // Longer than such a run takes on the busiest machine, and shorter than the clock's great jump.
    let policy = "extends = [\"default\"]\n[limits]\nwall = \"100s\"\n";
    for jump in [-400 * DAY, -1, 1, 400 * DAY] {
        let sandbox = with_clock(policy);
        let script =
            format!("getent hosts a.test; echo {jump} > clock; getent hosts b.test; exit 3");
        // Neither does the limit end it early nor is it told.
        let outcome = sandbox.run(&script);
        outcome.code(3).stderr_lacks("limits.wall");
        let events = outcome.events();
        let ids: Vec<u64> = events.iter().map(|event| event.id).collect();
        assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>());
        let (first, last) = (events[0].time_ns, events[events.len() - 1].time_ns);
        let seconds = (last as i64 - first as i64) / 1_000_000_000;
        assert!(
            (seconds - jump).abs() < 60,
            "the clock did not jump: {seconds}"
        );
        sandbox
            .bailiwick(["log", "verify"])
            .success()
            .stdout_has("intact");
        // A session that begins after the clock was set back is the latest all the same.
        sandbox.run("exit 5").code(5);
        let latest = sandbox.bailiwick(["sessions", "show", "latest"]);
        latest.success().stdout_has("exit 5");
    }
}

#[test]
fn a_wall_limit_ends_a_run_in_time_although_the_clock_is_set_back() {
    let sandbox = with_clock("extends = [\"default\"]\n[limits]\nwall = \"1s\"\n");
    sandbox
        .within(PATIENCE)
        .run("echo -34560000 > clock; getent hosts a.test; sleep 600")
        .code(137)
        .refused_by("limits.wall");
}

#[test]
fn a_machine_that_has_been_up_for_a_century_is_a_machine() {
    // The monotonic clocks of a namespace can be set; a run in it inherits them.
    let sandbox = Sandbox::new().policy("extends = [\"default\"]\n[limits]\nwall = \"1s\"\n");
    let policy = sandbox.scratch().root().join("policy-1.toml");
    let century = (100 * 365 * DAY).to_string();
    let root = rustix::process::geteuid().is_root();
    let run = |script: &str| {
        let like = sandbox.command();
        let mut command = host_command("unshare");
        command.envs(like.get_envs().filter_map(|(k, v)| Some((k, v?))));
        if !root {
            command.arg("--map-current-user");
        }
        command
            .current_dir(sandbox.workspace())
            .args([
                "--time",
                "--fork",
                "--monotonic",
                &century,
                "--boottime",
                &century,
            ])
            .arg(crate::support::binary())
            .args(["run", "--trace-startup", "--policy"])
            .arg(&policy)
            .args(["-c", script]);
        run_to_end(&mut command, &[], PATIENCE)
    };
    let ended = run("exit 3");
    assert_eq!(ended.status.code(), Some(3), "{}", ended.stderr());
    assert!(ended.stderr().contains("total"), "{}", ended.stderr());
    let limited = run("sleep 600");
    assert_eq!(limited.status.code(), Some(137), "{}", limited.stderr());
    assert!(
        limited.stderr().contains("limits.wall"),
        "{}",
        limited.stderr()
    );
    sandbox.bailiwick(["log", "verify"]).success();
}
