//! `bench disk`: the workspace, as programs write and read it.

use super::backing;
use super::ground::{Ground, Way};
use super::peers::{self, Missing};
use super::row::Row;
use super::worker::Worker;
use crate::gate::record::limit;
use crate::gate::row::{Description, Draft};
use crate::statistics::ratio;
use crate::verdict::Verdict;
use std::path::PathBuf;

/// Rounds of all ways: one takes seconds.
const ROUNDS: u32 = 5;
/// Acts at random in a round, and in a quick one.
const ACTS: [u64; 2] = [10_000, 200];
/// Bytes of the file that is read and written at random.
const RANDOM: u64 = 64 << 20;
const VERIFIER: &str = "each page that is read begins with its number; every byte of what was written \
    is compared, where it was written and on the host, which also has no hole in it; the caches that \
    should have forgotten the file hold no page of it; the policy holds and the kernels are as they \
    should be, once before the rows";
/// The name of what is read from the disk itself.
const NOWHERE: &str = "nothing cached";
/// The name of what the host has in memory.
const BY_HOST: &str = "cached by the host";

/// The rows.
pub(super) fn rows() -> Vec<Row> {
    let row = |name: &str, workload: &str, includes, measure: fn(&Ground<'_>, &mut Draft) -> _| {
        Row {
            description: Description {
                name: name.to_owned(),
                workload: format!(
                    "in the workspace, by the guest's binary on every side: {workload}; beside the product \
                 the bare machine with 9P, with 9P and cache=loose, and with virtiofsd, where it is \
                 installed"
                ),
                includes,
                verifier: VERIFIER,
                least: ROUNDS,
                timed: true,
            },
            measure: Box::new(measure),
        }
    };
    vec![
        row(
            WRITE,
            "a new file in blocks of 1 MiB, and fsync",
            "from the creation to the end of fsync; MiB is 2^20 bytes",
            write,
        ),
        row(
            READ,
            "the same file in blocks of 1 MiB",
            "from the open to the last byte; nothing cached: neither the reader's kernel (fsync, \
             fadvise, in a machine also drop_caches) nor the host's (fsync, fadvise) holds it; cached by \
             the host: only a machine's own kernel does not",
            read,
        ),
        row(
            RANDOM_READ,
            "10,000 times 4 KiB at random in a file of 64 MiB",
            "from the open to the last read, over their number; the caches as with the sequential read",
            random_read,
        ),
        row(
            RANDOM_WRITE,
            "10,000 times 4 KiB at random in a file of 64 MiB, with fdatasync after each",
            "from the open to the end of the last fdatasync, over their number",
            random_write,
        ),
        super::metadata::row(),
    ]
}

const WRITE: &str = "sequential write";
const READ: &str = "sequential read";
const RANDOM_READ: &str = "random read";
const RANDOM_WRITE: &str = "random write, fdatasync";

/// A side with its file, as it names it and as the host does.
pub(super) struct Side {
    pub(super) worker: Worker,
    pub(super) inside: String,
    pub(super) outside: PathBuf,
}

/// All sides of a row, and why one is missing.
pub(super) fn sides(ground: &Ground<'_>) -> Result<(Vec<Side>, Vec<Missing>), Verdict> {
    let mut workers = Vec::new();
    let mut missing = Vec::new();
    for way in [Way::Native, Way::Process, Way::Warm, Way::Cold] {
        if !way.is_machine() || ground.bare.is_some() {
            workers.push(ground.worker(way, &[])?);
        }
    }
    if ground.bare.is_some() {
        for peer in peers::all(ground)? {
            match peer {
                Ok(worker) => workers.push(worker),
                Err(why) => {
                    ground.note(&why);
                    missing.push(why);
                }
            }
        }
    }
    let sides = workers.into_iter().enumerate().map(|(number, worker)| {
        let name = format!("disk-{number}");
        let inside = worker.folder.join(&name);
        Side {
            inside: inside.to_string_lossy().into_owned(),
            outside: ground.fixture.workspace().join(name),
            worker,
        }
    });
    Ok((sides.collect(), missing))
}

impl Side {
    /// A piece of work about its file; its time in seconds.
    pub(super) fn ask(&mut self, work: &str, more: &[u64]) -> Result<f64, Verdict> {
        let more: Vec<String> = more.iter().map(u64::to_string).collect();
        let mut words = vec![work, &self.inside];
        words.extend(more.iter().map(String::as_str));
        let answer = self.worker.ask(&words)?;
        Ok(answer.number("ns")?.max(1) as f64 / 1e9)
    }

    /// Writes its file and compares it on both sides; the time in seconds.
    fn write(&mut self, bytes: u64) -> Result<f64, Verdict> {
        let took = self.ask("disk-write", &[bytes])?;
        self.check(bytes, 0, 0)?;
        Ok(took)
    }

    fn check(&mut self, bytes: u64, count: u64, seed: u64) -> Result<(), Verdict> {
        backing::check(&self.outside, bytes, count, seed)?;
        let [bytes, count, seed] = [bytes, count, seed].map(|number| number.to_string());
        let words = ["disk-check", &self.inside, &bytes, &count, &seed];
        self.worker.ask(&words).map(drop)
    }

