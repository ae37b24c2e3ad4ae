//! The policy's files for a guest: the guest's own binary answers what its kernel asks, beside the monitor and
//! with what that is granted. Requests pass from the guest through QEMU's port to a socket of this program; QEMU
//! does not interpret them.
//!
//! The guest keeps what it was told. Whatever is sent to the guest after somebody changed a file on the host, it
//! hears of the change first ([`Changes`]).

use crate::machine::{FILES, SHARE};
use crate::packer::BINARY;
use crate::running::Vm;
use bailiwick_event::Failure;
use bailiwick_sandbox::{Entry, Invocation};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::inotify;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;

/// The number of the program that answers, among those of the monitor's sandbox.
pub(crate) const JOB: u32 = u32::MAX;

/// Where the kernel says how many files and folders one user may watch, and its former default.
const LIMIT: (&str, usize) = ("/proc/sys/fs/inotify/max_user_watches", 8192);

/// Whether something was changed on the host of which the guest may not have heard.
#[derive(Debug)]
pub(crate) struct Changes {
    /// What the kernel tells whoever answers for the files (inotify(7)); none where there is none to be had.
    heard: Option<OwnedFd>,
    /// Not zero while that is passed on, and when it was (eventfd(2), one for each time).
    passed: OwnedFd,
}

impl Changes {
    /// Whether the guest may not have heard of a change; resets that.
    pub(crate) fn are_new(&self) -> bool {
        let heard = self.heard.iter().map(AsFd::as_fd);
        let all = heard.chain([self.passed.as_fd()]);
        let mut fds: Vec<PollFd<'_>> = all
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        let new = !matches!(poll(&mut fds, Some(&Timespec::default())), Ok(0));
        if new {
            while rustix::io::read(&self.passed, &mut [0; 8]).is_ok() {}
        }
        new
    }
}

/// Starts the program that answers for files in the monitor's sandbox, and connects the guest's port to it; before
/// the guest is told of files.
///
/// # Errors
/// A [`Failure`] where there is no descriptor left, or QEMU does not connect the port.
pub(crate) fn serve(vm: &mut Vm) -> Result<Changes, Failure> {
    let fault = |error: io::Error| Failure::fault(format!("the host's files: {error}"));
    let no = |error: Errno| fault(error.into());
    let flags = SocketFlags::CLOEXEC;
    let unix = AddressFamily::UNIX;
    let (ours, theirs) = socketpair(unix, SocketType::STREAM, flags, None).map_err(no)?;
    let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK | EventfdFlags::SEMAPHORE;
    let passed = eventfd(0, flags).map_err(no)?;
    // Where a user has as many as he may have, the guest keeps nothing.
    let heard = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK).ok();
    let null = File::options().read(true).write(true).open("/dev/null");
    let null = null.map_err(fault)?;
    let limit = std::fs::read_to_string(LIMIT.0).ok();
    let limit = limit.and_then(|limit| limit.trim().parse().ok());
    // Others of the user's watch as well.
    let watches = limit.unwrap_or(LIMIT.1) / 2;
    vm.control.connect(FILES, theirs.as_fd())?;
    let argv: [OsString; 4] = [
        BINARY.into(),
        "share".into(),
        SHARE.into(),
        watches.to_string().into(),
    ];
    let entry = Entry {
        job: JOB,
        command: Invocation {
            argv: &argv,
            cwd: Path::new("/"),
            environment: &[],
        },
        streams: [
            ours.as_fd(),
            heard.as_ref().map_or(null.as_fd(), AsFd::as_fd),
            passed.as_fd(),
        ],
        terminal: false,
        umask: 0,
    };
    vm.monitor.enter(&entry).map_err(fault)?;
    Ok(Changes { heard, passed })
}
