//! The life of a session. The sandbox is set up by its own process while this one makes the
//! record, and the command waits for both: what runs is recorded from its first instant.

use crate::asks::Asks;
use crate::backend::{Backend, Invocation, Launch};
use crate::continuation::Continuation;
use crate::door::{Door, OwnCommand};
use crate::early::Early;
use crate::environment::{self, Given};
use crate::front::Front;
use crate::output::Output;
use crate::record::{Beginning, Record};
use crate::secrets;
use crate::signals::Signals;
use crate::startup::{self, Stage};
use crate::supervisor::{Supervisor, happened};
use crate::switches::without_limits;
use crate::terminal::Terminal;
use crate::trust::Trust;
use crate::warm;
use bailiwick_event::Failure;
use bailiwick_gate::{OuterProxy, Settings};
use bailiwick_ledger::StateDir;
use bailiwick_policy::{Effective, Request, remembering, resolve_existing};
use rustix::fd::{AsFd, OwnedFd};
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

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
    /// Whether layers that the machine does not have are done without.
    pub best_effort: bool,
    /// Whether a sandbox that waits already may be used.
    pub warm: bool,
    /// The sandbox, where it was begun already.
    pub early: Option<Early>,
    /// The session that goes on, where one was saved; its policy is in force instead of what `policy`
    /// names.
    pub goes_on: Option<Continuation>,
    /// Whoever is told, by one byte, that the command runs.
    pub announce: Option<OwnedFd>,
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

pub(crate) fn say(line: &str) {
    // A closed stderr is no reason to end a run.
    // In one write: others may write there as well.
    let _ = std::io::stderr().write_all(format!("bailiwick: {line}\n").as_bytes());
}

/// Runs one command in one sandbox: one that waits for it already, where there is one.
///
/// # Errors
/// A [`Failure`] where it was not started, or where its end could not be recorded.
pub fn run(backend: &dyn Backend, mut request: RunRequest) -> Result<Finished, Failure> {
    if let Some(finished) = warm::run(backend, &request)? {
        return Ok(finished);
    }
    let early = request.early.take();
    let Early { shape, prepared } = early.unwrap_or_else(|| Early::now(backend));
    let effective = match &request.goes_on {
        Some(session) => session.policy()?,
        None => {
            let loaded = bailiwick_policy::load(&request.policy)?;
            loaded.notices.iter().for_each(|notice| say(notice));
            loaded.effective
        }
    };
    startup::mark(Stage::Policy);
    let state = StateDir::from_environment()?;
    make_own_folders(&effective, &request.policy)?;
    let policy = Arc::new(effective);
    let cwd = match &request.goes_on {
        Some(session) => session.cwd.clone(),
        None => start_folder(&policy, &request.policy.cwd),
    };
    let caller = &request.policy.environment;
    let mut secrets = secrets::of(&policy, caller)?;
    if let Some(session) = &request.goes_on {
        secrets = session.known(secrets);
    }
    let outer_proxy = OuterProxy::of(caller).unwrap_or_else(|why| {
        if !policy.network.allow.is_empty() {
            say(&format!("{why}; connections are made without it"));
        }
        None
    });
    let trust = Trust::of(&state, &policy, backend.has_own_files())?;
    let given = Given {
        of_bundle: trust.as_ref().map(Trust::named_by).unwrap_or_default(),
        secrets: secrets::variables(&secrets),
    };
    let variables = environment::build(&policy, caller, &given, &request.environment, &cwd);
    let signals = Signals::new().map_err(|e| Failure::fault(format!("signals: {e}")))?;
    let private = private_folder(&state, &policy);
    let limited = policy.limits.output.as_ref().map(|limit| limit.value);
    let limited = limited.filter(|_| !without_limits());
    let output = limited.map(|limit| Output::new(limit, shape.as_ref()));
    let (mut output, ends) = match output.transpose() {
        Ok(made) => made.map_or((None, [const { None }; 3]), |(o, ends)| (Some(o), ends)),
        Err(e) => return Err(Failure::fault(format!("the output cannot be limited: {e}"))),
    };
    let launch = Launch {
        policy: &policy,
        command: Some(Invocation {
            argv: &request.argv,
            cwd: &cwd,
            environment: &variables,
        }),
        open: request.name.is_some(),
        private: &private,
        best_effort: request.best_effort,
        trust: trust.as_ref().map(|trust| &trust.files),
        streams: ends.each_ref().map(|end| end.as_ref().map(AsFd::as_fd)),
        monitor: None,
    };
    // Mistakes of the policy are told before those of the machine.
    let mut begun = prepared?.begin(&launch)?;
    drop(ends);
    startup::mark(Stage::Planned);
    // While the sandbox sets itself up:
    let publish = publish(&policy)?;
    let record = Record::begin(Beginning {
        state: &state,
        blank: None,
        policy: &policy,
        name: request.name.as_deref(),
        backend: backend.name(),
        layers: begun.layers(),
        argv: &request.argv,
        cwd: &cwd,
        monitor: request.monitor,
        raw: shape.is_some(),
    })?;
    let failed = |failure| record.fail(Duration::ZERO, failure);
    begun.belongs_to(record.ledger.directory());
    if let Some(session) = &request.goes_on {
        record.guard.note(session.row(), happened());
    }
    let door = match request.name {
        Some(_) => {
            let own = OwnCommand {
                argv: request.argv.clone(),
                cwd: cwd.clone(),
            };
            let listener = record.open_door().map_err(failed)?;
            Some(Door::new(Some(listener), given, own))
        }
        None => None,
    };
    // What is recorded may run: the command starts when the last layer is in force. Where the
    // sandbox is gone already, `ready` knows why.
    startup::mark(Stage::Ledger);
    // What is missing is told before the command can say anything.
    begun.notices().iter().for_each(|notice| say(notice));
    let _ = begun.go();
    let mut started = begun.ready().map_err(failed)?;
    started.notices.iter().for_each(|notice| say(notice));
    startup::mark(Stage::Ready);
    record.keep_policy().map_err(failed)?;
    if let Some(announce) = request.announce {
        // Whoever does not listen any more does not need to know.
        let _ = rustix::io::write(&announce, b"R");
    }
    started.sockets.publish = publish;
    if let Some(output) = &mut output {
        output
            .start()
            .map_err(|e| Failure::fault(format!("the output cannot be limited: {e}")))
            .map_err(failed)?;
    }
    let meter = output.as_ref().map(Output::meter);
    let terminal = match (started.terminal.take(), &shape) {
        (Some(master), Some(shape)) => Some(
            Terminal::new(master, shape, meter)
                .map_err(|e| Failure::fault(format!("the terminal cannot be used: {e}")))
                .map_err(failed)?,
        ),
        _ => None,
    };
    let settings = Settings {
        inspection: trust.and_then(|trust| trust.inspection),
        secrets,
        outer_proxy,
    };
    let mut supervisor = Supervisor::new(started, Arc::clone(&record.guard), door, settings);
    supervisor.front = Some(Front::new(terminal, signals));
    supervisor.output = output;
    supervisor.asks = Asks::new(&record.guard, request.policy.user_file.clone());
    let end = supervisor.watch();
    startup::mark(Stage::Report);
    if let Some(front) = &mut supervisor.front {
        front.finish();
    }
    if end.is_ok() {
        supervisor.pass_on_the_rest();
    }
    let finished = supervisor.conclude(end, record, caller.get(OsStr::new("PATH")), request.json);
    startup::mark(Stage::Closed);
    finished
}

