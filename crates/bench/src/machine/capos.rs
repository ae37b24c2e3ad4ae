//! `bench capos`: the capability kernel's start beside the least that a kernel can be, and what its
//! primitives cost beside what a Linux kernel takes for the nearest, in machines of the same QEMU.
//!
//! Decision: both sides say their times themselves, by their own clocks and in the same lines; the host
//! adds nothing but turns. A primitive that did not work on either side has no figure.

use super::ground::Ground;
use super::row::Row;
use crate::gate::record::limit;
use crate::gate::row::{Description, Draft};
use crate::statistics::{median, ratio};
use crate::verdict::Verdict;
use bailiwick_capos::{BareCapos, WORD, least_kernel};
use bailiwick_vm::{Bare, BareMachine};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a machine may take.
const PATIENCE: Duration = Duration::from_secs(120);

const LEAST: &str = "least kernel, QEMU's start to its word";
const INIT: &str = "QEMU's start to init's first line";
const ENTRY: &str = "kernel entry to init's first line";
const RUN: &str = "run --backend capos -- program";

/// Each primitive: what it is called on the console, here, and what Linux does for it.
const PRIMITIVES: [(&str, &str, &str); 7] = [
    ("nop", "ring NOP", "getpid"),
    ("call", "call on a capability", "getppid"),
    ("map", "map, touch and unmap a page", "mmap, touch, munmap"),
    (
        "spawn",
        "spawn and exit of a process",
        "spawn and exit of a process",
    ),
    (
        "ipc",
        "endpoint, there and back",
        "two pipes, there and back",
    ),
    (
        "thread",
        "create and join a thread",
        "create and join a thread",
    ),
    ("park", "park and unpark, both ways", "futex, both ways"),
];

/// The rows.
pub(super) fn rows() -> Vec<Row> {
    vec![start(), primitives(1), primitives(2)]
}

fn failed(error: impl ToString) -> Verdict {
    Verdict::Fail(error.to_string())
}

/// Starts a machine and waits for a word; what it has said by then, and how long that took.
fn said(words: &[OsString], word: &[u8]) -> Result<(String, Duration), Verdict> {
    let mut command = Command::new(words.first().unwrap_or(&OsString::new()));
    command.args(words.iter().skip(1));
    let began = Instant::now();
    let mut machine = BareMachine::start(&mut command).map_err(failed)?;
    machine.wait_for(word, PATIENCE).map_err(failed)?;
    Ok((machine.said(), began.elapsed()))
}

fn written(ground: &Ground<'_>, name: &str, bytes: &[u8]) -> Result<PathBuf, Verdict> {
    let path = ground.fixture.peers().join(name);
    std::fs::write(&path, bytes).map_err(failed)?;
    Ok(path)
}

/// What a line of the console says behind its name: `KEY=VALUE …`.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let mut words = line.split(' ');
    words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

/// The line of this name that the measuring program has said to its end.
fn line<'a>(said: &'a str, name: &str) -> Result<&'a str, Verdict> {
    let found = said
        .lines()
        .find_map(|line| line.strip_prefix("costs: ")?.strip_prefix(name));
    found.ok_or_else(|| Verdict::Fail(format!("nothing was said of {name}: {}", wrong(said))))
}

/// Why something was not said.
fn wrong(said: &str) -> String {
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    let failed = said.lines().find(|line| line.contains("FAILED"));
    failed
        .or(last)
        .unwrap_or("nothing was said")
        .escape_debug()
        .to_string()
}

/// Samples of a primitive: microseconds of one.
fn samples(said: &str, name: &str) -> Result<Vec<f64>, Verdict> {
    let line = line(said, name)?;
    let times = value(line, "times").and_then(|times| times.parse::<f64>().ok());
    let all = value(line, "ns").map(|list| list.split(',').map(str::parse::<f64>).collect());
    match (times, all) {
        (Some(times), Some(Ok(all))) if times > 0.0 => {
            let all: Vec<f64> = all;
            Ok(all.into_iter().map(|ns| ns / times / 1000.0).collect())
        }
        _ => Err(Verdict::Fail(format!(
            "{name}: {line:?} is no list of times"
        ))),
    }
}

/// How many processors a kernel has counted.
fn counted(said: &str, cpus: u32) -> Result<(), Verdict> {
    match value(line(said, "init")?, "cpus") == Some(&cpus.to_string()) {
        true => Ok(()),
        false => Err(Verdict::Fail(format!(
            "the kernel has not counted {cpus} processors: {}",
            line(said, "init")?
        ))),
    }
}

fn start() -> Row {
    Row {
        description: Description {
            name: "capos: start".to_owned(),
            workload: "the least PVH kernel, which writes a word to the serial port; the capability \
                       kernel until its init's first line; `bailiwick run --backend capos -- program` \
                       with a program that writes a line"
                .to_owned(),
            includes: "from before QEMU's fork to the word on the console; from the kernel's entry to the \
                       line by its own clock; run: the whole program, from before its fork to its end",
            verifier: "the word; the line, with as many processors as there are; the run ends with 0 and \
                       the program's line is its output",
            least: 15,
            timed: true,
        },
        measure: Box::new(measure_start),
    }
}

