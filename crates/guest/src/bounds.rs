//! What commands are held to: the kernel counts their processes in a control group of their own, and each
//! has its limits from its first instruction on. They cannot raise them: the capability is taken away.

use bailiwick_channel::schema::Bounds;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;

const GROUPS: &CStr = c"/sys/fs/cgroup";
const GROUP: &str = "/sys/fs/cgroup/commands";

/// The control group of all commands. Programs in here see no more of it than its name.
#[derive(Debug)]
struct Group {
    /// How many processes it may have.
    most: File,
    /// Where a process enters it.
    entrance: File,
    /// What it tells of.
    events: File,
    /// Stops all of them, and lets them go on.
    freeze: File,
    /// Whether they have stopped.
    state: File,
}

/// How long it may take until the last of them has stopped: one that waits for a device is not.
const STOPPING: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

impl Group {
    fn new() -> io::Result<Self> {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        // A command that enters does not wait until every processor has seen that one will: forks do a
        // little more instead.
        mount(c"cgroup", GROUPS, c"cgroup2", flags, Some(c"favordynmods"))?;
        fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+pids")?;
        fs::create_dir(GROUP)?;
        let written = |name| File::options().write(true).open(format!("{GROUP}/{name}"));
        let group = Self {
            most: written("pids.max")?,
            entrance: written("cgroup.procs")?,
            events: File::open(format!("{GROUP}/pids.events"))?,
            freeze: written("cgroup.freeze")?,
            state: File::open(format!("{GROUP}/cgroup.events"))?,
        };
        // Root in here could write to what it sees, and cannot mount it again.
        unmount(GROUPS, UnmountFlags::DETACH)?;
        Ok(group)
    }
}

/// The bounds of all commands.
#[derive(Debug, Default)]
pub(crate) struct Held {
    bounds: Bounds,
    group: Option<Group>,
}

impl Held {
    /// Does what can be done before the bounds are known.
    pub(crate) fn prepare(&mut self) -> io::Result<()> {
        if self.group.is_none() {
            self.group = Some(Group::new()?);
        }
        Ok(())
    }

    /// Puts bounds into force; returns what tells of their being reached, where they are.
    pub(crate) fn hold(&mut self, bounds: Bounds) -> io::Result<Option<File>> {
        let processes = bounds.processes;
        self.bounds = bounds;
        self.prepare()?;
        let group = self.group.as_ref();
        let group = group.ok_or(io::ErrorKind::NotFound)?;
        let most = processes.map_or("max".to_owned(), |most| most.to_string());
        (&group.most).write_all(most.as_bytes())?;
        processes.map(|_| group.events.try_clone()).transpose()
    }

    /// Stops all commands where they are, as far as they can be.
    pub(crate) fn stop(&self) {
        let Some(group) = &self.group else { return };
        if (&group.freeze).write_all(b"1").is_err() {
            return;
        }
        let mut text = [0; 64];
        loop {
            // The kernel tells of a change to what was read last.
            let read = group.state.read_at(&mut text, 0).unwrap_or_default();
            let said = text.get(..read).unwrap_or_default();
            if said
                .split(|byte| *byte == b'\n')
                .any(|line| line == b"frozen 1")
            {
                return;
            }
            let changed = PollFd::new(&group.state, PollFlags::PRI);
            if !matches!(poll(&mut [changed], Some(&STOPPING)), Ok(1..)) {
                return;
            }
        }
    }

    /// Lets them go on.
    pub(crate) fn go_on(&self) {
        if let Some(group) = &self.group {
            let _ = (&group.freeze).write_all(b"0");
        }
    }

    /// Holds this process to them, and all that it starts. Nothing here allocates.
    pub(crate) fn enter(&self) -> Result<(), Errno> {
        if let Some(group) = &self.group {
            rustix::io::write(&group.entrance, b"0")?;
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
