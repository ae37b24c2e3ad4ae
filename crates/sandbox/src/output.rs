//! The limit on output. The caller's descriptors are handed to the command as they are, unless the
//! policy limits what it may say: then it writes to pipes, and what comes out of them is counted and
//! passed on.
//!
//! Decision: a thread for each pipe, so that a reader outside who takes his time stops the command
//! and not the supervisor. Nothing over the limit is passed on.

use crate::backend::TerminalShape;
use crate::input::readable_only;
use crate::ready::ready;
use crate::signals::Signals;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::io::{self, stderr, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Signals by which a caller ends a run.
const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// Counts what is said.
#[derive(Debug)]
pub(crate) struct Meter {
    limit: u64,
    said: AtomicU64,
}

impl Meter {
    fn new(limit: u64) -> Self {
        Self {
            limit,
            said: AtomicU64::new(0),
        }
    }

    /// How many of the next bytes may be passed on.
    pub(crate) fn admit(&self, bytes: usize) -> usize {
        let more = u64::try_from(bytes).unwrap_or(u64::MAX);
        let before = self.said.fetch_add(more, Ordering::Relaxed);
        let room = self.limit.saturating_sub(before).min(more);
        usize::try_from(room).unwrap_or(bytes)
    }

    /// What was said, where that is over the limit.
    pub(crate) fn over(&self) -> Option<u64> {
        let said = self.said.load(Ordering::Relaxed);
        (said > self.limit).then_some(said)
    }
}

/// The pipes of one run, as the supervisor holds them.
pub(crate) struct Output {
    meter: Arc<Meter>,
    /// Where each pipe's bytes go, until the copying has begun.
    pipes: Vec<(OwnedFd, OwnedFd)>,
    /// Readable when the limit is reached; at its end when all copying is.
    told: OwnedFd,
    tell: Option<OwnedFd>,
    /// Whether all copying has ended.
    ended: bool,
}

/// The command's streams; none where it has the caller's, or a terminal.
type Ends = [Option<OwnedFd>; 3];

impl Output {
    /// Pipes for the streams that are no terminal. Two streams that are the same file stay one,
    /// so that what is said stays in its order.
    pub(crate) fn new(limit: u64, shape: Option<&TerminalShape>) -> io::Result<(Self, Ends)> {
        let terminal = shape.map_or([false; 3], |shape| shape.streams);
        let (out, err) = (stdout(), stderr());
        let mut pipes = Vec::new();
        let mut ends: Ends = [const { None }; 3];
        if !terminal[0] {
            ends[0] = readable_only(rustix::stdio::stdin())?;
        }
        let same = is_same(out.as_fd(), err.as_fd());
        for (number, stream) in [(1, out.as_fd()), (2, err.as_fd())] {
            if terminal[number] {
                continue;
            }
            if let (2, true, [_, Some(first), _]) = (number, same, &ends) {
                ends[2] = Some(first.try_clone()?);
                continue;
            }
            let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
            pipes.push((read, rustix::io::fcntl_dupfd_cloexec(stream, 3)?));
            ends[number] = Some(write);
        }
        let (told, tell) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let output = Self {
            meter: Arc::new(Meter::new(limit)),
            pipes,
            told,
            tell: Some(tell),
            ended: false,
        };
        Ok((output, ends))
    }

    /// Counts what the terminal shows as well.
    pub(crate) fn meter(&self) -> Arc<Meter> {
        Arc::clone(&self.meter)
    }

    /// Begins to pass on what is said.
    pub(crate) fn start(&mut self) -> io::Result<()> {
        let Some(tell) = self.tell.take() else {
            return Ok(());
        };
        for (from, to) in self.pipes.drain(..) {
            let (meter, tell) = (Arc::clone(&self.meter), tell.try_clone()?);
            std::thread::Builder::new().spawn(move || pass_on(&from, &to, &meter, &tell))?;
        }
        Ok(())
    }

    /// What to wait for; none where there is nothing more to come.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        (!self.ended).then(|| self.told.as_fd())
    }

    /// Takes note of what was told.
    pub(crate) fn hear(&mut self) {
        self.ended |= matches!(rustix::io::read(&self.told, &mut [0; 8]), Ok(0));
    }

    /// What was said, where that is over the limit.
    pub(crate) fn over(&self) -> Option<u64> {
        self.meter.over()
    }

    /// Waits until all that was said is passed on, as long as `patience` lets and no signal ends it:
    /// a reader who does not read must not hold up the end for good.
    pub(crate) fn finish(&mut self, signals: &mut Signals, patience: Option<Duration>) {
        let deadline = patience.map(|time| Instant::now() + time);
        let left = || deadline.map(|end| end.saturating_duration_since(Instant::now()));
        while !self.ended && left() != Some(Duration::ZERO) {
            let mut fds = [
                PollFd::new(&self.told, PollFlags::IN),
                PollFd::from_borrowed_fd(signals.fd(), PollFlags::IN),
            ];
            match ready(&mut fds, left()).as_deref() {
                Ok([_, true]) if signals.drain().any(|signal| ENDING.contains(&signal)) => return,
                Ok([true, _]) => self.hear(),
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }
}

/// Whether two descriptors are the same file, so that what is written to both has one order.
fn is_same(a: BorrowedFd<'_>, b: BorrowedFd<'_>) -> bool {
    let id = |fd| rustix::fs::fstat(fd).map(|stat| (stat.st_dev, stat.st_ino));
    matches!((id(a), id(b)), (Ok(a), Ok(b)) if a == b)
}

/// Copies until the command's side is closed, nobody reads, or the limit is reached.
fn pass_on(from: &OwnedFd, to: &OwnedFd, meter: &Meter, tell: &OwnedFd) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = match rustix::io::read(from, &mut buffer) {
            Ok(0) => return,
            Ok(length) => length,
            Err(Errno::INTR) => continue,
            Err(_) => return,
        };
        let admitted = meter.admit(length);
        if write_all(to, &buffer[..admitted]).is_err() {
            return;
        }
        if admitted < length {
            let _ = rustix::io::write(tell, &[0]);
            return;
        }
    }
}

/// Writes all of it, waiting where the other side is slow.
pub(crate) fn write_all(fd: &OwnedFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(fd, bytes) {
            Ok(length) => bytes = &bytes[length..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let mut wait = [PollFd::new(fd, PollFlags::OUT)];
                let _ = poll(&mut wait, None);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Write};

    #[test]
    fn what_is_over_the_limit_is_not_passed_on_whichever_stream_it_is() {
        let meter = Meter::new(10);
        assert_eq!(meter.admit(4), 4);
        assert_eq!(meter.admit(6), 6);
        assert_eq!(meter.over(), None, "the limit itself is not over it");
        assert_eq!(meter.admit(3), 0);
        assert_eq!(meter.over(), Some(13));
    }

    #[test]
    fn a_pipe_is_copied_up_to_the_limit_and_its_end_is_told() {
        let pipe = || pipe_with(PipeFlags::CLOEXEC).unwrap();
        let ((from, command), (reader, to), (told, tell)) = (pipe(), pipe(), pipe());
        File::from(command).write_all(b"0123456789abcdef").unwrap();
        let meter = Meter::new(10);
        pass_on(&from, &to, &meter, &tell);
        drop((to, tell));
        let read = |fd| {
            let mut text = String::new();
            File::from(fd).read_to_string(&mut text).unwrap();
            text
        };
        assert_eq!(read(reader), "0123456789");
        assert_eq!(read(told).len(), 1);
    }
}
