//! The supervisor's side of a process sandbox: it forks pid 1, hears what became of it, and
//! turns what could not be had into words. It never enters the sandbox's namespaces.

use crate::identity::{self, Identity, Idmaps};
use crate::init::Init;
use crate::kernel::{self, Fork};
use crate::layers;
use crate::message::{Carried, Order, Report, receive, tell};
use crate::plan::Plan;
use crate::skeleton::Skeleton;
use bailiwick_event::Failure;
use bailiwick_gate::{Inside, Sockets};
use bailiwick_sandbox::{Backend, Begun, Launch, News, Running, Started};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Signal, pidfd_send_signal};
use std::cell::Cell;
use std::io;
use std::sync::{Arc, Mutex};

/// The namespaces that every sandbox has; the user namespace comes with the identity.
const NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// Linux namespaces, Landlock and seccomp, set up natively.
#[derive(Debug, Default)]
pub struct ProcessBackend;

fn fault(what: &str) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::fault(format!("{what}: {error}"))
}

fn channel() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?)
}

impl Backend for ProcessBackend {
    fn name(&self) -> &'static str {
        "process"
    }

    fn begin(&self, launch: &Launch<'_>) -> Result<Box<dyn Begun>, Failure> {
        if !kernel::single_threaded() {
            return Err(Failure::fault(
                "a sandbox must be started before any thread is",
            ));
        }
        let identity = Identity::of_caller();
        let mut plan = Plan::new(launch.policy, launch.private, identity == Identity::Root)?;
        let notices = std::mem::take(&mut plan.notices);
        let skeleton = Skeleton::new(launch.policy, identity);
        let mut made = Idmaps::default();
        let idmaps = idmaps(&plan, &mut made)
            .map_err(fault("the owner of the workspace cannot be mapped"))?;
        let (control, control_inside) = channel().map_err(fault("the control socket"))?;
        let (dial, dial_inside) = channel().map_err(fault("the control socket"))?;
        let user = if identity == Identity::Root {
            0
        } else {
            libc::CLONE_NEWUSER
        };
        match kernel::fork_into(NAMESPACES | user).map_err(|e| layers::no_namespaces(&e))? {
            Fork::Child => {
                drop((control, dial));
                let init = Init {
                    launch,
                    identity,
                    plan: &plan,
                    skeleton: &skeleton,
                    idmaps: &idmaps,
                    control: control_inside,
                    dial: dial_inside,
                    may_go: Cell::new(false),
                };
                init.run()
            }
            Fork::Parent(pid, pidfd) => {
                let running = ProcessSandbox {
                    pid,
                    pidfd,
                    control,
                    ended: false,
                };
                Ok(Box::new(Pending {
                    running,
                    dial,
                    notices,
                }))
            }
        }
    }
}

/// For each bind, the user namespace that changes its owner.
fn idmaps(plan: &Plan, made: &mut Idmaps) -> io::Result<Vec<Option<OwnedFd>>> {
    plan.binds
        .iter()
        .map(|bind| match bind.owner {
            None => Ok(None),
            Some((uid, gid)) => made.of_owner(uid, gid)?.try_clone().map(Some),
        })
        .collect()
}

struct Pending {
    running: ProcessSandbox,
    dial: OwnedFd,
    notices: Vec<String>,
}

impl Begun for Pending {
    fn layers(&self) -> Vec<String> {
        layers::names()
    }

    fn go(&mut self) -> io::Result<()> {
        tell(&self.running.control, &Order::Go)
    }