fn measure_start(ground: &Ground<'_>, draft: &mut Draft) -> Result<(), Verdict> {
    let bare = BareCapos::new().map_err(failed)?;
    let least = written(ground, "least", &least_kernel())?;
    let manifest = written(ground, "capos.manifest", &bare.manifest().map_err(failed)?)?;
    let mut run: Vec<OsString> = vec![ground.binary.clone().into(), "run".into()];
    run.extend(["--backend", "capos", "--cap", "console", "--"].map(OsString::from));
    run.push(bare.costs.clone().into());
    for round in 0..=ground.amounts.runs {
        draft.settle();
        let (_, hello) = said(&bare.words(&least, None, 1), WORD)?;
        draft.settle();
        let words = bare.words(&bare.kernel, Some(&manifest), 1);
        let (text, to_init) = said(&words, b"costs: init cpus=1")?;
        let (whole, _) = said(&words, b"capos: init exit=")?;
        counted(&whole, 1)?;
        let entry = value(line(&whole, "init")?, "ns").and_then(|ns| ns.parse::<f64>().ok());
        let entry = entry.ok_or_else(|| Verdict::Fail(wrong(&text)))?;
        draft.settle();
        let ran = ground.complete(&run)?;
        let line = ran.stdout.to_string_lossy();
        if line.trim() != "costs: there is nothing to measure with" {
            return Err(Verdict::Fail(format!("the program has said {line:?}")));
        }
        // The first of each reads files that lie in memory from then on.
        if round == 0 {
            continue;
        }
        for (name, ms) in [
            (LEAST, hello.as_secs_f64() * 1000.0),
            (INIT, to_init.as_secs_f64() * 1000.0),
            (ENTRY, entry / 1e6),
            (RUN, ran.ns as f64 / 1e6),
        ] {
            draft.add(name, "ms", [ms]);
        }
    }
    let over = ratio(draft.of(INIT), draft.of(LEAST));
    let (entry, run) = (median(draft.of(ENTRY)), median(draft.of(RUN)));
    let median = "the median";
    draft.limits.extend([
        limit(
            "capos: QEMU's start to init over the least kernel's",
            "the medians of one run",
            "×",
            1.4,
            over,
        ),
        limit(
            "capos: kernel entry to init's first line",
            median,
            "ms",
            40.0,
            entry,
        ),
        limit("capos: a whole run", median, "ms", 150.0, run),
    ]);
    Ok(())
}

fn primitives(cpus: u32) -> Row {
    let listed: Vec<String> = PRIMITIVES
        .iter()
        .map(|(_, ours, theirs)| format!("{ours} / {theirs}"))
        .collect();
    Row {
        description: Description {
            name: format!("capos: primitives, processors: {cpus}"),
            workload: format!(
                "each many times in one machine of ours and one of the bare Linux kernel, {cpus} \
                 virtual processors each, by turns: {}; a park round is two context switches on one \
                 processor",
                listed.join("; ")
            ),
            includes: "one of them, as a part of many between two looks at the guest's own clock; on two \
                       processors the sides of calls and of parking are on different ones",
            verifier: "every outcome was looked at in the guest; all lines are there; the kernel has \
                       counted as many processors; ours has ended with every frame given back",
            least: 10,
            timed: true,
        },
        measure: Box::new(move |ground, draft| measure_primitives(ground, draft, cpus)),
    }
}

fn measure_primitives(ground: &Ground<'_>, draft: &mut Draft, cpus: u32) -> Result<(), Verdict> {
    let capos = BareCapos::new().map_err(failed)?;
    let manifest = written(ground, "capos.manifest", &capos.manifest().map_err(failed)?)?;
    let ours = capos.words(&capos.kernel, Some(&manifest), cpus);
    let linux = Bare::new(&ground.shape(cpus)).map_err(failed)?;
    let initrd = linux.guest().map_err(failed)?;
    let theirs = linux.words(&initrd, &[], "bench costs");
    // One machine takes ten samples of each.
    for _ in 0..ground.amounts.runs.div_ceil(10).min(3) {
        draft.settle();
        let (own, _) = said(&ours, b"capos: init exit=")?;
        draft.settle();
        let (other, _) = said(&theirs, b"costs: end")?;
        counted(&own, cpus)?;
        counted(&other, cpus)?;
        for (key, here, there) in PRIMITIVES {
            draft.add(&format!("capos: {here}"), "µs", samples(&own, key)?);
            draft.add(&format!("Linux: {there}"), "µs", samples(&other, key)?);
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "capos_tests.rs"]
mod tests;
