//! `bailiwick suspend`, `resume`, `stop` and `rm`.

use crate::Done;
use crate::output;
use crate::run::conclude;
use crate::selection::{find, sessions};
use bailiwick_event::Failure;
use bailiwick_ledger::{SessionInfo, SessionState};
use bailiwick_policy::Request;
use bailiwick_sandbox::{Continuation, Early, RunRequest, SaveRequest, save};
use bailiwick_vm::{Keep, MACHINE, SESSION, STATE, SUSPENDED, Saved, VmBackend};
use clap::Args;
use rustix::fd::AsFd as _;
use rustix::fs::{FlockOperation, flock};
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

#[derive(Args)]
pub(crate) struct SuspendArguments {
    /// The session's name, or its id or the beginning of it
    pub(crate) session: String,
}

#[derive(Args)]
pub(crate) struct ResumeArguments {
    /// The session's name, or its id or the beginning of it
    pub(crate) session: String,
    /// Another name for it
    #[arg(long, value_name = "N")]
    pub(crate) name: Option<String>,
    /// Show refusals on stderr as they happen
    #[arg(long)]
    pub(crate) monitor: bool,
    /// Print the last line of the run as JSON (on stderr)
    #[arg(long)]
    pub(crate) json: bool,
    /// The session is a folder; stdin tells when it is complete, and hears when it runs
    #[arg(long, hide = true)]
    pub(crate) copy: bool,
}

#[derive(Args)]
pub(crate) struct StopArguments {
    /// The session's name, or its id or the beginning of it
    pub(crate) session: String,
    /// Seconds from SIGTERM to SIGKILL
    #[arg(long, short, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) time: u32,
}

#[derive(Args)]
pub(crate) struct RmArguments {
    /// Sessions: ids or the beginnings of them, or names
    #[arg(required = true)]
    pub(crate) sessions: Vec<String>,
    /// End those that run
    #[arg(long, short)]
    pub(crate) force: bool,
}

/// The folder of a session's machine.
///
/// # Errors
/// It has none.
pub(crate) fn machine_of(info: &SessionInfo) -> Result<PathBuf, Failure> {
    let folder = info.directory.join(MACHINE);
    match folder.is_dir() {
        true => Ok(folder),
        // Its disk goes along with what goes on.
        false if info.exit_code == Some(SUSPENDED) => Err(Failure::usage(format!(
            "the session {} was suspended and went on as another one, which has its disk\nhelp: \
             `bailiwick sessions list` shows it",
            info.id
        ))),
        false => Err(Failure::usage(format!(
            "the session {} has no disk of its own: what it wrote is in its workspace already\nhelp: \
             `bailiwick run --backend vm --disk` starts one that has",
            info.id
        ))),
    }
}

/// Whether a session that has ended can go on.
pub(crate) fn is_suspended(info: &SessionInfo) -> bool {
    info.state != SessionState::Live && info.directory.join(MACHINE).join(SESSION).is_file()
}

/// A new file that only its owner reads.
pub(crate) fn create(path: &Path) -> Result<File, Failure> {
    let mut options = OpenOptions::new();
    let made = options.write(true).create_new(true).mode(0o600).open(path);
    made.map_err(|error| Failure::fault(format!("{}: {error}", path.display())))
}

/// What a session is saved to. The files have their names when all is in them, so that what an interrupted
/// one has left is never taken for a session.
pub(crate) struct Files {
    folder: PathBuf,
    pub(crate) known: File,
    pub(crate) state: File,
    /// Whoever has the folder saves to it.
    _lock: File,
}

/// The last first: a session is there when that is.
const FILES: [&str; 2] = [STATE, SESSION];

impl Files {
    pub(crate) fn make(folder: &Path) -> Result<Self, Failure> {
        let fault = |error: io::Error| Failure::fault(format!("{}: {error}", folder.display()));
        let lock = File::open(folder).map_err(fault)?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(Failure::usage(
                "the session is being saved already\nhelp: wait until that is done",
            ));
        }
        let made = |name| {
            let path = Self::unnamed(folder, name);
            // Of one that was interrupted.
            let _ = std::fs::remove_file(&path);
            create(&path)
        };
        Ok(Self {
            known: made(SESSION)?,
            state: made(STATE)?,
            folder: folder.to_path_buf(),
            _lock: lock,
        })
    }

    fn unnamed(folder: &Path, name: &str) -> PathBuf {
        folder.join(format!("{name}.new"))
    }

    /// All is in the one of this name.
    pub(crate) fn keep(&self, name: &str) -> Result<(), Failure> {
        let to = self.folder.join(name);
        std::fs::rename(Self::unnamed(&self.folder, name), &to)
            .map_err(|error| Failure::fault(format!("{}: {error}", to.display())))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // Those that were kept have other names.
        for name in FILES {
            let _ = std::fs::remove_file(Self::unnamed(&self.folder, name));
        }
    }
}

/// While a session ends by being saved nothing interrupts whoever gives the files their names.
fn be_patient() -> Result<(), Failure> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::default())
            .map_err(|error| Failure::fault(format!("signals: {error}")))?;
    }
    Ok(())
}

