//! The sandbox's pid 1. It sets up every layer around itself, starts the command under them, and
//! stays (see [`crate::live`]). It has given up all authority before the command starts, but the
//! right to look at what it makes calls for.

use crate::bare;
use crate::command::Streams;
use crate::cpus::Cpus;
use crate::identity::{self, Identity};
use crate::kernel;
use crate::limits;
use crate::live::{Live, Way};
use crate::message::{Carried, Order, Report, receive, send, tell};
use crate::mounts::{self, MountError};
use crate::network;
use crate::pty::Pty;
use crate::raw;
use crate::ruleset;
use crate::seccomp;
use crate::setup::{self, SetUp};
use crate::switches::{Layer, without};
use bailiwick_sandbox::startup::{self, Stage as Mark};
use bailiwick_sandbox::{OWN, TerminalShape};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, getpid, set_child_subreaper, set_dumpable_behavior, setpgid, setsid,
};
use std::io;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The namespaces that every sandbox has besides those that pid 1 is made in, and the network.
const NAMESPACES: i32 =
    libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | libc::CLONE_NEWCGROUP;

/// What pid 1 is given when it is forked.
pub(crate) struct Init {
    pub(crate) identity: Identity,
    /// Whether it is in namespaces of its own.
    pub(crate) isolated: bool,
    pub(crate) cpus: Cpus,
    pub(crate) terminal: Option<TerminalShape>,
    /// Orders and reports.
    pub(crate) control: OwnedFd,
    /// By which the brokers of this host take turns, or why there is none.
    pub(crate) order: Result<[OwnedFd; 2], (PathBuf, Errno)>,
    /// Requests for connections into the sandbox; where it has no network of its own, for those
    /// out of it.
    pub(crate) dial: OwnedFd,
}

/// A sandbox whose layers are all in force.
struct Complete {
    set_up: SetUp,
    pty: Option<Pty>,
    /// Whether the order to start the command has come.
    may_go: bool,
}

/// A step that failed.
struct Stop {
    stage: String,
    errno: i32,
}

impl From<MountError> for Stop {
    fn from(error: MountError) -> Self {
        Self {
            stage: format!("mount: {}", error.what),
            errno: error.errno,
        }
    }
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

impl Init {
    /// Whether this is pid 1 of a namespace.
    pub(crate) fn has_own_processes(&self) -> bool {
        self.isolated && !without(Layer::Pid)
    }

    /// Runs the sandbox to its end.
    pub(crate) fn run(self) -> ! {
        startup::enter(Mark::Namespaces);
        // One C library's `abort` would end the thread that this process was copied from.
        let tell_of_it = panic::take_hook();
        panic::set_hook(Box::new(move |what| {
            tell_of_it(what);
            kernel::exit_now(134)
        }));
        if !without(Layer::Keyring) {
            // Where this is refused (by a container engine's filter, or because the user has as many
            // keys as he may) nothing reaches the caller's keys as long as the filter holds.
            let _ = kernel::leave_keyring();
        }
        let umask = rustix::process::umask(Mode::empty());
        let Complete {
            set_up,
            pty,
            may_go,
        } = match self.build() {
            Ok(complete) => complete,
            Err(Stop { stage, errno }) => {
                let _ = tell(&self.control, &Report::Failed { stage, errno });
                kernel::exit_now(125)
            }
        };
        let waits = set_up.command.is_none();
        if !may_go && !waits {
            match receive::<Order>(&self.control) {
                Ok(Some((Order::Go, _))) => {}
                _ => kernel::exit_now(125),
            }
        }
        // A background process may take the terminal's foreground, as every shell does.
        kernel::ignore_signal(libc::SIGTTOU);
        startup::mark(Mark::HandOver);
        let streams = self.terminal.as_ref().map(|shape| shape.streams);
        let connects = set_up.connects();
        let SetUp {
            command,
            rules,
            plan,
            bounds,
            bare,
            skeleton,
            ..
        } = set_up;
        if let Some(bare) = &bare {
            // Where there is no room for it git says so itself.
            let _ = bare::prepare(&skeleton, &bare.scratch);
        }
        let variables = bare.as_ref().map(|bare| bare::variables(&plan, bare));
        let variables = variables.unwrap_or_default();
        let scratch = bare.map(|bare| bare.scratch);
        let Ok(mut live) = Live::new(self, rules, bounds, variables, connects, scratch) else {
            kernel::exit_now(125)
        };
        if let Some(command) = command {
            // The terminal stays open here, so that it does not hang up while the command has it
            // closed for a moment.
            let slave = pty.as_ref().map(|pty| pty.slave.as_fd());
            let streams = Streams {
                of: streams.unwrap_or_default().map(|is| slave.filter(|_| is)),
                terminal: slave,
            };
            live.start(OWN, command, umask, Way::Directly(streams));
            startup::mark(Mark::Exec);
        }
        live.go_on(plan.writable_folders().collect())
    }

