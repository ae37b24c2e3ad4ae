//! How much work a guest may make for the host: what it sends is free, what has to be decided, recorded
//! or connected is counted, and while it has had too much of that the host does not listen to it.
//!
//! Decision: a bucket of tokens, deep enough that no honest guest sees its bottom. Without it a guest that
//! floods keeps a second processor busy, and other sessions wait for theirs.

use rustix::event::Timespec;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::io;
use std::time::{Duration, Instant};

/// Tokens to begin with, and the most there ever are.
const BURST: i64 = 20_000;
/// Tokens that come in a second: 1,250 connections, or 2,500 executions of the usual length.
const RATE: i64 = 5_000;
/// Tokens that there are again when the host goes on to listen.
const REST: i64 = RATE / 50;
/// Bytes of a message that cost one token.
const BYTES: usize = 128;
/// What a connection costs.
pub(crate) const CONNECTION: i64 = 3;

/// The bucket.
#[derive(Debug)]
pub(crate) struct Pace {
    left: i64,
    at: Instant,
    /// Tells when there is something in it again.
    timer: OwnedFd,
}

impl Pace {
    pub(crate) fn new(now: Instant) -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Self {
            left: BURST,
            at: now,
            timer: timerfd_create(TimerfdClockId::Monotonic, flags)?,
        })
    }

    /// What is readable when the host may listen again.
    pub(crate) fn timer(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }

    /// Takes what a message of so many bytes costs, and `more`.
    pub(crate) fn spend(&mut self, now: Instant, bytes: usize, more: i64) -> io::Result<()> {
        let cost = 1 + i64::try_from(bytes / BYTES).unwrap_or(BURST) + more;
        self.left -= cost;
        if self.is_spent() {
            self.refill(now);
        }
        match self.is_spent() {
            true => self.wake_up(),
            false => Ok(()),
        }
    }

    /// The timer has told.
    pub(crate) fn heard(&mut self, now: Instant) -> io::Result<()> {
        let _ = rustix::io::read(&self.timer, &mut [0; 8]);
        self.refill(now);
        match self.is_spent() {
            true => self.wake_up(),
            false => Ok(()),
        }
    }

    /// Whether the guest has to wait.
    pub(crate) fn is_spent(&self) -> bool {
        self.left <= 0
    }

    fn refill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_nanos();
        let come = passed.saturating_mul(RATE.unsigned_abs().into()) / 1_000_000_000;
        let come = i64::try_from(come).unwrap_or(BURST);
        if come > 0 {
            self.at = now;
            self.left = self.left.saturating_add(come).min(BURST);
        }
    }

    fn wake_up(&self) -> io::Result<()> {
        let lacking = (REST - self.left).unsigned_abs();
        let wait = Duration::from_nanos(lacking * 1_000_000_000 / RATE.unsigned_abs());
        let value = Timespec::try_from(wait).map_err(io::Error::other)?;
        let once = Itimerspec {
            it_interval: Timespec::default(),
            it_value: value,
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
        Ok(())
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
