//! The supervisor's side of a process sandbox: it forks pid 1, hears what became of it, and
//! turns what could not be had into words. It never enters the sandbox's namespaces.

use crate::broker::{Rules, order};
use crate::cpus::Cpus;
use crate::identity::Identity;
use crate::idmaps::Idmaps;
use crate::init::Init;
use crate::kept;
use crate::kernel::{self, Fork};
use crate::layers;
use crate::made::{self, Made};
use crate::message::{Carried, Order, Report, channel, receive, send, step_aside, tell};
use crate::network;
use crate::outward;
use crate::plan::Plan;
use crate::running::{Dialler, Nowhere, ProcessSandbox, Sweep};
use crate::scratch::Scratch;
use crate::setup::{self, SetUp};
use crate::stored;
use crate::switches::{Layer, without};
use bailiwick_event::Failure;
use bailiwick_gate::{Calls, Inside, Sockets};
use bailiwick_policy::{Effective, ProtectAbsent, Used, Written};
use bailiwick_sandbox::startup;
use bailiwick_sandbox::{Backend, Begun, Launch, Prepared, Started, TerminalShape};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Linux namespaces, Landlock and seccomp, set up natively.
#[derive(Clone, Copy, Debug)]
pub struct ProcessBackend {
    identity: fn() -> Identity,
}

impl ProcessBackend {
    /// For commands.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            identity: Identity::of_caller,
        }
    }

    /// For a [`bailiwick_sandbox::Monitor`], which every launch of it then has.
    #[must_use]
    pub const fn for_monitor() -> Self {
        Self {
            identity: Identity::of_monitor,
        }
    }
}

impl Default for ProcessBackend {
    fn default() -> Self {
        Self::new()
    }
}

fn gone() -> Failure {
    Failure::fault(
        "the sandbox ended while it was being set up; it was killed from outside, or the machine \
         is out of memory",
    )
}

fn fault(what: &str) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::fault(format!("{what}: {error}"))
}

impl Backend for ProcessBackend {
    fn name(&self) -> &'static str {
        "process"
    }

    fn prepare(&self, terminal: Option<TerminalShape>) -> Result<Box<dyn Prepared>, Failure> {
        match kernel::threads() {
            Ok(1) => {}
            Ok(_) => {
                return Err(Failure::fault(
                    "a sandbox must be started before any thread is",
                ));
            }
            Err(error) => return Err(layers::no_proc(&error)),
        }
        let identity = (self.identity)();
        let terminal = terminal.filter(|_| !without(Layer::Terminal));
        Ok(Box::new(Waiting {
            child: Child::fork(identity, true, terminal.clone()),
            identity,
            terminal,
        }))
    }
}

/// A process that waits to be told what to build.
struct Child {
    running: ProcessSandbox,
    dial: OwnedFd,
}

impl Child {
    /// Forks it, in namespaces of its own or without.
    fn fork(
        identity: Identity,
        isolated: bool,
        terminal: Option<TerminalShape>,
    ) -> Result<Self, Failure> {
        let (control, control_inside) = channel().map_err(fault("the control socket"))?;
        let (dial, dial_inside) = channel().map_err(fault("the control socket"))?;
        // The other namespaces cost most of a start: pid 1 makes them itself, meanwhile.
        let namespaces = match (isolated, identity.is_by_root()) {
            (false, _) => 0,
            (true, true) => libc::CLONE_NEWPID,
            (true, false) => libc::CLONE_NEWPID | libc::CLONE_NEWUSER,
        };
        let namespaces = match without(Layer::Pid) {
            true => namespaces & !libc::CLONE_NEWPID,
            false => namespaces,
        };
        let cpus = Cpus::of_caller();
        match kernel::fork_into(namespaces).map_err(|e| layers::no_namespaces(&e))? {
            Fork::Child => {
                drop((control, dial));
                // Doors, files of the caller: what pid 1 does not use would stay open as long as the
                // sandbox is there.
                let mut own: Vec<BorrowedFd<'_>> = startup::descriptors().collect();
                own.extend([control_inside.as_fd(), dial_inside.as_fd()]);
                if !without(Layer::Descriptors) {
                    kernel::close_all_but(own);
                }
                let init = Init {
                    identity,
                    isolated,
                    cpus,
                    terminal,
                    control: control_inside,
                    order: order::open(),
                    dial: dial_inside,
                };
                init.run()
            }
            Fork::Parent(pid, pidfd) => {
                cpus.keep_off_this(pid);
                Ok(Self {
                    running: ProcessSandbox::new(pid, pidfd, control, isolated),
                    dial,
                })
            }
        }
    }

    /// Waits until it has its namespaces, or says why it cannot have them.
    fn wait_for_base(&self) -> Result<(), Failure> {
        match receive::<Report>(&self.running.control) {
            Ok(Some((Report::Based, _))) => Ok(()),
            Ok(Some((Report::Failed { stage, errno }, _))) => Err(layers::missing(&stage, errno)),
            _ => Err(gone()),
        }
    }
}

