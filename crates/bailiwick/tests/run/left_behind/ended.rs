//! What git notes of a rebase it writes where it is, and it is decided when it is written. A program that goes
//! on writing when it is killed has written all the same: however a run ends, what it leaves was decided.

use crate::support::{Background, Outcome, Sandbox, children, wait};
use std::path::PathBuf;

/// Begins an order in the list of a rebase, which cannot be decided yet, and keeps it open; then does what its argument
/// says.
const HOLD: &str = "import os, sys, time
locked = open('.git/index.lock', 'x')
os.makedirs('.git/rebase-merge', exist_ok=True)
held = os.open('.git/rebase-merge/git-rebase-todo', os.O_RDWR | os.O_CREAT)
os.write(held, b'exec')
harmless = os.open('.git/rebase-merge/done', os.O_RDWR | os.O_CREAT)
os.write(harmless, b'noop\\n')
print('held', flush=True)
if sys.argv[1] == 'output': print('x' * 100000, flush=True)
for _ in range(4):
    if sys.argv[1] == 'memory' and os.fork() == 0:
        x = b'x' * (60 << 20)
        time.sleep(60)
if sys.argv[1] == 'disk': open('big', 'wb').write(b'x' * (3 << 20))
time.sleep(60)
";

fn sandboxes(limit: &str) -> [Sandbox; 2] {
    let policy = format!("extends = [\"default\"]\n[limits]\n{limit}\n");
    [false, true].map(|bare| {
        let sandbox = Sandbox::repository().file("hold.py", HOLD).policy(&policy);
        match bare {
            true => sandbox.without_namespaces(),
            false => sandbox,
        }
    })
}

fn list_of(sandbox: &Sandbox) -> PathBuf {
    sandbox
        .workspace()
        .join(".git/rebase-merge/git-rebase-todo")
}

#[track_caller]
fn was_decided(sandbox: &Sandbox) {
    let list = list_of(sandbox);
    assert!(!list.exists(), "{:?}", std::fs::read_to_string(list));
    let lock = sandbox.workspace().join(".git/index.lock");
    wait::until("git can work again", || !lock.exists());
    let done = sandbox.workspace().join(".git/rebase-merge/done");
    assert_eq!(std::fs::read_to_string(done).unwrap(), "noop\n");
}

/// What comes of the least limit of time that is longer than the machine needs to begin, without namespaces or with.
fn within_a_wall<T>(bare: bool, begin: impl Fn(&Sandbox) -> Option<T>) -> (Sandbox, T) {
    let mut limits = ["1s", "10s", "100s"].into_iter();
    let begun = limits.find_map(|limit| {
        let [with, without] = sandboxes(&format!("wall = \"{limit}\""));
        let sandbox = if bare { without } else { with };
        let begun = begin(&sandbox)?;
        Some((sandbox, begun))
    });
    begun.expect("it begins within one of the limits")
}

#[test]
fn a_limit_that_ends_a_run_leaves_nothing_undecided() {
    let ended = |sandbox: &Sandbox, outcome: &Outcome, name: &str| {
        outcome.code(137).refused_by(&format!("limits.{name}"));
        was_decided(sandbox);
        let log = sandbox.bailiwick(["log", "latest", "--json"]);
        log.stdout_has("git-rebase-todo\"");
    };
    for bare in [false, true] {
        let (sandbox, outcome) = within_a_wall(bare, |sandbox| {
            let outcome = sandbox.exec(["python3", "hold.py", "wall"]);
            outcome.stdout().contains("held").then_some(outcome)
        });
        ended(&sandbox, &outcome, "wall");
    }
    for (name, limit) in [
        ("output", "output = \"1KiB\""),
        ("memory", "memory = \"128MiB\""),
        ("disk", "disk = \"1MiB\""),
    ] {
        // Without namespaces each process has a limit of its own.
        let sandboxes = sandboxes(limit).into_iter();
        for sandbox in sandboxes.take(if name == "memory" { 1 } else { 2 }) {
            ended(&sandbox, &sandbox.exec(["python3", "hold.py", name]), name);
        }
    }
}

/// A run that holds the list open, until it is killed; none where its limit was quicker.
fn begun(sandbox: &Sandbox) -> Option<Background> {
    let mut command = sandbox.command();
    command.arg("run").args(sandbox.options());
    command.args(["--", "python3", "hold.py", "wait"]);
    Background::begun(command, "held")
}

fn holding(sandbox: &Sandbox) -> Background {
    begun(sandbox).expect("nothing ends it before")
}

#[test]
fn a_supervisor_that_is_killed_leaves_nothing_undecided() {
    for sandbox in sandboxes("") {
        let mut run = holding(&sandbox);
        run.kill();
        let list = list_of(&sandbox);
        wait::until("it was decided", || !list.exists());
        was_decided(&sandbox);
    }
}

#[test]
fn a_sandbox_whose_first_process_is_killed_leaves_nothing_undecided() {
    for sandbox in sandboxes("") {
        let mut run = holding(&sandbox);
        for first in children(run.pid()) {
            let first = rustix::process::Pid::from_raw(first.cast_signed()).unwrap();
            let _ = rustix::process::kill_process(first, rustix::process::Signal::KILL);
        }
        assert_eq!(run.ends(), Some(125));
        was_decided(&sandbox);
    }
}

#[test]
fn a_stopped_supervisor_leaves_nothing_undecided() {
    for bare in [false, true] {
        let (sandbox, run) = within_a_wall(bare, begun);
        let list = list_of(&sandbox);
        let supervisor = rustix::process::Pid::from_raw(run.pid().cast_signed()).unwrap();
        rustix::process::kill_process(supervisor, rustix::process::Signal::STOP).unwrap();
        wait::until("it was decided", || !list.exists());
    }
}

#[test]
fn what_is_kept_open_is_decided_while_it_is() {
    const KEEP: &str = "import os, time
kept = [os.open('.git/' + name, os.O_RDWR | os.O_CREAT) for name in ['ORIG_HEAD', 'refs/heads/x', 'refs/heads/y']]
os.makedirs('.git/rebase-merge')
for number, text in [(0, b'ref: refs/../../rc'), (1, b'1234'), (2, b'ref: refs/heads/main')]:
    os.write(kept[number], text)
while os.path.exists('.git/ORIG_HEAD'): time.sleep(0.001)
os.write(kept[1], b'5678')
for name, text in [('git-rebase-todo', b'pick 1\\nexec touch PWNED'), ('strategy', b'evil')]:
    path = '.git/rebase-merge/' + name
    kept.append(os.open(path, os.O_RDWR | os.O_CREAT))
    os.write(kept[-1], text)
    while os.path.exists(path): time.sleep(0.001)
try: os.open('.git/refs/heads/z', os.O_RDWR | os.O_CREAT)
except PermissionError: print('enough')
";
    for sandbox in sandboxes("wall = \"100s\"") {
        let outcome = sandbox.file("hold.py", KEEP).exec(["python3", "hold.py"]);
        outcome
            .success()
            .stdout_is("enough\n")
            .refused_by("filesystem.protect");
    }
}
