//! User namespaces that exchange two owners of files, for idmapped mounts (mount_setattr(2)).

use crate::identity::{ALL, INSIDE, write_maps};
use crate::kernel::{self, Stack};
use crate::raw;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, waitpid};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::io;
use std::ptr::NonNull;

/// User namespaces whose maps exchange an owner on disk with the id inside; made once per owner.
#[derive(Default)]
pub(crate) struct Idmaps {
    made: BTreeMap<(u32, u32), OwnedFd>,
    /// Processes that held the namespaces until these descriptors did; they have nothing to do but
    /// to end, which takes the kernel a moment.
    ending: Vec<Holder>,
}

impl Idmaps {
    /// Makes the namespace that shows what belongs to this owner as belonging to [`INSIDE`], and
    /// the other way round, so that every id keeps a name.
    pub(crate) fn make(&mut self, uid: u32, gid: u32) -> io::Result<()> {
        if let Entry::Vacant(entry) = self.made.entry((uid, gid)) {
            let (holder, release) = Holder::start()?;
            let pid = holder.pid;
            self.ending.push(holder);
            let namespace = write_maps(pid, &exchange(uid, INSIDE), &exchange(gid, INSIDE))
                .and_then(|()| fs::File::open(format!("/proc/{pid}/ns/user")));
            drop(release);
            entry.insert(namespace?.into());
        }
        Ok(())
    }

    /// The namespaces, in the order of their owners.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.made.values().map(AsFd::as_fd)
    }
}

/// A map of all ids to themselves, but for `a` and `b`, which change places.
fn exchange(a: u32, b: u32) -> String {
    let (low, high) = (a.min(b), a.max(b));
    if low == high {
        return format!("0 0 {ALL}");
    }
    let identity = |from: u32, to: u32| match to > from {
        true => format!("{from} {from} {}\n", to - from),
        false => String::new(),
    };
    format!(
        "{}{low} {high} 1\n{}{high} {low} 1\n{}",
        identity(0, low),
        identity(low + 1, high),
        identity(high + 1, ALL)
    )
}

/// A process in a new user namespace, which lives as long as a process or a descriptor of it does. It shares the
/// memory of this one, whose page tables would be copied for a process that does nothing, and ends when its pipe
/// does. To drop it waits for that.
///
/// Invariant: only the host's root starts one. The owner of a user namespace may look at its processes, and at this
/// one's memory by that.
struct Holder {
    pid: i32,
    /// What it runs on: not freed before it has ended.
    _stack: Stack,
    /// What it reads, the same.
    ends: NonNull<Ends>,
}

/// The ends of its pipe, in its own table.
struct Ends {
    wait: RawFd,
    release: RawFd,
}

impl Holder {
    /// Starts one; it ends when what comes with it is dropped.
    fn start() -> io::Result<(Self, OwnedFd)> {
        let (wait, release) = pipe_with(PipeFlags::CLOEXEC)?;
        let mut stack = Stack::new();
        let ends = NonNull::from(Box::leak(Box::new(Ends {
            wait: wait.as_raw_fd(),
            release: release.as_raw_fd(),
        })));
        let argument = ends.as_ptr().cast();
        // SAFETY: stack and ends stay as they are until the process has been waited for, by the drop of what is
        // returned; `hold` makes two system calls past the C library, and no handler of a signal runs in it.
        let started = kernel::without_signals(|| unsafe {
            kernel::start_beside(&mut stack, hold, argument, libc::CLONE_NEWUSER)
        });
        match started {
            Ok(pid) => {
                let _stack = stack;
                Ok((Self { pid, _stack, ends }, release))
            }
            Err(error) => {
                // SAFETY: it was leaked from a box above, and there is no process.
                drop(unsafe { Box::from_raw(ends.as_ptr()) });
                Err(error)
            }
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let pid = Pid::from_raw(self.pid);
        while let Err(rustix::io::Errno::INTR) = waitpid(pid, WaitOptions::empty()) {}
        // SAFETY: it was leaked from a box by `start`, and the process that reads it has ended.
        drop(unsafe { Box::from_raw(self.ends.as_ptr()) });
    }
}

/// Waits until nobody has the other end of the pipe.
extern "C" fn hold(argument: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `Holder::start` passes its ends, which live until this process has been waited for.
    let ends = unsafe { &*argument.cast::<Ends>() };
    raw::close(ends.release);
    raw::wait_for_end(ends.wait);
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::tests::apply;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_exchange_moves_two_ids_and_keeps_all_others(
            a in 0..ALL, b in 0..ALL, other in 0..ALL,
        ) {
            let map = exchange(a, b);
            prop_assert_eq!(apply(&map, a), Some(b));
            prop_assert_eq!(apply(&map, b), Some(a));
            prop_assume!(other != a && other != b);
            prop_assert_eq!(apply(&map, other), Some(other));
        }
    }
}
