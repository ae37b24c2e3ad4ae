//! Whether the loops of a test are at rest, by what the kernel says of their threads. A test that goes
//! on when they are does not depend on how fast the machine is.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long loops may take to come to rest, which those that wait awake never do.
const PATIENCE: Duration = Duration::from_secs(120);

/// A loop as it is seen from outside of its thread.
pub(in crate::pump) struct Pulse {
    turns: Arc<AtomicUsize>,
    /// The thread's folder in `/proc`.
    thread: PathBuf,
}

impl Pulse {
    /// The loop that goes round so often, in the thread that calls this.
    pub(in crate::pump) fn here(turns: Arc<AtomicUsize>) -> Self {
        let thread = fs::read_link("/proc/thread-self").expect("a thread");
        let thread = Path::new("/proc").join(thread);
        fs::read(thread.join("syscall")).expect("a kernel that tells what a thread waits for");
        Self { turns, thread }
    }

    /// How often it has gone round, if it waits for something to happen, or has ended.
    fn asleep(&self) -> Option<usize> {
        let turns = self.turns.load(Ordering::SeqCst);
        let call = fs::read_to_string(self.thread.join("syscall"));
        let waits = call.map_or(true, |call| is_of_epoll(&call));
        (waits && turns == self.turns.load(Ordering::SeqCst)).then_some(turns)
    }
}

/// Whether a system call, which a thread does not come back from now, is one of epoll's: its first
/// argument is one of its descriptors.
fn is_of_epoll(call: &str) -> bool {
    let first = call
        .split(' ')
        .nth(1)
        .and_then(|word| word.strip_prefix("0x"));
    let number = first.and_then(|word| u32::from_str_radix(word, 16).ok());
    let file = number.map(|number| fs::read_link(format!("/proc/self/fd/{number}")));
    matches!(file, Some(Ok(file)) if file == Path::new("anon_inode:[eventpoll]"))
}

/// Waits until all of them are asleep at one moment, so that none of them wakes another any more.
/// Returns how often each has gone round.
pub(in crate::pump) fn rest(all: &[&Pulse]) -> Vec<usize> {
    let asleep = || -> Option<Vec<_>> { all.iter().map(|pulse| pulse.asleep()).collect() };
    let deadline = Instant::now() + PATIENCE;
    loop {
        // One that is seen asleep twice and has not gone round has slept all the time between.
        if let Some(turns) = asleep().filter(|turns| asleep().as_ref() == Some(turns)) {
            return turns;
        }
        assert!(Instant::now() < deadline, "a loop waits awake");
        sleep(Duration::from_millis(1));
    }
}

/// Waits until they have come to rest, and stay so while nothing happens.
pub(in crate::pump) fn stay_asleep(all: &[&Pulse], otherwise: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let turns = rest(all);
        // Only time tells that one does not wake by itself; of a slow machine it does so no oftener.
        sleep(Duration::from_millis(100));
        if rest(all) == turns {
            return;
        }
        assert!(Instant::now() < deadline, "{otherwise}");
    }
}
