//! `bench rootfs`: the files that a system has its programs from.

use super::ground::{Ground, Way};
use super::row::Row;
use super::worker::{Answer, Worker};
use crate::gate::row::{Description, Draft};
use crate::gate::tally::Tally;
use crate::verdict::Verdict;

/// Rounds of all ways.
const ROUNDS: u32 = 5;
/// Acts in a round, and in a quick one.
const ACTS: [&str; 2] = ["5000", "200"];

const INCLUDES: &str = "cold: in a machine its kernel has forgotten all that it can (drop_caches), the \
    host's has not; natively and in a process sandbox the files are forgotten (fadvise), as far as \
    nobody has mapped them, and the names are not. Warm: once more at once. MiB is 2^20 bytes";
const VERIFIER: &str = "each file is as long as the file system says, each read is whole; as many files, \
    entries and bytes in each round; that the image is the one that was built is known by the hash of \
    its file; the policy holds and the kernels are as they should be, once before the rows";

/// What a row has done, and in what it counts.
#[derive(Clone, Copy)]
struct Work {
    name: &'static str,
    workload: &'static str,
    words: &'static [&'static str],
    /// `bytes` or `count`.
    amount: &'static str,
}

const ALL: [Work; 5] = [
    Work {
        name: "largest file",
        workload: "the longest file in blocks of 1 MiB",
        words: &["rootfs", "largest"],
        amount: "bytes",
    },
    Work {
        name: "three large files",
        workload: "the three longest files in blocks of 1 MiB",
        words: &["rootfs", "large"],
        amount: "bytes",
    },
    Work {
        name: "random pages",
        workload: "5,000 times open, read of 4 KiB at random, close, over all files that are longer",
        words: &["rootfs", "random", "COUNT", "7"],
        amount: "count",
    },
    Work {
        name: "small files",
        workload: "5,000 times open, read, close of 113 files of 4 to 16 KiB, in turn",
        words: &["rootfs", "small", "COUNT"],
        amount: "count",
    },
    Work {
        name: "walk",
        workload: "readdir of every folder and lstat of every entry",
        words: &["rootfs", "walk"],
        amount: "count",
    },
];

/// The rows.
pub(super) fn rows() -> Vec<Row> {
    let row = |work: Work| Row {
        description: Description {
            name: work.name.to_owned(),
            workload: format!(
                "in /usr/bin, /usr/lib and /opt/ai-clis, by the guest's binary on every side: {}. The \
                 host's files are others than the image's: compare the sides by what is counted",
                work.workload
            ),
            includes: INCLUDES,
            verifier: VERIFIER,
            least: ROUNDS,
            timed: true,
        },
        measure: Box::new(move |ground, draft| measure(ground, draft, work)),
    };
    ALL.map(row).into()
}

fn measure(ground: &Ground<'_>, draft: &mut Draft, work: Work) -> Result<(), Verdict> {
    let ways = ground.ways(Way::Warm).into_iter();
    let workers: Result<Vec<Worker>, Verdict> = ways.map(|way| ground.worker(way, &[])).collect();
    let mut workers = workers?;
    for round in 0..=ground.amounts.runs.min(ROUNDS) {
        for worker in &mut workers {
            draft.settle();
            let cold = if worker.is_machine { "machine" } else { "file" };
            for (how, state) in [(cold, "cold"), ("nothing", "warm")] {
                let answer = worker.ask(&words(ground, work, how))?;
                same(draft, worker.name, &answer)?;
                if round > 0 {
                    let seconds = answer.number("ns")?.max(1) as f64 / 1e9;
                    let amount = answer.number(work.amount)? as f64;
                    let (unit, amount) = match work.amount {
                        "bytes" => ("MiB/s", amount / f64::from(1 << 20)),
                        _ => ("1/s", amount),
                    };
                    let name = format!("{}: {state}", worker.name);
                    draft.add(&name, unit, [amount / seconds]);
                }
            }
        }
    }
    workers.into_iter().try_for_each(Worker::end)
}

fn words(ground: &Ground<'_>, work: Work, how: &'static str) -> Vec<&'static str> {
    let [acts, few] = ACTS;
    let count = if ground.amounts.quick { few } else { acts };
    let words = work.words.iter().map(|word| match *word {
        "COUNT" => count,
        word => word,
    });
    words.chain([how]).collect()
}

/// Keeps what was counted, which is the same in each round.
fn same(draft: &mut Draft, side: &str, answer: &Answer) -> Result<(), Verdict> {
    let mut tally = Tally::default();
    for what in ["bytes", "count", "files"] {
        tally.add(what, answer.number(what).unwrap_or_default());
    }
    if tally == Tally::default() {
        return Err(Verdict::Fail(format!("{side}: nothing was read")));
    }
    match draft.counted.insert(side.to_owned(), tally.clone()) {
        Some(before) if before != tally => Err(Verdict::Fail(format!(
            "{side}: {tally:?} is not what it was before: {before:?}"
        ))),
        _ => Ok(()),
    }
}
