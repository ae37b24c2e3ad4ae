//! Counts the programs that a command starts and the system calls that it makes, by tracing it.
//!
//! Decision: ptrace and not the kernel's event counters, because those need root, and a figure of
//! root's says nothing about a user's run. Whoever starts a command may trace it and everything
//! that it starts, through namespaces, filters and new identities. Tracing slows every call down
//! and wakes a second process for it, so that nothing else is counted in such a run.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::ptr::null_mut;

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traced {
    /// Programs that were started, the command's own among them.
    pub execs: u64,
    /// System calls, beginning with the one that started the command.
    pub calls: u64,
}

/// A command whose first program is about to be loaded.
pub(crate) struct Tracer {
    /// The command's process.
    pub child: Child,
}

/// How a wait for any traced process went.
pub(crate) enum Waited {
    /// A process ended, with its status as of wait(2).
    Ended(i32, i32),
    /// A process was stopped and goes on.
    Stopped,
    /// There is none left.
    None,
}

impl Tracer {
    /// Starts a command under trace. The calling thread is the tracer from then on.
    ///
    /// # Errors
    /// It cannot be started, or not be traced.
    pub(crate) fn start(mut command: Command) -> io::Result<Self> {
        let (mut ours, theirs) = UnixStream::pair()?;
        let go = move || -> io::Result<()> {
            (&theirs).write_all(&std::process::id().to_ne_bytes())?;
            (&theirs).read_exact(&mut [0])
        };
        // SAFETY: between fork and exec the closure makes three system calls (getpid, write, read)
        // and neither allocates nor takes a lock; it writes to a socket that it owns.
        unsafe { command.pre_exec(go) };
        std::thread::scope(|scope| {
            // It returns when the program is loaded, and so after this thread has let it go.
            let spawned = scope.spawn(move || command.spawn());
            let mut pid = [0; 4];
            let seized = ours.read_exact(&mut pid).and_then(|()| {
                seize(i32::from_ne_bytes(pid))?;
                ours.write_all(&[1])
            });
            drop(ours);
            let child = spawned
                .join()
                .map_err(|_| io::Error::other("the thread that starts the command died"))?;
            // An error of the start is told before one of the trace, which follows from it.
            let child = child?;
            seized?;
            Ok(Self { child })
        })
    }

    /// Waits for the next event of any process and lets it go on.
    ///
    /// # Errors
    /// Waiting or tracing failed; the processes end with their tracer.
    pub(crate) fn step(&self, counted: &mut Traced) -> io::Result<Waited> {
        let mut status = 0;
        // SAFETY: the pointer is to a live local of the right type.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL) };
        if pid < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EINTR) => Ok(Waited::Stopped),
                Some(libc::ECHILD) => Ok(Waited::None),
                _ => Err(error),
            };
        }
        if !libc::WIFSTOPPED(status) {
            return Ok(Waited::Ended(pid, status));
        }
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        const CALL: i32 = libc::SIGTRAP | 0x80;
        let stops = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
        let (request, deliver) = match event {
            0 if signal == CALL => {
                counted.calls += u64::from(enters(pid)?);
                (libc::PTRACE_SYSCALL, 0)
            }
            0 => (libc::PTRACE_SYSCALL, signal),
            libc::PTRACE_EVENT_STOP if stops.contains(&signal) => (libc::PTRACE_LISTEN, 0),
            libc::PTRACE_EVENT_EXEC => {
                // The call that started the first program was made before the trace began.
                counted.calls += u64::from(counted.execs == 0);
                counted.execs += 1;
                (libc::PTRACE_SYSCALL, 0)
            }
            _ => (libc::PTRACE_SYSCALL, 0),
        };
        go_on(request, pid, deliver)?;
        Ok(Waited::Stopped)
    }
}

fn seize(pid: i32) -> io::Result<()> {
    let options = libc::PTRACE_O_EXITKILL
        | libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE;
    // SAFETY: the request reads no memory; its last argument is the set of options.
    let done = unsafe {
        libc::ptrace(
            libc::PTRACE_SEIZE,
            pid,
            null_mut::<libc::c_void>(),
            options as usize,
        )
    };
    ended(done)
}

/// The C libraries differ about the type of a request.
#[cfg(target_env = "musl")]
type Request = i32;
#[cfg(not(target_env = "musl"))]
type Request = u32;

/// `PTRACE_GET_SYSCALL_INFO` and `PTRACE_SYSCALL_INFO_ENTRY`, the first byte of what it gives
/// (ptrace(2)); not every C library names them.
const GET_SYSCALL_INFO: Request = 0x420e;
const SYSCALL_INFO_ENTRY: u8 = 1;

/// Lets a stopped process run to its next call. One that was killed meanwhile is waited for later.
fn go_on(request: Request, pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: the requests read no memory; their last argument is a signal's number.
    let done = unsafe { libc::ptrace(request, pid, null_mut::<libc::c_void>(), signal as usize) };
    match ended(done) {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        other => other,
    }
}

/// Whether a process that stopped at a call is about to make it, and has not just made it.
fn enters(pid: i32) -> io::Result<bool> {
    let mut operation = 0_u8;
    // SAFETY: the kernel writes at most as many bytes as it is told, one, to the live local.
    let done = unsafe {
        libc::ptrace(
            GET_SYSCALL_INFO,
            pid,
            size_of_val(&operation),
            (&raw mut operation).cast::<libc::c_void>(),
        )
    };
    match ended(done) {
        Ok(()) => Ok(operation == SYSCALL_INFO_ENTRY),
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(false),
        Err(error) => Err(error),
    }
}

fn ended(done: libc::c_long) -> io::Result<()> {
    match done {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
