//! What the kernel says, apart from the program's console: how the program ended, and what went wrong. A
//! program cannot write there; what is not understood is kept for whoever has to find a fault.

use rustix::fd::OwnedFd;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};

/// How much is read at most, in bytes: a program can crash again and again.
const MOST: u64 = 64 * 1024;

/// What was said, to its end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Words {
    /// The program's code.
    pub(crate) code: Option<i64>,
    /// Which programs crashed, and how.
    pub(crate) crashes: Vec<String>,
    /// Everything else.
    pub(crate) rest: Vec<String>,
}

impl Words {
    /// Listens until nobody can say anything any more.
    pub(crate) fn listen(pipe: OwnedFd) -> Self {
        let mut words = Self::default();
        let mut pipe = BufReader::new(File::from(pipe));
        let mut line = Vec::new();
        let mut left = MOST;
        while let Ok(1..) = (&mut pipe).take(MOST).read_until(b'\n', &mut line) {
            left = left.saturating_sub(line.len() as u64);
            // What is too much is read and forgotten; how the program ended is said last.
            if left > 0 || line.starts_with(b"capos: init exit=") {
                words.take(&String::from_utf8_lossy(&line));
            }
            line.clear();
        }
        words
    }

    fn take(&mut self, line: &str) {
        let line = line.trim_end();
        if let Some(rest) = line.strip_prefix("capos: init exit=") {
            let code = rest.split(' ').next().unwrap_or_default();
            self.code = code.parse().ok();
        } else if let Some(crash) = line.strip_prefix("capos: crash: ") {
            self.crashes.push(crash.to_owned());
        } else if !line.is_empty() && !line.starts_with("capos: cpus=") {
            self.rest.push(line.to_owned());
        }
    }
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
