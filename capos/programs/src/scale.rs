//! What the coordinator of the scaling proof and its workers share: the board on which they meet, and what
//! each of them does.
//!
//! Decision: workers meet in memory, and not by the kernel. Whoever arrives last says at which tick all
//! begin, some time ahead, so that the scheduler has spread them and its timers are over; who has finished
//! spins until all have. Between the two nobody has a reason to enter the kernel, which its counters show.

use bailiwick_capos_core::interfaces::KernelSource;
use bailiwick_capos_rt::call::{Cap, Failed};
use bailiwick_capos_rt::caps::Grant;
use bailiwick_capos_rt::sys;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::memory::{WRITE, map_object};

/// Ticks between the last arrival and the begin: some 40 ms, four slices of the scheduler.
const SETTLE: u64 = 100_000_000;
/// Ticks before the begin at which the counters are read: some 10 ms.
const READING: u64 = 25_000_000;

/// Methods of the coordinator's endpoint: what is to be done, results, hashes, and nothing.
pub const ASK: u16 = 0;
/// See [`ASK`].
pub const RESULT: u16 = 1;
/// See [`ASK`].
pub const HASHES: u16 = 2;
/// See [`ASK`].
pub const DISTURB: u16 = 3;

/// NOPs of each worker, and calls of each pair.
pub const NOPS: u64 = 400_000;
/// See [`NOPS`].
pub const CALLS: u64 = 20_000;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Primes are counted.
    Primes,
    /// Chunks are hashed.
    Hash,
    /// Empty entries go through the ring.
    Nops,
    /// A client calls a server.
    Pairs,
}

impl Workload {
    /// All, by number.
    pub const ALL: [Self; 4] = [Self::Primes, Self::Hash, Self::Nops, Self::Pairs];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Primes => "primes",
            Self::Hash => "hash",
            Self::Nops => "nops",
            Self::Pairs => "pairs",
        }
    }
}

/// What a worker found, and how long that took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// Ticks of the processor's counter.
    pub ticks: u64,
}

/// What the processors did: locks, interrupts of others, of the timer, switches, system calls.
pub type Counters = [u64; 5];

/// Reads the counters.
pub fn counters(activity: Cap) -> Result<Counters, Failed> {
    let answer = activity.call(0, &[])?;
    Ok([0, 8, 16, 24, 32].map(|at| answer.u64(at)))
}

/// What happened between two readings beside what a reading itself takes.
pub fn between(first: Counters, second: Counters, last: Counters) -> Counters {
    let mut all = [0; 5];
    for (at, place) in all.iter_mut().enumerate() {
        let own = second[at] - first[at];
        *place = (last[at] - second[at]).saturating_sub(own);
    }
    all
}

/// A page that all workers have. Each word has a line of the cache to itself.
#[derive(Clone, Copy, Debug)]
pub struct Board(u64);

impl Board {
    /// Of a memory object.
    pub fn of(object: Cap) -> Option<Self> {
        map_object(object, 0, 1, WRITE).ok().map(Self)
    }

    fn word(self, line: u64) -> &'static AtomicU64 {
        // SAFETY: the page is mapped as long as the program lives; the words are aligned, and all use them
        // as atomic ones.
        unsafe { &*((self.0 + 64 * line) as *const AtomicU64) }
    }

    /// Arrives as one of so many, and waits for the begin. The first worker reads the counters twice
    /// meanwhile, when all are waiting.
    pub fn begin(self, workers: u64, activity: Option<Cap>) -> Option<(Counters, Counters)> {
        if self.word(0).fetch_add(1, Ordering::SeqCst) + 1 == workers {
            let start = sys::ticks() + SETTLE;
            self.word(1).store(start, Ordering::SeqCst);
        }
        spin_while(|| self.word(1).load(Ordering::SeqCst) == 0);
        let start = self.word(1).load(Ordering::SeqCst);
        spin_while(|| sys::ticks() < start - READING);
        let read = activity.and_then(|cap| Some((counters(cap).ok()?, counters(cap).ok()?)));
        spin_while(|| sys::ticks() < start);
        read
    }

    /// Has finished as one of so many, and waits for the others; and all for the first worker, who reads the
    /// counters before anybody else asks anything of the kernel.
    pub fn end(self, workers: u64, activity: Option<Cap>) -> Option<Counters> {
        self.word(2).fetch_add(1, Ordering::SeqCst);
        spin_while(|| self.word(2).load(Ordering::SeqCst) < workers);
        match activity {
            None => {
                spin_while(|| self.word(4).load(Ordering::SeqCst) == 0);
                None
            }
            Some(cap) => {
                let read = counters(cap).ok();
                self.word(4).store(1, Ordering::SeqCst);
                read
            }
        }
    }

    /// The word that workers share where they should not.
    pub fn shared(self) -> &'static AtomicU64 {
        self.word(3)
    }
}

fn spin_while(holds: impl Fn() -> bool) {
    while holds() {
        core::hint::spin_loop();
    }
}

/// What a child of the coordinator is given beside the gate and the board.
pub const GRANTS: [Grant<'static>; 4] = [
    Grant::Kernel("virtual_memory", KernelSource::VirtualMemory),
    Grant::Kernel("thread_spawner", KernelSource::ThreadSpawner),
    Grant::Kernel("thread_control", KernelSource::ThreadControl),
    Grant::Kernel("activity", KernelSource::Activity),
];
