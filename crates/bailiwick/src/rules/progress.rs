//! How far a long reading is: one line on stderr where that is a terminal, and nothing where it
//! is a file or a pipe.

use bailiwick_rules::backtest::Progress;
use std::io::{IsTerminal, Write, stderr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How often the line changes.
const BETWEEN: Duration = Duration::from_millis(100);

/// The line.
pub(super) struct Bar {
    name: String,
    started: Instant,
    /// When the line is to change again; none where there is no line.
    next: Option<Mutex<Instant>>,
}

impl Bar {
    pub(super) fn new(name: &str) -> Self {
        let now = Instant::now();
        Self {
            name: name.to_owned(),
            started: now,
            next: stderr().is_terminal().then(|| Mutex::new(now + BETWEEN)),
        }
    }

    pub(super) fn show(&self, progress: Progress) {
        let now = Instant::now();
        let Some(Ok(mut next)) = self.next.as_ref().map(Mutex::lock) else {
            return;
        };
        if now < *next {
            return;
        }
        *next = now + BETWEEN;
        let part = match progress.of {
            0 => String::new(),
            of => format!("{:3} %, ", progress.bytes.saturating_mul(100) / of),
        };
        let second = progress.events as f64 / (now - self.started).as_secs_f64();
        let _ = write!(
            stderr().lock(),
            "\r\x1b[K{}: {part}{} events, {second:.0} a second",
            self.name,
            progress.events
        );
    }

    pub(super) fn end(&self) {
        if self.next.is_some() {
            let _ = write!(stderr().lock(), "\r\x1b[K");
        }
    }
}
