//! What commands are held to: the kernel counts their processes in a control group of their own, and each
//! has its limits from its first instruction on. They cannot raise them: the capability is taken away.

use bailiwick_channel::schema::Bounds;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::ffi::CStr;
use std::fs;
use std::io;

const GROUPS: &CStr = c"/sys/fs/cgroup";
const GROUP: &str = "/sys/fs/cgroup/commands";

/// The bounds of all commands.
#[derive(Debug, Default)]
pub(crate) struct Held {
    bounds: Bounds,
    /// Where a process enters the group.
    group: Option<OwnedFd>,
}

impl Held {
    /// Puts bounds into force.
    pub(crate) fn new(bounds: Bounds) -> io::Result<Self> {
        let Some(processes) = bounds.processes else {
            return Ok(Self {
                bounds,
                group: None,
            });
        };
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount(c"cgroup", GROUPS, c"cgroup2", flags, None::<&CStr>)?;
        fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+pids")?;
        fs::create_dir(GROUP)?;
        fs::write(format!("{GROUP}/pids.max"), processes.to_string())?;
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let group = rustix::fs::open(format!("{GROUP}/cgroup.procs"), flags, Mode::empty())?;
        Ok(Self {
            bounds,
            group: Some(group),
        })
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

/// How many processes the kernel has ended because memory ran out.
pub(crate) fn starved() -> u64 {
    let text = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
    line.and_then(|count| count.parse().ok())
        .unwrap_or_default()
}