/// What waits for the policy.
struct Waiting {
    /// Or why there cannot be one in namespaces.
    child: Result<Child, Failure>,
    identity: Identity,
    terminal: Option<TerminalShape>,
}

impl Waiting {
    /// The process that builds the sandbox: with namespaces, or without where the machine has none
    /// and the user accepts that.
    fn settle(
        self,
        accepted: bool,
        network: bool,
        notices: &mut Vec<String>,
    ) -> Result<Child, Failure> {
        let why = match self.child {
            Ok(child) if !accepted => return Ok(child),
            Ok(child) => match child.wait_for_base().and_then(|()| can_map(self.identity)) {
                Ok(()) => return Ok(child),
                Err(why) => why,
            },
            Err(why) => why,
        };
        if !accepted {
            return Err(why);
        }
        if kernel::landlock_abi() == 0 {
            return Err(Failure::fault(format!(
                "{why}\n  and without namespaces nothing is started here at all: the kernel has no \
                 Landlock either"
            )));
        }
        notices.extend(layers::without_namespaces(&why, network));
        Child::fork(self.identity, false, self.terminal)
    }
}

impl Prepared for Waiting {
    fn begin(self: Box<Self>, launch: &Launch<'_>) -> Result<Box<dyn Begun>, Failure> {
        let policy = launch.policy;
        let dispensable = |layer: &str| launch.best_effort || !policy.requires(layer);
        let mut notices = Vec::new();
        let identity = self.identity;
        if identity.is_monitor() != launch.monitor.is_some() {
            return Err(Failure::fault(
                "not started: a sandbox for a monitor was asked to run something else, or the other \
                 way round\n  remedy: report this; it is a mistake of Bailiwick's",
            ));
        }
        let network = network::grants_any(&policy.network);
        // A monitor shows files to a guest, which no other layer keeps from what the policy hides.
        let accepted = dispensable("namespaces") && launch.monitor.is_none();
        let Child { mut running, dial } = self.settle(accepted, network, &mut notices)?;
        if running.isolated && kernel::landlock_abi() == 0 && dispensable("landlock") {
            notices.push("no Landlock here: nothing but the mounts stops writes".to_owned());
        }
        if !running.isolated {
            running.scratch = Some(Scratch::make(launch.private, running.pid)?);
        }
        let now = stored::now();
        running.since = now;
        let moment = bailiwick_policy::remembering();
        let mut set_up = SetUp::of(
            launch,
            identity,
            running.scratch.as_ref().map(Scratch::path),
        )?;
        notices.append(&mut set_up.plan.notices);
        let closed = set_up.plan.closed.iter();
        running.told = closed.map(|(_, path)| path.clone()).collect();
        if running.isolated {
            let owners = set_up.plan.mounts().filter_map(|bind| bind.owner);
            set_up.owners = owners.collect();
        }
        let way = policy.filesystem.protect_absent();
        running.sweep = (way == ProtectAbsent::Sweep).then(|| Sweep {
            rules: Rules::of(
                policy,
                &Plan::writable_on_host(policy).collect::<Vec<PathBuf>>(),
            )
            .with_baselines(),
            folders: set_up.plan.written_folders().collect(),
            since: now,
            quarantine: launch
                .private
                .join(format!("quarantine/{}.{}", now.0, now.1)),
        });
        let bounds = &mut set_up.bounds;
        // Without namespaces the processes of a user are counted, and not those of a sandbox.
        let wanted = bounds.memory.is_some()
            || bounds.cpu.is_some()
            || (!running.isolated && bounds.processes.is_some());
        let kept = wanted.then(|| running.contain(bounds));
        let limits = kept::layer(bounds, running.isolated, kept.as_ref());
        if !running.isolated {
            notices.extend(kept::without_namespaces(bounds));
        }
        if running.isolated && identity.is_by_root() {
            running.owner = Some(identity.outside());
        }
        let folders: Vec<PathBuf> = set_up.plan.written_folders().collect();
        let message = setup::pack(&set_up).map_err(fault("the sandbox's plan"))?;
        let mut descriptors = vec![message.as_fd()];
        descriptors.extend(launch.streams.into_iter().flatten());
        // What is replaced from here on is noticed: it is another file than these.
        let waits = match &launch.monitor {
            None => set_up.command.is_none(),
            Some(monitor) => monitor.waits,
        };
        let files = waits.then(|| made::files(&set_up));
        drop(moment);
        order(&running.control, &Order::SetUp, &descriptors)?;
        step_aside();
        // From here on while pid 1 builds the sandbox, whose command does not start before it is told to.
        let idmaps = idmaps(&set_up.owners).map_err(|error| match layers::is_limit(&error) {
            true => layers::no_namespaces(&error),
            false => fault("the owner of the workspace cannot be mapped")(error),
        })?;
        if !set_up.owners.is_empty() {
            let namespaces: Vec<_> = idmaps.namespaces().collect();
            order(&running.control, &Order::Owners, &namespaces)?;
        }
        remember(policy, &folders, waits)?;
        running.refusals = Rules::named(policy);
        let rules = match waits {
            true => set_up.rules.clone(),
            false => set_up.rules.take(),
        };
        running.rules = rules.map(Rules::compiled);
        let loopback = set_up.connects().then(|| set_up.loopback.clone());
        running.made = files.map(|files| Made::new(identity, set_up, files));
        Ok(Box::new(Pending {
            running,
            identity,
            dial,
            loopback,
            notices,
            limits,
        }))
    }
}