    fn build(&self) -> Result<Complete, Stop> {
        match self.isolated {
            true => self.set_up(),
            false => self.set_up_on_host(),
        }
    }

    /// Whether the broker, where there is one, can take turns with those of other sandboxes.
    fn may_take_turns(&self, set_up: &SetUp) -> Result<(), Stop> {
        match &self.order {
            Err((path, errno)) if set_up.rules.is_some() => Err(Stop {
                stage: format!("the order of writes, {} (remove it)", path.display()),
                errno: errno.raw_os_error(),
            }),
            _ => Ok(()),
        }
    }

    /// The layers of a machine that gives no namespaces.
    fn set_up_on_host(&self) -> Result<Complete, Stop> {
        kernel::reset_signals();
        self.leave_terminal().stage("session")?;
        set_child_subreaper(Some(getpid())).stage("supervision")?;
        startup::mark(Mark::Namespaces);
        let set_up = self.wait_for_plan()?;
        self.may_take_turns(&set_up)?;
        startup::mark(Mark::Plan);
        self.cpus.restore();
        let Some(bare) = &set_up.bare else {
            return Err(io::Error::from_raw_os_error(libc::EPROTO)).stage("plan");
        };
        close_to_others().stage("supervision")?;
        let pty = self.open_terminal()?;
        no_new_privileges().stage("no_new_privs")?;
        let kept = kernel::Kept {
            looks: set_up.rules.is_some(),
            reads: false,
        };
        kernel::drop_capabilities(kept).stage("capabilities")?;
        match bare::enforce(&set_up.plan, bare) {
            Ok(true) => {}
            _ => return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)).stage("landlock"),
        }
        startup::mark(Mark::Landlock);
        self.filter(&set_up)?;
        self.hand_over(set_up, Vec::new(), pty, false)
    }

    /// Every layer, in the order in which each can still be set up. The network's namespace and
    /// sockets, and the end of the old root, depend on nothing else and take long: they have a
    /// thread of their own, whose namespace this one enters, and which has ended before this
    /// returns.
    fn set_up(&self) -> Result<Complete, Stop> {
        kernel::reset_signals();
        kernel::die_with_parent(true).stage("supervision")?;
        if !self.has_own_processes() {
            set_child_subreaper(Some(getpid())).stage("supervision")?;
        }
        kernel::unshare(namespaces()).stage("user")?;
        let kernel = network::settings().stage("network")?;
        let (entered, old_root) = mpsc::channel::<()>();
        let (made, network) = mpsc::channel();
        let cpus = self.cpus;
        let aside = move || {
            startup::enter(Mark::Gate);
            cpus.restore();
            if without(Layer::Network) {
                return match old_root.recv() {
                    Ok(()) => Ok(mounts::detach_old_root().map(|()| Vec::new())?),
                    Err(_) => Ok(Vec::new()),
                };
            }
            let begun = network::begin(&kernel).map_err(of_configuration);
            let v6 = begun.as_ref().is_ok_and(|(_, v6)| *v6);
            let failed = begun.is_err();
            let _ = made.send(begun);
            if failed {
                return Ok(Vec::new());
            }
            let sockets = network::set_up(v6).stage("network");
            startup::mark(Mark::Gate);
            // Where the root was not entered the other thread knows why.
            match old_root.recv() {
                Ok(()) => mounts::detach_old_root().map_err(Stop::from).and(sockets),
                Err(_) => sockets,
            }
        };
        std::thread::scope(|scope| {
            // Dropped when this ends early: the thread waits for it, and the scope for the thread.
            let entered = entered;
            let aside = scope.spawn(aside);
            self.leave_terminal().stage("session")?;
            if !self.identity.is_by_root() {
                self.identity.map_self().stage("user")?;
            }
            startup::mark(Mark::Namespaces);
            mounts::begin(self.identity)?;
            startup::mark(Mark::Base);
            tell(&self.control, &Report::Based).stage("supervision")?;
            // The plan may come where the supervisor is; by now that has most likely chosen the CPU for
            // this process, and if not, the second time is behind it.
            self.cpus.restore();
            let set_up = self.wait_for_plan()?;
            self.may_take_turns(&set_up)?;
            self.cpus.restore();
            startup::mark(Mark::Plan);
            mounts::enter(&set_up, || self.wait_for_owners(), self.identity)?;
            startup::mark(Mark::Mounts);
            let _ = entered.send(());
            let lost = || Err(io::Error::from(io::ErrorKind::BrokenPipe)).stage("network");
            let mut v6 = false;
            if !without(Layer::Network) {
                let (namespace, has_v6) = network.recv().unwrap_or_else(|_| lost())?;
                network::enter(&namespace).stage("network")?;
                v6 = has_v6;
            }
            let wait = || {
                aside.join().unwrap_or_else(|_| {
                    Err(Stop {
                        stage: "network".into(),
                        errno: 0,
                    })
                })
            };
            self.complete(set_up, v6, wait)
        })
    }

    /// Gives up the caller's terminal. A sandbox with a terminal of its own needs a session of its
    /// own; another stays in the caller's, because the kernel schedules sessions and not processes
    /// against each other, which costs a pipeline a tenth of its throughput.
    fn leave_terminal(&self) -> io::Result<()> {
        if without(Layer::Terminal) {
            return Ok(());
        }
        if self.terminal.is_some() || kernel::give_up_terminal().is_err() {
            setsid()?;
            return Ok(());
        }
        // Nor does it get what the terminal sends to the caller's process group.
        Ok(setpgid(None, None)?)
    }

    /// Waits for the order to set the sandbox up.
    fn wait_for_plan(&self) -> Result<SetUp, Stop> {
        match receive::<Order>(&self.control).stage("plan")? {
            Some((Order::SetUp, mut descriptors)) if !descriptors.is_empty() => {
                let message = descriptors.remove(0);
                let set_up: SetUp = setup::unpack(&message).stage("plan")?;
                take_streams(set_up.streams, &descriptors).stage("output limit")?;
                Ok(set_up)
            }
            // The policy was refused, or the supervisor is gone.
            None => kernel::exit_now(125),
            Some(_) => Err(io::Error::from_raw_os_error(libc::EPROTO)).stage("plan"),
        }
    }

    /// Waits for the idmappings of the plan's owners.
    fn wait_for_owners(&self) -> io::Result<Vec<OwnedFd>> {
        match receive::<Order>(&self.control)? {
            Some((Order::Owners, namespaces)) => Ok(namespaces),
            None => kernel::exit_now(125),
            Some(_) => Err(io::Error::from_raw_os_error(libc::EPROTO)),
        }
    }

    /// From the new root to a sandbox in which every layer is in force.
    fn complete(
        &self,
        set_up: SetUp,
        v6: bool,
        wait: impl FnOnce() -> Result<Vec<(Carried, OwnedFd)>, Stop>,
    ) -> Result<Complete, Stop> {
        let (mut carried, wait, may_go) = match self.identity.is_by_root() {
            true if without(Layer::Identity) => (wait()?, None, false),
            true => {
                let carried = wait()?;
                (carried, None, self.leave_root()?)
            }
            false => (Vec::new(), Some(wait), false),
        };
        // Changing the user clears the death signal and the dumpable flag.
        kernel::die_with_parent(true).stage("supervision")?;
        close_to_others().stage("supervision")?;
        let pty = self.open_terminal()?;
        no_new_privileges().stage("no_new_privs")?;
        let kept = kernel::Kept {
            looks: set_up.rules.is_some(),
            reads: set_up.bounds.disk.is_some(),
        };
        kernel::drop_capabilities(kept).stage("capabilities")?;
        startup::mark(Mark::Identity);
        self.landlock(&set_up)?;
        startup::mark(Mark::Landlock);
        self.filter(&set_up)?;
        if let Some(wait) = wait {
            carried = wait()?;
        }
        rustix::process::chdir("/").stage("mount: /")?;
        if !without(Layer::Network) {
            carried.extend(network::grant(&set_up.loopback, v6).stage("network")?);
        }
        startup::mark(Mark::Network);
        self.hand_over(set_up, carried, pty, may_go)
    }

    fn open_terminal(&self) -> Result<Option<Pty>, Stop> {
        let shape = self.terminal.as_ref();
        shape.map(Pty::open).transpose().stage("terminal")
    }

    /// The system-call filter, and what it keeps from being undone.
    fn filter(&self, set_up: &SetUp) -> Result<(), Stop> {
        limits::pin_to_cpus(&set_up.bounds).stage("cpu limit")?;
        if without(Layer::Seccomp) {
            return Ok(());
        }
        let filter = seccomp::Filter {
            cpu_limited: set_up.bounds.cpu.is_some(),
            disk_limited: set_up.bounds.disk.is_some(),
            network: match (self.isolated, set_up.connects()) {
                (true, _) => seccomp::Network::Own,
                (false, true) => seccomp::Network::Mediated,
                (false, false) => seccomp::Network::None,
            },
            looks: set_up.rules.is_some(),
        };
        match raw::attach(&seccomp::program(&filter), 0) {
            Err(Errno::INVAL) if set_up.without_seccomp => {
                kernel::leave_keyring().stage("keyring")?;
            }
            attached => drop(attached.map_err(io::Error::from).stage("seccomp")?),
        }
        startup::mark(Mark::Seccomp);
        Ok(())
    }

    /// Tells the supervisor that every layer is in force.
    fn hand_over(
        &self,
        set_up: SetUp,
        mut carried: Vec<(Carried, OwnedFd)>,
        pty: Option<Pty>,
        may_go: bool,
    ) -> Result<Complete, Stop> {
        if let Some(pty) = &pty {
            let master = rustix::io::fcntl_dupfd_cloexec(&pty.master, 3).stage("terminal")?;
            carried.push((Carried::Pty, master));
        }
        if set_up.open && self.isolated {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let terminals = rustix::fs::open("/dev/pts", flags, Mode::empty()).stage("terminal")?;
            carried.push((Carried::Terminals, terminals));
        }
        let (descriptors, sockets): (Vec<_>, Vec<_>) = carried.into_iter().unzip();
        send(&self.control, &Report::Ready { descriptors }, &sockets).stage("hand-over")?;
        Ok(Complete {
            set_up,
            pty,
            may_go,
        })
    }

    /// From the host's root to an id that nobody has, in a user namespace of the sandbox's own.
    /// Returns whether the order to start the command came meanwhile.
    fn leave_root(&self) -> Result<bool, Stop> {
        let streams = [
            rustix::stdio::stdin(),
            rustix::stdio::stdout(),
            rustix::stdio::stderr(),
        ];
        let (uid, gid) = self.identity.outside();
        identity::own_pipes(&streams, uid, gid).stage("user")?;
        enter_user_namespace().stage("user")?;
        tell(&self.control, &Report::MapIds).stage("user")?;
        let mut may_go = false;
        loop {
            match receive::<Order>(&self.control).stage("user")? {
                Some((Order::IdsMapped, _)) => break,
                // The supervisor does not wait for us.
                Some((Order::Go, _)) => may_go = true,
                _ => return Err(io::Error::from_raw_os_error(libc::EPROTO)).stage("user"),
            }
        }
        let (uid, gid) = self.identity.inside();
        kernel::become_user(uid, gid).stage("user")?;
        Ok(may_go)
    }

    fn landlock(&self, set_up: &SetUp) -> Result<(), Stop> {
        let mut writable = set_up.skeleton.scratch(self.identity);
        writable.extend(set_up.plan.writable().map(Path::to_path_buf));
        writable.push("/dev".into());
        writable.push("/proc".into());
        // In the host's root not every folder of a sandbox exists.
        writable.retain(|path| !without(Layer::Mounts) || path.exists());
        match ruleset::enforce(writable.iter().map(PathBuf::as_path)) {
            Ok(true) => Ok(()),
            Ok(false) if set_up.without_landlock => Ok(()),
            Ok(false) => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)).stage("landlock"),
            Err(_) => Err(Stop {
                stage: "landlock".into(),
                errno: 0,
            }),
        }
    }
}

