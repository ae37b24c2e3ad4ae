//! The sandbox's pid 1. It sets up every layer around itself, starts the command under them, and
//! stays: it collects what ends, passes signals on, and takes everything with it when the
//! supervisor is gone. It has given up all authority before the command starts.

use crate::command;
use crate::identity::{INSIDE, Identity};
use crate::kernel;
use crate::limits;
use crate::message::{Carried, Order, Report, receive, send, tell};
use crate::mounts;
use crate::network;
use crate::plan::Plan;
use crate::pty::Pty;
use crate::ruleset;
use crate::seccomp;
use crate::skeleton::{Skeleton, scratch};
use crate::watch::{self, Watch};
use bailiwick_event::LimitKind;
use bailiwick_sandbox::Launch;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::Mode;
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus, kill_process_group,
    set_dumpable_behavior, set_parent_process_death_signal, setsid, wait,
};
use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long pid 1 leaves the end of a run that is over its time to the supervisor.
const WALL_GRACE: Duration = Duration::from_millis(500);

/// What pid 1 is given.
pub(crate) struct Init<'a> {
    pub(crate) launch: &'a Launch<'a>,
    pub(crate) identity: Identity,
    pub(crate) plan: &'a Plan,
    pub(crate) skeleton: &'a Skeleton,
    /// For each bind of the plan, the user namespace of its idmapping.
    pub(crate) idmaps: &'a [Option<OwnedFd>],
    /// Orders and reports.
    pub(crate) control: OwnedFd,
    /// Requests for connections into the sandbox.
    pub(crate) dial: OwnedFd,
    /// Whether the order to start the command has come.
    pub(crate) may_go: Cell<bool>,
}

/// A step that failed.
struct Stop {
    stage: String,
    errno: i32,
}

/// Names the stage of an error.
trait Stage<T> {
    fn stage(self, stage: &str) -> Result<T, Stop>;
}
impl<T, E: Into<io::Error>> Stage<T> for Result<T, E> {
    fn stage(self, stage: &str) -> Result<T, Stop> {
        self.map_err(|error| Stop {
            stage: stage.to_owned(),
            errno: error.into().raw_os_error().unwrap_or(0),
        })
    }
}

