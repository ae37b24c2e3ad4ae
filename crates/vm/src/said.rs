//! What the monitor and the guest's console say: the end of it is kept, to be told where the machine
//! fails. A guest can say without end; what is kept is bounded.

use bailiwick_event::harmless;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::sync::{Arc, Mutex};

/// How much of the end is kept, in bytes.
const KEPT: usize = 16 * 1024;

/// What the first line holds that a kernel says of its own fault.
const FAULTS: [&str; 6] = [
    "BUG: ",
    "Oops: ",
    "general protection fault",
    "invalid opcode",
    "kernel NULL pointer",
    "Kernel panic",
];
/// So many lines are shown from there.
const FAULT_LINES: usize = 60;

/// How much of a line is shown, in characters.
const LINE: usize = 1000;

/// The end of what was said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said(Arc<Mutex<Vec<u8>>>);

impl Said {
    /// Listens to a pipe in a thread of its own, until nobody can write to it any more.
    pub(crate) fn listen(pipe: OwnedFd) -> std::io::Result<Self> {
        let said = Self::default();
        let kept = said.clone();
        std::thread::Builder::new()
            .name("vm-console".to_owned())
            .stack_size(64 * 1024)
            .spawn(move || kept.keep(&pipe))?;
        Ok(said)
    }

    fn keep(&self, pipe: &OwnedFd) {
        let mut buffer = [0; 4096];
        loop {
            match rustix::io::read(pipe, &mut buffer) {
                Ok(0) => return,
                Ok(read) => {
                    let Ok(mut kept) = self.0.lock() else { return };
                    kept.extend_from_slice(buffer.get(..read).unwrap_or_default());
                    let over = kept.len().saturating_sub(KEPT);
                    kept.drain(..over);
                }
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    /// The last lines, or what a kernel said of its own fault, harmless for a terminal.
    pub(crate) fn tail(&self, lines: usize) -> String {
        let Ok(kept) = self.0.lock() else {
            return String::new();
        };
        let text = String::from_utf8_lossy(&kept);
        let all: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let is_fault = |line: &&str| FAULTS.iter().any(|fault| line.contains(fault));
        let last = all.len().saturating_sub(lines);
        let begin = all.iter().position(is_fault).unwrap_or(last).min(last);
        let shown = all.iter().skip(begin).take(lines.max(FAULT_LINES));
        let shown = shown.map(|line| {
            let shown = line.chars().take(LINE);
            let shown = shown.map(|c| if harmless(c) { c } else { ' ' });
            format!("\n  | {}", shown.collect::<String>())
        });
        shown.collect()
    }
}

#[cfg(test)]
#[path = "said_tests.rs"]
mod tests;
