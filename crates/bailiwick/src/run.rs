//! `bailiwick run` and `bailiwick shell`.

use crate::Done;
use crate::cli::{Common, RunArguments};
use bailiwick_policy::Request;
use bailiwick_process::ProcessBackend;
use bailiwick_sandbox::RunRequest;
use std::ffi::OsString;
use std::io::Write;

/// Runs a command in a sandbox.
pub(crate) fn run(arguments: RunArguments) -> Done {
    let argv = match arguments.line {
        Some(line) => vec!["sh".into(), "-c".into(), line],
        None => arguments.command,
    };
    start(arguments.common, argv)
}

/// Runs the user's shell in a sandbox.
pub(crate) fn shell(common: Common) -> Done {
    let shell = std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into());
    start(common, vec![shell])
}

fn start(common: Common, argv: Vec<OsString>) -> Done {
    let workspace = common.workspace.unwrap_or_else(|| ".".into());
    let mut policy = Request::from_environment(common.policy, workspace);
    policy.allow_wide_workspace = common.allow_wide_workspace;
    let finished = bailiwick_sandbox::run(
        &ProcessBackend,
        RunRequest {
            policy,
            name: common.name,
            environment: common.env,
            monitor: common.monitor,
            json: common.json,
            argv,
        },
    )?;
    if let Some(line) = finished.last_line {
        let _ = writeln!(std::io::stderr().lock(), "{line}");
    }
    Ok(finished.code)
}
