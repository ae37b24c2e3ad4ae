//! What pid 1 of a guest does as pid 1 of a sandbox does it: the network that leads to the gate, and
//! starting a program without a copy of its own memory.

use crate::command::die_with;
use crate::image::Image;
use crate::kernel;
pub use crate::leader::Led;
use crate::leader::led;
use crate::message::Carried;
use crate::network;
use crate::plan::Plan;
use crate::setup::Command;
use bailiwick_event::Failure;
use bailiwick_policy::Effective;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{chdir, getpid};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Where what leaves a machine arrives.
#[derive(Debug, Default)]
pub struct Listeners {
    /// TCP connections to any address: the local address of an accepted socket is where the program
    /// wanted to go.
    pub tcp: Vec<OwnedFd>,
    /// Datagrams to any address, for the gate's [`datagram::receive`](bailiwick_gate::datagram::receive).
    pub udp: Vec<OwnedFd>,
}

/// Makes every address local to this machine, which has nothing but `lo`, and listens for all. The
/// kernel has no IPv6.
///
/// # Errors
/// A setting or rule that the kernel refuses.
pub fn capture() -> io::Result<Listeners> {
    for (name, value) in [
        // A ping would be answered by the machine itself, which would look like a reachable network.
        ("/proc/sys/net/ipv4/icmp_echo_ignore_all", "1"),
        ("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0"),
    ] {
        std::fs::write(name, value)?;
    }
    let mut listeners = Listeners::default();
    for (kind, socket) in network::set_up(false)? {
        match kind {
            Carried::Dns | Carried::Udp => listeners.udp.push(socket),
            _ => listeners.tcp.push(socket),
        }
    }
    Ok(listeners)
}

/// Listens at these ports of the loopback, too.
///
/// # Errors
/// A port that is taken.
pub fn grant(ports: &[u16]) -> io::Result<Vec<OwnedFd>> {
    let granted = network::grant(ports, false)?;
    Ok(granted.into_iter().map(|(_, socket)| socket).collect())
}

/// A program that is to be started.
pub struct Program(Image);

/// Why a program did not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStarted {
    /// The folder in which it would start cannot be entered.
    Folder(i32),
    /// It cannot be prepared or executed.
    Exec(i32),
}

impl Program {
    /// Lays out a program; `argv` is not empty.
    ///
    /// # Errors
    /// A word that no program can be given.
    pub fn new(
        argv: Vec<OsString>,
        cwd: PathBuf,
        environment: Vec<(OsString, OsString)>,
    ) -> io::Result<Self> {
        if argv.is_empty() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let command = Command {
            argv,
            cwd,
            environment,
        };
        Image::new(&command).map(Self)
    }

    /// Starts it, found as a shell finds it. `prepare` runs in its process, which has this one's memory
    /// until it is executed: it must not allocate, panic or wait. Signals have their default actions.
    ///
    /// # Errors
    /// [`NotStarted`]; there is no process then.
    pub fn start(&self, prepare: &mut dyn FnMut() -> Result<(), Errno>) -> Result<i32, NotStarted> {
        let mut failed = None;
        let pid = kernel::spawn(&mut || {
            failed = Some(match chdir(self.0.folder()) {
                Err(errno) => NotStarted::Folder(errno.raw_os_error()),
                Ok(()) => match prepare() {
                    Err(errno) => NotStarted::Exec(errno.raw_os_error()),
                    Ok(()) => {
                        kernel::unblock_signals();
                        NotStarted::Exec(self.0.execute().raw_os_error())
                    }
                },
            });
            127
        })
        .map_err(|error| NotStarted::Exec(error.raw_os_error().unwrap_or(libc::EAGAIN)))?;
        let Some(why) = failed else {
            return Ok(pid);
        };
        let pid = rustix::process::Pid::from_raw(pid);
        let _ = rustix::process::waitpid(pid, rustix::process::WaitOptions::empty());
        Err(why)
    }

    /// Starts it in a session of its own at this terminal, where it can be stopped by what is typed: a
    /// process of ours leads the session, and the program dies with it. `prepare` makes the program's
    /// process group the terminal's.
    ///
    /// # Errors
    /// [`NotStarted`]; there is no process then.
    pub fn start_at(
        &self,
        terminal: BorrowedFd<'_>,
        prepare: &mut dyn FnMut() -> Result<(), Errno>,
    ) -> Result<Led, NotStarted> {
        led(terminal, &mut || {
            let leader = getpid();
            self.start(&mut || {
                die_with(leader)?;
                prepare()
            })
        })
    }
}

/// A descriptor that is readable when a child has ended or stopped; the signal is blocked.
///
/// # Errors
/// There is no descriptor left.
pub fn children() -> io::Result<OwnedFd> {
    kernel::signal_descriptor(&[libc::SIGCHLD])
}

/// As a shell reports an end.
#[must_use]
pub fn code_of(status: rustix::process::WaitStatus) -> u8 {
    crate::live::shell_code(status)
}

/// What a policy grants of the host's files.
#[derive(Debug, Default)]
pub struct Granted {
    /// Each path, and whether it is a folder; those above others first.
    pub paths: Vec<(PathBuf, bool)>,
    /// Links that lead to them: where each is, and what it says.
    pub links: Vec<(PathBuf, PathBuf)>,
}

/// What a policy grants here and now, patterns applied and links resolved. `private` is the folder of the
/// host behind private paths.
///
/// # Errors
/// A [`Failure`] where the policy cannot be enforced here.
pub fn granted(policy: &Effective, private: &Path) -> Result<Granted, Failure> {
    let plan = Plan::granted(policy, private)?;
    let paths = plan.binds.into_iter().map(|bind| (bind.at, bind.folder));
    let links = plan.links.into_iter().map(|link| (link.at, link.target));
    Ok(Granted {
        paths: paths.collect(),
        links: links.collect(),
    })
}

/// The user's git configuration, as far as it is only a preference; none where there is none.
#[must_use]
pub fn preferences_of_git(home: &Path) -> Option<Vec<u8>> {
    crate::git_config::of_home(home)
}

/// Opens a terminal where this process is; the side of whoever shows it.
///
/// # Errors
/// There is none left.
pub fn open_terminal() -> io::Result<OwnedFd> {
    crate::pty::open_on_host()
}

/// The side of a terminal's programs.
///
/// # Errors
/// There is no descriptor left.
pub fn other_side(terminal: &OwnedFd) -> io::Result<OwnedFd> {
    Ok(crate::pty::peer(terminal)?)
}
