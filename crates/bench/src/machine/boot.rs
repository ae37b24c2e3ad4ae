//! `bench boot`: a machine's start beside the least that its kernel and QEMU can do.

use super::ground::{Ground, Way};
use super::row::Row;
use crate::gate::record::limit;
use crate::gate::row::{Description, Draft};
use crate::statistics::{median, ratio};
use crate::verdict::Verdict;
use serde::Deserialize;
use std::ffi::OsString;

/// A kernel's start takes the better part of a second, so fewer are enough.
const COLD: u32 = 10;

const BARE: &str = "bare kernel, QEMU's start to its init";
const INIT: &str = "QEMU's start to the guest's init";
const CLOCK: &str = "guest clock at READY";
const OWN: &str = "init's own stages";
const TOTAL: &str = "nothing to READY";
const COLD_RUN: &str = "run --backend vm --cold -- true";
const ANSWER: &str = "QEMU's start to the first answer";
const WARM_RUN: &str = "run --backend vm -- true";
const PROCESS_RUN: &str = "run -- true (process)";
const NATIVE_RUN: &str = "true (native)";

/// The rows.
pub(super) fn rows() -> Vec<Row> {
    vec![cold(), warm(), super::waiting::row()]
}

/// What `bailiwick boot --json` says.
#[derive(Deserialize)]
pub(super) struct Boot {
    accelerator: String,
    image: String,
    warm: bool,
    pub total_ms: f64,
    stages: Vec<Stage>,
}

#[derive(Deserialize)]
struct Stage {
    side: String,
    name: String,
    ms: f64,
}

impl Boot {
    /// One start of a machine that shows the workspace.
    ///
    /// # Errors
    /// A fail, where it is not the start that was asked for.
    pub(super) fn take(
        ground: &Ground<'_>,
        warm: bool,
        memory: Option<u64>,
    ) -> Result<Self, Verdict> {
        let mut argv: Vec<OsString> = vec![ground.binary.clone().into(), "boot".into()];
        argv.extend(["--json".into(), "--workspace".into()]);
        argv.push(ground.fixture.workspace().into());
        argv.extend(ground.machine(memory));
        if !warm {
            argv.push("--cold".into());
        }
        let said = ground.complete(&argv)?;
        let boot: Self = serde_json::from_slice(said.stdout.as_bytes())
            .map_err(|error| Verdict::Fail(format!("boot --json: {error}")))?;
        let bare = ground.bare()?;
        let same =
            boot.accelerator == bare.accelerator.to_string() && boot.image == bare.image.name;
        match same && boot.warm == warm {
            true => Ok(boot),
            false => Err(Verdict::Fail(format!(
                "boot: {} of {} on {}, warm: {}: {}",
                "another start than was asked for",
                boot.image,
                boot.accelerator,
                boot.warm,
                said.stderr.to_string_lossy().trim()
            ))),
        }
    }

    fn of(&self, side: &str, named: impl Fn(&str) -> bool) -> f64 {
        let stages = self.stages.iter();
        let chosen = stages.filter(|stage| stage.side == side && named(&stage.name));
        chosen.map(|stage| stage.ms).sum()
    }

    /// From QEMU's execution to the guest's init: what the host saw until the guest waited, less what
    /// the guest's first program had done until then, by the guest's own clock.
    fn to_init(&self) -> f64 {
        let until = |name: &str| ["qemu", "guest"].contains(&name);
        let before = |name: &str| !["kernel", "wait", "session"].contains(&name);
        self.of("host", until) - self.of("guest", before)
    }

    /// What the guest's first program did itself, kernel and waiting aside.
    fn own(&self) -> f64 {
        self.of("guest", |name| !["kernel", "wait"].contains(&name))
    }

    /// By the guest's clock, from its kernel's first instruction.
    fn clock(&self) -> f64 {
        self.of("guest", |_| true)
    }

    /// From QEMU's execution until the machine takes commands.
    pub(super) fn answer(&self) -> f64 {
        self.of("host", |name| name != "monitor")
    }

    /// The guest's stages.
    fn guest(&self) -> impl Iterator<Item = (String, f64)> {
        let guest = self.stages.iter().filter(|stage| stage.side == "guest");
        guest.map(|stage| (format!("stage {}", stage.name), stage.ms))
    }
}