/// The namespaces that pid 1 makes itself.
fn namespaces() -> i32 {
    [
        (Layer::Ipc, libc::CLONE_NEWIPC),
        (Layer::Uts, libc::CLONE_NEWUTS),
    ]
    .into_iter()
    .filter(|(layer, _)| without(*layer))
    .fold(NAMESPACES, |all, (_, left_out)| all & !left_out)
}

/// The stage of a network that cannot be configured: in a container whose engine shows /proc read-only,
/// no other /proc can be mounted either, and that is what has to be mended.
fn of_configuration(error: io::Error) -> Stop {
    let stage = match error.raw_os_error() {
        Some(libc::EROFS) => "mount: /proc",
        _ => "network",
    };
    Stop {
        stage: stage.to_owned(),
        errno: error.raw_os_error().unwrap_or(0),
    }
}

/// Keeps programs of the same user from looking into this one.
fn close_to_others() -> io::Result<()> {
    match without(Layer::Dumpable) {
        true => Ok(set_dumpable_behavior(DumpableBehavior::Dumpable)?),
        false => Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?),
    }
}

/// No program that is executed from here on has more rights than this one.
fn no_new_privileges() -> io::Result<()> {
    match without(Layer::NoNewPrivs) {
        true => Ok(()),
        false => Ok(rustix::thread::set_no_new_privs(true)?),
    }
}

/// Makes what was handed in the standard streams of this process and of the command.
fn take_streams(which: [bool; 3], streams: &[OwnedFd]) -> io::Result<()> {
    let mut next = streams.iter();
    let mut next = || {
        next.next()
            .ok_or(io::Error::from_raw_os_error(libc::EPROTO))
    };
    if which[0] {
        rustix::stdio::dup2_stdin(next()?)?;
    }
    if which[1] {
        rustix::stdio::dup2_stdout(next()?)?;
    }
    if which[2] {
        rustix::stdio::dup2_stderr(next()?)?;
    }
    Ok(())
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
