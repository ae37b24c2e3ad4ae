//! The process between pid 1 and a command that entered with a terminal of its own. A terminal
//! belongs to a session, and the programs of a session can only be stopped while somebody in it
//! watches them (the kernel discards stops in an orphaned process group, setpgid(2)): a shell does
//! that for its jobs, pid 1 for the sandbox's own command, and this process for one that entered.

use crate::command::{Streams, Surroundings, become_command, die_with};
use crate::guest::NotStarted;
use crate::image::Image;
use crate::kernel;
use crate::live::shell_code;
use crate::message::{Report, tell};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, read, write};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, ioctl_tiocsctty, kill_process, setsid, waitpid,
};
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
    kernel::drop_capabilities(kernel::Kept::default())?;
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
    wait_for(pid, |signal| {
        let _ = tell(control, &Report::Stopped { job, signal });
    })
}

/// Waits for a command's end, as a shell reports it; hears of its stops.
fn wait_for(pid: i32, mut stopped: impl FnMut(i32)) -> u8 {
    loop {
        let Ok(Some((_, status))) = waitpid(Pid::from_raw(pid), WaitOptions::UNTRACED) else {
            return 125;
        };
        match status.stopping_signal() {
            Some(signal) => stopped(signal),
            None => return shell_code(status),
        }
    }
}

/// A command of a guest, and the process that leads its session: that one stops when the command does,
/// goes on when it is told to, and ends as the command ends.
#[derive(Clone, Copy, Debug)]
pub struct Led {
    /// The process that pid 1 waits for.
    pub leader: i32,
    /// The command, and its process group.
    pub command: i32,
}

/// What pid 1 is told: which of three it is, and the number of the process or the error.
type Word = [i32; 2];

/// Has a process lead a session at this terminal, and start the command in it. Pid 1 of a guest watches
/// over nothing itself: to the kernel its children are orphans, wherever they belong.
pub(crate) fn led(
    terminal: BorrowedFd<'_>,
    start: &mut dyn FnMut() -> Result<i32, NotStarted>,
) -> Result<Led, NotStarted> {
    let (hear, say) = pipe_with(PipeFlags::CLOEXEC).map_err(failed)?;
    let leader = match kernel::fork() {
        Ok(0) => stand_in(terminal, start, say),
        Ok(pid) => pid,
        Err(error) => return Err(failed(Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))),
    };
    drop(say);
    let error = match word(&hear) {
        [0, command] => return Ok(Led { leader, command }),
        [1, errno] => NotStarted::Folder(errno),
        [_, errno] => NotStarted::Exec(errno),
    };
    let _ = waitpid(Pid::from_raw(leader), WaitOptions::empty());
    Err(error)
}

fn failed(errno: Errno) -> NotStarted {
    NotStarted::Exec(errno.raw_os_error())
}

/// The word of a leader; one that has ended without a word has started nothing.
fn word(hear: &OwnedFd) -> Word {
    let mut bytes = [0; size_of::<Word>()];
    loop {
        match read(hear, &mut bytes) {
            // A pipe passes so few bytes whole.
            Ok(length) if length == bytes.len() => break,
            Err(Errno::INTR) => {}
            _ => return [2, Errno::IO.raw_os_error()],
        }
    }
    let number = |at: usize| {
        let bytes = bytes.get(at..at + 4).and_then(|b| b.try_into().ok());
        bytes.map_or(libc::EIO, i32::from_ne_bytes)
    };
    [number(0), number(4)]
}

/// Leads the session, in a copy of pid 1.
fn stand_in(
    terminal: BorrowedFd<'_>,
    start: &mut dyn FnMut() -> Result<i32, NotStarted>,
    say: OwnedFd,
) -> ! {
    // The command takes the terminal for its own group from a group that has not got it.
    kernel::ignore_signal(libc::SIGTTOU);
    let session = setsid().and_then(|_| ioctl_tiocsctty(terminal));
    let started = session.map_err(failed).and_then(|()| start());
    let word: Word = match started {
        Ok(pid) => [0, pid],
        Err(NotStarted::Folder(errno)) => [1, errno],
        Err(NotStarted::Exec(errno)) => [2, errno],
    };
    let bytes: Vec<u8> = word.iter().flat_map(|n| n.to_ne_bytes()).collect();
    let _ = write(&say, &bytes);
    // Neither the channel nor another command's pipe stays open because of this process.
    kernel::close_all_but([]);
    let Ok(pid) = started else {
        kernel::exit_now(127)
    };
    let code = wait_for(pid, |_| {
        let _ = kill_process(getpid(), Signal::STOP);
    });
    kernel::exit_now(code.into())
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
