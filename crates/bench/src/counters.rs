//! What a run does, as numbers: programs, system calls, context switches, page faults. These runs
//! are not timed and no timed run is counted, because counting changes the time; a cell begins
//! with the same proof and ends with the same verifier as in a timed row.

use crate::count::{self, CALLS, Counted, SWITCHES};
use crate::evidence::recorded;
use crate::in_force::InForce;
use crate::measure::{self, Sample};
use crate::opening::{Opening, fault};
use crate::suite::Suite;
use crate::system::System;
use crate::verdict::Verdict;
use crate::workload::Workload;
use bailiwick_event::{Failure, Text};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;

/// Counted runs of each kind, after one that warms up.
const RUNS: u32 = 5;
/// The same, in a quick run.
const QUICK_RUNS: u32 = 2;

/// One system on one row, counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CounterRecord {
    pub row: String,
    pub workload: String,
    pub system: String,
    pub argv: Vec<Text>,
    pub in_force: Option<InForce>,
    /// Whether programs and system calls were counted, in traced runs.
    pub traced: Verdict,
    pub execs: Vec<u64>,
    pub calls: Vec<u64>,
    /// Whether switches and faults were counted, in runs that nobody traced.
    pub accounted: Verdict,
    pub voluntary: Vec<u64>,
    pub involuntary: Vec<u64>,
    pub minor: Vec<u64>,
    pub major: Vec<u64>,
}

impl CounterRecord {
    /// The worse of the two verdicts.
    pub(crate) fn verdict(&self) -> Verdict {
        self.traced.clone().worse(self.accounted.clone())
    }
}

/// Counts every column of a row but those that are no run of their own.
///
/// # Errors
/// [`Failure::Fault`] when the bench itself cannot go on; what a system does wrong is a verdict.
pub(crate) fn count(suite: &Suite<'_>, workload: &Workload) -> Result<Vec<CounterRecord>, Failure> {
    if let Some(extra) = workload.extra {
        extra
            .generate(suite.fixture)
            .map_err(|error| fault(workload, &error))?;
    }
    suite
        .systems
        .iter()
        .filter(|system| {
            workload.has(system) && !matches!(system, System::Inside) && !system.hands_over()
        })
        .map(|system| cell(suite, workload, system))
        .collect()
}

fn cell(suite: &Suite<'_>, workload: &Workload, system: &System) -> Result<CounterRecord, Failure> {
    let opening = Opening::of(suite, workload, system, None)?;
    let mut record = CounterRecord {
        row: workload.name.clone(),
        workload: workload.definition.clone(),
        system: system.name().to_owned(),
        argv: recorded(&opening.argv),
        in_force: opening.in_force,
        traced: Verdict::Pass,
        execs: Vec::new(),
        calls: Vec::new(),
        accounted: Verdict::Pass,
        voluntary: Vec::new(),
        involuntary: Vec::new(),
        minor: Vec::new(),
        major: Vec::new(),
    };
    if let Some(out) = opening.out {
        (record.traced, record.accounted) = (out.clone(), out);
        return Ok(record);
    }
    match untraceable(system) {
        Some(verdict) => record.traced = verdict,
        None => match counted(suite, workload, CALLS, &opening.argv)? {
            Ok(runs) => {
                record.execs = runs.iter().map(|run| run.execs).collect();
                record.calls = runs.iter().map(|run| run.calls).collect();
            }
            Err(reason) => record.traced = Verdict::Fail(reason),
        },
    }
    match counted(suite, workload, SWITCHES, &opening.argv)? {
        Ok(runs) => {
            record.voluntary = runs.iter().map(|run| run.voluntary).collect();
            record.involuntary = runs.iter().map(|run| run.involuntary).collect();
            record.minor = runs.iter().map(|run| run.minor).collect();
            record.major = runs.iter().map(|run| run.major).collect();
        }
        Err(reason) => record.accounted = Verdict::Fail(reason),
    }
    Ok(record)
}

/// The kernel gives a traced set-user-id program no rights that its tracer does not have.
fn untraceable(system: &System) -> Option<Verdict> {
    const SET_USER_ID: u32 = 0o4000;
    let meta = system.program()?.metadata().ok()?;
    let gains = meta.mode() & SET_USER_ID != 0 && meta.uid() != rustix::process::geteuid().as_raw();
    (gains && !rustix::process::geteuid().is_root()).then(|| {
        Verdict::NotApplicable(
            "its calls cannot be counted by an ordinary user: it is a set-user-id program, which \
             has no rights while a user traces it"
                .to_owned(),
        )
    })
}

/// The runs of one kind, all of them verified, or why there are none.
fn counted(
    suite: &Suite<'_>,
    workload: &Workload,
    kind: &str,
    argv: &[OsString],
) -> Result<Result<Vec<Counted>, String>, Failure> {
    let command = count::command(&suite.fixture.helper(), kind, argv);
    let runs = if suite.quick { QUICK_RUNS } else { RUNS };
    let mut counted = Vec::new();
    for run in 0..=runs {
        workload
            .prepare()
            .map_err(|error| fault(workload, &error))?;
        let sample = measure::run_within(
            workload.time_limit,
            &command,
            &workload.workspace,
            &suite.variables,
        )
        .map_err(|error| fault(workload, &error))?;
        match verified(workload, &sample) {
            Ok(result) if run > 0 => counted.push(result),
            Ok(_) => {}
            Err(reason) => return Ok(Err(format!("counted run {run}: {reason}"))),
        }
    }
    Ok(Ok(counted))
}

fn verified(workload: &Workload, sample: &Sample) -> Result<Counted, String> {
    if sample.signal == Some(libc::SIGALRM) {
        return Err("something of it ran on long after its end".to_owned());
    }
    if sample.code != Some(0) {
        return Err(sample.ending());
    }
    let counted: Counted = serde_json::from_slice(sample.stdout.as_bytes())
        .map_err(|error| format!("the helper that counts answered nonsense: {error}"))?;
    let command = Sample {
        code: counted.code,
        signal: counted.signal,
        stdout: counted.stdout.clone(),
        stderr: counted.stderr.clone(),
        ..sample.clone()
    };
    workload.verify(&command).map(|()| counted)
}
