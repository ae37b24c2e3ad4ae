//! What commands are held to: the kernel counts their processes in a control group of their own, and each
//! has its limits from its first instruction on. They cannot raise them: the capability is taken away.

use bailiwick_channel::schema::Bounds;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::ffi::CStr;
use std::fs::{self, File};
use std::io;

const GROUPS: &CStr = c"/sys/fs/cgroup";
const GROUP: &str = "/sys/fs/cgroup/commands";

/// The bounds of all commands.
#[derive(Debug, Default)]
pub(crate) struct Held {
    bounds: Bounds,
    /// Where a process enters the group.
    group: Option<OwnedFd>,
    /// What the group tells of.
    events: Option<File>,
}

impl Held {
    /// Puts bounds into force.
    pub(crate) fn new(bounds: Bounds) -> io::Result<Self> {
        let Some(processes) = bounds.processes else {
            return Ok(Self {
                bounds,
                group: None,
                events: None,
            });
        };
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount(c"cgroup", GROUPS, c"cgroup2", flags, None::<&CStr>)?;
        fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+pids")?;
        fs::create_dir(GROUP)?;
        fs::write(format!("{GROUP}/pids.max"), processes.to_string())?;
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let group = rustix::fs::open(format!("{GROUP}/cgroup.procs"), flags, Mode::empty())?;
        let events = File::open(format!("{GROUP}/pids.events"))?;
        // Root in here could write to what it sees, and cannot mount it again.
        unmount(GROUPS, UnmountFlags::DETACH)?;
        Ok(Self {
            bounds,
            group: Some(group),
            events: Some(events),
        })
    }

    /// What the group of all commands tells of; once.
    pub(crate) fn events(&mut self) -> Option<File> {
        self.events.take()
    }

    /// Holds this process to them, and all that it starts. Nothing here allocates.
    pub(crate) fn enter(&self) -> Result<(), Errno> {
        if let Some(group) = &self.group {
            rustix::io::write(group, b"0")?;
        }
        let both = |limit| Rlimit {
            current: Some(limit),
            maximum: Some(limit),
        };
        if let Some(bytes) = self.bounds.file_size {
            setrlimit(Resource::Fsize, both(bytes))?;
        }
        if let Some(files) = self.bounds.open_files {
            setrlimit(Resource::Nofile, both(files))?;
        }
        Ok(())
    }
}
