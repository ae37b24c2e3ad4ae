//! The process between pid 1 and a command that entered with a terminal of its own. A terminal
//! belongs to a session, and the programs of a session can only be stopped while somebody in it
//! watches them (the kernel discards stops in an orphaned process group, setpgid(2)): a shell does
//! that for its jobs, pid 1 for the sandbox's own command, and this process for one that entered.

use crate::command::{Streams, Surroundings, become_command, die_with};
use crate::image::Image;
use crate::kernel;
use crate::live::shell_code;
use crate::message::{Report, tell};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::process::{Pid, WaitOptions, getpid, ioctl_tiocsctty, setsid, waitpid};
use serde::{Deserialize, Serialize};
use std::io;

/// What a command's process, or the one that leads its session, hands to pid 1.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Handed {
    /// The listener of the command's calls comes along.
    Listener,
    /// The command has this process id.
    Leads(i32),
}

/// Starts the command in a session of its own, and ends as it ends; `hand_in` hears its process id.
pub(crate) fn lead(
    image: &Image,
    surroundings: &Surroundings<'_>,
    terminal: BorrowedFd<'_>,
    control: BorrowedFd<'_>,
    hand_in: BorrowedFd<'_>,
) -> ! {
    let code = match begin(image, surroundings, terminal, control) {
        Ok(pid) => {
            let _ = tell(hand_in, &Handed::Leads(pid));
            // Pid 1 listens until nobody can hand anything in any more.
            let _ = rustix::net::shutdown(hand_in, rustix::net::Shutdown::Both);
            watch(pid, surroundings.job, control)
        }
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::EIO);
            let job = surroundings.job;
            let _ = tell(control, &Report::ExecFailed { job, errno });
            127
        }
    };
    kernel::exit_now(code.into())
}

fn begin(
    image: &Image,
    surroundings: &Surroundings<'_>,
    terminal: BorrowedFd<'_>,
    control: BorrowedFd<'_>,
) -> io::Result<i32> {
    if let Some(keeper) = surroundings.keeper {
        die_with(keeper)?;
    }
    kernel::drop_capabilities(false)?;
    setsid()?;
    ioctl_tiocsctty(terminal)?;
    // Until pid 1 knows the command, what its client sends comes to this process alone.
    let surroundings = Surroundings {
        keeper: Some(getpid()),
        ..surroundings.clone()
    };
    kernel::spawn(&mut || {
        let _ = tell(control, &become_command(image, &surroundings));
        127
    })
}

/// Waits for the command's end; tells of its stops.
fn watch(pid: i32, job: u32, control: BorrowedFd<'_>) -> u8 {
    loop {
        let Ok(Some((_, status))) = waitpid(Pid::from_raw(pid), WaitOptions::UNTRACED) else {
            return 125;
        };
        match status.stopping_signal() {
            Some(signal) => drop(tell(control, &Report::Stopped { job, signal })),
            None => return shell_code(status),
        }
    }
}

impl<'a> Streams<'a> {
    /// Those of a session that this process leads.
    pub(crate) fn of_session(terminal: BorrowedFd<'a>, streams: [BorrowedFd<'a>; 3]) -> Self {
        Self {
            of: streams.map(Some),
            terminal: Some(terminal),
        }
    }
}

/// The first of some streams that is a terminal.
pub(crate) fn terminal_of<T: AsFd>(streams: &[T; 3]) -> Option<BorrowedFd<'_>> {
    let mut all = streams.iter().map(AsFd::as_fd);
    all.find(|stream| rustix::termios::isatty(stream))
}
