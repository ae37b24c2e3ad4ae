//! Whatever ends a machine, what it says is kept is kept, and nothing of the user's is lost.

use crate::support::processes;
use crate::{Backend, Background, Outcome, Sandbox, read, sandbox, start};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::thread::sleep;
use std::time::Duration;

/// What a session changes, and says `up` then.
const CHANGES: &str = "echo new > made; echo something longer > edited; rm removed; mkdir -p deep/er; \
                       git -c user.name=a -c user.email=a@b commit -qam inside; echo up";

/// A workspace with a repository of three files.
fn repository(sandbox: Sandbox) -> Sandbox {
    let sandbox = sandbox
        .file("edited", "before")
        .file("removed", "before")
        .file("same", "before");
    sandbox.host(
        "git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm before",
    );
    sandbox
}

/// Sees that all of [`CHANGES`] gets into the workspace.
#[track_caller]
fn all_is_kept(sandbox: &Sandbox, session: &str) {
    let applied = sandbox.bailiwick(["apply", session]);
    applied.code(0).stdout_has("D removed\n");
    assert_eq!(read(sandbox, "made"), "new\n");
    assert_eq!(read(sandbox, "edited"), "something longer\n");
    assert_eq!(read(sandbox, "same"), "before");
    assert_eq!(
        sandbox
            .host("git log -1 --format=%s && GIT_OPTIONAL_LOCKS=0 git status --porcelain")
            .trim(),
        "inside\n?? made"
    );
    sandbox.host("git fsck --strict");
}

#[test]
fn a_signal_ends_a_machine_with_everything_on_its_disk() {
    let sandbox = repository(sandbox());
    let script = format!("trap '' TERM; {CHANGES}; while :; do sleep 60; done");
    let mut run = start(&sandbox, "box", &script);
    sandbox.bailiwick(["stop", "box"]);
    run.ends();
    all_is_kept(&sandbox, "box");
}

#[test]
fn a_limit_ends_a_machine_with_everything_on_its_disk() {
    let policy = "extends = [\"default\"]\n[limits]\noutput = \"64KiB\"\n";
    let sandbox = repository(sandbox().policy(policy));
    let ran = sandbox.run(&format!("{CHANGES}; while :; do echo and so on; done"));
    let id = ran.session().unwrap().to_owned();
    ran.stderr_has("limits.output");
    all_is_kept(&sandbox, &id);
}

#[test]
fn what_a_disk_that_was_not_closed_would_remove_stays_until_it_is_forced() {
    let sandbox = repository(
        Sandbox::on(Backend::Vm)
            .option("--disk")
            .option("--memory=472MiB"),
    );
    let mut run = start(
        &sandbox,
        "box",
        &format!("{CHANGES}; sync; echo on the disk; sleep 60"),
    );
    crate::exec(&sandbox, "box", "sync").code(0);
    monitors_get(Signal::KILL, "size=472M");
    run.ends();
    let applied = sandbox.bailiwick(["apply", "box"]);
    applied
        .code(1)
        .stdout_has("M edited\n")
        .stderr_has("D removed: left as it is: it would be removed")
        .stderr_has("it is part of a git repository")
        .stderr_has("--force=PATH");
    assert_eq!(read(&sandbox, "removed"), "before");
    assert_eq!(sandbox.host("git log -1 --format=%s").trim(), "before");
    sandbox
        .bailiwick(["apply", "--force", "removed", "box"])
        .code(1);
    assert_eq!(read(&sandbox, "removed"), "not there");
    sandbox.bailiwick(["apply", "--force", ".", "box"]).code(0);
    assert_eq!(sandbox.host("git log -1 --format=%s").trim(), "inside");
}

#[test]
fn an_apply_is_undone_but_for_what_was_changed_since() {
    let sandbox = repository(sandbox());
    let ran = sandbox.run(CHANGES);
    let id = ran.code(0).session().unwrap().to_owned();
    all_is_kept(&sandbox, &id);
    fs::write(sandbox.workspace().join("made"), "by the user").unwrap();
    sandbox
        .bailiwick(["sessions", "show", &id])
        .code(0)
        .stdout_has(" written, 1 removed\n");
    let undone = sandbox.bailiwick(["apply", "--undo", &id]);
    undone
        .code(1)
        .stderr_has("made: left as it is")
        .stdout_has("A removed\n");
    assert_eq!(read(&sandbox, "made"), "by the user");
    assert_eq!(read(&sandbox, "edited"), "before");
    assert_eq!(read(&sandbox, "removed"), "before");
    assert_eq!(sandbox.host("git log -1 --format=%s").trim(), "before");
    // It can be brought again, and what the user has made of a file since stays his.
    sandbox.bailiwick(["apply", &id]).code(0);
    assert_eq!(read(&sandbox, "made"), "by the user");
    assert_eq!(read(&sandbox, "edited"), "something longer\n");
    assert_eq!(sandbox.host("git log -1 --format=%s").trim(), "inside");
}