fn cold() -> Row {
    Row {
        description: Description {
            name: "cold start".to_owned(),
            workload: "a kernel is started: the bare machine (the same QEMU, board, memory and kernel, \
                       no device, a first program of two system calls), `bailiwick boot --cold`, `run \
                       --cold -- true`; the machine shows the workspace"
                .to_owned(),
            includes: "bare: from before QEMU's fork to its init's word on the console; to the guest's \
                       init: from QEMU's execution to the host's news that the guest waits, less the \
                       guest's own time in between by its own clock; guest clock at READY: everything \
                       mounted, network up, agent there, the wait for the host included; own stages: \
                       the same without kernel and wait; run: the whole program, from before its fork \
                       to its end",
            verifier: "the machine is of the accelerator, image and kind that were asked for; each \
                       command ends with 0; the policy holds and the kernel is the image's, once \
                       before the rows",
            least: COLD,
            timed: true,
        },
        measure: Box::new(measure_cold),
    }
}

fn measure_cold(ground: &Ground<'_>, draft: &mut Draft) -> Result<(), Verdict> {
    let bare = ground.bare()?;
    let command = ground.run(Way::Cold, &[], &["true".into()]);
    for round in 0..=ground.amounts.runs.min(COLD) {
        let folder = ground.fixture.peers();
        draft.settle();
        let hello = bare
            .hello(&folder)
            .map_err(|e| Verdict::Fail(e.to_string()))?;
        draft.settle();
        let boot = Boot::take(ground, false, None)?;
        draft.settle();
        let run = ground.complete(&command)?;
        // The first of each reads files that lie in memory from then on.
        if round == 0 {
            continue;
        }
        for (name, ms) in [
            (BARE, hello.as_secs_f64() * 1000.0),
            (INIT, boot.to_init()),
            (CLOCK, boot.clock()),
            (OWN, boot.own()),
            (TOTAL, boot.total_ms),
            (COLD_RUN, run.ns as f64 / 1e6),
        ] {
            draft.add(name, "ms", [ms]);
        }
        for (name, ms) in boot.guest() {
            draft.add(&name, "ms", [ms]);
        }
    }
    let over_bare = |name: &str| ratio(draft.of(name), draft.of(BARE));
    let (init, run) = (over_bare(INIT), over_bare(COLD_RUN));
    let (clock, own) = (median(draft.of(CLOCK)), median(draft.of(OWN)));
    let medians = "the medians of one run";
    draft.limits.extend([
        limit(
            "cold start: to the guest's init over the bare kernel's",
            medians,
            "×",
            1.05,
            init,
        ),
        limit(
            "cold start: guest clock at READY",
            "the median",
            "ms",
            420.0,
            clock,
        ),
        limit(
            "cold start: init's own stages",
            "the median",
            "ms",
            60.0,
            own,
        ),
        limit(
            "cold start: the whole run over the bare kernel's boot",
            medians,
            "×",
            1.30,
            run,
        ),
    ]);
    Ok(())
}

fn warm() -> Row {
    Row {
        description: Description {
            name: "warm start".to_owned(),
            workload:
                "a template is copied: `bailiwick boot`, `run -- true`; beside it `run -- true` \
                       with the process backend, started afresh, and `true` itself"
                    .to_owned(),
            includes: "first answer: from QEMU's execution until the guest has its session (clock, \
                       names, files) and takes commands; run: the whole program, from before its fork \
                       to its end",
            verifier: "the machine is of the accelerator, image and kind that were asked for, and a \
                       copy; each command ends with 0; the policy holds and the kernel is the image's, \
                       once before the rows",
            least: 50,
            timed: true,
        },
        measure: Box::new(measure_warm),
    }
}

fn measure_warm(ground: &Ground<'_>, draft: &mut Draft) -> Result<(), Verdict> {
    let command = |way| ground.run(way, &[], &["true".into()]);
    let runs = [
        (WARM_RUN, command(Way::Warm)),
        (PROCESS_RUN, command(Way::Process)),
        (NATIVE_RUN, command(Way::Native)),
    ];
    // The first makes the template, where there is none.
    for round in 0..=ground.amounts.runs {
        draft.settle();
        let boot = Boot::take(ground, true, None)?;
        if round > 0 {
            draft.add(ANSWER, "ms", [boot.answer()]);
            draft.add(TOTAL, "ms", [boot.total_ms]);
        }
        for (name, argv) in &runs {
            draft.settle();
            let run = ground.complete(argv)?;
            if round > 0 {
                draft.add(name, "ms", [run.ns as f64 / 1e6]);
            }
        }
    }
    let (answer, run) = (median(draft.of(ANSWER)), median(draft.of(WARM_RUN)));
    draft.limits.extend([
        limit(
            "warm start: restore to the first answer",
            "the median",
            "ms",
            70.0,
            answer,
        ),
        limit(
            "warm start: run with a template",
            "the median",
            "ms",
            120.0,
            run,
        ),
    ]);
    Ok(())
}

#[cfg(test)]
#[path = "boot_tests.rs"]
mod tests;
