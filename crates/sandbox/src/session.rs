//! The life of a session. The sandbox is set up by its own process while this one makes the
//! record, and the command waits for both: what runs is recorded from its first instant.

use crate::backend::{Backend, Launch};
use crate::environment;
use crate::signals::Signals;
use crate::summary;
use crate::supervisor::{End, Supervisor, happened, nanoseconds, not_executed};
use crate::terminal::{self, Terminal};
use bailiwick_event::{Act, Event, Failure, Origin, Text};
use bailiwick_guard::{Guard, Observer};
use bailiwick_ledger::{Ledger, NewSession, StateDir};
use bailiwick_policy::{Effective, Loaded, PathEntry, PathPattern, Request};
use rustix::fd::OwnedFd;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// What is to be run, and how.
pub struct RunRequest {
    /// Where the policy comes from; its workspace is the run's.
    pub policy: Request,
    /// A name for the session.
    pub name: Option<String>,
    /// Variables that the caller adds.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether refusals are shown on stderr as they happen.
    pub monitor: bool,
    /// Whether the last line is JSON.
    pub json: bool,
    /// The command's words; not empty.
    pub argv: Vec<OsString>,
}

/// A run that ended.
pub struct Finished {
    /// The exit code for the caller.
    pub code: u8,
    /// The last line for stderr.
    pub last_line: Option<String>,
}

fn say(line: &str) {
    // A closed stderr is no reason to end a run.
    let _ = writeln!(std::io::stderr().lock(), "bailiwick: {line}");
}

/// Runs one command in one sandbox.
///
/// # Errors
/// A [`Failure`] where it was not started, or where its end could not be recorded.
pub fn run(backend: &dyn Backend, request: RunRequest) -> Result<Finished, Failure> {
    let Loaded {
        effective, notices, ..
    } = bailiwick_policy::load(&request.policy)?;
    notices.iter().for_each(|notice| say(notice));
    let state = StateDir::from_environment()?;
    let policy = Arc::new(guarded(effective, &request.policy, &state));
    let cwd = start_folder(&policy, &request.policy.cwd);
    let caller = &request.policy.environment;
    let variables = environment::build(&policy, caller, &request.environment, &cwd);
    let shape = terminal::shape();
    let signals = Signals::new().map_err(|e| Failure::fault(format!("signals: {e}")))?;
    let workspace_id = blake3_hex(policy.workspace.as_os_str());
    let private = state.projects().join(&workspace_id[..32]);
    let launch = Launch {
        policy: &policy,
        argv: &request.argv,
        cwd: &cwd,
        environment: &variables,
        terminal: shape.clone(),
        private: &private,
    };
    let mut begun = backend.begin(&launch)?;
    // While the sandbox sets itself up:
    let publish = publish(&policy)?;
    let argv: Vec<Text> = request
        .argv
        .iter()
        .map(|w| Text::from(w.as_os_str()))
        .collect();
    let ledger = Ledger::create(
        &state,
        &NewSession {
            name: request.name.as_deref(),
            policy_lock: &policy.to_lock(),
            workspace: &policy.workspace,
            argv: &argv,
        },
    )?;
    let observer = request.monitor.then(|| monitor(shape.is_some()));
    let guard = Guard::new(Arc::clone(&policy), ledger.clone(), observer);
    guard.note(
        Act::SessionStart {
            backend: backend.name().to_owned(),
            workspace: Text::from(policy.workspace.as_os_str()),
            layers: begun.layers(),
            policy: policy.hash(),
        },
        happened(),
    );
    let name = argv[0].clone();
    let start = Act::ExecStart {
        argv,
        cwd: Text::from(cwd.as_os_str()),
    };
    guard.note(start, happened());
    // What is recorded may run: the command starts when the last layer is in force. Where the
    // sandbox is gone already, `ready` knows why.
    let _ = begun.go();
    let mut started = match begun.ready() {
        Ok(started) => started,
        Err(failure) => {
            let exit = Act::ExecExit {
                code: failure.exit_code(),
                duration_ns: 0,
            };
            guard.note(exit, happened());
            let _ = ledger.close();
            return Err(failure);
        }
    };
    started.notices.iter().for_each(|notice| say(notice));
    started.sockets.publish = publish;
    let terminal = match (started.terminal, &shape) {
        (Some(master), Some(shape)) => Some(
            Terminal::new(master, shape)
                .map_err(|e| Failure::fault(format!("the terminal cannot be used: {e}")))?,
        ),
        _ => None,
    };
    let mut supervisor = Supervisor {
        running: started.running,
        guard,
        signals,
        terminal,
        sockets: Some(started.sockets),
        inside: started.inside,
        gate: None,
        started: Instant::now(),
        writing: false,
    };
    let end = supervisor.watch();
    if let Some(terminal) = &mut supervisor.terminal {
        terminal.finish();
    }
    let mut last_line = None;
    let code = match end? {
        End::Code(code) => code,
        End::NotExecuted(errno) => {
            let outside = find_outside(&request.argv[0], caller.get(OsStr::new("PATH")));
            let (code, message) = not_executed(&name, errno, outside.as_deref());
            last_line = Some(format!("bailiwick: {message}"));
            code
        }
    };
    let duration_ns = nanoseconds(supervisor.started.elapsed());
    supervisor
        .guard
        .note(Act::ExecExit { code, duration_ns }, happened());
    if let Some(gate) = supervisor.gate.take() {
        gate.stop();
    }
    ledger.close()?;
    let (counts, last) = (ledger.counts(), ledger.last_refusal());
    if request.json {
        last_line = Some(summary::json(ledger.id(), code, &counts, last.as_ref()));
    } else if let Some(line) = summary::line(ledger.id(), &counts, last.as_ref()) {
        last_line = Some(line);
    }
    Ok(Finished { code, last_line })
}