#[test]
fn more_than_half_of_a_workspace_is_removed_only_after_a_question() {
    let sandbox = sandbox()
        .file("one", "1")
        .file("two", "2")
        .file("three", "3");
    // What a session makes is no repository that its removals would belong to.
    let ran = sandbox.run("rm one two; touch HEAD refs");
    let id = ran.code(0).session().unwrap().to_owned();
    let applied = sandbox.bailiwick(["apply", &id]);
    applied
        .code(2)
        .stderr_has("2 of the 3 files")
        .stderr_has("--yes");
    sandbox
        .bailiwick(["sessions", "show", &id])
        .code(0)
        .stdout_has("nothing of its disk was applied");
    assert_eq!(read(&sandbox, "one"), "1");
    sandbox
        .bailiwick(["apply", "--yes", &id])
        .code(0)
        .stdout_is("A HEAD\nD one\nA refs\nD two\n");
    // What was changed since stays, and an undo that can do nothing is kept until it is given up.
    for name in ["HEAD", "one", "refs", "two"] {
        fs::write(sandbox.workspace().join(name), "by the user").unwrap();
    }
    for _ in 0..2 {
        let undone = sandbox.bailiwick(["apply", "--undo", &id]);
        undone.code(1).stderr_has("apply --undo --give-up");
    }
    assert_eq!(read(&sandbox, "one"), "by the user");
    sandbox
        .bailiwick(["apply", "--undo", "--give-up", &id])
        .code(0);
    let nothing = sandbox.bailiwick(["apply", "--undo", &id]);
    nothing
        .code(2)
        .stderr_has("nothing of this session was applied");
}

#[test]
fn a_repository_is_removed_only_after_a_question() {
    let sandbox = repository(sandbox());
    let ran = sandbox.run("rm -rf .git");
    let id = ran.code(0).session().unwrap().to_owned();
    let applied = sandbox.bailiwick(["apply", &id]);
    applied.code(2).stderr_has("the git repository .git");
    assert_eq!(sandbox.host("git log -1 --format=%s").trim(), "before");
}

/// Sends a signal to the monitors of the machines that have so much memory.
pub(crate) fn monitors_get(signal: Signal, marker: &str) {
    let pids = processes::with_words(marker);
    assert!(!pids.is_empty(), "no monitor has {marker}");
    for pid in pids {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).unwrap();
        let _ = kill_process(pid, signal);
    }
}

/// When machines are killed, in milliseconds after their command began; all times of the first ten seconds in
/// `make soak`.
fn times() -> Vec<u64> {
    match std::env::var("BAILIWICK_KILLS") {
        Ok(_) => (0..=50).map(|n| n * 200).collect(),
        Err(_) => vec![0, 400, 1600],
    }
}

/// A workspace after a machine was killed that wrote `old` and then `new` texts into its files, and committed.
#[track_caller]
fn is_whole(sandbox: &Sandbox, applied: &Outcome, when: &str) {
    let (code, said) = (applied.exit_code(), applied.stderr());
    assert!(matches!(code, Some(0 | 1)), "{when}: {code:?}: {said}");
    for n in 0..8 {
        let text = read(sandbox, &format!("file{n}"));
        let is = |words: &str| text == format!("{words} of file{n}\n");
        assert!(
            is("the old text") || is("the new text, which is longer"),
            "{when}: file{n}: {text:?}: {said}"
        );
    }
    sandbox.host("git fsck --strict && git log -1 --format=%s && GIT_OPTIONAL_LOCKS=0 git status --porcelain");
}

fn killed(memory: u32, mut kill: impl FnMut(&str, &mut Background)) {
    for time in times() {
        let sandbox = Sandbox::on(Backend::Vm)
            .option("--disk")
            .option(format!("--memory={memory}MiB"));
        let old: String = (0..8)
            .map(|n| format!("echo the old text of file{n} > file{n};"))
            .collect();
        sandbox.host(&format!("{old} git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm old"));
        let script = "echo up; while :; do for n in 0 1 2 3 4 5 6 7; do echo the new text, which is longer of file$n > file$n; \
                      done; git -c user.name=a -c user.email=a@b commit -qam new; git reset -q --hard HEAD~; done";
        let mut run = start(&sandbox, "box", script);
        sleep(Duration::from_millis(time));
        kill(&format!("size={memory}M"), &mut run);
        run.ends();
        let applied = sandbox.bailiwick(["apply", "box"]);
        is_whole(&sandbox, &applied, &format!("after {time} ms"));
    }
}

#[test]
fn a_monitor_that_is_killed_at_any_time_costs_no_file() {
    killed(488, |marker, _| monitors_get(Signal::KILL, marker));
}

#[test]
fn a_supervisor_that_is_killed_at_any_time_costs_no_file() {
    killed(464, |marker, run| {
        run.kill();
        crate::wait::until("its machine is gone", || {
            processes::with_words(marker).is_empty()
        });
    });
}

#[test]
fn the_disk_of_a_session_that_is_saved_is_read_and_not_changed() {
    let sandbox = repository(sandbox());
    let mut run = start(&sandbox, "box", &format!("{CHANGES}; sleep 600"));
    sandbox.bailiwick(["suspend", "box"]).code(0);
    run.ends();
    let disk = crate::machines(&sandbox)[0].join("disk");
    let time = || fs::metadata(&disk).unwrap().modified().unwrap();
    let before = time();
    sandbox
        .bailiwick(["apply", "--dry-run", "box"])
        .code(0)
        .stdout_has("A made\n");
    assert_eq!(before, time(), "the disk was written");
}
