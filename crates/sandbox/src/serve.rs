//! `bailiwick serve`: keeps sandboxes waiting for the runs of one policy in one workspace.
//!
//! Decision: each of them is a process of its own, which becomes the supervisor of the run that
//! takes it. This process only starts them: it holds no sandbox, reads nothing that a client
//! says, and may end while their runs go on.

use crate::backend::Backend;
use crate::place::{Place, pass};
use crate::protocol::open_door;
use crate::ready::ready;
use crate::session::say;
use crate::signals::Signals;
use crate::warm;
use bailiwick_event::Failure;
use bailiwick_ledger::StateDir;
use bailiwick_policy::Request;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, flock};
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};
use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What a waiting sandbox says when it is complete, and when a client has it.
pub(crate) const READY: u8 = b'R';
/// See [`READY`].
pub(crate) const TAKEN: u8 = b'T';

/// How long the place of one that was taken stays empty: a short command has the machine to
/// itself.
const PAUSE: Duration = Duration::from_millis(50);
/// How long after a mistake was found in the policy it is read again.
const RETRY: Duration = Duration::from_millis(500);
/// So many in a row that could not be made end it all.
const FAILURES: u32 = 3;

/// Which runs are to find a sandbox waiting.
pub struct ServeRequest {
    /// Where their policy comes from.
    pub policy: Request,
    /// Whether layers that the machine does not have are done without.
    pub best_effort: bool,
    /// How many sandboxes wait at a time.
    pub keep: usize,
    /// The words after the program's name that make it one such sandbox ([`crate::spare`]).
    pub spare: Vec<OsString>,
}

/// A process that makes a sandbox, holds it, or runs in it.
struct Spare {
    child: Child,
    socket: UnixStream,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Made,
    Ready,
    Taken,
}

/// Keeps sandboxes waiting until it is told to end.
///
/// # Errors
/// A [`Failure`] where the policy has mistakes, no sandbox can be had, or others are kept
/// waiting for the same already.
pub fn serve(backend: &dyn Backend, request: &ServeRequest) -> Result<u8, Failure> {
    let loaded = bailiwick_policy::load(&request.policy)?;
    loaded.notices.iter().for_each(|notice| say(notice));
    let state = StateDir::from_environment()?;
    let name = warm::name(&backend.kind(), &request.policy, request.best_effort);
    let door = Kept::open(&state, &name)?;
    pass(Place::Opened);
    let mut signals = Signals::new().map_err(|e| Failure::fault(format!("signals: {e}")))?;
    let mut spares: Vec<Spare> = Vec::new();
    let mut policy = Readable::new(&request.policy);
    let mut pause = Instant::now();
    let mut failures = 0;
    let mut announced = false;
    loop {
        let waiting = spares.iter().filter(|s| s.state != State::Taken).count();
        if waiting < request.keep && Instant::now() >= pause {
            if policy.is_whole() {
                spares.push(door.start(&request.spare)?);
                pass(Place::Spawned);
                continue;
            }
            pause = Instant::now() + RETRY;
        }
        let timeout =
            (waiting < request.keep).then(|| pause.saturating_duration_since(Instant::now()));
        let mut fds = vec![PollFd::from_borrowed_fd(signals.fd(), PollFlags::IN)];
        fds.extend(spares.iter().map(|s| PollFd::new(&s.socket, PollFlags::IN)));
        let ready = ready(&mut fds, timeout)?;
        if ready[0]
            && signals
                .drain()
                .any(|signal| [SIGINT, SIGTERM, SIGHUP].contains(&signal))
        {
            return Ok(0);
        }
        let mut at = 0;
        spares.retain_mut(|spare| {
            at += 1;
            if !ready[at] {
                return true;
            }
            match spare.hear() {
                Some(state) => {
                    spare.state = state;
                    failures = 0;
                    if state == State::Taken {
                        pass(Place::Replaces);
                        pause = Instant::now() + PAUSE;
                    }
                    true
                }
                None => {
                    if spare.state == State::Made {
                        failures += 1;
                    }
                    let _ = spare.child.wait();
                    false
                }
            }
        });
        if failures >= FAILURES {
            return Err(Failure::fault("no sandbox can be made here; see above"));
        }
        let complete = spares.iter().filter(|s| s.state == State::Ready).count();
        if complete >= request.keep && !announced {
            announced = true;
            pass(Place::Enough);
            let mut out = io::stdout().lock();
            let _ = writeln!(
                out,
                "{} for runs in {}; Ctrl-C ends this",
                match request.keep {
                    1 => "1 sandbox waits".to_owned(),
                    n => format!("{n} sandboxes wait"),
                },
                loaded.effective.workspace.display()
            );
            let _ = out.flush();
        }
    }
}