impl Init<'_> {
    /// Runs the sandbox to its end.
    pub(crate) fn run(self) -> ! {
        let umask = rustix::process::umask(Mode::empty());
        let pty = match self.set_up() {
            Ok(pty) => pty,
            Err(Stop { stage, errno }) => {
                let _ = tell(&self.control, &Report::Failed { stage, errno });
                kernel::exit_now(125)
            }
        };
        if !self.may_go.get() {
            match receive::<Order>(&self.control) {
                Ok(Some((Order::Go, _))) => {}
                _ => kernel::exit_now(125),
            }
        }
        // A background process may take the terminal's foreground, as every shell does.
        kernel::ignore_signal(libc::SIGTTOU);
        let command = kernel::spawn(&mut || {
            let error = command::become_command(self.launch, pty.as_ref(), umask);
            let errno = error.raw_os_error().unwrap_or(libc::EIO);
            let _ = tell(&self.control, &Report::ExecFailed { errno });
            127
        });
        match command {
            // The terminal stays open here, so that it does not hang up while the command has it
            // closed for a moment.
            Ok(pid) => self.live(pid, pty.as_ref()),
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                let _ = tell(&self.control, &Report::ExecFailed { errno });
                kernel::exit_now(125)
            }
        }
    }

    /// Every layer, in the order in which each can still be set up.
    fn set_up(&self) -> Result<Option<Pty>, Stop> {
        kernel::reset_signals();
        die_with_parent().stage("supervision")?;
        setsid().stage("session")?;
        if self.identity != Identity::Root {
            self.identity.map_self().stage("user")?;
        }
        let mut carried = self.network_and_root()?;
        if self.identity == Identity::Root {
            self.leave_root()?;
        }
        // Changing the user clears the death signal and the dumpable flag.
        die_with_parent().stage("supervision")?;
        set_dumpable_behavior(DumpableBehavior::NotDumpable).stage("supervision")?;
        let pty = match &self.launch.terminal {
            Some(shape) => Some(Pty::open(shape).stage("terminal")?),
            None => None,
        };
        rustix::thread::set_no_new_privs(true).stage("no_new_privs")?;
        kernel::drop_capabilities().stage("capabilities")?;
        self.landlock()?;
        limits::pin_to_cpus(&self.launch.policy.limits).stage("cpu limit")?;
        let cpu_limited = self.launch.policy.limits.cpu.is_some();
        kernel::seccomp(&seccomp::program(cpu_limited)).stage("seccomp")?;
        if let Some(pty) = &pty {
            let master = rustix::io::fcntl_dupfd_cloexec(&pty.master, 3).stage("terminal")?;
            carried.push((Carried::Pty, master));
        }
        let (descriptors, sockets): (Vec<_>, Vec<_>) = carried.into_iter().unzip();
        send(&self.control, &Report::Ready { descriptors }, &sockets).stage("hand-over")?;
        Ok(pty)
    }

    /// The private network and the private root, which do not depend on each other: at the same
    /// time, as together they are most of what a start takes.
    fn network_and_root(&self) -> Result<Vec<(Carried, OwnedFd)>, Stop> {
        let network = || network::set_up(&self.launch.policy.network).stage("network");
        let root = || {
            mounts::enter(self.plan, self.idmaps, self.skeleton, self.identity).map_err(|e| Stop {
                stage: format!("mount: {}", e.what),
                errno: e.errno,
            })
        };
        std::thread::scope(|scope| {
            let network = scope.spawn(network);
            let root = root();
            let sockets = network.join().map_err(|_| Stop {
                stage: "network".into(),
                errno: 0,
            })?;
            root.and(sockets)
        })
    }

    /// From the host's root to an id that nobody has, in a user namespace of the sandbox's own.
    fn leave_root(&self) -> Result<(), Stop> {
        own_pipes().stage("user")?;
        enter_user_namespace().stage("user")?;
        tell(&self.control, &Report::MapIds).stage("user")?;
        loop {
            match receive::<Order>(&self.control).stage("user")? {
                Some((Order::IdsMapped, _)) => break,
                // The supervisor does not wait for us.
                Some((Order::Go, _)) => self.may_go.set(true),
                _ => return Err(io::Error::from_raw_os_error(libc::EPROTO)).stage("user"),
            }
        }
        let (uid, gid) = self.identity.inside();
        kernel::become_user(uid, gid).stage("user")
    }

    fn landlock(&self) -> Result<(), Stop> {
        let mut writable: Vec<PathBuf> = scratch(self.launch.policy, self.identity);
        writable.extend(self.plan.writable().map(Path::to_path_buf));
        writable.push("/dev".into());
        writable.push("/proc".into());
        match ruleset::enforce(writable.iter().map(PathBuf::as_path)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)).stage("landlock"),
            Err(_) => Err(Stop {
                stage: "landlock".into(),
                errno: 0,
            }),
        }
    }

    /// Waits for the command's end, and for orders.
    fn live(&self, command: i32, _terminal: Option<&Pty>) -> ! {
        release_streams();
        let Ok(signals) = kernel::signal_descriptor(&[libc::SIGCHLD]) else {
            kernel::exit_now(125)
        };
        let mut watch = Watch::new(&self.launch.policy.limits);
        let mut looked = Instant::now();
        let wall = self.launch.policy.limits.wall.as_ref();
        let deadline = wall.map(|wall| (Instant::now() + wall.value, WALL_GRACE));
        loop {
            self.collect(command);
            let next = match (&watch, deadline) {
                (Some(_), _) => Some(watch::INTERVAL),
                (None, Some(_)) => Some(WALL_GRACE),
                (None, None) => None,
            };
            let timeout = next.map(|next| rustix::event::Timespec {
                tv_sec: next.as_secs().cast_signed(),
                tv_nsec: next.subsec_nanos().into(),
            });
            if let Some((deadline, grace)) = deadline
                && Instant::now() >= deadline + grace
            {
                // The supervisor, which ends the run in time, is stopped itself.
                kill_everything();
                while wait(WaitOptions::empty()).is_ok() {}
                let _ = tell(&self.control, &Report::Exited { code: 137 });
                kernel::exit_now(0)
            }
            let mut fds = [
                PollFd::new(&signals, PollFlags::IN),
                PollFd::new(&self.control, PollFlags::IN),
                PollFd::new(&self.dial, PollFlags::IN),
            ];
            let _ = poll(&mut fds, timeout.as_ref());
            let [child, control, dial] = fds.map(|fd| !fd.revents().is_empty());
            if child {
                let _ = rustix::io::read(&signals, &mut [0; 1024]);
            }
            if control {
                self.obey(command);
            }
            if dial {
                self.connect();
            }
            let due = watch
                .as_mut()
                .filter(|_| looked.elapsed() >= watch::INTERVAL);
            if let Some((kind, observed)) = due.and_then(|watch| {
                looked = Instant::now();
                watch.look()
            }) {
                let _ = tell(&self.control, &Report::Limit { kind, observed });
                if kind == LimitKind::Memory {
                    kill_everything();
                }
            }
        }
    }

    /// Collects what ended; ends the sandbox with the command.
    fn collect(&self, command: i32) {
        let options = WaitOptions::NOHANG | WaitOptions::UNTRACED;
        while let Ok(Some((pid, status))) = wait(options) {
            if pid.as_raw_nonzero().get() != command {
                continue;
            }
            if let Some(signal) = status.stopping_signal() {
                let _ = tell(&self.control, &Report::Stopped { signal });
                continue;
            }
            // Nothing of the sandbox is left when the end is reported.
            kill_everything();
            while wait(WaitOptions::empty()).is_ok() {}
            let _ = tell(
                &self.control,
                &Report::Exited {
                    code: shell_code(status),
                },
            );
            kernel::exit_now(0)
        }
    }

    fn obey(&self, command: i32) {
        match receive::<Order>(&self.control) {
            Ok(Some((Order::Signal(number), _))) => {
                // SAFETY: the kernel refuses numbers that are no signals.
                let signal = unsafe { Signal::from_raw_unchecked(number) };
                if let Some(group) = Pid::from_raw(command) {
                    let _ = kill_process_group(group, signal);
                }
            }
            Ok(Some(_)) => {}
            // The supervisor is gone: so is the sandbox.
            _ => kernel::exit_now(125),
        }
    }

    fn connect(&self) {
        let Ok(Some((Order::Connect(port), _))) = receive::<Order>(&self.dial) else {
            return;
        };
        let _ = match network::dial(port) {
            Ok(socket) => send(&self.dial, &0_i32, &[socket]),
            Err(error) => tell(&self.dial, &error.raw_os_error().unwrap_or(libc::EIO)),
        };
    }
}

