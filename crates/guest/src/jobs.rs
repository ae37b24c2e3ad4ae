//! Commands: how one starts, what its streams are, and when its end is told.
//!
//! Decision: an end is told behind everything that was said before it. The channel keeps its order, so
//! that whoever hears of the end has heard all the rest.

use crate::bounds::Held;
use crate::reached::{Processes, starved};
use crate::terminal::Terminal;
use crate::wires::{Wire, wire};
use bailiwick_channel::Line;
use bailiwick_channel::schema::{Attach, Bounds, Exec, Modes, Size, Stream, ToHost};
use bailiwick_process::guest::{Led, NotStarted, Program, code_of};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, setpgid, setsid, wait,
};
use rustix::termios::tcsetpgrp;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt as _;

/// The number of the machine's own command, whose end is that of all others.
const OWN: u32 = 0;

/// How a shell reports that a command was ended by SIGKILL.
const KILLED: u8 = 128 + 9;

/// Capabilities that programs keep (capability.h): those with which root manages its own files,
/// processes and users. None with which it could change the machine's network, mounts, devices, clock
/// or kernel, raise its limits, or look into this process.
const KEPT: [u32; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 14, 15, 18, 23, 28, 31];

/// The last capability that there is (CAP_CHECKPOINT_RESTORE).
const LAST: u32 = 40;

/// A command that runs.
#[derive(Debug)]
struct Job {
    number: u32,
    /// The process whose end is the command's.
    pid: i32,
    wires: Vec<Wire>,
    /// The process group that gets its signals; not that of `pid` where another leads its session.
    group: i32,
    /// Its terminal. The command's side of it is held too: it is nobody's end that a program closes all
    /// that it has of it, and may open it again.
    terminal: Option<Terminal>,
    /// Whether it was told to read single keys; none where whoever types there does so anyway.
    keys: Option<bool>,
    /// How it ended.
    code: Option<u8>,
}

/// All commands.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    running: Vec<Job>,
    held: Held,
    /// Processes that were ended for want of memory and told of.
    starved: u64,
    /// Of the session's files.
    share: Option<OwnedFd>,
    /// Whether what every command has written arrives before its end is told; else only the own one's does.
    each: bool,
    /// Whether it was told that not all of it could.
    unwritten: bool,
    null: Option<OwnedFd>,
}

impl Jobs {
    /// Starts a command; tells where that fails.
    pub(crate) fn start(&mut self, exec: Exec, line: &mut Line) {
        let job = exec.job;
        let streams = streams_of(&exec);
        let failed = match self.spawn(exec, line) {
            Ok(()) => return,
            Err(NotStarted::Folder(errno)) => ToHost::NoFolder { job, errno },
            Err(NotStarted::Exec(errno)) => ToHost::ExecFailed { job, errno },
        };
        for stream in streams {
            line.reset(stream);
        }
        line.send(&failed);
    }

    fn spawn(&mut self, exec: Exec, line: &mut Line) -> Result<(), NotStarted> {
        let failed = |error: io::Error| {
            NotStarted::Exec(error.raw_os_error().unwrap_or(Errno::IO.raw_os_error()))
        };
        let null = match &self.null {
            Some(null) => null,
            None => {
                let flags = OFlags::RDWR | OFlags::CLOEXEC;
                let null = rustix::fs::open(c"/dev/null", flags, Mode::empty());
                self.null.insert(null.map_err(|e| failed(e.into()))?)
            }
        };
        let wired = wire(&exec, null).map_err(failed)?;
        let word = |bytes: Vec<u8>| OsString::from_vec(bytes);
        let environment = exec.environment.into_iter();
        let program = Program::new(
            exec.argv.into_iter().map(word).collect(),
            word(exec.cwd).into(),
            environment
                .map(|(key, value)| (word(key), word(value)))
                .collect(),
        )
        .map_err(failed)?;
        let umask = Mode::from_raw_mode(exec.umask);
        let keys = (exec.streams[0] != Stream::Terminal).then_some(false);
        let streams = wired
            .inside
            .each_ref()
            .map(|fd| fd.as_ref().map(AsFd::as_fd));
        let terminal = wired.terminal.as_ref().map(|t| t.slave.as_fd());
        let held = &self.held;
        let mut ready = || become_ready(streams, terminal, umask, held);
        let (pid, group) = match terminal {
            Some(terminal) => {
                let Led { leader, command } = program.start_at(terminal, &mut ready)?;
                (leader, command)
            }
            None => {
                let pid = program.start(&mut ready)?;
                (pid, pid)
            }
        };
        for wire in &wired.wires {
            wire.attach(line).map_err(failed)?;
        }
        self.running.push(Job {
            number: exec.job,
            pid,
            group,
            wires: wired.wires,
            terminal: wired.terminal,
            keys,
            code: None,
        });
        Ok(())
    }

