//! How a monitor is started: the same whether its machine boots, is restored, or is to become a
//! template, but for where the memory lies.

use crate::control::Control;
use crate::image::Image;
use crate::initrd::guest_binary;
use crate::jail;
use crate::machine::{DISK, Machine, RAM, Ram, SHARE};
use crate::template::mark;
use bailiwick_event::Failure;
use bailiwick_policy::Effective;
use bailiwick_sandbox::{Begun, Invocation, Launch, Monitor, Own, OwnAccess, Prepared, Running};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Everything that a monitor is started with.
pub(crate) struct Start {
    pub(crate) qemu: PathBuf,
    pub(crate) image: Image,
    pub(crate) initrd: PathBuf,
    pub(crate) machine: Machine,
    /// What the monitor is held to.
    pub(crate) policy: Effective,
    /// The folder of the host behind the policy's private paths.
    pub(crate) private: PathBuf,
    pub(crate) best_effort: bool,
    /// Whether the machine is made before the launch that it is for.
    pub(crate) waits: bool,
}

/// The files of the host behind a machine's memory and disk.
#[derive(Clone, Copy)]
pub(crate) struct Behind<'a> {
    pub(crate) ram: Ram,
    /// The memory's, where that is a file.
    pub(crate) memory: Option<&'a Path>,
    /// The disk's, where the machine has one.
    pub(crate) disk: Option<&'a Path>,
    /// Whether the disk's file is left as it is: what the machine writes to it goes with the machine.
    pub(crate) reads_disk: bool,
}

impl Behind<'_> {
    /// None.
    pub(crate) const NOTHING: Self = Self {
        ram: Ram::Anonymous,
        memory: None,
        disk: None,
        reads_disk: false,
    };
}

/// The host's ends of a monitor's streams.
pub(crate) struct Wires {
    /// The guest's channel.
    pub(crate) channel: OwnedFd,
    /// The monitor's control.
    pub(crate) control: Control,
    /// What the monitor and the guest's kernel say.
    pub(crate) console: OwnedFd,
}

fn wires() -> io::Result<(Wires, [OwnedFd; 3])> {
    let unix = AddressFamily::UNIX;
    let pair = || socketpair(unix, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    let (channel, channel_inside) = pair()?;
    let (control, control_inside) = pair()?;
    let (console, console_inside) = pipe_with(PipeFlags::CLOEXEC)?;
    let ours = Wires {
        channel,
        control: Control::new(control),
        console,
    };
    Ok((ours, [channel_inside, control_inside, console_inside]))
}

impl Start {
    /// What tells machines apart whose memory and devices would not fit each other.
    pub(crate) fn mark(&self) -> Result<String, Failure> {
        mark(&self.image, &self.initrd, &self.machine, &self.qemu)
    }

    /// Begins to set the monitor up.
    pub(crate) fn begin(
        &self,
        prepared: Box<dyn Prepared>,
        behind: Behind<'_>,
    ) -> Result<(Box<dyn Begun>, Wires), Failure> {
        let (wires, inside) =
            wires().map_err(|e| Failure::fault(format!("the monitor's streams: {e}")))?;
        let streams = inside.each_ref().map(AsFd::as_fd);
        let begun = self.launched(behind, streams, |launch| prepared.begin(launch))?;
        Ok((begun, wires))
    }

    /// Whether a monitor that is set up is what one of this machine would be; `any` is any descriptor.
    pub(crate) fn fits(
        &self,
        monitor: &dyn Running,
        behind: Behind<'_>,
        any: BorrowedFd<'_>,
    ) -> Result<bool, Failure> {
        self.launched(behind, [any; 3], |launch| monitor.fits(launch))
    }

    /// What the monitor is launched with.
    fn launched<T>(
        &self,
        behind: Behind<'_>,
        streams: [BorrowedFd<'_>; 3],
        act: impl FnOnce(&Launch<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let ram = behind.ram;
        let machine = Machine {
            ram,
            reads_disk: behind.reads_disk,
            ..self.machine.clone()
        };
        let guest = guest_binary()?;
        let begins = [&*self.image.kernel, &*self.initrd];
        let mut own = jail::own(
            [&self.image.rootfs, &guest],
            begins,
            ram,
            machine.accelerator,
        );
        let file = |source: &Path, at: &str, access| Own {
            source: source.to_path_buf(),
            at: at.into(),
            access,
        };
        own.extend(behind.memory.map(|memory| {
            let access = match ram {
                Ram::Written => OwnAccess::Write,
                Ram::Anonymous | Ram::Loaded | Ram::Copied => OwnAccess::Template,
            };
            file(memory, RAM, access)
        }));
        let access = match behind.reads_disk {
            true => OwnAccess::Read,
            false => OwnAccess::Write,
        };
        own.extend(behind.disk.map(|disk| file(disk, DISK, access)));
        let words = machine.words(&self.qemu);
        let environment: [(OsString, OsString); 3] = [
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("LANG".into(), "C.UTF-8".into()),
            ("TMPDIR".into(), "/tmp".into()),
        ];
        act(&Launch {
            policy: &self.policy,
            command: Some(Invocation {
                argv: &words,
                cwd: Path::new("/"),
                environment: &environment,
            }),
            open: false,
            private: &self.private,
            best_effort: self.best_effort,
            trust: None,
            streams: streams.map(Some),
            monitor: Some(Monitor {
                share: Path::new(SHARE),
                own: &own,
                waits: self.waits,
            }),
        })
    }
}