    fn ready(self: Box<Self>) -> Result<Started, Failure> {
        let Self {
            running,
            dial,
            notices,
        } = *self;
        let gone = || Failure::fault("the sandbox ended while it was being set up");
        loop {
            let (report, descriptors) = receive::<Report>(&running.control)
                .map_err(fault("the sandbox's answer"))?
                .ok_or_else(gone)?;
            match report {
                Report::MapIds => {
                    identity::map_all(running.pid).map_err(fault("the sandbox's id map"))?;
                    tell(&running.control, &Order::IdsMapped).map_err(|_| gone())?;
                }
                Report::Failed { stage, errno } => return Err(layers::missing(&stage, errno)),
                Report::Ready { descriptors: kinds } => {
                    if kinds.len() != descriptors.len() {
                        return Err(Failure::fault(
                            "not every socket of the sandbox arrived: the limit of open files \
                             (`ulimit -n`) is too low",
                        ));
                    }
                    let (sockets, terminal) = sort(kinds, descriptors);
                    return Ok(Started {
                        running: Box::new(running),
                        sockets,
                        inside: Arc::new(Dialler(Mutex::new(dial))),
                        terminal,
                        notices,
                    });
                }
                _ => return Err(gone()),
            }
        }
    }
}

fn sort(kinds: Vec<Carried>, descriptors: Vec<OwnedFd>) -> (Sockets, Option<OwnedFd>) {
    let mut sockets = Sockets::default();
    let mut terminal = None;
    for (kind, descriptor) in kinds.into_iter().zip(descriptors) {
        match kind {
            Carried::Tcp => sockets.tcp.push(descriptor),
            Carried::Dns => sockets.dns.push(descriptor),
            Carried::Udp => sockets.udp.push(descriptor),
            Carried::Proxy => sockets.proxy.push(descriptor),
            Carried::Loopback => sockets.loopback.push(descriptor),
            Carried::Pty => terminal = Some(descriptor),
        }
    }
    (sockets, terminal)
}

/// A sandbox that is set up or runs; dropping it ends it.
struct ProcessSandbox {
    pid: i32,
    pidfd: OwnedFd,
    control: OwnedFd,
    /// Whether pid 1 has reported the end: nothing is left but itself, on its way out.
    ended: bool,
}

impl Running for ProcessSandbox {
    fn news_fd(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    fn news(&mut self) -> io::Result<Option<News>> {
        Ok(match receive::<Report>(&self.control)? {
            Some((Report::ExecFailed { errno }, _)) => Some(News::ExecFailed(errno)),
            Some((Report::Stopped { signal }, _)) => Some(News::Stopped(signal)),
            Some((Report::Exited { code }, _)) => {
                self.ended = true;
                Some(News::Exited(code))
            }
            Some((Report::Limit { kind, observed }, _)) => Some(News::Limit(kind, observed)),
            Some(_) => return Err(io::Error::other("an answer out of turn")),
            None => None,
        })
    }

    fn signal(&mut self, signal: i32) -> io::Result<()> {
        tell(&self.control, &Order::Signal(signal))
    }

    fn kill(&mut self) {
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
    }
}

impl Drop for ProcessSandbox {
    fn drop(&mut self) {
        // The kernel takes milliseconds to dissolve the namespaces; nobody needs to wait for it.
        if self.ended {
            return;
        }
        self.kill();
        let id = rustix::process::WaitId::PidFd(self.pidfd.as_fd());
        let _ = rustix::process::waitid(id, rustix::process::WaitIdOptions::EXITED);
    }
}

/// Asks pid 1 for connections to the sandbox's loopback, one at a time.
struct Dialler(Mutex<OwnedFd>);

impl Inside for Dialler {
    fn connect(&self, port: u16) -> io::Result<OwnedFd> {
        let socket = self.0.lock().map_err(|_| io::Error::other("poisoned"))?;
        tell(&*socket, &Order::Connect(port))?;
        match receive::<i32>(&*socket)? {
            Some((0, mut descriptors)) if !descriptors.is_empty() => Ok(descriptors.remove(0)),
            Some((errno, _)) if errno != 0 => Err(io::Error::from_raw_os_error(errno)),
            _ => Err(io::ErrorKind::ConnectionRefused.into()),
        }
    }
}
