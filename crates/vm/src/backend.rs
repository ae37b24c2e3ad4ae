//! From a launch to a machine: the monitor is set up as the command of a process sandbox while the
//! record is made, and the command goes to the guest when that says that it is complete.

use crate::booted;
use crate::disk;
use crate::files;
use crate::host;
use crate::image::Hold;
use crate::jail;
use crate::orders::{Order, Told};
use crate::own_disk::OwnDisk;
use crate::running::{Vm, exec, into_guest};
use crate::saved::Saved;
use crate::setting::{self, Place};
use crate::shape::MachineShape;
use crate::source::{Files, STARTED_ANEW, Source};
use crate::spare::{Spare, asked, begin_warm};
use crate::start::{Behind, Start, Wires};
use crate::stdio::{Between, Streams};
use crate::warm::Warm;
use bailiwick_channel::Ends;
use bailiwick_channel::schema::{Exec, Modes, Setting, Share};
use bailiwick_event::Failure;
use bailiwick_gate::Sockets;
use bailiwick_process::ProcessBackend;
use bailiwick_sandbox::{
    Backend, Begun, Launch, OWN, Prepared, Running as _, Started, TerminalShape,
};
use rustix::fd::OwnedFd;
use rustix::fs::Mode;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Machines with a kernel of their own.
#[derive(Debug, Default)]
pub struct VmBackend {
    shape: MachineShape,
    keep: Option<Keep>,
}

/// Where the folder of a session with a disk is.
#[derive(Clone, Debug)]
pub enum Keep {
    /// It is made below this one.
    Below(PathBuf),
    /// It is this one, and a machine that was saved goes on.
    Saved {
        /// The folder.
        folder: PathBuf,
        /// What is known of the machine.
        saved: Saved,
        /// Hears a byte when all of it is saved; none where it is.
        complete: Option<Arc<OwnedFd>>,
    },
}

fn fault(what: &'static str) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::fault(format!("{what}: {error}"))
}

impl VmBackend {
    /// A backend whose machines look like this.
    #[must_use]
    pub fn new(shape: MachineShape) -> Self {
        Self { shape, keep: None }
    }

