//! From a launch to a machine: the monitor is set up as the command of a process sandbox while the
//! record is made, and the command goes to the guest when that says that it is complete.

use crate::accelerator::Accelerator;
use crate::booted;
use crate::host::Host;
use crate::image::{self, Image};
use crate::initrd;
use crate::jail;
use crate::machine::{Machine, SHARE};
use crate::orders::{Counter, Order, desk};
use crate::running::{Vm, either, exec, into_guest};
use crate::said::Said;
use crate::setting;
use crate::stdio::{self, Between};
use bailiwick_channel::schema::{Exec, Setting};
use bailiwick_channel::{Ends, Line, Pump, Role};
use bailiwick_event::Failure;
use bailiwick_gate::Inside;
use bailiwick_process::ProcessBackend;
use bailiwick_process::guest::granted;
use bailiwick_sandbox::{
    Backend, Begun, Invocation, Launch, Monitor, OWN, Prepared, Started, TerminalShape,
};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::Mode;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// What a machine is asked to be.
#[derive(Clone, Debug)]
pub struct MachineShape {
    /// The image's name.
    pub image: String,
    /// Bytes of memory; none for [`MachineShape::MEMORY`].
    pub memory: Option<u64>,
    /// Processors.
    pub cpus: u32,
}

impl MachineShape {
    /// Bytes of memory where nobody says how many.
    pub const MEMORY: u64 = 1 << 30;
}

impl Default for MachineShape {
    fn default() -> Self {
        Self {
            image: "code".to_owned(),
            memory: None,
            cpus: 1,
        }
    }
}

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

