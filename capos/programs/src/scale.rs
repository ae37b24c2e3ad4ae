//! What the coordinator of the scaling proof and its workers share: the board on which they meet, and what
//! each of them does.
//!
//! Decision: workers meet in memory, and not by the kernel. Whoever arrives last says at which tick all
//! begin, some time ahead, so that the scheduler has spread them and its timers are over. In its timed part
//! nobody has a reason to enter the kernel, nor the kernel to come to its processor: which the counters of
//! that processor show. Who has finished sleeps.
//!
//! Nor do processes write a line of the cache there that another processor has: the board is all that they
//! share, their pages of it are read-only meanwhile, and whoever writes to one ends. Threads share all of
//! their memory.

use bailiwick_capos_core::interfaces::KernelSource;
use bailiwick_capos_rt::call::Cap;
use bailiwick_capos_rt::caps::Grant;
use bailiwick_capos_rt::{park, sys};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::memory::{OBJECT_PROTECT, PAGE, READ, WRITE, map_object, read, word};

/// Ticks between the last arrival and the begin: some 40 ms, four slices of the scheduler.
const SETTLE: u64 = 100_000_000;
/// Nanoseconds between two looks whether all have finished.
const POLL: u64 = 2_000_000;

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

/// What a processor did: locks, interrupts of others, of the timer, switches, system calls.
pub type Counters = [u64; 5];

/// The kernel's counters, which are looked at without asking it.
#[derive(Clone, Copy, Debug)]
pub struct Activity(u64);

/// A look at the counters of the processor that the thread is on.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    processor: u32,
    counters: Counters,
}

impl Activity {
    /// By the capability for them.
    pub fn of(activity: Cap) -> Option<Self> {
        activity.numbers(0, &[0]).ok().map(|at| Self(at.u64(0)))
    }

    /// Looks.
    pub fn look(self) -> Look {
        let mut processor = 0;
        // SAFETY: the kernel maps no counters where the processor does not have the instruction.
        unsafe { core::arch::x86_64::__rdtscp(&raw mut processor) };
        let line = self.0 + 64 * u64::from(processor);
        Look {
            processor,
            counters: [0, 8, 16, 24, 32].map(|at| read(line + at)),
        }
    }
}

impl Look {
    /// What the thread's processor did since this look. A thread that is on another one was put there.
    pub fn since(self, now: Self) -> Counters {
        if self.processor != now.processor {
            return [0, 0, 0, 1, 0];
        }
        let mut all = [0; 5];
        for (at, place) in all.iter_mut().enumerate() {
            *place = now.counters[at] - self.counters[at];
        }
        all
    }
}

/// A page that all workers have. Each word has a line of the cache to itself.
#[derive(Clone, Copy, Debug)]
pub struct Board {
    object: Cap,
    at: u64,
    is_sealed: bool,
}

impl Board {
    /// Of a memory object; `is_sealed`: between its begin and its end, this process cannot write to it.
    pub fn of(object: Cap, is_sealed: bool) -> Option<Self> {
        let at = map_object(object, 0, 1, WRITE).ok()?;
        Some(Self {
            object,
            at,
            is_sealed,
        })
    }

    fn protect(self, rights: u64) {
        if self.is_sealed {
            let range = [self.at, PAGE, rights];
            let protected = self.object.numbers(OBJECT_PROTECT, &range);
            assert!(protected.is_ok(), "the board has other rights");
        }
    }

    fn word(self, line: u64) -> &'static AtomicU64 {
        // SAFETY: the page is mapped as long as the program lives; the words are aligned, and all use them
        // as atomic ones.
        unsafe { &*((self.at + 64 * line) as *const AtomicU64) }
    }

    /// Arrives as one of so many, and waits for the begin.
    pub fn begin(self, workers: u64) {
        if self.word(0).fetch_add(1, Ordering::SeqCst) + 1 == workers {
            let start = sys::ticks() + SETTLE;
            self.word(1).store(start, Ordering::SeqCst);
        }
        spin_while(|| self.word(1).load(Ordering::SeqCst) == 0);
        let start = self.word(1).load(Ordering::SeqCst);
        self.protect(READ);
        spin_while(|| sys::ticks() < start);
    }

    /// Has finished as one of so many, and waits for the others without keeping a processor: where there are
    /// fewer than workers, those that have not finished need it.
    pub fn end(self, workers: u64, parking: Cap, thread: u32) {
        self.protect(WRITE);
        self.word(2).fetch_add(1, Ordering::SeqCst);
        while self.word(2).load(Ordering::SeqCst) < workers {
            park::park(parking, thread, self.never(), 0, POLL);
        }
    }

    /// A word that is always 0: a park on it is a sleep, of each thread for itself.
    fn never(self) -> &'static AtomicU32 {
        word(self.at + 64 * 4)
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
pub const GRANTS: [Grant<'static>; 5] = [
    Grant::Kernel("virtual_memory", KernelSource::VirtualMemory),
    Grant::Kernel("park_space", KernelSource::ParkSpace),
    Grant::Kernel("thread_spawner", KernelSource::ThreadSpawner),
    Grant::Kernel("thread_control", KernelSource::ThreadControl),
    Grant::Kernel("activity", KernelSource::Activity),
];
