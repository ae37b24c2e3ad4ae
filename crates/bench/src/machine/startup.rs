//! `bench startup`: the start of what agents start, from a cache that has forgotten it.

use super::ground::{Ground, Way};
use super::row::Row;
use super::worker::Worker;
use crate::gate::row::{Description, Draft};
use crate::program;
use crate::verdict::Verdict;

/// The programs.
const PROGRAMS: [&str; 5] = ["python3", "node", "claude", "gemini", "codex"];
/// Samples: in a machine without KVM a start takes seconds.
const RUNS: u32 = 5;

/// The rows.
pub(super) fn rows() -> Vec<Row> {
    PROGRAMS.map(row).into()
}

fn row(program: &'static str) -> Row {
    Row {
        description: Description {
            name: format!("{program} --version"),
            workload: format!(
                "`{program} --version`, started by the guest's binary: the host's own program natively \
                 and in a process sandbox, the image's in a machine, which is another build"
            ),
            includes: "fork, exec, the program, its exit. Cold in a machine: its kernel has forgotten \
                       all that it can (drop_caches), the host's has not; natively and in a process \
                       sandbox: the program's own file is forgotten (fadvise), as far as nobody has \
                       mapped it, and its libraries are not. Warm: once more at once",
            verifier: "exit code 0, and the same version each time; the policy holds and the kernels \
                       are as they should be, once before the rows",
            least: RUNS,
            timed: true,
        },
        measure: Box::new(move |ground, draft| measure(ground, draft, program)),
    }
}

/// A way and what it has said so far.
struct Side {
    worker: Worker,
    program: String,
    version: Option<String>,
}

fn measure(ground: &Ground<'_>, draft: &mut Draft, program: &str) -> Result<(), Verdict> {
    let mut sides = Vec::new();
    for way in ground.ways(Way::Warm) {
        // Not a version manager's shim: that would be another program's start.
        let path = match way.is_machine() {
            true => Some(program.to_owned()),
            false => program::find(program).map(|found| found.path.to_string_lossy().into_owned()),
        };
        if let Some(program) = path {
            let worker = ground.worker(way, &[])?;
            sides.push(Side {
                worker,
                program,
                version: None,
            });
        }
    }
    for round in 0..=ground.amounts.runs.min(RUNS) {
        let mut kept = Vec::new();
        for mut side in sides {
            draft.settle();
            let cold = if side.worker.is_machine {
                "machine"
            } else {
                "file"
            };
            let mut there = true;
            for (how, name) in [(cold, "cold"), ("nothing", "warm")] {
                let Some(ms) = start(ground, &mut side, how)? else {
                    there = false;
                    break;
                };
                if round > 0 {
                    draft.add(&format!("{}: {name}", side.worker.name), "ms", [ms]);
                }
            }
            match there {
                true => kept.push(side),
                false => side.worker.end()?,
            }
        }
        sides = kept;
    }
    let machine = sides.iter().any(|side| side.worker.is_machine);
    let none = sides.is_empty();
    sides.into_iter().try_for_each(|side| side.worker.end())?;
    match (none, ground.bare.is_some(), machine) {
        (true, ..) => Err(Verdict::Absent(format!("{program} is not installed"))),
        (_, true, false) => Err(Verdict::Absent(format!("the image has no {program}"))),
        _ => Ok(()),
    }
}

/// One start; none where there is no such program.
fn start(ground: &Ground<'_>, side: &mut Side, how: &str) -> Result<Option<f64>, Verdict> {
    let answer = side.worker.ask(&["start", &side.program, how])?;
    if answer.number("absent").is_ok() {
        return Ok(None);
    }
    let said = answer.text("said")?.to_owned();
    let name = side.worker.name;
    ground.note(&(
        name,
        how,
        answer.text("path")?,
        &said,
        answer.number("resident")?,
    ));
    match side.version.replace(said.clone()) {
        Some(before) if before != said => Err(Verdict::Fail(format!(
            "{name}: it is {said}, and was {before} before"
        ))),
        _ => Ok(Some(answer.number("ns")? as f64 / 1e6)),
    }
}
