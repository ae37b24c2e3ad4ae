//! From a launch to a machine: the monitor is set up as the command of a process sandbox while the
//! record is made, and the command goes to the guest when that says that it is complete.

use crate::booted;
use crate::host;
use crate::image::Hold;
use crate::jail;
use crate::machine::Ram;
use crate::orders::{Order, Told};
use crate::running::{Vm, exec, into_guest};
use crate::setting;
use crate::shape::MachineShape;
use crate::start::{Start, Wires};
use crate::stdio::{Between, Streams};
use crate::warm::Warm;
use bailiwick_channel::Ends;
use bailiwick_channel::schema::{Exec, Modes, Setting};
use bailiwick_event::Failure;
use bailiwick_process::ProcessBackend;
use bailiwick_process::guest::granted;
use bailiwick_sandbox::{Backend, Begun, Launch, OWN, Prepared, Started, TerminalShape};
use rustix::fs::Mode;
use std::io;
use std::time::Duration;

/// Machines with a kernel of their own.
#[derive(Debug, Default)]
pub struct VmBackend {
    shape: MachineShape,
}

fn fault(what: &'static str) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::fault(format!("{what}: {error}"))
}

impl VmBackend {
    /// A backend whose machines look like this.
    #[must_use]
    pub fn new(shape: MachineShape) -> Self {
        Self { shape }
    }
}

/// A sandbox for a monitor, whose streams are the product's own.
pub(crate) fn sandbox() -> Result<Box<dyn Prepared>, Failure> {
    ProcessBackend::for_monitor().prepare(None)
}

impl Backend for VmBackend {
    fn name(&self) -> &'static str {
        "vm"
    }

    fn prepare(&self, terminal: Option<TerminalShape>) -> Result<Box<dyn Prepared>, Failure> {
        Ok(Box::new(Waiting {
            monitor: sandbox()?,
            shape: self.shape.clone(),
            terminal,
        }))
    }
}

struct Waiting {
    monitor: Box<dyn Prepared>,
    shape: MachineShape,
    terminal: Option<TerminalShape>,
}

impl Prepared for Waiting {
    fn begin(self: Box<Self>, launch: &Launch<'_>) -> Result<Box<dyn Begun>, Failure> {
        let limits = &launch.policy.limits;
        let memory = limits.memory.as_ref().map(|limit| limit.value);
        let policy = jail::policy(launch.policy);
        let granted = granted(&policy, launch.private)?;
        let private = launch.private.to_path_buf();
        let start = self
            .shape
            .start(policy, memory, private, launch.best_effort)?;
        let setting = setting::of(launch, &granted)?;
        let mut notices = Vec::new();
        let warm = match self.shape.cold {
            true => None,
            false => Warm::find(&self.shape, &start, &mut notices)?,
        };
        let ram = warm.as_ref().map_or(Ram::Anonymous, |_| Ram::Copied);
        let (monitor, wires) = start.begin(self.monitor, ram, warm.as_ref().map(Warm::memory))?;
        let between = self.terminal.as_ref().map(Between::open).transpose();
        let command = launch.command.as_ref().map(|command| {
            let umask = rustix::process::umask(Mode::empty());
            rustix::process::umask(umask);
            exec(OWN, command, umask.bits())
        });
        let streams = streams_of(launch, self.terminal.as_ref());
        Ok(Box::new(Pending {
            monitor,
            wires,
            warm,
            start,
            notices,
            session: Session {
                setting,
                wall: limits.wall.as_ref().map(|limit| limit.value),
                between: between.map_err(fault("the terminal"))?,
                terminal: self.terminal,
                command,
                streams,
            },
        }))
    }
}

