//! A client's side of a command that enters a sandbox: the command's terminal and signals are this
//! process's, everything else is the sandbox's.

use crate::backend::TerminalShape;
use crate::door::MOST;
use crate::exec::not_taken;
use crate::front::Front;
use crate::packet::{pack, receive, send, tell};
use crate::place::{Place, pass};
use crate::protocol::{Ask, Say, Wanted};
use crate::ready::ready;
use crate::session::Finished;
use crate::signals::Signals;
use crate::terminal::{self, Terminal};
use bailiwick_event::Failure;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer};
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{OptionalActions, tcsetattr, tcsetwinsize};
use signal_hook::consts::signal::SIGCONT;
use std::io;

fn lost(error: io::Error) -> Failure {
    Failure::fault(format!("the sandbox does not answer: {error}"))
}

/// What a client is told that could not say all; the sandbox may have said why before.
fn unheard(socket: &OwnedFd, error: io::Error) -> Failure {
    match receive::<Say>(socket) {
        Ok(Some((Say::Full, _))) => full(),
        _ => lost(error),
    }
}

fn full() -> Failure {
    Failure::fault(format!(
        "the sandbox takes no more than {MOST} commands at a time; try again when one has ended"
    ))
}

fn gone() -> Failure {
    Failure::fault(
        "the sandbox ended without a word: it was at its end already, or was killed from outside",
    )
}

/// Sends a command in and waits for its end; none where the sandbox is not the one that is wanted.
pub(crate) fn visit(socket: &OwnedFd, wanted: &mut Wanted) -> Result<Option<Finished>, Failure> {
    let own = [stdin(), stdout(), stderr()];
    // Before the command can say that it is there: what is sent to it then comes to this process.
    let signals = Signals::new().map_err(|e| Failure::fault(format!("signals: {e}")))?;
    let given = match terminal::shape() {
        Some(shape) => Some((shape, ask_for_terminal(socket)?)),
        None => None,
    };
    wanted.terminal = given.is_some();
    let terminal = match given {
        Some((shape, master)) => Some(enter_at_terminal(socket, wanted, &shape, master, own)?),
        None => {
            enter(socket, wanted, own)?;
            None
        }
    };
    pass(Place::Sent);
    let mut front = Front::new(terminal, signals);
    let end = wait(socket, &mut front);
    pass(Place::Told);
    front.finish();
    end
}

/// Sends a command in with streams of whoever calls and waits for its end.
pub(crate) fn attend(
    socket: &OwnedFd,
    wanted: &Wanted,
    streams: [BorrowedFd<'_>; 3],
) -> Result<Finished, Failure> {
    enter(socket, wanted, streams)?;
    loop {
        match receive::<Say>(socket).map_err(lost)? {
            Some((Say::Ended { code, line }, _)) => {
                return Ok(Finished {
                    code,
                    last_line: line,
                });
            }
            // Nobody is here who could let it go on later.
            Some((Say::Stopped, _)) => tell(socket, &Ask::Signal(SIGCONT)).map_err(lost)?,
            Some((Say::Unfit, _)) => return Err(not_taken()),
            Some((Say::Full, _)) => return Err(full()),
            Some((Say::Terminal | Say::Here | Say::Rules | Say::Known | Say::Saved(_), _)) => {}
            None => return Err(gone()),
        }
    }
}

/// A terminal of the sandbox's own. Where it has none to give the command does not enter: programs
/// inside can use all of them up, and would read what is typed at the caller's ever after.
fn ask_for_terminal(socket: &OwnedFd) -> Result<OwnedFd, Failure> {
    tell(socket, &Ask::Terminal).map_err(|e| unheard(socket, e))?;
    match receive::<Say>(socket).map_err(lost)? {
        Some((Say::Terminal, mut descriptors)) => descriptors.pop().ok_or_else(|| {
            Failure::fault(
                "the sandbox has no terminal left for this command, and the caller's own is not \
                 given to it; remedy: `bailiwick exec ... </dev/null 2>&1 | cat`",
            )
        }),
        Some((Say::Full, _)) => Err(full()),
        _ => Err(gone()),
    }
}

fn enter(socket: &OwnedFd, wanted: &Wanted, streams: [BorrowedFd<'_>; 3]) -> Result<(), Failure> {
    let message = pack(wanted).map_err(lost)?;
    let [stdin, stdout, stderr] = streams;
    let mut all = vec![message.as_fd(), stdin, stdout, stderr];
    // Where the supervisor speaks: a terminal of the sandbox's can be stopped from inside.
    all.extend(wanted.run.as_ref().map(|_| rustix::stdio::stderr()));
    send(socket, &Ask::Enter, &all).map_err(|e| unheard(socket, e))
}

/// Sends the command in with a terminal that looks like this process's.
fn enter_at_terminal(
    socket: &OwnedFd,
    wanted: &Wanted,
    shape: &TerminalShape,
    master: OwnedFd,
    own: [BorrowedFd<'_>; 3],
) -> Result<Terminal, Failure> {
    let unusable = |e: io::Error| Failure::fault(format!("the terminal cannot be used: {e}"));
    let open = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let slave = ioctl_tiocgptpeer(&master, open).map_err(|e| unusable(e.into()))?;
    tcsetattr(&slave, OptionalActions::Now, &shape.modes).map_err(|e| unusable(e.into()))?;
    tcsetwinsize(&slave, shape.size).map_err(|e| unusable(e.into()))?;
    let mut streams = own;
    for (stream, is_terminal) in streams.iter_mut().zip(shape.streams) {
        if is_terminal {
            *stream = slave.as_fd();
        }
    }
    enter(socket, wanted, streams)?;
    Terminal::new(master, shape, None).map_err(unusable)
}

/// Waits for the command's end.
fn wait(socket: &OwnedFd, front: &mut Front) -> Result<Option<Finished>, Failure> {
    loop {
        let mut fds = vec![PollFd::new(socket, PollFlags::IN)];
        fds.extend(front.interest());
        let ready = ready(&mut fds, front.patience())?;
        front.serve(&ready[1..], |signal| tell(socket, &Ask::Signal(signal)));
        if !ready[0] {
            continue;
        }
        match receive::<Say>(socket).map_err(lost)? {
            Some((Say::Ended { code, line }, _)) => {
                return Ok(Some(Finished {
                    code,
                    last_line: line,
                }));
            }
            Some((Say::Unfit, _)) => return Ok(None),
            Some((Say::Full, _)) => return Err(full()),
            Some((Say::Stopped, _)) => {
                front.stop();
                tell(socket, &Ask::Signal(SIGCONT)).map_err(lost)?;
            }
            Some((Say::Terminal | Say::Here | Say::Rules | Say::Known | Say::Saved(_), _)) => {}
            None => return Err(gone()),
        }
    }
}
