//! A machine that runs, as the supervisor holds it: its monitor's end is the program's, with the code that
//! the kernel has said.

use crate::words::Words;
use bailiwick_capos_core::interfaces::KernelSource;
use bailiwick_event::Failure;
use bailiwick_sandbox::{Entry, Launch, News, Running};
use rustix::fd::{BorrowedFd, OwnedFd};
use std::fs::File;
use std::io;
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::NamedTempFile;

/// The program crashed: as a shell reports a signal that no program can catch at its fault, SIGSEGV.
const CRASHED: u8 = 128 + 11;
/// What the kernel says of a program that was ended by a fault.
const FAULTED: i64 = -2;

/// The host's ends of the monitor's streams.
pub(crate) struct Ends {
    /// The program's console.
    pub(crate) console: OwnedFd,
    /// Where it goes.
    pub(crate) stdout: OwnedFd,
    /// What the kernel says.
    pub(crate) kernel: OwnedFd,
}

/// A machine that runs.
pub(crate) struct Machine {
    monitor: Box<dyn Running>,
    console: Option<JoinHandle<io::Result<u64>>>,
    words: Option<JoinHandle<Words>>,
    killed: bool,
    /// The monitor has opened it by the time of the machine's end, and nobody else needs it.
    _manifest: NamedTempFile,
}

impl Machine {
    pub(crate) fn new(
        monitor: Box<dyn Running>,
        ends: Ends,
        manifest: NamedTempFile,
    ) -> io::Result<Self> {
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let (from, to) = (ends.console, ends.stdout);
        let console = thread("capos-console").spawn(move || {
            // Whoever reads no longer is no fault of the program's.
            io::copy(&mut File::from(from), &mut File::from(to))
        })?;
        let words = thread("capos-words").spawn(move || Words::listen(ends.kernel))?;
        Ok(Self {
            monitor,
            console: Some(console),
            words: Some(words),
            killed: false,
            _manifest: manifest,
        })
    }

    /// The monitor has ended: what that means.
    fn ended(&mut self, code: u8) -> News {
        if let Some(console) = self.console.take() {
            let _ = console.join();
        }
        let words = self.words.take().and_then(|words| words.join().ok());
        let words = words.unwrap_or_default();
        match words.code {
            // A program may end itself with that code.
            Some(FAULTED) if !words.crashes.is_empty() => {
                for crash in &words.crashes {
                    eprintln!("bailiwick: the program crashed: {crash}{}", remedy(crash));
                }
                News::Exited(CRASHED)
            }
            Some(code) => News::Exited(code as u8),
            None if self.killed => News::Exited(code),
            None => News::Failed(Box::new(Failure::fault(format!(
                "the machine ended before its program: its monitor (QEMU) ended with {code}{}",
                words
                    .rest
                    .iter()
                    .map(|line| format!("\n  | {line}"))
                    .collect::<String>(),
            )))),
        }
    }
}

/// What can be done about a crash, if it was for want of a capability that the kernel has.
fn remedy(crash: &str) -> String {
    let lacked = crash
        .split_once("it was not given \"")
        .map(|(_, rest)| rest);
    let name = lacked.and_then(|rest| Some(rest.split_once('"')?.0));
    let source = name.and_then(KernelSource::of_name);
    source.map_or_else(String::new, |source| {
        let name = source.name();
        format!(
            "\n  remedy: add --cap {name} (the first --cap takes the place of the default, console: name \
             that too), or \"{name}\" to `capabilities` of the policy's [capos] table"
        )
    })
}

impl Running for Machine {
    fn news_fd(&self) -> BorrowedFd<'_> {
        self.monitor.news_fd()
    }

    fn news(&mut self) -> io::Result<Option<News>> {
        Ok(match self.monitor.news()? {
            Some(News::Exited(code)) => Some(self.ended(code)),
            Some(News::Limit(kind, seen)) => {
                self.killed = true;
                Some(News::Limit(kind, seen))
            }
            other => other,
        })
    }

    fn open_terminal(&mut self) -> io::Result<OwnedFd> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn enter(&mut self, _: &Entry<'_>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn fits(&self, _: &Launch<'_>) -> Result<bool, Failure> {
        Ok(false)
    }

    fn signal(&mut self, job: u32, signal: i32) -> io::Result<()> {
        self.killed = true;
        self.monitor.signal(job, signal)
    }

    fn end_after(&mut self, wall: Duration) -> io::Result<()> {
        self.monitor.end_after(wall)
    }

    fn kill(&mut self) {
        self.killed = true;
        self.monitor.kill();
    }
}