/// The policy, which somebody may be writing.
struct Readable<'a> {
    request: &'a Request,
    /// What was said of it last.
    mistake: Option<String>,
}

impl<'a> Readable<'a> {
    fn new(request: &'a Request) -> Self {
        let mistake = None;
        Self { request, mistake }
    }

    /// Whether it has no mistake; says one once.
    fn is_whole(&mut self) -> bool {
        let found = bailiwick_policy::load(self.request).err();
        let found = found.map(|failure| failure.to_string());
        if let Some(mistake) = &found
            && self.mistake != found
        {
            say(mistake);
            say("no sandbox is made until the policy can be read again");
        }
        self.mistake = found;
        self.mistake.is_none()
    }
}

impl Spare {
    /// What it says; none where it has ended.
    fn hear(&mut self) -> Option<State> {
        let mut word = [0];
        match io::Read::read(&mut self.socket, &mut word) {
            Ok(1) if word[0] == READY => Some(State::Ready),
            Ok(1) if word[0] == TAKEN => Some(State::Taken),
            _ => None,
        }
    }
}

/// A door that is this process's alone; it goes with it.
struct Kept {
    path: PathBuf,
    listener: OwnedFd,
    _lock: File,
}

impl Kept {
    fn open(state: &StateDir, name: &str) -> Result<Self, Failure> {
        let folder = warm::doors(state.path());
        let path = folder.join(name);
        let fault = |e: io::Error| Failure::fault(format!("{}: {e}", path.display()));
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.or_else(|e| match e.kind() {
            io::ErrorKind::AlreadyExists => Ok(()),
            _ => Err(fault(e)),
        })?;
        let lock = File::create(folder.join(format!("{name}.lock"))).map_err(fault)?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(Failure::usage(
                "sandboxes for this policy and workspace are kept waiting by another `bailiwick \
                 serve` already; end that one first",
            ));
        }
        // What is there was left by one that was killed.
        let _ = std::fs::remove_file(&path);
        let listener = open_door(&path).map_err(fault)?;
        rustix::fs::fcntl_setfl(&listener, rustix::fs::OFlags::NONBLOCK)
            .map_err(|e| fault(e.into()))?;
        Ok(Self {
            path,
            listener,
            _lock: lock,
        })
    }

    /// Starts a process that makes a sandbox.
    fn start(&self, words: &[OsString]) -> Result<Spare, Failure> {
        let fault = |e: io::Error| Failure::fault(format!("a sandbox cannot be started: {e}"));
        let (socket, theirs) = UnixStream::pair().map_err(fault)?;
        let door = self.listener.try_clone().map_err(fault)?;
        let child = Command::new(Path::new("/proc/self/exe"))
            .args(words)
            .stdin(Stdio::from(door))
            .stdout(Stdio::from(OwnedFd::from(theirs)))
            // Ctrl-C ends the waiting, and no run.
            .process_group(0)
            .spawn()
            .map_err(fault)?;
        Ok(Spare {
            child,
            socket,
            state: State::Made,
        })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