/// The files of the command's streams.
fn streams_of(launch: &Launch<'_>, terminal: Option<&TerminalShape>) -> Streams {
    let own = [
        rustix::stdio::stdin(),
        rustix::stdio::stdout(),
        rustix::stdio::stderr(),
    ];
    let of_terminal = terminal.map_or([false; 3], |shape| shape.streams);
    let mut streams = own.map(Some);
    for ((stream, given), is_terminal) in streams.iter_mut().zip(launch.streams).zip(of_terminal) {
        *stream = match is_terminal {
            true => None,
            false => given.or(*stream),
        };
    }
    Streams::of(streams)
}

struct Pending {
    monitor: Box<dyn Begun>,
    wires: Wires,
    /// The template that the machine is a copy of.
    warm: Option<Warm>,
    start: Start,
    notices: Vec<String>,
    session: Session,
}

impl Begun for Pending {
    fn layers(&self) -> Vec<String> {
        let mut layers = self.monitor.layers();
        let Start { image, machine, .. } = &self.start;
        layers.push(format!(
            "kernel of its own ({}, image {} {})",
            machine.accelerator,
            image.name,
            image.id.get(..16).unwrap_or(&image.id)
        ));
        layers
    }

    fn notices(&mut self) -> Vec<String> {
        let mut notices = self.monitor.notices();
        notices.append(&mut self.notices);
        notices
    }

    fn go(&mut self) -> io::Result<()> {
        self.monitor.go()
    }

    fn ready(self: Box<Self>) -> Result<Started, Failure> {
        let mut started = self.monitor.ready()?;
        let mut wires = self.wires;
        if let Some(warm) = self.warm
            && let Err(failure) = warm.restore(&mut wires.control)
        {
            warm.discard();
            drop(started);
            let (mut again, cold) = self.start.begin(sandbox()?, Ram::Anonymous, None)?;
            let _ = again.go();
            started = again.ready()?;
            wires = cold;
            started.notices.push(format!(
                "the template of this machine could not be used, so it was started anew: {failure}"
            ));
        }
        let memory = self.start.machine.memory;
        let hold = self.start.image.hold()?;
        self.session.begin(started, wires, memory, hold)
    }
}

/// What the guest is to do.
struct Session {
    setting: Setting,
    /// How long it may take.
    wall: Option<Duration>,
    between: Option<Between>,
    terminal: Option<TerminalShape>,
    command: Option<Exec>,
    streams: Streams,
}

impl Session {
    /// Waits for the guest and gives it the command.
    fn begin(
        self,
        started: Started,
        wires: Wires,
        memory: u64,
        hold: Hold,
    ) -> Result<Started, Failure> {
        let Started {
            running,
            sockets,
            inside,
            notices,
            ..
        } = started;
        let (mut vm, counter) = Vm::new(running, wires.console, wires.control, memory)?;
        vm.processes = self.setting.bounds.processes.unwrap_or_default();
        host::serve(wires.channel, counter, inside, Some(self.setting))
            .map_err(fault("the channel"))?;
        vm.hold = Some(hold);
        booted::wait(&mut vm, |told| matches!(told, Told::Ready(_)))?;
        if let Some(wall) = self.wall {
            vm.monitor
                .end_after(wall)
                .map_err(fault("the limit of time"))?;
        }
        let mut master = None;
        if let Some(mut exec) = self.command {
            let mut at_terminal = None;
            if let (Some(between), Some(shape)) = (self.between, self.terminal) {
                let modes = Some(Modes::from(&shape.modes));
                exec.terminal = Some((0, shape.size.into(), modes));
                let slave = between.slave.try_clone().map_err(fault("the terminal"))?;
                vm.terminals.insert(OWN, slave);
                let ends = Ends::both(between.slave).map_err(fault("the terminal"))?;
                at_terminal = Some((ends.shared(), shape.streams));
                master = Some(between.master);
            }
            let order = Order::Exec {
                exec: Box::new(exec),
                streams: self.streams,
                terminal: at_terminal,
            };
            vm.desk.order(order).map_err(fault("the channel"))?;
        }
        let inside = into_guest(&vm.desk);
        Ok(Started {
            running: Box::new(vm),
            sockets,
            inside,
            terminal: master,
            notices,
        })
    }
}
