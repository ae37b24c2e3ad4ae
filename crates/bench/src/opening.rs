//! What stands before the first run of a cell: its command line, and the proof that the sandbox in
//! it is one. Timed and counted runs begin here alike, so that neither measures a sandbox that
//! does not hold.

use crate::in_force::{CHECKS, InForce};
use crate::suite::Suite;
use crate::system::System;
use crate::verdict::Verdict;
use crate::workload::{Job, Workload};
use bailiwick_event::Failure;
use std::ffi::OsString;

/// A cell that may run, or what stands in its place.
pub(crate) struct Opening {
    pub argv: Vec<OsString>,
    pub in_force: Option<InForce>,
    /// Why it does not run.
    pub out: Option<Verdict>,
}

/// A failure of the bench itself in a row.
pub(crate) fn fault(workload: &Workload, error: &std::io::Error) -> Failure {
    Failure::fault(format!("row \"{}\": {error}", workload.name))
}

impl Opening {
    /// Builds the command line and has the sandbox prove itself; `known` is the proof of the same
    /// configuration, where there is one already.
    ///
    /// # Errors
    /// [`Failure::Fault`] when the bench itself cannot go on.
    pub(crate) fn of(
        suite: &Suite<'_>,
        workload: &Workload,
        system: &System,
        known: Option<InForce>,
    ) -> Result<Self, Failure> {
        let mut opening = Self {
            argv: Vec::new(),
            in_force: None,
            out: None,
        };
        let job = match (&workload.job, &workload.plain, system) {
            (Err(missing), _, _) => {
                opening.out = Some(Verdict::Absent(missing.clone()));
                return Ok(opening);
            }
            (Ok(_), Some(plain), System::Plain) => plain.clone(),
            (Ok(job), _, System::Inside) => {
                timed_inside(suite, workload, workload.line(job.argv.clone()))
            }
            (Ok(job), _, _) => job.clone(),
        };
        match system.argv(&suite.product, workload, &job) {
            Ok(argv) if matches!(system, System::Inside) => opening.argv = argv,
            Ok(argv) => opening.argv = workload.line(argv),
            Err(verdict) => {
                opening.out = Some(verdict);
                return Ok(opening);
            }
        }
        if !matches!(system, System::Plain) {
            let found = match known {
                Some(found) => found,
                None => prove(suite, workload, system)?,
            };
            if !found.holds {
                opening.out = Some(Verdict::Fail(format!("not in force: {}", found.detail)));
            }
            opening.in_force = Some(found);
        }
        Ok(opening)
    }
}

/// The helper that runs the command once per turn, and once more to warm up.
fn timed_inside(suite: &Suite<'_>, workload: &Workload, line: Vec<OsString>) -> Job {
    let path = workload.helper();
    let runs = (workload.runs(suite.runs) + 1).to_string();
    let mut argv: Vec<OsString> = vec![path.clone().into()];
    argv.extend(["bench", "inside", "--runs", &runs, "--"].map(OsString::from));
    argv.extend(line);
    Job { argv, path }
}

fn prove(suite: &Suite<'_>, workload: &Workload, system: &System) -> Result<InForce, Failure> {
    let helper = workload.helper();
    let attempt = Job {
        argv: suite.yard.command(&helper),
        path: helper,
    };
    match system.argv(&suite.product, workload, &attempt) {
        Ok(argv) => suite
            .yard
            .check(&argv, &workload.workspace, &suite.variables)
            .map_err(|error| fault(workload, &error)),
        Err(verdict) => Ok(InForce {
            checks: CHECKS.to_owned(),
            holds: false,
            detail: verdict.to_string(),
        }),
    }
}