/// Makes the user's folders of the product's own files where a program inside could make them: there
/// must be something to hide. Those of the system are others' as well, and not for one run to make.
/// They stay: to take one away would uncover it in every sandbox that hides it.
///
/// # Errors
/// A [`Failure`] where one cannot be made: the command could make it, and the next run obey it.
pub(crate) fn make_own_folders(policy: &Effective, request: &Request) -> Result<(), Failure> {
    let _moment = remembering();
    for folder in request.own_folders() {
        let real = resolve_existing(folder);
        let mut writable = policy.filesystem.write.iter();
        if writable.any(|entry| entry.pattern.covers(&real).is_some()) {
            let mut make = std::fs::DirBuilder::new();
            let made = make.recursive(true).mode(0o700).create(&real);
            made.map_err(|error| {
                Failure::fault(format!(
                    "not started: {} cannot be made ({error}), and so not be kept from the command, \
                     which may write there\n  remedy: make it yourself, or take the folder that it \
                     lies in out of [filesystem] write",
                    real.display()
                ))
            })?;
        }
    }
    Ok(())
}

/// The command starts where the caller is, if that is in the workspace.
pub(crate) fn start_folder(policy: &Effective, cwd: &Path) -> PathBuf {
    match cwd.canonicalize() {
        Ok(cwd) if cwd.starts_with(&policy.workspace) => cwd,
        _ => policy.workspace.clone(),
    }
}

/// The host's listeners of published ports.
pub(crate) fn publish(policy: &Effective) -> Result<Vec<(OwnedFd, u16)>, Failure> {
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

/// The folder of the host that backs a workspace's private paths.
#[must_use]
pub fn private_folder(state: &StateDir, policy: &Effective) -> PathBuf {
    let name = blake3::hash(policy.workspace.as_os_str().as_encoded_bytes()).to_hex();
    state.projects().join(&name[..32])
}
