//! Takes the calls of `connect` where a program has no network of its own: what is asked for is read
//! once, and who asked is held by a descriptor, before anybody decides about it.

use super::tracee::{self, Tracee};
use super::{Broker, RESTART};
use crate::notify::{Answer, Call};
use crate::outward::Outward;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io;

/// The kernel's limit of an address (`sockaddr_storage`).
const LENGTH: usize = 128;

impl Broker {
    /// Has calls of `connect` made by whoever is at the other end of the way.
    pub(crate) fn with_way_out(mut self, way: OwnedFd) -> Self {
        self.outward = Some(Outward::new(way));
        self
    }

    /// What becomes readable when a `connect` was answered.
    pub(crate) fn way_out(&self) -> Option<BorrowedFd<'_>> {
        self.outward.as_ref().map(AsFd::as_fd)
    }

    /// Passes on the answer to one `connect`.
    pub(crate) fn hear(&mut self) {
        let Some(outward) = &mut self.outward else {
            return;
        };
        match outward.hear() {
            Ok(None) => {}
            Ok(Some((number, call, errno))) => self.return_from(number, &call, errno),
            Err(_) => {
                let waiting = self.outward.take().into_iter();
                for (number, call) in waiting.flat_map(Outward::into_waiting) {
                    self.return_from(number, &call, libc::ENETUNREACH);
                }
            }
        }
    }

    fn return_from(&self, number: usize, call: &Call, errno: i32) {
        let Some(Some(listener)) = self.listeners.get(number) else {
            return;
        };
        let answer = match errno {
            0 => Answer::Value(0),
            errno => Answer::Error(Errno::from_raw_os_error(errno)),
        };
        // An answer to a program that is gone has nobody to hear it.
        let _ = listener.answer(call, &answer);
    }

    /// Takes one call. `again` says that it has waited already.
    pub(super) fn connect(&mut self, number: usize, call: Call, again: bool) {
        match self.ask(number, call) {
            Ok(()) => {}
            Err(Errno::AGAIN | Errno::TOOMANYREFS)
                if again && tracee::is_interrupted(call.thread) =>
            {
                self.return_from(number, &call, RESTART.raw_os_error());
            }
            Err(Errno::AGAIN | Errno::TOOMANYREFS) => self.pending.push((number, call)),
            Err(error) => self.return_from(number, &call, error.raw_os_error()),
        }
    }

    fn ask(&mut self, number: usize, call: Call) -> Result<(), Errno> {
        let (Some(Some(listener)), Some(outward)) = (self.listeners.get(number), &mut self.outward)
        else {
            return Err(Errno::NETUNREACH);
        };
        let [_, address, length, ..] = call.arguments;
        // The kernel takes the low word for an `int`.
        let length = usize::try_from(length as i32).map_err(|_| Errno::INVAL)?;
        if length > LENGTH {
            return Err(Errno::INVAL);
        }
        let tracee = Tracee::new(call.thread);
        let address = tracee.bytes(address, length)?;
        let caller = hold(&tracee, call.thread)?;
        // Whoever was looked at was the caller, if that waits still.
        if !listener.is_waiting(&call) {
            return Err(Errno::SRCH);
        }
        outward
            .ask((number, call), caller, address)
            .map_err(|error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }
}

/// A descriptor of a thread, which may have a table of descriptors of its own; of its process where
/// the kernel has none of threads (before Linux 6.9).
fn hold(tracee: &Tracee, thread: u32) -> Result<OwnedFd, Errno> {
    let open = |number: u32, flags| {
        let number = i32::try_from(number).map_err(|_| Errno::SRCH)?;
        pidfd_open(Pid::from_raw(number).ok_or(Errno::SRCH)?, flags)
    };
    // PIDFD_THREAD
    match open(thread, PidfdFlags::from_bits_retain(libc::O_EXCL as u32)) {
        Err(Errno::INVAL) => open(tracee.status()?.process, PidfdFlags::empty()),
        held => held,
    }
}
