//! Puts the workspace on a session's disk: the guest's binary packs it on the host, in a sandbox that has
//! the session's policy, and unpacks it in the machine.
//!
//! Decision: what a sandboxed command could not read does not get there, by the same enforcement; and the
//! machine's monitor is never shown anything of the host's.

use crate::backend::sandbox;
use crate::booted;
use crate::initrd::guest_binary;
use crate::machine::SHARE;
use crate::orders::{Order, Told};
use crate::running::{Vm, exec};
use bailiwick_channel::Ends;
use bailiwick_event::{Failure, Text};
use bailiwick_policy::Effective;
use bailiwick_sandbox::{
    Begun, Invocation, Launch, Monitor, News, Own, OwnAccess, Running, Started,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::pipe::{PipeFlags, pipe_with};
use signal_hook::SigId;
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::register;
use signal_hook::low_level::unregister;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The binary, inside of the sandbox.
pub(crate) const BINARY: &str = "/vm/guest";
/// Where a machine has it.
pub const GUEST: &str = "/run/bailiwick/guest";
/// The number of the command that unpacks; that of no client's.
const JOB: u32 = u32::MAX;
/// How long a workspace may take: some gigabytes on a machine that is translated and busy.
const PATIENCE: Duration = Duration::from_secs(900);
/// How long it may take until whoever packs it has seen that nobody takes it any more.
const PACKER: Duration = Duration::from_secs(5);

/// The binary in a sandbox with a policy, over the policy's files.
pub(crate) struct Boxed {
    begun: Box<dyn Begun>,
}

/// How the binary is started in its sandbox.
pub(crate) struct Words<'a> {
    pub(crate) policy: &'a Effective,
    pub(crate) private: &'a Path,
    pub(crate) best_effort: bool,
    /// What it does: `pack`, `unpack`.
    pub(crate) what: &'a str,
    /// With which folder of the host.
    pub(crate) path: &'a Path,
    pub(crate) flag: &'a str,
}

/// A path of the host's, as such a sandbox has it.
fn shared(path: &Path) -> PathBuf {
    let below = path.strip_prefix("/").unwrap_or(path);
    Path::new(SHARE).join(below)
}

impl Boxed {
    /// Starts it with these streams. The calling process has one thread.
    pub(crate) fn start(words: &Words<'_>, streams: [&OwnedFd; 3]) -> Result<Self, Failure> {
        let own = [Own {
            source: guest_binary()?,
            at: BINARY.into(),
            access: OwnAccess::Read,
        }];
        let argv: [OsString; 4] = [
            BINARY.into(),
            words.what.into(),
            shared(words.path).into(),
            words.flag.into(),
        ];
        let mut begun = sandbox()?.begin(&Launch {
            policy: words.policy,
            command: Some(Invocation {
                argv: &argv,
                cwd: Path::new("/"),
                environment: &[],
            }),
            open: false,
            private: words.private,
            best_effort: words.best_effort,
            trust: None,
            streams: streams.map(|stream| Some(stream.as_fd())),
            monitor: Some(Monitor {
                share: Path::new(SHARE),
                own: &own,
                waits: false,
            }),
        })?;
        // Where it is gone already, its end says why.
        let _ = begun.go();
        Ok(Self { begun })
    }

    /// Waits until its layers are in force.
    pub(crate) fn ready(self) -> Result<Box<dyn Running>, Failure> {
        let Started { running, .. } = self.begun.ready()?;
        Ok(running)
    }
}

/// Waits for the end of such a program; its exit code.
pub(crate) fn wait(running: &mut dyn Running) -> Result<u8, Failure> {
    let code = wait_for(running, None)?;
    Ok(code.unwrap_or(u8::MAX))
}

/// The same, so long at the most; none where it has not ended by then.
fn wait_for(running: &mut dyn Running, patience: Option<Duration>) -> Result<Option<u8>, Failure> {
    let lost = |error: io::Error| Failure::fault(format!("the sandbox of the files: {error}"));
    let until = patience.map(|patience| Instant::now() + patience);
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let fd = running.news_fd();
        let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(0) => return Ok(None),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(lost(error.into())),
        }
        match running.news().map_err(lost)? {
            Some(News::Exited(code)) => return Ok(Some(code)),
            Some(News::Failed(failure)) => return Err(*failure),
            Some(_) => {}
            None => return Err(lost(io::ErrorKind::UnexpectedEof.into())),
        }
    }
}

/// The workspace on its way to the machine.
pub(crate) struct Packer {
    boxed: Boxed,
    workspace: PathBuf,
    packed: OwnedFd,
    said: OwnedFd,
}

/// Whether somebody has had enough while a large workspace is on its way.
struct Interrupted {
    flag: Arc<AtomicBool>,
    registered: Vec<SigId>,
}

