//! Limits that the kernel keeps for all processes of a sandbox together. A control group is made
//! only where the policy asks for something that nothing else keeps exactly, because it costs a
//! start some tenths of a millisecond.
//!
//! Decision: nothing of the machine is rearranged for it. A group is made where this process may
//! make one that nobody else manages, else systemd is asked for one; where neither is to be had, the
//! limits are watched as [`crate::watch`] does, and the record says so.

mod events;
mod group;
mod place;
mod remedy;
mod systemd;
mod wire;

pub(crate) use events::Events;
pub(crate) use place::available;
pub(crate) use remedy::remedy;

use crate::limits::Bounds;
use group::Group;
use std::path::Path;

/// A sandbox's control group; dropping it removes it.
#[derive(Debug)]
pub(crate) struct Cgroup {
    /// What has happened to it.
    pub(crate) events: Events,
    /// Removed by this process; where systemd made it, systemd does that.
    _own: Option<Group>,
}

/// Puts a process, and all that it starts, under the limits; says in them which the kernel keeps.
pub(crate) fn contain(pid: i32, bounds: &mut Bounds) -> Result<Cgroup, String> {
    let direct = place::find(bounds).and_then(|parent| direct(&parent, pid, bounds));
    let reason = match direct {
        Err(reason) if systemd::is_running() => reason,
        other => return other,
    };
    let path = systemd::scope(pid, bounds).map_err(|error| format!("{reason}; {error}"))?;
    bounds.exact = group::limit(&path, bounds)?;
    Ok(Cgroup {
        events: Events::of(&path, bounds),
        _own: None,
    })
}

/// A group of this process's own.
fn direct(parent: &Path, pid: i32, bounds: &mut Bounds) -> Result<Cgroup, String> {
    group::sweep(parent);
    let own = Group::make(parent)?;
    let exact = group::limit(own.path(), bounds)?;
    own.join(pid)?;
    bounds.exact = exact;
    Ok(Cgroup {
        events: Events::of(own.path(), bounds),
        _own: Some(own),
    })
}
