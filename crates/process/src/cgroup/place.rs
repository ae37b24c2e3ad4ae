//! Where a group can be made without disturbing anybody. systemd takes everything that it has not
//! handed over for its own and switches controllers off there as it likes, which would lift the
//! limits without a word: so on its machines only a folder that it has delegated counts.

use super::systemd;
use crate::limits::Bounds;
use rustix::fs::{Access, AtFlags, CWD, accessat, getxattr};
use std::fs;
use std::path::{Path, PathBuf};

/// How the reason begins where a controller is missing; its name follows.
pub(crate) const NO_CONTROLLER: &str = "cgroup v2 has no controller here for ";

/// A folder that may be used, with the controllers that the limits need switched on.
pub(crate) fn find(bounds: &Bounds) -> Result<PathBuf, String> {
    let needed = needed(bounds);
    let (top, own) = own()?;
    let managed = systemd::is_running();
    let mut reason = "no control group may be written here".to_owned();
    for folder in own.ancestors().take_while(|f| f.starts_with(&top)) {
        if !is_writable(folder) {
            continue;
        }
        if managed && !is_delegated(folder, &top) {
            continue;
        }
        match switch_on(folder, &needed) {
            Ok(()) => return Ok(folder.to_path_buf()),
            Err(error) => reason = error,
        }
    }
    Err(reason)
}

/// Whether exact limits are to be had for this process, and why not.
pub(crate) fn available() -> Result<(), String> {
    let bounds = Bounds {
        memory: Some(1),
        cpu: Some(1000),
        ..Bounds::default()
    };
    let reason = match find(&bounds) {
        Ok(_) => return Ok(()),
        Err(reason) => reason,
    };
    match systemd::is_running() {
        true => systemd::delegates(&needed(&bounds)),
        false => Err(reason),
    }
}

/// The controllers that the limits need.
fn needed(bounds: &Bounds) -> Vec<&'static str> {
    let of = |asked: bool, name| asked.then_some(name);
    let needed = [
        of(bounds.memory.is_some(), "memory"),
        of(bounds.processes.is_some(), "pids"),
        of(bounds.cpu.is_some(), "cpu"),
    ];
    needed.into_iter().flatten().collect()
}

/// Where the hierarchy is mounted, and this process's folder in it.
pub(crate) fn own() -> Result<(PathBuf, PathBuf), String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let (root, top) = mounts
        .lines()
        .find_map(mounted)
        .ok_or("cgroup v2 is not mounted")?;
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let path = groups
        .lines()
        .find_map(|line| line.strip_prefix("0::"))
        .ok_or("cgroup v2 is not in use")?;
    let below = Path::new(path)
        .strip_prefix(&root)
        .map_err(|_| "the mounted control groups do not hold this process's")?;
    let own = top.join(below);
    Ok((top, own))
}

/// The root within the hierarchy and the place of a line of mountinfo that is about cgroup v2.
fn mounted(line: &str) -> Option<(PathBuf, PathBuf)> {
    let (before, after) = line.split_once(" - ")?;
    let mut fields = before.split(' ');
    let (root, place) = (fields.nth(3)?, fields.next()?);
    // A place with a space in its name is written with an escape, and then not found below.
    (after.split(' ').next() == Some("cgroup2")).then(|| (root.into(), place.into()))
}

fn is_writable(folder: &Path) -> bool {
    accessat(CWD, folder, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
        && accessat(
            CWD,
            folder.join("cgroup.procs"),
            Access::WRITE_OK,
            AtFlags::EACCESS,
        )
        .is_ok()
}

/// Whether systemd has handed the folder, or one above it, over.
fn is_delegated(folder: &Path, top: &Path) -> bool {
    let marked = |folder: &Path| {
        ["user.delegate", "trusted.delegate"].iter().any(|name| {
            let mut value = [0; 8];
            matches!(getxattr(folder, *name, &mut value), Ok(1) if value[0] == b'1')
        })
    };
    folder
        .ancestors()
        .take_while(|f| f.starts_with(top))
        .any(marked)
}

/// Switches controllers on for the children of a folder.
fn switch_on(folder: &Path, needed: &[&str]) -> Result<(), String> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let (has, on) = (read("cgroup.controllers"), read("cgroup.subtree_control"));
    let listed = |list: &str, name: &str| list.split_whitespace().any(|found| found == name);
    for name in needed {
        if listed(&on, name) {
            continue;
        }
        if !listed(&has, name) {
            return Err(format!("{NO_CONTROLLER}{name}"));
        }
        fs::write(folder.join("cgroup.subtree_control"), format!("+{name}"))
            .map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_version_is_found_among_the_mounts() {
        let v1 =
            "34 25 0:30 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory";
        let v2 = "35 25 0:31 /a /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate";
        assert_eq!(mounted(v1), None);
        assert_eq!(mounted(v2), Some(("/a".into(), "/sys/fs/cgroup".into())));
    }

    #[test]
    fn controllers_are_switched_on_once_and_only_where_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("cgroup.controllers"), "cpuset cpu memory\n").unwrap();
        fs::write(at("cgroup.subtree_control"), "cpu\n").unwrap();
        assert_eq!(switch_on(folder.path(), &["cpu"]), Ok(()));
        let unchanged = fs::read_to_string(at("cgroup.subtree_control")).unwrap();
        assert_eq!(unchanged, "cpu\n");
        assert_eq!(switch_on(folder.path(), &["cpu", "memory"]), Ok(()));
        let written = fs::read_to_string(at("cgroup.subtree_control")).unwrap();
        assert_eq!(written, "+memory");
        let refused = switch_on(folder.path(), &["pids"]).unwrap_err();
        assert!(
            refused.ends_with("no controller here for pids"),
            "{refused}"
        );
    }
}