impl Interrupted {
    fn listen() -> Result<Self, Failure> {
        let flag = Arc::new(AtomicBool::new(false));
        let fault = |error: io::Error| Failure::fault(format!("signals: {error}"));
        let signals = [SIGINT, SIGTERM, SIGHUP].into_iter();
        let registered = signals.map(|signal| register(signal, Arc::clone(&flag)));
        let registered: io::Result<_> = registered.collect();
        Ok(Self {
            registered: registered.map_err(fault)?,
            flag,
        })
    }

    fn is(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}

impl Drop for Interrupted {
    fn drop(&mut self) {
        for id in self.registered.drain(..) {
            unregister(id);
        }
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), Failure> {
    pipe_with(PipeFlags::CLOEXEC).map_err(|e| Failure::fault(format!("a pipe: {e}")))
}

/// What a program says into a pipe, which is read from the beginning: one that says much does not wait.
struct Heard(JoinHandle<Vec<u8>>);

impl Heard {
    /// So many bytes are kept.
    const MOST: u64 = 4096;

    fn listen(pipe: OwnedFd) -> Result<Self, Failure> {
        let read = move || {
            let (mut pipe, mut text) = (File::from(pipe), Vec::new());
            let _ = (&mut pipe).take(Self::MOST).read_to_end(&mut text);
            let _ = io::copy(&mut pipe, &mut io::sink());
            text
        };
        let thread = thread::Builder::new().name("heard".to_owned()).spawn(read);
        let fault = |error| Failure::fault(format!("a thread: {error}"));
        thread.map(Self).map_err(fault)
    }

    /// All of it, when nobody writes any more.
    fn text(self) -> String {
        let text = self.0.join().unwrap_or_default();
        Text::from(String::from_utf8_lossy(&text).trim()).to_string()
    }
}

impl Packer {
    /// Begins to pack a launch's workspace; `base` becomes its listing. The calling process has one
    /// thread.
    pub(crate) fn begin(
        launch: &Launch<'_>,
        policy: &Effective,
        base: File,
    ) -> Result<Self, Failure> {
        let (packed, out) = pipe()?;
        let (said, error) = pipe()?;
        let workspace = launch.policy.workspace.clone();
        let words = Words {
            policy,
            private: launch.private,
            best_effort: launch.best_effort,
            what: "pack",
            path: &workspace,
            flag: "--listing",
        };
        let boxed = Boxed::start(&words, [&base.into(), &out, &error])?;
        Ok(Self {
            boxed,
            workspace,
            packed,
            said,
        })
    }

    /// Has a machine that is complete unpack it.
    pub(crate) fn deliver(self, vm: &mut Vm) -> Result<(), Failure> {
        let mut packing = self.boxed.ready()?;
        let said = Heard::listen(self.said)?;
        let (heard, error) = pipe()?;
        let heard = Heard::listen(heard)?;
        let command = Invocation {
            argv: &[GUEST.into(), "unpack".into(), self.workspace.clone().into()],
            cwd: Path::new("/"),
            environment: &[],
        };
        let order = Order::Exec {
            exec: Box::new(exec(JOB, &command, 0o022)),
            streams: [
                Some(Ends::source(self.packed)),
                None,
                Some(Ends::sink(error)),
            ]
            .into(),
            terminal: None,
        };
        let channel = |error| Failure::fault(format!("the channel: {error}"));
        vm.desk.order(order).map_err(channel)?;
        let interrupted = Interrupted::listen()?;
        let told = booted::wait_unless(vm, PATIENCE, &|| interrupted.is(), |told| {
            matches!(
                told,
                Told::Ended { job: JOB, .. } | Told::ExecFailed { job: JOB, .. }
            )
        })?;
        let failed = |what: &str, why: String, remedy: &str| {
            let workspace = self.workspace.display();
            Err(Failure::fault(format!(
                "the workspace {workspace} {what}: {why}{remedy}"
            )))
        };
        let unpacked = matches!(told, Told::Ended { code: 0, .. });
        // Where the machine has not unpacked it, that may be because it was not packed: whoever packs ends then.
        let patience = (!unpacked).then_some(PACKER);
        let packed = wait_for(&mut *packing, patience)?;
        let said = match packed {
            Some(0) | None => String::new(),
            Some(_) => said.text(),
        };
        match (packed, unpacked) {
            (Some(0), true) => Ok(()),
            (_, false) if said.is_empty() => {
                let remedy =
                    "\n  remedy: where there is no room, give it a larger one: --disk=SIZE";
                failed("does not get on the machine's disk", heard.text(), remedy)
            }
            _ => failed("cannot be packed", said, ""),
        }
    }
}