    /// Has the reader's own kernel forget the file.
    fn forget(&mut self) -> Result<(), Verdict> {
        let how = if self.worker.is_machine {
            "machine"
        } else {
            "file"
        };
        let answer = self.worker.ask(&["disk-forget", &self.inside, how])?;
        match answer.number("resident")? {
            0 => Ok(()),
            pages => Err(Verdict::Inconclusive(format!(
                "{}: its kernel still holds {pages} pages of the file",
                self.worker.name
            ))),
        }
    }
}

/// Rounds of all sides in turn, after one that is no sample.
pub(super) fn rounds(
    ground: &Ground<'_>,
    draft: &mut Draft,
    sides: &mut [Side],
    mut one: impl FnMut(&mut Side, u64) -> Result<Vec<(String, &'static str, f64)>, Verdict>,
) -> Result<(), Verdict> {
    for round in 0..=ground.amounts.runs.min(ROUNDS) {
        for side in &mut *sides {
            draft.settle();
            for (name, unit, value) in one(side, round.into())? {
                ground.note(&(&name, unit, value, round));
                if round > 0 {
                    draft.add(&name, unit, [value]);
                }
            }
        }
    }
    Ok(())
}

pub(super) fn finish(sides: Vec<Side>) -> Result<(), Verdict> {
    sides.into_iter().try_for_each(|side| side.worker.end())
}

fn random(ground: &Ground<'_>) -> (u64, u64) {
    let [acts, few] = ACTS;
    match ground.amounts.quick {
        true => (RANDOM.min(ground.amounts.size), few),
        false => (RANDOM, acts),
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn write(ground: &Ground<'_>, draft: &mut Draft) -> Result<(), Verdict> {
    let bytes = ground.amounts.size;
    let (mut sides, missing) = sides(ground)?;
    rounds(ground, draft, &mut sides, |side, _| {
        let took = side.write(bytes)?;
        Ok(vec![(
            side.worker.name.to_owned(),
            "MiB/s",
            mib(bytes) / took,
        )])
    })?;
    finish(sides)?;
    bounds(ground, draft, WRITE, "", &missing);
    Ok(())
}

/// Both states of the host's cache, one after the other.
fn cold_and_cached(
    side: &mut Side,
    unit: &'static str,
    amount: f64,
    mut take: impl FnMut(&mut Side) -> Result<f64, Verdict>,
) -> Result<Vec<(String, &'static str, f64)>, Verdict> {
    side.forget()?;
    backing::forget(&side.outside)?;
    let nowhere = take(side)?;
    if side.worker.is_machine {
        side.forget()?;
    }
    let by_host = take(side)?;
    let series = |what: &str, took: f64| (series(side.worker.name, what), unit, amount / took);
    Ok(vec![series(NOWHERE, nowhere), series(BY_HOST, by_host)])
}

fn series(side: &str, what: &str) -> String {
    match what {
        "" => side.to_owned(),
        what => format!("{side}: {what}"),
    }
}

fn read(ground: &Ground<'_>, draft: &mut Draft) -> Result<(), Verdict> {
    let bytes = ground.amounts.size;
    let (mut sides, missing) = sides(ground)?;
    for side in &mut sides {
        side.write(bytes)?;
    }
    rounds(ground, draft, &mut sides, |side, _| {
        cold_and_cached(side, "MiB/s", mib(bytes), |side| {
            side.ask("disk-read", &[bytes])
        })
    })?;
    finish(sides)?;
    bounds(ground, draft, READ, BY_HOST, &missing);
    Ok(())
}

fn random_read(ground: &Ground<'_>, draft: &mut Draft) -> Result<(), Verdict> {
    let (bytes, acts) = random(ground);
    let (mut sides, missing) = sides(ground)?;
    for side in &mut sides {
        side.write(bytes)?;
    }
    rounds(ground, draft, &mut sides, |side, round| {
        cold_and_cached(side, "1/s", acts as f64, |side| {
            side.ask("disk-random-read", &[bytes, acts, round])
        })
    })?;
    finish(sides)?;
    bounds(ground, draft, RANDOM_READ, BY_HOST, &missing);
    Ok(())
}

fn random_write(ground: &Ground<'_>, draft: &mut Draft) -> Result<(), Verdict> {
    let (bytes, acts) = random(ground);
    let (mut sides, missing) = sides(ground)?;
    rounds(ground, draft, &mut sides, |side, round| {
        side.write(bytes)?;
        let acts = if round == 0 { acts / 10 } else { acts };
        let took = side.ask("disk-random-write", &[bytes, acts, round])?;
        side.check(bytes, acts, round)?;
        Ok(vec![(
            side.worker.name.to_owned(),
            "1/s",
            acts as f64 / took,
        )])
    })?;
    finish(sides)?;
    bounds(ground, draft, RANDOM_WRITE, "", &missing);
    Ok(())
}

/// What a machine has to reach of the best that is known: 95 %.
fn bounds(ground: &Ground<'_>, draft: &mut Draft, row: &str, what: &str, missing: &[Missing]) {
    if ground.bare.is_none() {
        return;
    }
    for (way, peer) in [(Way::Cold, peers::VIRTIOFSD), (Way::Warm, peers::NINE_P)] {
        let (own, other) = (series(way.name(), what), series(peer, what));
        let value = ratio(draft.of(&other), draft.of(&own));
        let name = format!("{row}: {peer} over {own}");
        let mut bound = limit(&name, "the medians; 1 / 0.95", "×", 1.0 / 0.95, value);
        if let Some((_, why)) = missing.iter().find(|(name, _)| *name == peer) {
            bound.verdict = why.clone();
        }
        draft.limits.push(bound);
    }
}
