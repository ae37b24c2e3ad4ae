//! Sessions in machines with a disk of their own: what is on it, how they are saved, copied and go on, and
//! how what they changed gets into the workspace.
//!
//! A tier of its own (`scripts/test`): they need QEMU, the image `code`, the guest's binary and e2fsprogs.
#![allow(missing_docs, reason = "tests are named after what they prove")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a helper that cannot do its work fails the test that called it"
)]
#![allow(
    dead_code,
    unused_imports,
    reason = "helpers of tests that are about processes alone"
)]

#[macro_use]
#[path = "../support/mod.rs"]
mod support;

mod apply;
mod broken;
mod closing;
mod copies;
mod files;
mod saved;

use std::path::PathBuf;
use support::{Backend, Background, Finished, Outcome, Sandbox, host_command, run_to_end, wait};

/// A sandbox whose runs are machines with a disk.
fn sandbox() -> Sandbox {
    // Less memory than usual: several run at a time.
    Sandbox::on(Backend::Vm)
        .option("--disk")
        .option("--memory=512MiB")
}

/// A session of that name that says `up` and counts, to a file that it has open and to one that it opens.
fn counting(sandbox: &Sandbox, name: &str) -> Background {
    let script = "exec 3>>log; n=0; echo up; while :; do n=$((n+1)); echo $n >&3; \
                  echo $n > now; sleep 0.1; done";
    start(sandbox, name, script)
}

/// A session of that name that runs this script, which says `up`.
fn start(sandbox: &Sandbox, name: &str, script: &str) -> Background {
    let mut words = vec!["run".into()];
    words.extend(sandbox.options().iter().cloned());
    words.extend(["--name", name, "-c", script].map(Into::into));
    Background::start(sandbox, words, "up")
}

/// A program whose output goes to a file; it ends with the test.
struct Quiet(std::process::Child, PathBuf);

impl Quiet {
    fn start<const N: usize>(sandbox: &Sandbox, words: [&str; N]) -> Self {
        let said = sandbox.scratch().root().join("said");
        let mut command = sandbox.command();
        command.args(words).stdin(std::process::Stdio::null());
        command.stdout(std::fs::File::create(&said).unwrap());
        Self(command.spawn().unwrap(), said)
    }

    /// Waits for its end; its exit code, and what it said.
    fn ends(&mut self) -> (Option<i32>, Vec<u8>) {
        let code = self.0.wait().unwrap().code();
        (code, std::fs::read(&self.1).unwrap())
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until a session of that name can be entered.
#[track_caller]
fn wait_for_session(sandbox: &Sandbox, name: &str) {
    wait::until(&format!("{name} can be entered"), || {
        exec(sandbox, name, "true").exit_code() == Some(0)
    });
}

/// Sees that a session counts on in this file, which is empty for a moment each time.
#[track_caller]
fn counts_on(sandbox: &Sandbox, name: &str, file: &str) {
    let script = format!(
        "number() {{ cat {file} | grep . || number; }}
        was=$(number); until [ $(number) -gt $was ]; do sleep 0.1; done"
    );
    exec(sandbox, name, &script).code(0);
}

fn exec(sandbox: &Sandbox, name: &str, script: &str) -> Outcome {
    sandbox.bailiwick(["exec", name, "-c", script])
}

/// What a script says in a session.
#[track_caller]
fn asked(sandbox: &Sandbox, name: &str, script: &str) -> String {
    let outcome = exec(sandbox, name, script);
    outcome.code(0);
    outcome.stdout().trim().to_owned()
}

/// What a file of the workspace says.
fn read(sandbox: &Sandbox, path: &str) -> String {
    let text = std::fs::read_to_string(sandbox.workspace().join(path));
    text.unwrap_or_else(|_| "not there".to_owned())
}

/// The folders of machines, those of the newest sessions last.
fn machines(sandbox: &Sandbox) -> Vec<PathBuf> {
    let sessions = sandbox.scratch().state().join("bailiwick/sessions");
    let all = std::fs::read_dir(sessions).unwrap();
    let mut all: Vec<PathBuf> = all
        .map(|entry| entry.unwrap().path().join("machine"))
        .filter(|path| path.is_dir())
        .collect();
    all.sort();
    all
}

/// Whether a disk's file system is in order, once its journal is played.
#[track_caller]
fn is_in_order(disk: &std::path::Path) {
    let mut command = host_command("/sbin/e2fsck");
    command.args(["-f", "-p"]).arg(disk);
    let checked = command.output().unwrap();
    // 1: the journal was played, or counts were put right that it does not hold.
    let code = checked.status.code();
    assert!(
        matches!(code, Some(0 | 1)),
        "{code:?}: {}",
        String::from_utf8_lossy(&checked.stdout)
    );
    let mut again = host_command("/sbin/e2fsck");
    assert!(
        again
            .args(["-f", "-n"])
            .arg(disk)
            .output()
            .unwrap()
            .status
            .success()
    );
}
