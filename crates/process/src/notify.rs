//! The kernel's side of the write broker: seccomp's user notification (seccomp_unotify(2)). As in
//! [`crate::kernel`], no policy: calls come in, answers go out.

use crate::raw;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::io::Errno;
use std::io;

/// A call that a program makes and waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    id: u64,
    /// The calling thread, in this process's pid namespace.
    pub(crate) thread: u32,
    /// The number of the call.
    pub(crate) number: i64,
    /// Its arguments.
    pub(crate) arguments: [u64; 6],
}

impl Call {
    /// What the call does, in a word.
    pub(crate) fn operation(&self) -> &'static str {
        match self.number {
            libc::SYS_openat => "open",
            libc::SYS_mkdirat => "mkdir",
            libc::SYS_mknodat => "mknod",
            libc::SYS_renameat | libc::SYS_renameat2 => "rename",
            libc::SYS_linkat => "link",
            libc::SYS_symlinkat => "symlink",
            libc::SYS_bind => "bind",
            libc::SYS_truncate => "truncate",
            libc::SYS_unlinkat => "unlink",
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open | libc::SYS_creat => "open",
            #[cfg(target_arch = "x86_64")]
            libc::SYS_mkdir => "mkdir",
            #[cfg(target_arch = "x86_64")]
            libc::SYS_mknod => "mknod",
            #[cfg(target_arch = "x86_64")]
            libc::SYS_rename => "rename",
            #[cfg(target_arch = "x86_64")]
            libc::SYS_unlink | libc::SYS_rmdir => "unlink",
            #[cfg(target_arch = "x86_64")]
            libc::SYS_link => "link",
            #[cfg(target_arch = "x86_64")]
            libc::SYS_symlink => "symlink",
            _ => "write",
        }
    }
}

/// What a call returns.
pub(crate) enum Answer<'a> {
    Value(i64),
    Error(Errno),
    /// A new descriptor of the caller's, and whether it is closed at exec.
    Descriptor(BorrowedFd<'a>, bool),
}

/// Where the calls of a program and all that it starts arrive.
#[derive(Debug)]
pub(crate) struct Listener(OwnedFd);

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<OwnedFd> for Listener {
    fn from(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }
}

impl From<Listener> for OwnedFd {
    fn from(listener: Listener) -> Self {
        listener.0
    }
}

// linux/seccomp.h; the numbers are the same on every architecture that we build for.
const RECEIVE: libc::Ioctl = 0xc050_2100_u32 as libc::Ioctl;
const SEND: libc::Ioctl = 0xc018_2101_u32 as libc::Ioctl;
const ID_VALID: libc::Ioctl = 0x4008_2102_u32 as libc::Ioctl;
const ADD_DESCRIPTOR: libc::Ioctl = 0x4018_2103_u32 as libc::Ioctl;
const ADD_AND_SEND: u32 = 2;
const SET_FLAGS: libc::Ioctl = 0x4008_2104_u32 as libc::Ioctl;
const SYNC_WAKE_UP: u64 = 1;

/// Attaches a filter whose notified calls arrive at the listener. A caller that is interrupted by
/// a signal goes on waiting, where the kernel can do that (Linux 5.19): its call is being made.
pub(crate) fn attach(program: &[libc::sock_filter]) -> Result<Listener, Errno> {
    const NEW_LISTENER: usize = 8;
    const WAIT_KILLABLE: usize = 32;
    let descriptor = match raw::attach(program, NEW_LISTENER | WAIT_KILLABLE) {
        Err(Errno::INVAL) => raw::attach(program, NEW_LISTENER),
        other => other,
    }?;
    // SAFETY: with NEW_LISTENER the kernel returns a new descriptor, which is a small number.
    Ok(Listener(unsafe { OwnedFd::from_raw_fd(descriptor as i32) }))
}

impl Listener {
    /// Has caller and listener take turns on one CPU, where the kernel can do that (Linux 6.6):
    /// while one of them works the other waits, and to wake another CPU takes longer than most acts.
    pub(crate) fn take_turns(&self) {
        // SAFETY: by this request the kernel takes a number, and no address.
        unsafe { libc::ioctl(self.0.as_raw_fd(), SET_FLAGS, SYNC_WAKE_UP) };
    }

    /// The next call; none where the caller is gone already.
    pub(crate) fn receive(&self) -> io::Result<Option<Call>> {
        // SAFETY: all-zero is a valid `seccomp_notif`, and the kernel demands it.
        let mut raw: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the request writes one `seccomp_notif`, which lives through the call.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), RECEIVE, &raw mut raw) };
        if result == 0 {
            return Ok(Some(Call {
                id: raw.id,
                thread: raw.pid,
                number: raw.data.nr.into(),
                arguments: raw.data.args,
            }));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::EINTR) => {
                if self.is_closed() {
                    return Err(error);
                }
                Ok(None)
            }
            _ => Err(error),
        }
    }

    /// Whether nobody is left who could call.
    fn is_closed(&self) -> bool {
        let mut set = [rustix::event::PollFd::new(
            &self.0,
            rustix::event::PollFlags::IN,
        )];
        let now = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        rustix::event::poll(&mut set, Some(&now)).is_ok()
            && set[0].revents().contains(rustix::event::PollFlags::HUP)
    }

    /// Whether the caller still waits, so that what was read about it is about it.
    pub(crate) fn is_waiting(&self, call: &Call) -> bool {
        // SAFETY: the request reads one 64-bit number, which lives through the call.
        unsafe { libc::ioctl(self.0.as_raw_fd(), ID_VALID, &raw const call.id) == 0 }
    }

    /// Lets the call return.
    pub(crate) fn answer(&self, call: &Call, answer: &Answer<'_>) -> io::Result<()> {
        let (value, error) = match answer {
            Answer::Descriptor(file, close_on_exec) => match self.give(call, *file, *close_on_exec)
            {
                Ok(()) => return Ok(()),
                Err(error) => (0, error.raw_os_error().unwrap_or(libc::EIO)),
            },
            Answer::Value(value) => (*value, 0),
            Answer::Error(errno) => (0, errno.raw_os_error()),
        };
        let response = libc::seccomp_notif_resp {
            id: call.id,
            val: value,
            error: -error,
            flags: 0,
        };
        // SAFETY: the request reads one `seccomp_notif_resp`, which lives through the call.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), SEND, &raw const response) };
        match result {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn give(&self, call: &Call, file: BorrowedFd<'_>, close_on_exec: bool) -> io::Result<()> {
        let request = libc::seccomp_notif_addfd {
            id: call.id,
            flags: ADD_AND_SEND,
            srcfd: file.as_raw_fd().cast_unsigned(),
            newfd: 0,
            newfd_flags: if close_on_exec {
                libc::O_CLOEXEC.cast_unsigned()
            } else {
                0
            },
        };
        // SAFETY: the request reads one `seccomp_notif_addfd`, which lives through the call.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), ADD_DESCRIPTOR, &raw const request) };
        match result {
            0.. => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
