//! The last steps in the command's own process: from here on nothing of ours is left but the
//! restrictions.
//!
//! Invariant: with namespaces nothing here allocates, calls what keeps an error's number in a variable
//! of the thread, or panics: the process may share the memory of pid 1 ([`crate::departure`]), and any
//! program of the sandbox can end it between two instructions.

use crate::image::Image;
use crate::kernel;
use crate::leader::Handed;
use crate::limits::{self, Bounds};
use crate::message::{self, Report};
use crate::notify;
use crate::raw;
use crate::ruleset;
use crate::switches::{Layer, without};
use bailiwick_sandbox::OWN;
use bailiwick_sandbox::place::{Place, pass};
use bailiwick_sandbox::startup::{self, Stage};
use libc::sock_filter;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, chdir, getpid, getppid, set_parent_process_death_signal, setpgid,
};
use std::rc::Rc;

/// What a command's streams are.
#[derive(Clone, Copy, Default)]
pub(crate) struct Streams<'a> {
    /// stdin, stdout and stderr, where they are others than this process's.
    pub(crate) of: [Option<BorrowedFd<'a>>; 3],
    /// The controlling terminal of the session, whose foreground the command takes.
    pub(crate) terminal: Option<BorrowedFd<'a>>,
}

/// Where a command is started from.
#[derive(Clone)]
pub(crate) struct Surroundings<'a> {
    /// The command's number.
    pub(crate) job: u32,
    pub(crate) streams: Streams<'a>,
    pub(crate) umask: Mode,
    pub(crate) bounds: Bounds,
    /// Where to hand in the listener of the write broker, and the filter that has calls arrive there;
    /// none where there is no broker.
    pub(crate) broker: Option<(BorrowedFd<'a>, Rc<[sock_filter]>)>,
    /// With whom the command dies, where the kernel does not end it with its namespace, or too late.
    pub(crate) keeper: Option<Pid>,
    /// Whether there are no namespaces: nothing but this process's own means then keeps what the
    /// command could do to its keeper.
    pub(crate) bare: bool,
}

impl Surroundings<'_> {
    /// The same with other descriptors.
    pub(crate) fn with<'b>(
        &self,
        other: impl Fn(BorrowedFd<'_>) -> BorrowedFd<'b>,
    ) -> Surroundings<'b> {
        let program = |(broker, program): &(_, Rc<_>)| (other(*broker), Rc::clone(program));
        Surroundings {
            job: self.job,
            streams: Streams {
                of: self.streams.of.map(|stream| stream.map(&other)),
                terminal: self.streams.terminal.map(&other),
            },
            umask: self.umask,
            bounds: self.bounds,
            broker: self.broker.as_ref().map(program),
            keeper: self.keeper,
            bare: self.bare,
        }
    }
}

impl Streams<'_> {
    /// Makes them this process's streams, and this process the leader of a group of its own.
    fn become_own(&self) -> Result<(), Errno> {
        setpgid(None, None)?;
        if let Some(terminal) = self.terminal {
            // SIGTTOU is ignored by pid 1 and so still here: a background group may do this.
            rustix::termios::tcsetpgrp(terminal, getpid())?;
        }
        let [stdin, stdout, stderr] = self.of;
        if let Some(stdin) = stdin {
            rustix::stdio::dup2_stdin(stdin)?;
        }
        if let Some(stdout) = stdout {
            rustix::stdio::dup2_stdout(stdout)?;
        }
        if let Some(stderr) = stderr {
            rustix::stdio::dup2_stderr(stderr)?;
        }
        Ok(())
    }
}

/// Becomes the command; returns only where that failed.
pub(crate) fn become_command(image: &Image, surroundings: &Surroundings<'_>) -> Report {
    match surroundings.job {
        OWN => startup::enter(Stage::Prepared),
        _ => pass(Place::Begun),
    }
    rustix::process::umask(surroundings.umask);
    let job = surroundings.job;
    if let Err(errno) = chdir(image.folder()) {
        let errno = errno.raw_os_error();
        return Report::NoFolder { job, errno };
    }
    let errno = match prepare(surroundings) {
        Ok(()) => {
            match job {
                OWN => startup::mark(Stage::Prepared),
                _ => pass(Place::Prepared),
            }
            image.execute()
        }
        Err(errno) => errno,
    };
    let errno = errno.raw_os_error();
    Report::ExecFailed { job, errno }
}

/// Ends this process with its parent, which may be gone already.
pub(crate) fn die_with(parent: Pid) -> Result<(), Errno> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    match getppid() == Some(parent) {
        true => Ok(()),
        // Its end is told by whoever sees that of the parent.
        false => kernel::exit_now(127),
    }
}

fn prepare(surroundings: &Surroundings<'_>) -> Result<(), Errno> {
    if let Some(keeper) = surroundings.keeper {
        die_with(keeper)?;
    }
    if surroundings.bare {
        ruleset::shield().map_err(|_| Errno::IO)?;
    }
    surroundings.streams.become_own()?;
    if !without(Layer::Descriptors) {
        raw::close_on_exec_from(3)?;
    }
    // Every other signal has its default action since pid 1's start.
    kernel::unblock_signals();
    kernel::default_signal(libc::SIGTTOU);
    kernel::default_signal(libc::SIGXFSZ);
    if !without(Layer::Capabilities) {
        // What pid 1 has kept for itself; the bounding set is empty.
        raw::set_capabilities([0; 6])?;
    }
    if let Some((broker, program)) = &surroundings.broker {
        let listener = notify::attach(program)?;
        message::send(broker, &Handed::Listener, &[listener.as_fd()]).map_err(number)?;
        // Closed when the command is executed, and not by the C library, to which that is more than
        // a system call.
        std::mem::forget(listener);
    }
    // Last: by a low limit of open files nothing could be handed in where other programs of the same
    // user hand over descriptors at that moment.
    limits::apply(&surroundings.bounds, !surroundings.bare)
}

fn number(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}
