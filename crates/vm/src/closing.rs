//! How a machine is ended from here: its guest ends all programs and writes back what they wrote, and then
//! the machine is ended; or when that takes too long.

use crate::disk_state::DiskState;
use crate::orders::{Order, Told};
use crate::running::Vm;
use bailiwick_event::Failure;
use bailiwick_sandbox::{News, OWN};
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM};
use std::io;
use std::time::{Duration, Instant, SystemTime};

/// How long a guest may take to write everything back: what its memory can hold, on a slow disk.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// How much later than its wall-clock limit a machine is ended by whoever keeps the time for a supervisor
/// that is stopped.
pub(crate) const GRACE: Duration = PATIENCE.saturating_add(Duration::from_secs(1));

/// How long a guest that was sent a signal may be silent before a second one ends its machine.
const SILENCE: Duration = Duration::from_secs(2);

/// Signals by which somebody outside ends a session.
const ENDING: [i32; 5] = [SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGTERM];

/// What is known of a machine's end.
#[derive(Debug, Default)]
pub(crate) struct Closing {
    /// Tells that the guest has had its time; none where it was not told to close.
    timer: Option<OwnedFd>,
    /// Since when it has not answered; none where it has, or was not asked.
    unanswered: Option<Instant>,
    /// When it was kept last what is on the disk.
    kept: Option<Instant>,
    /// Whether what is missing was told.
    is_told: bool,
    /// Whether the monitor's own words are heard.
    hears: bool,
    /// Why the host cannot write or read the disk, where that was said.
    fails: Option<String>,
    /// Whether the user was told that.
    failure_is_told: bool,
    /// The signal for which a machine was ended that did not answer.
    signal: Option<i32>,
}

/// A timer that becomes readable once, after this time.
fn after(time: Duration) -> io::Result<OwnedFd> {
    let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
    let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
    let once = Itimerspec {
        it_interval: Timespec::default(),
        it_value: Timespec::try_from(time).map_err(io::Error::other)?,
    };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &once)?;
    Ok(timer)
}

impl Vm {
    /// Whether its guest has files of a session that it may not have written back.
    fn may_lose(&self) -> bool {
        self.has_files && self.spare.is_none() && self.code.is_none() && !self.killed
    }

    /// Has the guest end its programs and write back what they wrote; the machine is ended behind that.
    /// Returns whether it was asked to.
    pub(crate) fn close(&mut self) -> bool {
        if !self.may_lose() {
            return false;
        }
        let begun = after(PATIENCE).and_then(|timer| {
            let data = epoll::EventData::new_u64(2);
            epoll::add(&self.both, &timer, data, epoll::EventFlags::IN)?;
            self.desk.order(Order::Close)?;
            Ok(timer)
        });
        self.closing.timer = begun.ok();
        self.killed |= self.closing.timer.is_some();
        self.killed
    }

