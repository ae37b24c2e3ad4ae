//! A command that enters a sandbox starts as a process that shares the memory of pid 1 until it is
//! executed: a copy of the page tables would be thrown away at once. Nothing waits for it: what runs in
//! the sandbox already can stop it at any instant, or end it.
//!
//! Invariant: what the process reads is complete before it starts and stays as it is until pid 1 has
//! waited for it; what it writes is its stack and a hole in its own image. What it calls is written for
//! that ([`crate::command`], [`crate::raw`]).

use crate::command::{Surroundings, become_command};
use crate::image::Image;
use crate::kernel::{self, Stack};
use crate::message::tell;
use rustix::fd::{AsRawFd, BorrowedFd};
use std::io;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// A command on its way: what its process uses of this one's memory. To drop it frees nothing; only
/// [`Departure::into_stack`] does.
pub(crate) struct Departure {
    stack: ManuallyDrop<Stack>,
    needs: NonNull<Needs>,
}

struct Needs {
    image: Image,
    surroundings: Surroundings<'static>,
    control: BorrowedFd<'static>,
}

impl Departure {
    /// Starts a command, which tells `control` where that failed. Its process id, and what is to be
    /// kept.
    pub(crate) fn start(
        stack: Stack,
        image: Image,
        surroundings: &Surroundings<'_>,
        control: BorrowedFd<'_>,
    ) -> io::Result<(i32, Self)> {
        let needs = Box::new(Needs {
            image,
            surroundings: surroundings.with(lasting),
            control: lasting(control),
        });
        let mut departure = Self {
            stack: ManuallyDrop::new(stack),
            needs: NonNull::from(Box::leak(needs)),
        };
        let argument = departure.needs.as_ptr().cast();
        // SAFETY: neither the stack nor the needs are freed, moved or changed before the caller of
        // `into_stack` vouches that the process has been waited for; what it runs neither allocates
        // nor panics, and keeps nothing in a variable of the thread (the invariant of
        // `crate::command`).
        match unsafe { kernel::start_beside(&mut departure.stack, depart, argument, 0) } {
            Ok(pid) => Ok((pid, departure)),
            Err(error) => {
                // SAFETY: there is no process.
                drop(unsafe { departure.into_stack() });
                Err(error)
            }
        }
    }

    /// The stack, free for another.
    ///
    /// # Safety
    /// The process has been waited for.
    pub(crate) unsafe fn into_stack(self) -> Stack {
        // SAFETY: it was leaked from a box by `start`, nobody else uses it any more, and this is
        // called once: it takes `self`.
        drop(unsafe { Box::from_raw(self.needs.as_ptr()) });
        ManuallyDrop::into_inner(self.stack)
    }
}

extern "C" fn depart(argument: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `Departure::start` passes its needs, which live for as long as this process shares
    // their memory, and which nobody changes.
    let needs = unsafe { &*argument.cast::<Needs>() };
    let report = become_command(&needs.image, &needs.surroundings);
    let _ = tell(needs.control, &report);
    127
}

/// The descriptor of this number in the new process's own table.
fn lasting(descriptor: BorrowedFd<'_>) -> BorrowedFd<'static> {
    // SAFETY: used by the new process alone, whose table is a copy of this one, made while the
    // descriptor is open; nothing there closes it before the command is executed.
    unsafe { BorrowedFd::borrow_raw(descriptor.as_raw_fd()) }
}

#[cfg(test)]
#[path = "departure_tests.rs"]
mod tests;
