//! `bench boot`: a run that finds a machine waiting (`bailiwick serve --backend vm`).

use super::ground::{Ground, Way};
use super::host_memory::{HostMemory, family};
use super::row::Row;
use crate::gate::record::limit;
use crate::gate::row::{Description, Draft};
use crate::statistics::median;
use crate::verdict::Verdict;
use std::fs;
use std::path::PathBuf;

/// Each waits for a machine that is made and warmed up for it, which takes seconds.
const SAMPLES: u32 = 20;

const RUN: &str = "run --backend vm -- true, where a machine waits";

pub(super) fn row() -> Row {
    Row {
        description: Description {
            name: "waiting machine".to_owned(),
            workload:
                "`bailiwick serve --backend vm --keep 1`, then `run -- true`; anew for each sample"
                    .to_owned(),
            includes: "run: the whole program, from before its fork to its end; host memory: shares (Pss) \
                       of the mappings of a waiting machine's processes, `serve` itself included",
            verifier: "the command ends with 0, and the monitor that had waited has ended with it; the \
                       policy holds and the kernel is the image's, once before the rows",
            least: SAMPLES,
            timed: true,
        },
        measure: Box::new(measure),
    }
}

fn measure(ground: &Ground<'_>, draft: &mut Draft) -> Result<(), Verdict> {
    let bytes = ground.bare()?.memory;
    let command = ground.run(Way::Warm, &[], &["true".into()]);
    for round in 0..=ground.amounts.runs.min(SAMPLES) {
        let serve = ground.serve()?;
        let monitor = monitor_of(serve.id())?;
        let memory = HostMemory::of(serve.id(), bytes);
        let memory = memory.map_err(|error| Verdict::Inconclusive(error.to_string()))?;
        draft.settle();
        let run = ground.complete(&command)?;
        if monitor.exists() {
            let why = "the run did not take the machine that waited";
            return Err(Verdict::Fail(why.to_owned()));
        }
        // The first makes the template, where there is none.
        if round == 0 {
            continue;
        }
        draft.add(RUN, "ms", [run.ns as f64 / 1e6]);
        draft.add("host memory beyond the guest's", "MiB", [memory.beyond()]);
        draft.add("the guest's own", "MiB", [memory.guest as f64 / 1024.0]);
    }
    draft.limits.push(limit(
        "waiting machine: run",
        "the median",
        "ms",
        70.0,
        median(draft.of(RUN)),
    ));
    Ok(())
}

/// The process of the one monitor below a process; it is gone when that has ended, because whoever has
/// taken the machine waits for its end.
fn monitor_of(process: u32) -> Result<PathBuf, Verdict> {
    let place = |pid: u32| PathBuf::from(format!("/proc/{pid}"));
    let is_monitor = |place: &PathBuf| {
        fs::read_to_string(place.join("comm")).is_ok_and(|name| name.starts_with("qemu-system"))
    };
    let mut found = family(process).into_iter().map(place).filter(is_monitor);
    match (found.next(), found.next()) {
        (Some(monitor), None) => Ok(monitor),
        _ => Err(Verdict::Fail("not one machine waits".to_owned())),
    }
}