fn die_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Ends every process of the namespace but this one.
fn kill_everything() {
    // SAFETY: numbers only; as pid 1 of a namespace, -1 means every other process in it.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// Enters a new user namespace, which the kernel refuses to a process with a second thread
/// (EINVAL); the one that built the network has ended, but may not be gone yet.
fn enter_user_namespace() -> io::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(1);
    loop {
        match kernel::unshare(libc::CLONE_NEWUSER) {
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) && Instant::now() < deadline => {
                std::thread::yield_now();
            }
            done => return done,
        }
    }
}

/// Gives the caller's pipes to the id inside, which could not open them again (`/dev/stdout`)
/// otherwise; they belong to nobody but the caller's pipeline.
fn own_pipes() -> io::Result<()> {
    use rustix::fs::{FileType, Gid, Uid, fchown, fstat};
    let inside = (Uid::from_raw(INSIDE), Gid::from_raw(INSIDE));
    for stream in [
        rustix::stdio::stdin(),
        rustix::stdio::stdout(),
        rustix::stdio::stderr(),
    ] {
        let anonymous = fstat(stream).is_ok_and(|stat| {
            FileType::from_raw_mode(stat.st_mode) == FileType::Fifo && stat.st_nlink == 1
        });
        if anonymous {
            fchown(stream, Some(inside.0), Some(inside.1))?;
        }
    }
    Ok(())
}

/// Pid 1 must not keep the ends of the caller's pipes open.
fn release_streams() {
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
    if let Ok(null) = rustix::fs::open("/dev/null", flags, Mode::empty()) {
        let _ = rustix::stdio::dup2_stdin(null.as_fd());
        let _ = rustix::stdio::dup2_stdout(null.as_fd());
        let _ = rustix::stdio::dup2_stderr(null.as_fd());
    }
}

fn shell_code(status: WaitStatus) -> u8 {
    let code = status
        .exit_status()
        .or_else(|| status.terminating_signal().map(|signal| 128 + signal))
        .unwrap_or(125);
    u8::try_from(code).unwrap_or(125)
}
