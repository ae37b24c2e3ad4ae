//! What the host then does: a user's ordinary commands, watched system call by system call. A tool's own programs
//! may be executed; nothing that a run left may be, nothing may be connected to, and nothing outside of the
//! workspace may change.

use crate::support::{Sandbox, host_command};
use std::fmt::Write as _;
use std::path::Path;

/// What a user types next, in each folder that could be a repository. Each ends by itself.
const COMMANDS: &str = "for d in . sub tree new bare.git evil src .git/worktrees/x; do (cd $d 2> /dev/null || exit
    git status; git diff; git log -p -1) ; done
    git add -A; git commit -qm x; git restore .; git checkout .; git checkout -q side; git checkout -q main
    git stash; git worktree list; git submodule status; git fetch -q ../up.git; git gc --auto -q; git rebase --abort
    git merge --abort; git branch; git checkout-index -a";

/// The word that whatever a hostile program leaves to be executed or connected to has in it.
const MARK: &str = "bwmark";

/// Everything that happened on the host which should not have.
pub(crate) fn objections(sandbox: &Sandbox) -> String {
    let top = sandbox.workspace().parent().unwrap().to_path_buf();
    let trace = top.join("trace");
    std::fs::write(&trace, "").unwrap();
    let before = outside(&top);
    let status = host_command("timeout")
        .args([
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
        .args(["sh", "-c", COMMANDS])
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
    for (before, after) in before.lines().zip(outside(&top).lines()) {
        if before != after {
            writeln!(found, "outside: {before} became {after}").unwrap();
        }
    }
    let made = sandbox.host(&format!(
        "find . .. /var/tmp/bwmark* -maxdepth 3 -name '*{MARK}*' 2> /dev/null | sort -u; find .git/hooks -type f ! -name '*.sample' 2> /dev/null; true"
    ));
    found + &made
}

/// What lies beside the workspace, as far as commands could change it.
fn outside(top: &Path) -> String {
    let script = "cd \"$0\" && find foreign up.git -type f ! -path '*/objects/*' | sort | xargs sha1sum; ls -A foreign .";
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
