//! `bailiwick run` and `bailiwick shell`, `bailiwick exec`, and `bailiwick serve`.

use crate::Done;
use crate::cli::{Common, ExecArguments, RunArguments, ServeArguments};
use crate::machine::Kind;
use bailiwick_event::Failure;
use bailiwick_policy::Request;
use bailiwick_process::ProcessBackend;
use bailiwick_sandbox::startup::{self, Stage};
use bailiwick_sandbox::{Early, ExecRequest, Finished, RunRequest, ServeRequest};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};

/// How commands are isolated.
const PROCESS: ProcessBackend = ProcessBackend::new();

/// Begins the sandbox of a `run` before its command line is read. Where that has mistakes, the
/// sandbox is dropped.
pub(crate) fn early(words: &[OsString]) -> Option<Early> {
    let words = words.get(1..)?.strip_prefix(&["run".into()])?;
    let mut words = words.split(|word| word == "--");
    let words = words.next()?;
    let has = |flag: &str| words.iter().any(|word| word == flag);
    if has("--trace-startup") {
        // Told again, with the reason, when the line was read.
        startup::enable().ok()?;
    }
    if words
        .iter()
        .any(|word| word.as_encoded_bytes().starts_with(b"--backend"))
    {
        return None;
    }
    Early::begin(&PROCESS, has("--cold") || has("--trace-startup"))
}

/// Runs a command in a sandbox.
pub(crate) fn run(arguments: RunArguments, early: Option<Early>) -> Done {
    let argv = words(arguments.line, arguments.command);
    start(arguments.common, argv, early)
}

/// Runs one more command in a sandbox that runs.
pub(crate) fn exec(arguments: ExecArguments) -> Done {
    let finished = bailiwick_sandbox::exec(ExecRequest {
        session: arguments.session,
        environment: arguments.env,
        argv: words(arguments.line, arguments.command),
    })?;
    Ok(conclude(finished))
}

/// Keeps sandboxes waiting; `line` is this process's own command line.
pub(crate) fn serve(arguments: ServeArguments, line: Vec<OsString>) -> Done {
    let workspace = arguments.source.workspace.unwrap_or_else(|| ".".into());
    let mut policy = Request::from_environment(arguments.source.policy, workspace);
    policy.allow_wide_workspace = arguments.allow_wide_workspace;
    let mut spare = line;
    spare.drain(..1);
    spare.push("--spare".into());
    let backend = match arguments.machine.backend {
        Kind::Process | Kind::Vm => arguments.machine.backend(false, None)?,
        Kind::Capos => {
            return Err(Failure::usage(
                "a machine of the capability kernel is made for its program, and cannot wait for one\n\
                 help: --backend process, or vm",
            ));
        }
    };
    if arguments.machine.backend == Kind::Vm && !arguments.spare {
        // Built once, where it is not there, and not by each of those that wait.
        arguments.machine.shape(false).found()?;
    }
    let request = ServeRequest {
        policy,
        best_effort: arguments.best_effort,
        keep: arguments.keep.into(),
        spare,
    };
    if arguments.spare {
        return bailiwick_sandbox::spare(&*backend, &request);
    }
    bailiwick_sandbox::serve(&*backend, &request)
}

/// The command: a line of shell, or words.
fn words(line: Option<OsString>, words: Vec<OsString>) -> Vec<OsString> {
    match line {
        Some(line) => vec!["sh".into(), "-c".into(), line],
        None => words,
    }
}

/// Runs the user's shell in a sandbox.
pub(crate) fn shell(common: Common) -> Done {
    let shell = std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into());
    start(common, vec![shell], None)
}

fn start(common: Common, argv: Vec<OsString>, early: Option<Early>) -> Done {
    if common.trace_startup {
        startup::enable().map_err(|e| Failure::fault(format!("--trace-startup: {e}")))?;
        startup::mark(Stage::Arguments);
    }
    let workspace = common.workspace.unwrap_or_else(|| ".".into());
    if workspace.is_relative()
        && let Err(error) = std::env::current_dir()
    {
        return Err(Failure::usage(format!(
            "the current folder cannot be used: {error}\nhelp: go to a folder that exists, or give \
             --workspace with a full path"
        )));
    }
    let mut policy = Request::from_environment(common.policy, workspace);
    policy.allow_wide_workspace = common.allow_wide_workspace;
    let backend = common.machine.backend(common.cold, common.disk)?;
    let finished = bailiwick_sandbox::run(
        &*backend,
        RunRequest {
            policy,
            name: common.name,
            environment: common.env,
            monitor: common.monitor,
            json: common.json,
            best_effort: common.best_effort,
            warm: !common.cold && !common.trace_startup && common.disk.is_none(),
            early,
            goes_on: None,
            announce: None,
            argv,
        },
    )?;
    let code = conclude(finished);
    if let Some(table) = startup::table() {
        let _ = writeln!(std::io::stderr().lock(), "{table}");
    }
    Ok(code)
}

/// Says what is to be said of a run that ended; its exit code.
pub(crate) fn conclude(finished: Finished) -> u8 {
    if let Some(line) = finished.last_line {
        let mut stderr = std::io::stderr().lock();
        let plain = if stderr.is_terminal() { PLAIN } else { "" };
        let _ = writeln!(stderr, "{plain}{line}");
    }
    finished.code
}

/// Has a terminal show what follows: the end of a sequence that the command may have begun, the usual characters, and
/// neither colours nor concealed text (ECMA-48).
const PLAIN: &str = "\x1b\\\x0f\x1b(B\x1b[m";
