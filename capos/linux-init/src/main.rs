//! The first program of the Linux guest that the scaling proof is compared with: the same parts of the same
//! work, the same verifier, the same line. It is init: it starts the workers, one on each processor, and
//! turns the machine off. Workers are processes, or with the word `threads` threads; with `hash` they hash.
//!
//! Decision: a worker is this program once more, told its part by its words, so that no process is forked
//! from one with threads. Workers meet by the clock: all begin at a time some way ahead, each tells its own
//! time by CLOCK_MONOTONIC, and none makes a system call in between.

use bailiwick_capos_core::work::{self, hash};
use rustix::system::{RebootCommand, reboot};
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::io::Read as _;
use std::process::{Child, Command, Stdio};

/// Nanoseconds between the start of the workers and their begin.
const SETTLE: u64 = 150_000_000;
/// This program, as the machine has it.
const OWN: &str = "/init";

/// Nanoseconds of the clock that all processes have.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// A worker's part of the work.
#[derive(Clone, Copy)]
struct Part {
    is_hash: bool,
    index: usize,
    workers: usize,
    begin: u64,
}

/// What it found.
struct Found {
    count: u64,
    sum: u64,
    nanoseconds: u64,
    hashes: Vec<[u8; 32]>,
}

impl Part {
    /// Does it, on the processor of the same number.
    fn run(self) -> Found {
        let mut set = CpuSet::new();
        set.set(self.index);
        let _ = sched_setaffinity(None, &set);
        let each = hash::CHUNKS as usize / self.workers.max(1);
        let mut hashes = vec![[0; 32]; if self.is_hash { each } else { 0 }];
        while now() < self.begin {
            std::hint::spin_loop();
        }
        let began = now();
        let (count, sum) = match self.is_hash {
            true => {
                let first = (self.index * each) as u32;
                for (chunk, place) in (first..).zip(hashes.iter_mut()) {
                    *place = hash::chunk(chunk);
                }
                (each as u64, 0)
            }
            false => self.primes(),
        };
        Found {
            count,
            sum,
            nanoseconds: now() - began,
            hashes,
        }
    }

    fn primes(self) -> (u64, u64) {
        let cuts = work::cuts(self.workers).unwrap_or_default();
        match (cuts.get(self.index), cuts.get(self.index + 1)) {
            (Some(from), Some(to)) => work::primes(*from, *to),
            _ => (0, 0),
        }
    }

    /// The words of a process that does it.
    fn words(self) -> [String; 5] {
        let kind = if self.is_hash { "hash" } else { "primes" };
        let [index, workers] = [self.index, self.workers].map(|number| number.to_string());
        [
            "worker".into(),
            kind.into(),
            index,
            workers,
            self.begin.to_string(),
        ]
    }

    fn of_words(words: &[String]) -> Option<Self> {
        let [_, kind, index, workers, begin] = words else {
            return None;
        };
        Some(Self {
            is_hash: kind == "hash",
            index: index.parse().ok()?,
            workers: workers.parse().ok()?,
            begin: begin.parse().ok()?,
        })
    }
}

/// What a worker process says, and how that is read.
fn told(found: &Found) -> String {
    let hashes: String = found
        .hashes
        .as_flattened()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    format!(
        "{} {} {} {hashes}",
        found.count, found.sum, found.nanoseconds
    )
}

fn heard(text: &str) -> Option<Found> {
    let mut words = text.split(' ');
    let mut number = || words.next()?.parse::<u64>().ok();
    let (count, sum, nanoseconds) = (number()?, number()?, number()?);
    let hex = words.next()?.trim();
    let bytes: Option<Vec<u8>> = (0..hex.len() / 2)
        .map(|at| u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok())
        .collect();
    let (hashes, _) = bytes.as_ref()?.as_chunks::<32>();
    Some(Found {
        count,
        sum,
        nanoseconds,
        hashes: hashes.to_vec(),
    })
}

fn of_process(mut child: Child) -> Option<Found> {
    let mut text = String::new();
    child.stdout.take()?.read_to_string(&mut text).ok()?;
    child.wait().ok()?.success().then_some(())?;
    heard(&text)
}

/// Has all parts done.
fn all(is_hash: bool, has_threads: bool, workers: usize) -> Option<Vec<Found>> {
    let begin = now() + SETTLE * workers as u64;
    let parts = (0..workers).map(|index| Part {
        is_hash,
        index,
        workers,
        begin,
    });
    if has_threads {
        let threads: Vec<_> = parts
            .map(|part| std::thread::spawn(move || part.run()))
            .collect();
        return threads
            .into_iter()
            .map(|thread| thread.join().ok())
            .collect();
    }
    let start = |part: Part| {
        Command::new(OWN)
            .args(part.words())
            .stdout(Stdio::piped())
            .spawn()
    };
    let children: Vec<Child> = parts.map(start).collect::<Result<_, _>>().ok()?;
    children.into_iter().map(of_process).collect()
}

fn init(words: &[String]) {
    let is_hash = words.iter().any(|word| word == "hash");
    let has_threads = words.iter().any(|word| word == "threads");
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let Some(found) = all(is_hash, has_threads, workers) else {
        println!("scale: FAILED: a worker did not come to its end");
        return;
    };
    let count: u64 = found.iter().map(|found| found.count).sum();
    let sum: u64 = found.iter().map(|found| found.sum).sum();
    let hashes: Vec<_> = found
        .iter()
        .flat_map(|found| found.hashes.clone())
        .collect();
    let root = hash::root(&hashes);
    let is_right = match is_hash {
        true => count == u64::from(hash::CHUNKS) && root == hash::ROOT,
        false => count == work::COUNT && sum == work::CHECKSUM,
    };
    let root: String = match is_hash {
        true => root.iter().map(|byte| format!("{byte:02x}")).collect(),
        false => "-".into(),
    };
    let each: Vec<_> = found
        .iter()
        .map(|found| found.nanoseconds.to_string())
        .collect();
    let slowest = found.iter().map(|found| found.nanoseconds).max();
    println!(
        "scale: workload={} variant={} workers={} cpus={workers} verified={is_right} count={count} \
         checksum={sum} root={root} elapsed={} each={}",
        if is_hash { "hash" } else { "primes" },
        if has_threads { "thread" } else { "process" },
        found.len(),
        slowest.unwrap_or_default(),
        each.join(","),
    );
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "worker") {
        let found = Part::of_words(&words).map(Part::run);
        if let Some(found) = found {
            print!("{}", told(&found));
        }
        return;
    }
    init(&words);
    let _ = reboot(RebootCommand::Restart);
}