impl Backend for VmBackend {
    fn name(&self) -> &'static str {
        "vm"
    }

    fn prepare(&self, terminal: Option<TerminalShape>) -> Result<Box<dyn Prepared>, Failure> {
        // The monitor's streams are the product's own.
        let monitor = ProcessBackend::for_monitor().prepare(None)?;
        Ok(Box::new(Waiting {
            monitor,
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

/// The host's ends of the monitor's streams.
struct Wires {
    channel: OwnedFd,
    control: OwnedFd,
    console: OwnedFd,
}

fn wires() -> io::Result<(Wires, [OwnedFd; 3])> {
    let pair = || {
        socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )
    };
    let (channel, channel_inside) = pair()?;
    let (control, control_inside) = pair()?;
    let (console, console_inside) = pipe_with(PipeFlags::CLOEXEC)?;
    let ours = Wires {
        channel,
        control,
        console,
    };
    Ok((ours, [channel_inside, control_inside, console_inside]))
}

impl Prepared for Waiting {
    fn begin(self: Box<Self>, launch: &Launch<'_>) -> Result<Box<dyn Begun>, Failure> {
        let qemu = jail::monitor()?;
        let cache = image::cache_folder()?;
        let image = image::open(&cache, &self.shape.image)?;
        let initrd = initrd::made(&cache)?;
        let limits = &launch.policy.limits;
        let given = limits.memory.as_ref().map(|limit| limit.value);
        let machine = Machine {
            accelerator: Accelerator::here(),
            memory: self.shape.memory.or(given).unwrap_or(MachineShape::MEMORY),
            cpus: self.shape.cpus,
        };
        let policy = jail::policy(launch.policy);
        let own = jail::own(&image, &initrd);
        let granted = granted(&policy, launch.private)?;
        let setting = setting::of(launch, &granted)?;
        let (wires, inside) = wires().map_err(fault("the monitor's streams"))?;
        let words = machine.words(&qemu);
        let environment: [(OsString, OsString); 2] = [
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("LANG".into(), "C.UTF-8".into()),
        ];
        let monitor = self.monitor.begin(&Launch {
            policy: &policy,
            command: Some(Invocation {
                argv: &words,
                cwd: Path::new("/"),
                environment: &environment,
            }),
            open: false,
            private: launch.private,
            best_effort: launch.best_effort,
            trust: None,
            streams: inside.each_ref().map(|end| Some(end.as_fd())),
            monitor: Some(Monitor {
                share: Path::new(SHARE),
                own: &own,
            }),
        })?;
        drop(inside);
        let between = self.terminal.as_ref().map(Between::open).transpose();
        let between = between.map_err(fault("the terminal"))?;
        let command = launch.command.as_ref().map(|command| {
            let umask = rustix::process::umask(Mode::empty());
            rustix::process::umask(umask);
            exec(OWN, command, umask.bits())
        });
        let streams = streams_of(launch, self.terminal.as_ref()).map_err(fault("the streams"))?;
        Ok(Box::new(Pending {
            monitor,
            machine,
            wires,
            setting,
            between,
            terminal: self.terminal,
            command,
            streams,
            image,
        }))
    }
}

/// The files of the command's streams.
fn streams_of(
    launch: &Launch<'_>,
    terminal: Option<&TerminalShape>,
) -> io::Result<[Option<Ends>; 3]> {
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
    stdio::ends(streams)
}

struct Pending {
    monitor: Box<dyn Begun>,
    machine: Machine,
    wires: Wires,
    setting: Setting,
    between: Option<Between>,
    terminal: Option<TerminalShape>,
    command: Option<Exec>,
    streams: [Option<Ends>; 3],
    image: Image,
}

impl Begun for Pending {
    fn layers(&self) -> Vec<String> {
        let mut layers = self.monitor.layers();
        layers.push(format!(
            "kernel of its own ({}, image {} {})",
            self.machine.accelerator,
            self.image.name,
            self.image.id.get(..16).unwrap_or(&self.image.id)
        ));
        layers
    }

    fn notices(&mut self) -> Vec<String> {
        self.monitor.notices()
    }

    fn go(&mut self) -> io::Result<()> {
        self.monitor.go()
    }

    fn ready(self: Box<Self>) -> Result<Started, Failure> {
        let Self {
            monitor,
            wires,
            setting,
            between,
            terminal,
            command,
            streams,
            ..
        } = *self;
        let Started {
            running: monitor,
            sockets,
            inside,
            notices,
            ..
        } = monitor.ready()?;
        let said = Said::listen(wires.console).map_err(fault("the console"))?;
        let (desk, counter) = desk().map_err(fault("the channel"))?;
        serve(wires.channel, counter, inside, setting).map_err(fault("the channel"))?;
        let both = either(desk.bell.as_fd(), monitor.news_fd()).map_err(fault("the channel"))?;
        let into = into_guest(&desk);
        let mut vm = Vm {
            monitor,
            desk,
            said,
            both,
            terminals: HashMap::new(),
            code: None,
            killed: false,
            _control: wires.control,
        };
        booted::wait(&mut vm)?;
        let mut master = None;
        if let Some(mut exec) = command {
            let mut at_terminal = None;
            if let (Some(between), Some(shape)) = (between, terminal) {
                let modes = Some(stdio::modes(&shape.modes));
                exec.terminal = Some((0, stdio::size(shape.size), modes));
                let slave = between.slave.try_clone().map_err(fault("the terminal"))?;
                vm.terminals.insert(OWN, slave);
                let ends = Ends::both(between.slave).map_err(fault("the terminal"))?;
                at_terminal = Some((ends.shared(), shape.streams));
                master = Some(between.master);
            }
            vm.desk
                .order(Order::Exec {
                    exec: Box::new(exec),
                    streams,
                    terminal: at_terminal,
                })
                .map_err(fault("the channel"))?;
        }
        Ok(Started {
            running: Box::new(vm),
            sockets,
            inside: into,
            terminal: master,
            notices,
        })
    }
}

/// Serves a machine's channel in a thread of its own, until the supervisor's side or the channel is
/// gone.
fn serve(
    channel: OwnedFd,
    counter: Counter,
    inside: Arc<dyn Inside>,
    setting: Setting,
) -> io::Result<()> {
    let line = Line::new(channel, Role::Host)?;
    let host = Host::new(counter, inside, setting, &line)?;
    let mut pump = Pump::new(line, host);
    std::thread::Builder::new()
        .name("vm-channel".to_owned())
        .spawn(move || {
            if let Err(fault) = pump.run() {
                pump.handler().over(fault.to_string());
            }
        })?;
    Ok(())
}