    /// One whose sessions have a disk of their own instead of the host's folders.
    #[must_use]
    pub fn with_disk(shape: MachineShape, keep: Keep) -> Self {
        let keep = Some(keep);
        Self { shape, keep }
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

    fn kind(&self) -> String {
        format!("{}, {}", self.name(), self.shape.kind())
    }

    fn has_own_files(&self) -> bool {
        true
    }

    fn prepare(&self, terminal: Option<TerminalShape>) -> Result<Box<dyn Prepared>, Failure> {
        Ok(Box::new(Waiting {
            monitor: sandbox()?,
            shape: self.shape.clone(),
            keep: self.keep.clone(),
            terminal,
        }))
    }
}

struct Waiting {
    monitor: Box<dyn Prepared>,
    shape: MachineShape,
    keep: Option<Keep>,
    terminal: Option<TerminalShape>,
}

impl Prepared for Waiting {
    fn begin(mut self: Box<Self>, launch: &Launch<'_>) -> Result<Box<dyn Begun>, Failure> {
        let mut notices = Vec::new();
        let mut own = match &self.keep {
            Some(keep) => Some(OwnDisk::prepare(keep, launch, &mut notices)?),
            None => None,
        };
        let policy = match own {
            Some(_) => jail::closed(launch.policy),
            None => jail::policy(launch.policy),
        };
        let limits = &launch.policy.limits;
        if let (Some(disk), Some(limit)) = (&mut self.shape.disk, &limits.disk) {
            *disk = limit.value.clamp(disk::LEAST, (*disk).max(disk::LEAST));
        }
        let (mut start, mut granted) = asked(&self.shape, launch, policy)?;
        start.waits = launch.command.is_none();
        if own.is_some() {
            granted.paths = vec![(launch.policy.workspace.clone(), true)];
        }
        let source = self.source(own.as_ref(), &start, &mut notices)?;
        let place = match (&own, &source) {
            (None, _) => Place::Shared,
            (Some(_), Source::Saved(_)) => Place::There,
            (Some(_), _) => Place::Disk,
        };
        if let Some(own) = &mut own {
            own.fill(&source, self.shape.disk.unwrap_or(MachineShape::DISK))?;
        }
        let disk = own.as_ref().map(|own| own.kept.disk());
        let behind = Behind {
            disk: disk.as_deref(),
            ..source.behind()
        };
        let setting = setting::of(launch, &granted, place)?;
        let (monitor, wires) = start.begin(self.monitor, behind)?;
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
            source,
            start,
            notices,
            own,
            shape: self.shape,
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

impl Waiting {
    /// What the machine comes from.
    fn source(
        &self,
        own: Option<&OwnDisk>,
        start: &Start,
        notices: &mut Vec<String>,
    ) -> Result<Source, Failure> {
        if let (Some(Keep::Saved { saved, .. }), Some(own)) = (&self.keep, own) {
            if saved.mark == start.mark()?
                && let Some(files) = Files::of(&own.kept, saved)
            {
                return Ok(Source::Saved(files));
            }
            notices.push(format!(
                "the machine that was saved does not fit this one (another image, QEMU or version of \
                 bailiwick), so {STARTED_ANEW}"
            ));
        }
        let warm = match self.shape.cold {
            true => None,
            false => Warm::find(&self.shape, start, notices)?,
        };
        Ok(warm.map_or(Source::Nothing, Source::Template))
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
    source: Source,
    start: Start,
    notices: Vec<String>,
    own: Option<OwnDisk>,
    shape: MachineShape,
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

    fn belongs_to(&mut self, record: &Path) {
        if let Some(own) = &mut self.own {
            own.kept.belong_to(record);
        }
    }

    fn ready(self: Box<Self>) -> Result<Started, Failure> {
        let Self {
            mut session,
            start,
            mut own,
            shape,
            ..
        } = *self;
        let mut monitor = self.monitor;
        if start.waits {
            // Where it is gone already, `ready` knows why.
            let _ = monitor.go();
        }
        let started = monitor.ready()?;
        let mut wires = self.wires;
        own.as_mut().map_or(Ok(()), OwnDisk::wait)?;
        // Not before, while the monitor looks for its files.
        own.as_mut().map_or(Ok(()), |own| own.kept.move_in())?;
        // Where the folder is now.
        let mut source = self.source;
        if let Some(own) = &own {
            source.moved(&own.kept);
        }
        let hold = start.image.hold()?;
        let restored = source.restore(&*started.running, &mut wires.control);
        if !matches!(source, Source::Saved(_)) {
            forget_saved(own.as_ref())?;
        }
        // What was told of a machine that is not used is of nobody's interest.
        let came = restored.and_then(|()| session.come(started, wires, &start));
        let is_anew = came.is_err();
        let there = match came {
            Err(failure) if !matches!(source, Source::Nothing) => {
                let lost = source.failed(&failure);
                let disk = own.as_ref().map(|own| own.kept.disk());
                let behind = Behind {
                    disk: disk.as_deref(),
                    ..Behind::NOTHING
                };
                let (mut again, cold) = start.begin(sandbox()?, behind)?;
                let _ = again.go();
                let mut started = again.ready()?;
                started.notices.push(lost);
                forget_saved(own.as_ref())?;
                if session.setting.again {
                    session.setting.again = false;
                    session.setting.share = Share::Disk;
                }
                session.come(started, cold, &start)?
            }
            came => {
                let there = came?;
                source.served();
                there
            }
        };
        // Not before it is there: whoever is interrupted until then finds it as it was.
        forget_saved(own.as_ref())?;
        let mut there = there;
        let waits = start.waits && !session.setting.again;
        if waits {
            begin_warm(&mut there.vm, &session.setting)?;
        }
        let made_of = if is_anew { Source::Nothing } else { source };
        let spare = waits.then(|| {
            let setting = session.setting.clone();
            Spare::new(shape, &start, made_of, setting, session.wall.take())
        });
        session.begin(there, &start, own, hold, spare.transpose()?)
    }
}

/// What was saved beside a disk does not fit it any more, once another machine, or the same, goes on with it.
fn forget_saved(own: Option<&OwnDisk>) -> Result<(), Failure> {
    let own = own.filter(|own| own.was_there());
    own.map_or(Ok(()), |own| own.kept.forget_saved())
}

/// A machine that is complete and waits for what it is to do.
struct There {
    vm: Vm,
    sockets: Sockets,
    notices: Vec<String>,
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
    /// Waits for the guest to be complete.
    fn come(&self, started: Started, wires: Wires, start: &Start) -> Result<There, Failure> {
        let Started {
            running,
            sockets,
            inside,
            notices,
            ..
        } = started;
        let memory = start.machine.memory;
        let (mut vm, counter) = Vm::new(running, wires.console, wires.control, memory)?;
        vm.processes = self.setting.bounds.processes.unwrap_or_default();
        let shares = self.setting.share == Share::Fuse;
        let changes = shares.then(|| files::serve(&mut vm)).transpose()?;
        let setting = (!start.waits).then(|| self.setting.clone());
        host::serve(wires.channel, counter, inside, setting, changes)
            .map_err(fault("the channel"))?;
        booted::wait(&mut vm, |told| match told {
            Told::Waiting(_) => start.waits,
            told => matches!(told, Told::Ready(_)),
        })?;
        Ok(There {
            vm,
            sockets,
            notices,
        })
    }

    /// Gives it the command.
    fn begin(
        self,
        there: There,
        start: &Start,
        own: Option<OwnDisk>,
        hold: Hold,
        spare: Option<Spare>,
    ) -> Result<Started, Failure> {
        let again = self.setting.again;
        let There {
            mut vm,
            sockets,
            notices,
        } = there;
        vm.hold = Some(hold);
        if let Some(own) = own {
            let of_terminal = match again {
                true => own.saved_terminal,
                false => self.terminal.as_ref().map(|shape| shape.streams),
            };
            if !again {
                own.begins_anew()?;
            }
            vm.savable = Some(own.deliver(&mut vm, start, of_terminal)?);
            if !again {
                vm.synced(Duration::ZERO);
            }
            vm.listen()?;
        }
        vm.has_files = !self.setting.shown.is_empty();
        if let Some(wall) = self.wall {
            vm.end_after(wall).map_err(fault("the limit of time"))?;
        }
        let mut master = None;
        let mut at_terminal = None;
        if let (Some(between), Some(shape)) = (self.between, self.terminal) {
            let slave = between.slave.try_clone().map_err(fault("the terminal"))?;
            vm.terminals.insert(OWN, slave);
            let ends = Ends::both(between.slave).map_err(fault("the terminal"))?;
            at_terminal = Some((ends.shared(), shape));
            master = Some(between.master);
        }
        let streams = self.streams;
        let order = match self.command {
            _ if again => Some(Order::Attach {
                streams: streams.apart(),
                terminal: at_terminal.map(|(ends, of)| (ends, of.size.into(), of.streams)),
            }),
            Some(mut exec) => {
                if let Some((_, shape)) = &at_terminal {
                    let modes = Some(Modes::from(&shape.modes));
                    exec.terminal = Some((0, shape.size.into(), modes));
                }
                Some(Order::Exec {
                    exec: Box::new(exec),
                    streams,
                    terminal: at_terminal.map(|(ends, shape)| (ends, shape.streams)),
                })
            }
            None => None,
        };
        if let Some(order) = order {
            vm.desk.order(order).map_err(fault("the channel"))?;
        }
        vm.spare = spare;
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
