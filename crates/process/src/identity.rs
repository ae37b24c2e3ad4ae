//! Who the sandboxed program is. A user stays himself, alone in a user namespace. Host root is
//! never root inside: the program gets an id that nobody on the host has, and what it may write
//! appears to belong to that id by an idmapped mount; so a mistake anywhere else does not hand
//! out the host's root.
//!
//! A monitor sees itself as root, so that it shows its user's files as root's: that is a name inside
//! of its user namespace and no right anywhere, and on the host it is who a command would be.

use rustix::fd::BorrowedFd;
use rustix::process::{getegid, geteuid};
use std::fs;
use std::io;

/// The id inside where the host's root started the sandbox: outside of the ranges that
/// distributions and systemd hand out.
pub(crate) const INSIDE: u32 = 60_999;
/// Ids that exist: all but the one that means "unchanged".
pub(crate) const ALL: u32 = u32::MAX;

/// Who runs the sandboxed program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// User and group id on the host: the caller's, or [`INSIDE`] where that is the host's root.
    outside: (u32, u32),
    /// Whether it sees itself as root.
    as_root: bool,
    /// Whether the host's root starts the sandbox.
    by_root: bool,
}

impl Identity {
    /// The identity that this process can give to a command.
    pub(crate) fn of_caller() -> Self {
        let caller = (geteuid().as_raw(), getegid().as_raw());
        let by_root = caller.0 == 0;
        Self {
            outside: if by_root { (INSIDE, INSIDE) } else { caller },
            as_root: false,
            by_root,
        }
    }

    /// The same for a monitor.
    pub(crate) fn of_monitor() -> Self {
        Self {
            as_root: true,
            ..Self::of_caller()
        }
    }

    /// Whether the host's root starts the sandbox.
    pub(crate) fn is_by_root(self) -> bool {
        self.by_root
    }

    /// Whether it is that of a monitor.
    pub(crate) fn is_monitor(self) -> bool {
        self.as_root
    }

    /// User and group id on the host.
    pub(crate) fn outside(self) -> (u32, u32) {
        self.outside
    }

    /// User and group id inside.
    pub(crate) fn inside(self) -> (u32, u32) {
        match self.as_root {
            true => (0, 0),
            false => self.outside,
        }
    }

    /// Maps the user to who he is inside, and nobody else; called by the first process of a new user
    /// namespace.
    pub(crate) fn map_self(self) -> io::Result<()> {
        let (uid, gid) = self.inside();
        let (of_user, of_group) = self.outside;
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{uid} {of_user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{gid} {of_group} 1"))
    }

    /// Maps every id of the process's new user namespace to itself, but for a monitor's; called by the
    /// host's root.
    pub(crate) fn map_all(self, pid: i32) -> io::Result<()> {
        let map = match self.as_root {
            true => in_place_of_root(INSIDE),
            false => format!("0 0 {ALL}"),
        };
        write_maps(pid, &map, &map)
    }
}

/// A map of all ids to themselves, but for `id`, which is 0 inside; the host's root has no name there.
fn in_place_of_root(id: u32) -> String {
    format!(
        "0 {id} 1\n1 1 {}\n{} {} {}\n",
        id - 1,
        id + 1,
        id + 1,
        ALL - id - 1
    )
}

/// Maps the ids of another process's new user namespace.
pub(crate) fn write_maps(pid: i32, uids: &str, gids: &str) -> io::Result<()> {
    fs::write(format!("/proc/{pid}/uid_map"), uids)?;
    fs::write(format!("/proc/{pid}/gid_map"), gids)
}

/// Gives streams that are pipes to an id inside, which could not open them again (`/dev/stdout`)
/// otherwise; they belong to nobody but the caller's pipeline.
pub(crate) fn own_pipes(streams: &[BorrowedFd<'_>], uid: u32, gid: u32) -> io::Result<()> {
    use rustix::fs::{FileType, Gid, Uid, fchown, fstat};
    for stream in streams {
        let anonymous = fstat(stream).is_ok_and(|stat| {
            FileType::from_raw_mode(stat.st_mode) == FileType::Fifo && stat.st_nlink == 1
        });
        if anonymous {
            fchown(stream, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn apply(map: &str, id: u32) -> Option<u32> {
        map.lines().find_map(|line| {
            let n: Vec<u32> = line.split(' ').map(|n| n.parse().unwrap()).collect();
            (id.checked_sub(n[0])? < n[2]).then(|| n[1] + (id - n[0]))
        })
    }

    #[test]
    fn a_monitor_is_root_inside_and_nobody_there_is_the_hosts() {
        let map = in_place_of_root(INSIDE);
        for (inside, outside) in [
            (0, Some(INSIDE)),
            (1, Some(1)),
            (INSIDE - 1, Some(INSIDE - 1)),
            (INSIDE, None),
            (INSIDE + 1, Some(INSIDE + 1)),
            (ALL - 1, Some(ALL - 1)),
            (ALL, None),
        ] {
            assert_eq!(apply(&map, inside), outside, "{inside}");
        }
    }
}