/// The policy with what the product adds: its own state and the user's policies are never visible
/// inside. Where a folder that may be written would hold them, they are made first, so that there
/// is something to hide.
fn guarded(mut policy: Effective, request: &Request, state: &StateDir) -> Effective {
    let mut own = vec![state.path().to_path_buf()];
    own.extend(request.user_file.parent().map(Path::to_path_buf));
    own.extend(request.trust_file.parent().map(Path::to_path_buf));
    for folder in own {
        let writable = policy.filesystem.write.iter();
        if writable
            .filter_map(|entry| entry.pattern.covers(&folder))
            .next()
            .is_some()
        {
            let _ = std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&folder);
        }
        policy.filesystem.deny.push(PathEntry {
            pattern: PathPattern::Path(folder),
            origin: Origin::built_in(),
        });
    }
    policy
}

/// The command starts where the caller is, if that is in the workspace.
fn start_folder(policy: &Effective, cwd: &Path) -> PathBuf {
    match cwd.canonicalize() {
        Ok(cwd) if cwd.starts_with(&policy.workspace) => cwd,
        _ => policy.workspace.clone(),
    }
}

/// The host's listeners of published ports.
fn publish(policy: &Effective) -> Result<Vec<(OwnedFd, u16)>, Failure> {
    policy
        .network
        .publish
        .iter()
        .map(|entry| {
            let listener = std::net::TcpListener::bind(entry.value.listen).map_err(|e| {
                Failure::usage(format!(
                    "{}: {} cannot be published: {e}; choose another port",
                    entry.origin, entry.value.listen
                ))
            })?;
            Ok((listener.into(), entry.value.port))
        })
        .collect()
}

/// Shows each refusal as it happens; a raw terminal needs its carriage returns.
fn monitor(raw: bool) -> Observer {
    let end = if raw { "\r\n" } else { "\n" };
    Box::new(move |event: &Event| {
        if event.is_refusal() {
            let _ = write!(
                std::io::stderr().lock(),
                "bailiwick: refused {} {}, by {}; remedy: {}{end}",
                event.boundary(),
                event.act.resource(),
                event.decision.rule,
                event.decision.remedy,
            );
        }
    })
}

/// Where the host has a command of this name.
fn find_outside(name: &OsStr, path: Option<&OsString>) -> Option<PathBuf> {
    let candidates: Vec<PathBuf> = if name.as_encoded_bytes().contains(&b'/') {
        vec![PathBuf::from(name)]
    } else {
        std::env::split_paths(path?)
            .map(|folder| folder.join(name))
            .collect()
    };
    candidates.into_iter().find(|path| path.is_file())
}

fn blake3_hex(text: &OsStr) -> String {
    blake3::hash(text.as_encoded_bytes()).to_hex().to_string()
}
