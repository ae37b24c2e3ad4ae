//! A policy, a workspace or a state folder that cannot be used is named, with what is wrong with it
//! and how to mend it, and nothing is started.

mod policies;
mod state;
mod workspaces;

use crate::support::{Outcome, Sandbox};

/// Root reads and enters what its mode closes to everybody else.
fn root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The run was not started, for this reason, and made no session.
#[track_caller]
fn not_started<'a>(sandbox: &Sandbox, outcome: &'a Outcome, code: i32) -> &'a Outcome {
    outcome.code(code);
    assert!(!sandbox.workspace().join("began").exists());
    assert_eq!(sandbox.scratch().sessions(), [""; 0]);
    outcome
}
