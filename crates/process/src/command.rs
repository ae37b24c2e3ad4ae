//! The last steps in the command's own process: from here on nothing of ours is left but the
//! restrictions.

use crate::kernel;
use crate::leader::Handed;
use crate::limits::{self, Bounds};
use crate::message::{self, Report};
use crate::notify;
use crate::ruleset;
use crate::seccomp::{self, Brokered};
use crate::setup::Command;
use crate::switches::{Layer, without};
use bailiwick_sandbox::OWN;
use bailiwick_sandbox::place::{Place, pass};
use bailiwick_sandbox::startup::{self, Stage};
use rustix::fd::BorrowedFd;
use rustix::fs::{Access, Mode, OFlags, access, open};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, chdir, getpid, getppid, set_parent_process_death_signal, setpgid,
};
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// What a command's streams are.
#[derive(Clone, Copy, Default)]
pub(crate) struct Streams<'a> {
    /// stdin, stdout and stderr, where they are others than this process's.
    pub(crate) of: [Option<BorrowedFd<'a>>; 3],
    /// The controlling terminal of the session, whose foreground the command takes.
    pub(crate) terminal: Option<BorrowedFd<'a>>,
}

/// Where a command is started from.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    /// The command's number.
    pub(crate) job: u32,
    pub(crate) streams: Streams<'a>,
    pub(crate) umask: Mode,
    pub(crate) bounds: &'a Bounds,
    /// Where to hand in the listener of the write broker; none where there is no broker.
    pub(crate) broker: Option<BorrowedFd<'a>>,
    /// With whom the command dies, where the kernel does not end it with its namespace, or too late.
    pub(crate) keeper: Option<Pid>,
    /// Whether there are no namespaces: nothing but this process's own means then keeps what the
    /// command could do to its keeper.
    pub(crate) bare: bool,
    /// Whether calls of `connect` are made for the command.
    pub(crate) connects: bool,
}

impl Streams<'_> {
    /// Makes them this process's streams, and this process the leader of a group of its own.
    fn become_own(&self) -> io::Result<()> {
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
pub(crate) fn become_command(command: &Command, surroundings: &Surroundings<'_>) -> Report {
    match surroundings.job {
        OWN => startup::enter(Stage::Prepared),
        _ => pass(Place::Begun),
    }
    rustix::process::umask(surroundings.umask);
    let errno = |error: io::Error| error.raw_os_error().unwrap_or(libc::EIO);
    let job = surroundings.job;
    if let Err(error) = chdir(&command.cwd) {
        return Report::NoFolder {
            job,
            errno: error.raw_os_error(),
        };
    }
    let error = match prepare(surroundings) {
        Ok(()) => {
            match job {
                OWN => startup::mark(Stage::Prepared),
                _ => pass(Place::Prepared),
            }
            execute(command)
        }
        Err(error) => error,
    };
    Report::ExecFailed {
        job,
        errno: errno(error),
    }
}

/// Ends this process with its parent, which may be gone already.
pub(crate) fn die_with(parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    match getppid() == Some(parent) {
        true => Ok(()),
        // Its end is told by whoever sees that of the parent.
        false => kernel::exit_now(127),
    }
}

fn prepare(surroundings: &Surroundings<'_>) -> io::Result<()> {
    if let Some(keeper) = surroundings.keeper {
        die_with(keeper)?;
    }
    if surroundings.bare {
        ruleset::shield().map_err(|error| io::Error::other(error.to_string()))?;
    }
    surroundings.streams.become_own()?;
    if !without(Layer::Descriptors) {
        kernel::close_on_exec_from(3)?;
    }
    // Every other signal has its default action since pid 1's start.
    kernel::unblock_signals();
    kernel::default_signal(libc::SIGTTOU);
    kernel::default_signal(libc::SIGXFSZ);
    kernel::drop_capabilities(false)?;
    if let Some(broker) = surroundings.broker {
        let listener = notify::attach(&seccomp::broker_program(&Brokered {
            everything: surroundings.bare,
            connects: surroundings.connects,
        }))?;
        message::send(broker, &Handed::Listener, &[listener])?;
    }
    // Last: by a low limit of open files nothing could be handed in where other programs of the same
    // user hand over descriptors at that moment.
    limits::apply(surroundings.bounds, !surroundings.bare)?;
    Ok(())
}

fn c_string(bytes: Vec<u8>) -> io::Result<CString> {
    CString::new(bytes).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

/// Executes the command, found as a shell finds it: by the sandbox's own PATH.
fn execute(command: &Command) -> io::Error {
    let words = command
        .argv
        .iter()
        .map(|word| c_string(word.clone().into_vec()));
    let variables = command
        .environment
        .iter()
        .map(|(key, value)| c_string([key.as_bytes(), b"=", value.as_bytes()].concat()));
    let both = words.collect::<io::Result<Vec<_>>>();
    let (argv, environment) = match (both, variables.collect::<io::Result<Vec<_>>>()) {
        (Ok(argv), Ok(environment)) => (argv, environment),
        (Err(error), _) | (_, Err(error)) => return error,
    };
    let path = command
        .environment
        .iter()
        .find(|(key, _)| key == "PATH")
        .map(|(_, value)| value);
    let mut worst = io::Error::from_raw_os_error(libc::ENOENT);
    for candidate in candidates(&command.argv[0], path) {
        let Ok(file) = c_string(candidate.into_vec()) else {
            continue;
        };
        // The kernel makes half of a new process before it finds that there is no such file.
        if let Err(Errno::NOENT | Errno::NOTDIR) = access(&file, Access::EXISTS) {
            continue;
        }
        let error = kernel::exec(&file, &argv, &environment);
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR) => {}
            Some(libc::ENOEXEC) => {
                // A script without an interpreter line is the shell's, as with execvp(3).
                let mut shell = vec![c"sh".to_owned(), file];
                shell.extend_from_slice(&argv[1..]);
                return kernel::exec(&c"/bin/sh".to_owned(), &shell, &environment);
            }
            Some(libc::EACCES) => worst = error,
            _ => return error,
        }
    }
    worst
}

/// Whether executing the command waits for another program, which has leased its file (fcntl(2)).
pub(crate) fn waits(command: &Command) -> bool {
    let path = command.environment.iter().find(|(key, _)| key == "PATH");
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    for candidate in candidates(&command.argv[0], path.map(|(_, value)| value)) {
        match open(command.cwd.join(candidate), flags, Mode::empty()) {
            Ok(_) => return false,
            Err(Errno::AGAIN) => return true,
            Err(_) => {}
        }
    }
    false
}

/// Where a command of this name may lie.
fn candidates(name: &OsStr, path: Option<&OsString>) -> Vec<OsString> {
    if name.as_bytes().contains(&b'/') {
        return vec![name.to_owned()];
    }
    if name.is_empty() {
        return vec![];
    }
    let default = OsString::from("/usr/local/bin:/usr/bin:/bin");
    std::env::split_paths(path.unwrap_or(&default))
        .map(|folder| {
            if folder.as_os_str().is_empty() {
                Path::new(".").join(name)
            } else {
                folder.join(name)
            }
        })
        .map(OsString::from)
        .collect()
}
