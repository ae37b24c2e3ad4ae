//! What the host then does: a user's ordinary commands, watched system call by system call. A tool's own programs
//! may be executed; nothing that a run left may be, nothing may be connected to, and nothing outside of the
//! workspace may change.

use crate::support::{Sandbox, host_command};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

/// Where a user goes who looks at what the run has left.
const FOLDERS: [&str; 11] = [
    ".",
    ".",
    "sub",
    "tree",
    "new",
    "bare.git",
    "evil",
    "src",
    "late",
    ".git/worktrees/x",
    ".git/modules/x",
];

/// What a user types there after `git status`. Each ends by itself.
const THERE: [&str; 8] = [
    "git diff",
    "git log -p -1",
    "git st",
    "git branch -f made",
    "git add -A; git commit -qm there",
    "git restore .",
    "git stash",
    "git gc -q",
];

/// What a user types in the workspace.
const AT_HOME: [&str; 28] = [
    "git add -A",
    "git add -u",
    "git commit -qm x",
    "git commit -q --allow-empty -m y",
    "git restore .",
    "git checkout .",
    "git checkout-index -a",
    "git checkout -q side; git checkout -q main",
    "git stash",
    "git stash pop -q",
    "git reset -q",
    "git merge -q side",
    "git merge --abort",
    "git rebase --continue",
    "git rebase --abort",
    "git cherry-pick --continue",
    "git cherry-pick --abort",
    "git bisect reset",
    "git worktree list; git worktree prune",
    "git worktree repair",
    "git submodule status",
    "git branch; git tag -f now",
    "git fetch -q ../up.git",
    "git fetch -q up",
    "git fetch -q . +HEAD:refs/heads/x",
    "git push -q bare.git HEAD:refs/heads/pushed",
    "git describe --always --dirty",
    "git gc --auto -q",
];

/// The word that whatever a hostile program leaves to be executed or connected to has in it.
const MARK: &str = "bwmark";

/// What the files beside the workspace say, which must not come into the repository.
const SECRET: &str = "bwsecret";

/// A user's commands in an order that only the seed says: what one of them mends, another finds before it.
fn commands(seed: u64) -> String {
    let mut state = seed;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut lines: Vec<String> = AT_HOME.iter().map(ToString::to_string).collect();
    for folder in FOLDERS {
        let (one, other) = (THERE[next(THERE.len())], THERE[next(THERE.len())]);
        lines.push(format!(
            "(cd {folder} 2> /dev/null || exit; git status; {one}; {other})"
        ));
    }
    for at in (1..lines.len()).rev() {
        lines.swap(at, next(at + 1));
    }
    lines.join("\n")
}

/// Everything that happened on the host which should not have.
pub(crate) fn objections(sandbox: &Sandbox, seed: u64) -> String {
    let top = sandbox.workspace().parent().unwrap().to_path_buf();
    let trace = top.join("trace");
    std::fs::write(&trace, "").unwrap();
    let before = outside(&top);
    // All on one processor: a third faster, since tracer and traced wait for each other at every fork.
    let processor = rustix::thread::sched_getcpu().to_string();
    let status = host_command("taskset")
        .args([
            "--cpu-list",
            &processor,
            "timeout",
            "--signal=KILL",
            "60",
            "strace",
            "--follow-forks",
            "--seccomp-bpf",
            "--quiet=all",
            "--string-limit=200",
        ])
        .args(["--trace=execve,connect", "--output"])
        .arg(&trace)
        .args(["sh", "-c", &commands(seed)])
        .current_dir(sandbox.workspace())
        .env("GIT_EDITOR", "true")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_CONFIG_GLOBAL", top.join("user.gitconfig"))
        .stdin(std::process::Stdio::null())
        .output()
        .expect("strace is installed");
    let mut found = String::new();
    if status.status.code().is_none() {
        found += "the commands did not end\n";
    }
    for line in std::fs::read_to_string(&trace).unwrap().lines() {
        if is_forbidden(line, &sandbox.workspace()) {
            writeln!(found, "{line}").unwrap();
        }
    }
    let after = outside(&top);
    let lines = |text: &str| -> BTreeSet<String> { text.lines().map(String::from).collect() };
    let (before, after) = (lines(&before), lines(&after));
    for (what, line) in (before.difference(&after).map(|line| ("was", line)))
        .chain(after.difference(&before).map(|line| ("is", line)))
    {
        writeln!(found, "outside {what}: {line}").unwrap();
    }
    let made = sandbox.host(&format!(
        "find . .. -maxdepth 3 -name '*{MARK}*' 2> /dev/null | sort -u; find .git/hooks -type f ! -name '*.sample' 2> /dev/null
        GIT_NO_LAZY_FETCH=1 timeout 10 git cat-file --batch-all-objects --batch 2> /dev/null | grep -a {SECRET}; true"
    ));
    found + &made
}

/// What lies beside the workspace, as far as commands could change it.
fn outside(top: &Path) -> String {
    let script = "cd \"$0\" && find foreign linked up.git -type f ! -path '*/objects/*' | sort | xargs sha1sum; ls -A foreign linked .";
    let output = host_command("sh")
        .args(["-c", script])
        .arg(top)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Whether a call executes or connects to what a run has left.
fn is_forbidden(line: &str, workspace: &Path) -> bool {
    let done =
        line.ends_with("= 0") || line.contains("EINPROGRESS") || line.contains("ECONNREFUSED");
    let call = line
        .split_once(' ')
        .map_or(line, |(_, call)| call.trim_start());
    if let Some(words) = call.strip_prefix("execve(") {
        let program = words.split('"').nth(1).unwrap_or_default();
        let of_workspace = Path::new(program).starts_with(workspace) || !program.starts_with('/');
        return done && (of_workspace || words.contains(MARK) || words.contains("ssh"));
    }
    // Whoever looks up a user's name asks a daemon of the machine.
    call.starts_with("connect(") && !call.contains("/run/nscd/socket")
}