/// Writes down which folders a sandbox may write, and which policies it was given, before its command starts: a link
/// that the command makes is known as a sandbox's from its first instant. Of the policies of one that waits nobody is
/// told yet what he should know of them.
fn remember(policy: &Effective, folders: &[PathBuf], waits: bool) -> Result<(), Failure> {
    let Some(list) = &policy.written else {
        return Ok(());
    };
    Written::remember(list, folders)
        .and_then(|()| match waits {
            true => Used::keep(list, &policy.used),
            false => Used::remember(list, &policy.used),
        })
        .map_err(|why| Failure::fault(format!("not started: {why}")))
}

/// Whether host root gets the user namespace that his sandbox enters last: a machine may give him
/// every other, and not that. An ordinary user's exists before everything else.
pub(crate) fn can_map(identity: Identity) -> Result<(), Failure> {
    match identity.is_by_root() {
        true => Idmaps::default()
            .make(0, 0)
            .map_err(|e| layers::no_namespaces(&e)),
        false => Ok(()),
    }
}

/// Tells pid 1 what to build. Where that is gone already its last report says why.
fn order(control: &OwnedFd, order: &Order, descriptors: &[BorrowedFd<'_>]) -> Result<(), Failure> {
    use io::ErrorKind::{BrokenPipe, ConnectionReset};
    match send(control, order, descriptors) {
        Err(error) if matches!(error.kind(), BrokenPipe | ConnectionReset) => Ok(()),
        sent => sent.map_err(fault("the sandbox's plan")),
    }
}

/// The user namespaces that change these owners.
fn idmaps(owners: &BTreeSet<(u32, u32)>) -> io::Result<Idmaps> {
    let mut made = Idmaps::default();
    for (uid, gid) in owners {
        made.make(*uid, *gid)?;
    }
    Ok(made)
}

struct Pending {
    running: ProcessSandbox,
    identity: Identity,
    dial: OwnedFd,
    /// The ports of the loopback that may be reached, where connections are made for the sandbox.
    loopback: Option<Vec<u16>>,
    notices: Vec<String>,
    /// How limits are kept that one process alone cannot be held to.
    limits: Option<String>,
}

impl Begun for Pending {
    fn layers(&self) -> Vec<String> {
        let mut names = layers::names(self.running.isolated);
        names.extend(self.limits.clone());
        names
    }

    fn notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    fn go(&mut self) -> io::Result<()> {
        tell(&self.running.control, &Order::Go)
    }

    fn ready(self: Box<Self>) -> Result<Started, Failure> {
        let Self {
            mut running,
            identity,
            dial,
            loopback,
            notices,
            ..
        } = *self;
        loop {
            let (report, descriptors) = receive::<Report>(&running.control)
                .map_err(fault("the sandbox's answer"))?
                .ok_or_else(gone)?;
            match report {
                Report::Based => {}
                Report::MapIds => {
                    identity
                        .map_all(running.pid)
                        .map_err(fault("the sandbox's id map"))?;
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
                    let (mut sockets, terminal) = sort(kinds, descriptors, &mut running.terminals);
                    let inside: Arc<dyn Inside> = match (running.isolated, loopback) {
                        (true, _) => Arc::new(Dialler::new(dial)),
                        (false, None) => Arc::new(Nowhere),
                        (false, Some(loopback)) => {
                            let source = Box::new(outward::Calls::new(dial));
                            sockets.calls = Some(Calls { source, loopback });
                            Arc::new(Nowhere)
                        }
                    };
                    return Ok(Started {
                        running: Box::new(running),
                        sockets,
                        inside,
                        terminal,
                        notices,
                    });
                }
                _ => return Err(gone()),
            }
        }
    }
}

fn sort(
    kinds: Vec<Carried>,
    descriptors: Vec<OwnedFd>,
    terminals: &mut Option<OwnedFd>,
) -> (Sockets, Option<OwnedFd>) {
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
            Carried::Terminals => *terminals = Some(descriptor),
        }
    }
    (sockets, terminal)
}