    /// Whether its guest was told to close, and has time for that yet.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.timer.is_some()
    }

    /// Ends the machine where its guest was told to close and has taken too long.
    pub(crate) fn end_where_late(&mut self) {
        let timer = self.closing.timer.as_ref();
        if timer.is_some_and(|timer| rustix::io::read(timer, &mut [0; 8]).is_ok()) {
            self.end_now();
        }
    }

    /// The guest has written everything back, or could not.
    pub(crate) fn closed(&mut self, written: Result<(), i32>) {
        match written {
            Ok(()) => self.all_is_written(),
            Err(errno) => self.unwritten = Some(errno),
        }
        let _ = self.monitor.signal(OWN, SIGKILL);
    }

    /// Its guest has written everything back; that counts where the disk has taken everything.
    pub(crate) fn all_is_written(&mut self) {
        if self.failing().is_none() && self.unwritten.is_none() {
            self.disk_is(DiskState::Closed);
        }
    }

    /// Keeps what is known of the disk, where the machine has one of its own.
    pub(crate) fn disk_is(&self, state: DiskState) {
        if let Some(own) = &self.savable {
            // Where it cannot be kept the disk counts as one that was not closed.
            let _ = state.keep(own.kept.folder());
        }
    }

    /// What programs had written so long ago is on the disk. A guest says so every few seconds; one that says it all
    /// the time makes this side write no more often than once a second.
    pub(crate) fn synced(&mut self, ago: Duration) {
        let is_over = self.code.is_some() || self.killed;
        let kept = self.closing.kept;
        if is_over || kept.is_some_and(|kept| kept.elapsed() < Duration::from_secs(1)) {
            return;
        }
        self.closing.kept = Some(Instant::now());
        let synced = SystemTime::now().checked_sub(ago);
        self.disk_is(DiskState::Open { synced });
    }

    /// Whoever sends a signal that ends the session hears whether the guest is there to pass it on: a second
    /// one ends a machine that does not answer. Returns whether it did.
    pub(crate) fn ends_by(&mut self, job: u32, signal: i32) -> bool {
        if job != OWN || !ENDING.contains(&signal) {
            return false;
        }
        let silent = self.closing.unanswered;
        if silent.is_some_and(|since| since.elapsed() >= SILENCE) {
            self.closing.signal = Some(signal);
            self.end_now();
            return true;
        }
        self.closing.unanswered = silent.or_else(|| Some(Instant::now()));
        let _ = self.desk.order(Order::Ask);
        false
    }

    /// The exit code of a machine that was ended because it did not answer: the signal's, as a shell says it.
    pub(crate) fn ended_by_signal(&self) -> Option<u8> {
        self.closing.signal?.checked_add(128)?.try_into().ok()
    }

    /// The guest answers.
    pub(crate) fn answered(&mut self) {
        self.closing.unanswered = None;
    }

    /// Hears what the monitor says from now on, of which there is something where the host's disk is full.
    ///
    /// # Errors
    /// It does not greet.
    pub(crate) fn listen(&mut self) -> Result<(), Failure> {
        self.control.open()?;
        let data = epoll::EventData::new_u64(3);
        let added = epoll::add(&self.both, self.control.fd(), data, epoll::EventFlags::IN);
        added.map_err(|error| Failure::fault(format!("QEMU's control: {error}")))?;
        self.closing.hears = true;
        Ok(())
    }

    /// Why the host could not write or read the disk, where the monitor has said so by now.
    pub(crate) fn failing(&mut self) -> Option<String> {
        if self.closing.hears {
            let heard = self.control.heard();
            if heard.is_err() {
                // Whatever it says from now on is of nobody's interest: its end is heard elsewhere.
                let _ = epoll::delete(&self.both, self.control.fd());
                self.closing.hears = false;
            }
            if let Ok(Some(why)) = heard {
                self.closing.fails = Some(why);
            }
        }
        self.closing.fails.clone()
    }

    /// The same, where the user should know it; once.
    pub(crate) fn heard(&mut self) -> Option<News> {
        let why = self.failing()?;
        let is_first = !std::mem::replace(&mut self.closing.failure_is_told, true);
        is_first.then(|| {
            News::Told(format!(
                "the session's disk could not be written or read on this machine: {why}; programs inside got \
                 an input/output error\n  remedy: make room where the records of sessions are, and start \
                 anew from what `bailiwick cp` brings"
            ))
        })
    }

    /// What the user should know of a session's files once the machine is gone, once.
    pub(crate) fn missing(&mut self) -> Option<String> {
        if std::mem::replace(&mut self.closing.is_told, true) {
            return None;
        }
        if let (Some(errno), None) = (self.unwritten, self.code) {
            let error = io::Error::from_raw_os_error(errno);
            return Some(format!(
                "not all that was written in the machine is kept: {error}"
            ));
        }
        let own = self.savable.as_ref()?;
        let DiskState::Open { synced } = DiskState::of(own.kept.folder()) else {
            return None;
        };
        let age = synced.and_then(|time| time.elapsed().ok());
        let last = age.map(|age| format!(" in its last {} seconds", age.as_secs() + 1));
        Some(format!(
            "the machine was ended before everything was on its disk: what was written{} may be missing, and \
             `bailiwick apply` leaves out what could be a loss",
            last.unwrap_or_default()
        ))
    }

    /// A command ended whose files are not what it wrote. It was told of that only if it has asked (fsync), so its own
    /// end must not look like success.
    pub(crate) fn unwritten(&self, code: u8, errno: i32) -> News {
        let (to, why) = match &self.closing.fails {
            Some(why) => ("the session's disk", why.clone()),
            None => (
                "the host's files",
                io::Error::from_raw_os_error(errno).to_string(),
            ),
        };
        News::Failed(Box::new(Failure::fault(format!(
            "not all that the command wrote arrived in {to}: {why}; the command ended with {code}\n  remedy: free some \
             space there, and run it again"
        ))))
    }

    /// A failure, with what the user should know of his files.
    pub(crate) fn failed(&mut self, what: String) -> News {
        let missing = self.missing().map(|line| format!("\n  note: {line}"));
        let what = what + &missing.unwrap_or_default();
        News::Failed(Box::new(Failure::fault(what)))
    }
}

impl Drop for Vm {
    /// Nobody waits for its command any more: what that wrote is kept all the same.
    fn drop(&mut self) {
        if !self.close() {
            return;
        }
        let until = Instant::now() + PATIENCE;
        loop {
            self.desk.hear();
            while let Some(told) = self.desk.told() {
                match told {
                    Told::Closed(written) => return self.closed(written),
                    Told::Over(_) => return,
                    _ => {}
                }
            }
            let left = until.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).ok();
            let mut fds = [
                PollFd::from_borrowed_fd(self.desk.bell.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.monitor.news_fd(), PollFlags::IN),
            ];
            match poll(&mut fds, timeout.as_ref()) {
                Err(rustix::io::Errno::INTR) => {}
                // The monitor is gone, or has something to say that nobody hears.
                Ok(ready) if ready > 0 && fds[1].revents().is_empty() => {}
                _ => return,
            }
        }
    }
}
