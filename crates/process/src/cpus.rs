//! Where a process runs. A child that is forked often starts behind its parent on the same CPU,
//! and then waits until the parent sleeps, while another CPU has nothing to do: the two would not
//! work side by side, which is what the child is forked early for.

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// The CPUs that a process may use; none where the kernel does not say.
#[derive(Clone, Copy)]
pub(crate) struct Cpus(Option<CpuSet>);

impl Cpus {
    /// Those of this process.
    pub(crate) fn of_caller() -> Self {
        Self(sched_getaffinity(None).ok())
    }

    /// Keeps a child off the CPU that this process runs on, where it may use another. Only ever a
    /// matter of time: what cannot be done is left.
    pub(crate) fn keep_off_this(self, child: i32) {
        let (Some(mut others), Some(child)) = (self.0, Pid::from_raw(child)) else {
            return;
        };
        others.unset(sched_getcpu());
        if others.count() > 0 {
            let _ = sched_setaffinity(Some(child), &others);
        }
    }

    /// Lets this thread use all of them again. For a main thread the parent must not be about to
    /// call [`Cpus::keep_off_this`] any more.
    pub(crate) fn restore(self) {
        if let Some(all) = self.0 {
            let _ = sched_setaffinity(None, &all);
        }
    }
}