/// Saves a session and ends it.
pub(crate) fn suspend(arguments: &SuspendArguments) -> Done {
    let session = &arguments.session;
    let info = live(session)?;
    let files = Files::make(&machine_of(&info)?)?;
    be_patient()?;
    let request = SaveRequest {
        session,
        known: files.known.as_fd(),
        state: files.state.as_fd(),
        disk: None,
    };
    save(&request, || Ok(()))?;
    FILES.iter().try_for_each(|name| files.keep(name))?;
    output::print(&format!(
        "{session} is suspended; `bailiwick resume {session}` lets it go on\n"
    ))?;
    Ok(0)
}

/// A session that runs.
pub(crate) fn live(session: &str) -> Result<SessionInfo, Failure> {
    let sessions = sessions()?;
    let info = match sessions.running(session)? {
        Some(folder) => {
            let all = sessions.list()?;
            all.into_iter().find(|info| info.directory == folder)
        }
        None => None,
    };
    let info = info.map_or_else(|| sessions.find(session), Ok)?;
    match info.state {
        SessionState::Live => Ok(info),
        _ if is_suspended(&info) => Err(Failure::usage(format!(
            "the session {session} is suspended\nhelp: `bailiwick resume {session}` lets it go on"
        ))),
        _ => Err(Failure::usage(format!(
            "the session {session} has ended; `bailiwick sessions list` shows which go on"
        ))),
    }
}

/// Lets a session go on.
pub(crate) fn resume(arguments: ResumeArguments) -> Done {
    let (folder, name) = match arguments.copy {
        true => (PathBuf::from(&arguments.session), None),
        false => suspended(&arguments.session)?,
    };
    let known = File::open(folder.join(SESSION)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::usage(format!(
            "the session {0} was not suspended\nhelp: `bailiwick suspend {0}` saves one that runs",
            arguments.session
        )),
        _ => Failure::fault(format!("{}: {error}", folder.join(SESSION).display())),
    })?;
    let session = Continuation::read(known)?;
    let saved = Saved::from_bytes(&session.sandbox)?;
    let announce = match arguments.copy {
        true => {
            // Neither a terminal's end nor its keys reach it.
            let _ = rustix::process::setsid();
            Some(take_stdin()?)
        }
        false => None,
    };
    let without_terminal = !saved.has_terminal();
    let shape = saved.shape();
    let complete = announce.as_ref().map(OwnedFd::try_clone).transpose();
    let complete = complete.map_err(|error| Failure::fault(format!("stdin: {error}")))?;
    let keep = Keep::Saved {
        folder,
        saved,
        complete: complete.map(Arc::new),
    };
    let backend = VmBackend::with_disk(shape, keep);
    let policy = session.policy()?;
    let request = Request::from_environment(Vec::new(), policy.workspace);
    let finished = bailiwick_sandbox::run(
        &backend,
        RunRequest {
            policy: request,
            name: arguments.name.or(name),
            environment: Vec::new(),
            monitor: arguments.monitor,
            json: arguments.json,
            // What the session began with was complete, or was said; nothing less is put up with here.
            best_effort: false,
            warm: false,
            early: without_terminal.then(|| Early::without_terminal(&backend)),
            argv: session.argv.clone(),
            goes_on: Some(session),
            announce,
        },
    )?;
    Ok(conclude(finished))
}

/// The machine of a session that has ended, and the session's name.
fn suspended(session: &str) -> Result<(PathBuf, Option<String>), Failure> {
    let (info, _) = find(session)?;
    if info.state == SessionState::Live {
        return Err(Failure::usage(format!(
            "the session {session} runs\nhelp: `bailiwick exec {session} -- …` runs another command in it"
        )));
    }
    Ok((machine_of(&info)?, info.name))
}

/// What this process was given as stdin, for itself: `/dev/null` is the command's.
fn take_stdin() -> Result<OwnedFd, Failure> {
    let fault = |error: rustix::io::Errno| Failure::fault(format!("stdin: {error}"));
    let own = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).map_err(fault)?;
    let null = File::open("/dev/null").map_err(|e| Failure::fault(format!("/dev/null: {e}")))?;
    rustix::stdio::dup2_stdin(&null).map_err(fault)?;
    Ok(own)
}

/// Ends a session.
pub(crate) fn stop(arguments: &StopArguments) -> Done {
    let patience = Duration::from_secs(arguments.time.into());
    bailiwick_sandbox::stop(&arguments.session, patience)?;
    output::print(&format!("{} has ended\n", arguments.session))?;
    Ok(0)
}

/// Removes sessions.
pub(crate) fn rm(arguments: &RmArguments) -> Done {
    remove(&arguments.sessions, arguments.force)
}

/// The same; those that run are ended first where `force` says so.
pub(crate) fn remove(queries: &[String], force: bool) -> Done {
    let all = sessions()?;
    for query in queries {
        // A name that is used again and again must not lead to one record after the other.
        let info = all.find_only(query).or_else(|why| {
            // Of those that went on one has the disk.
            let mut named = all.list()?;
            named.retain(|info| info.name.as_deref() == Some(query) && machine_of(info).is_ok());
            match named.pop() {
                Some(info) if named.is_empty() => Ok(info),
                _ => Err(why),
            }
        })?;
        if info.state == SessionState::Live && force {
            bailiwick_sandbox::stop(&info.id.to_string(), Duration::ZERO)?;
        }
        all.remove(&info.id)?;
        output::print(&format!("removed {}\n", info.id))?;
    }
    Ok(0)
}