    /// Holds the commands to come to bounds; returns what tells that there are too many processes.
    pub(crate) fn hold(&mut self, bounds: Bounds) -> io::Result<Option<Processes>> {
        self.held.hold(bounds)?.map(Processes::watch).transpose()
    }

    /// Stops all commands.
    pub(crate) fn stop(&self) {
        self.held.stop();
    }

    /// Lets them go on.
    pub(crate) fn go_on(&self) {
        self.held.go_on();
    }

    /// Does what can be done before there is a session.
    pub(crate) fn prepare(&mut self) -> io::Result<()> {
        self.held.prepare()
    }

    /// Tells of processes that were ended for want of memory.
    pub(crate) fn tell_of_memory(&mut self, line: &mut Line) {
        let starved = starved();
        let before = std::mem::replace(&mut self.starved, starved);
        if starved > before {
            line.send(&ToHost::OutOfMemory(starved - before));
        }
    }

    /// What the own command writes to these files is to have arrived before its end is told; what each command
    /// writes, where they are the host's.
    pub(crate) fn share(&mut self, share: Option<OwnedFd>, are_hosts: bool) {
        self.share = share;
        self.each = are_hosts;
    }

    /// Writes back what commands have written; why not all of it could be, as errno(3), or 0.
    pub(crate) fn write_back(&self) -> i32 {
        written_back(self.share.as_ref())
    }

    /// Sends a signal to a command's process group.
    pub(crate) fn signal(&self, number: u32, signal: i32) {
        let job = self
            .running
            .iter()
            .find(|job| job.number == number && job.code.is_none());
        let Some(job) = job else { return };
        let is_led = job.group != job.pid;
        // To the kernel this process's children are orphans, which it stops for nothing less.
        let signal = match signal {
            libc::SIGTSTP if !is_led => libc::SIGSTOP,
            other => other,
        };
        // SAFETY: the kernel refuses a number that is no signal, and the type is only a number.
        let signal = unsafe { Signal::from_raw_unchecked(signal) };
        if let Some(group) = Pid::from_raw(job.group) {
            let _ = kill_process_group(group, signal);
        }
        if let Some(leader) = Pid::from_raw(job.pid).filter(|_| is_led && signal == Signal::CONT) {
            let _ = kill_process(leader, signal);
        }
    }

    /// Tells whether commands read single keys, where that has changed. What is said behind that is read
    /// later, so that it is heard of first.
    pub(crate) fn tell_of_keys(&mut self, line: &mut Line) {
        for job in &mut self.running {
            if let (Some(told), Some(terminal)) = (&mut job.keys, &job.terminal) {
                let wanted = terminal.wants_keys();
                if std::mem::replace(told, wanted) != wanted {
                    let job = job.number;
                    line.send(&ToHost::Keys { job, wanted });
                }
            }
        }
    }

    /// Gives a command's terminal another size.
    pub(crate) fn resize(&self, number: u32, size: Size) {
        if let Some(terminal) = self.terminal(number) {
            let _ = terminal.resize(size);
        }
    }

    /// Gives a command's terminal other modes.
    pub(crate) fn change(&self, number: u32, modes: &Modes) {
        if let Some(terminal) = self.terminal(number) {
            let _ = terminal.change(modes);
        }
    }

    fn terminal(&self, number: u32) -> Option<&Terminal> {
        let job = self.running.iter().find(|job| job.number == number);
        job?.terminal.as_ref()
    }

    /// Collects what has ended or stopped.
    pub(crate) fn collect(&mut self, line: &mut Line) {
        let options = WaitOptions::NOHANG | WaitOptions::UNTRACED;
        while let Ok(Some((pid, status))) = wait(options) {
            let pid = pid.as_raw_nonzero().get();
            let Some(job) = self.running.iter_mut().find(|job| job.pid == pid) else {
                continue;
            };
            let number = job.number;
            if let Some(signal) = status.stopping_signal() {
                line.send(&ToHost::Stopped {
                    job: number,
                    signal,
                });
                continue;
            }
            let code = code_of(status);
            job.code = Some(code);
            if number == OWN {
                // Nothing is left when the end is told, and nobody holds a pipe open.
                end_all();
            }
            if code == KILLED {
                // Before the end is told, whatever the kernel's log says first.
                self.tell_of_memory(line);
            }
        }
        self.tell(line);
    }

    /// Tells of the ends of which everything before them was sent.
    pub(crate) fn tell(&mut self, line: &mut Line) {
        let (share, each, told) = (&self.share, self.each, &mut self.unwritten);
        self.running.retain(|job| {
            let Some(code) = job.code else { return true };
            if job.wires.iter().any(|wire| wire.is_unsaid(line)) {
                return true;
            }
            // What a program wrote through a mapping of the host's files waits in this machine's memory, as does
            // everything on a disk of its own; that there is no room for it is noticed only here.
            let errno = written_back(share.as_ref().filter(|_| each || job.number == OWN));
            if errno != 0 && !std::mem::replace(told, true) {
                line.send(&ToHost::Unwritten { errno });
            }
            line.send(&ToHost::Ended {
                job: job.number,
                code,
            });
            false
        });
    }

    /// A stream is over, so that nobody takes what a command still says on it: with the last reader gone
    /// its pipe tells it so.
    pub(crate) fn silence(&mut self, stream: u32) {
        for job in &mut self.running {
            job.wires.retain(|wire| wire.stream != Some(stream));
        }
    }

    /// The host is another: no stream leads anywhere. The machine's own command goes on, and waits for
    /// [`Jobs::attach`]; the others had somebody who waited for them, and end with him.
    pub(crate) fn detach(&mut self) {
        for job in &mut self.running {
            job.wires.iter_mut().for_each(|wire| wire.stream = None);
            if job.number != OWN {
                let pid = Pid::from_raw(job.pid);
                let _ = pid.map(|pid| kill_process_group(pid, Signal::KILL));
            }
        }
        self.running.retain(|job| job.number == OWN);
    }

    /// Has a command's streams lead elsewhere; tells where there is none.
    pub(crate) fn attach(&mut self, to: &Attach, line: &mut Line) {
        let job = self.running.iter_mut().find(|job| job.number == to.job);
        let Some(job) = job else {
            let errno = Errno::SRCH.raw_os_error();
            let job = to.job;
            return line.send(&ToHost::ExecFailed { job, errno });
        };
        job.wires.retain_mut(|wire| wire.lead(to));
        for wire in &job.wires {
            // There is no descriptor for it: whoever waits for it sees its end.
            if wire.attach(line).is_err()
                && let Some(stream) = wire.stream
            {
                line.reset(stream);
            }
        }
        if let (Some((_, size)), Some(terminal)) = (&to.terminal, &job.terminal) {
            let _ = terminal.resize(*size);
        }
    }

    /// Whether some command has ended that was not told.
    pub(crate) fn has_news(&self) -> bool {
        self.running.iter().any(|job| job.code.is_some())
    }
}

/// Ends every process but this one.
pub(crate) fn end_all() {
    // SAFETY: kill(2) with -1 signals every process but the caller and those that it may not signal.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

fn streams_of(exec: &Exec) -> Vec<u32> {
    let pipes = exec.streams.iter().filter_map(|stream| match stream {
        Stream::Pipe(id) => Some(*id),
        Stream::Null | Stream::Terminal => None,
    });
    pipes
        .chain(exec.terminal.iter().map(|(id, ..)| *id))
        .collect()
}

/// In the command's own process, which has the memory of this one until it is executed: nothing here
/// allocates.
fn become_ready(
    streams: [Option<BorrowedFd<'_>>; 3],
    terminal: Option<BorrowedFd<'_>>,
    umask: Mode,
    held: &Held,
) -> Result<(), Errno> {
    match terminal {
        // Another leads the session, and ignores that a group that has not got the terminal takes it.
        Some(terminal) => {
            setpgid(None, None)?;
            tcsetpgrp(terminal, getpid())?;
        }
        None => drop(setsid()?),
    }
    // This process does without them, and an execution keeps that.
    for signal in [libc::SIGPIPE, libc::SIGTTOU] {
        // SAFETY: SIG_DFL is an action of every signal, and no handler runs.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    let [stdin, stdout, stderr] = streams;
    if let Some(stdin) = stdin {
        rustix::stdio::dup2_stdin(stdin)?;
    }
    if let Some(stdout) = stdout {
        rustix::stdio::dup2_stdout(stdout)?;
    }
    if let Some(stderr) = stderr {
        rustix::stdio::dup2_stderr(stderr)?;
    }
    rustix::process::umask(umask);
    held.enter()
}

/// Gives up the capabilities that no program needs, for good: for all that is executed from here on, and
/// not for this process, which executes nothing.
///
/// # Errors
/// What the kernel says where it has no such capability, or this process may not.
pub(crate) fn give_up() -> Result<(), Errno> {
    for capability in (0..=LAST).filter(|capability| !KEPT.contains(capability)) {
        // SAFETY: PR_CAPBSET_DROP takes a number.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } != 0 {
            let error = io::Error::last_os_error();
            return Err(Errno::from_io_error(&error).unwrap_or(Errno::PERM));
        }
    }
    Ok(())
}

/// Has the file system of these files write everything back; an error number, or 0.
fn written_back(files: Option<&OwnedFd>) -> i32 {
    let written = files.map_or(Ok(()), rustix::fs::syncfs);
    written.err().map_or(0, Errno::raw_os_error)
}
