//! One row, measured. The systems take turns, sample by sample, so that whatever the machine does
//! meanwhile happens to all of them alike; a system that fails its verifier once is out, because a
//! median over the runs that happened to work is a lie.

use crate::conditions::Facts;
use crate::evidence::{CellRecord, RowRecord, recorded};
use crate::in_force::InForce;
use crate::inside_session::InsideSession;
use crate::measure::{self, Sample};
use crate::statistics::{mann_whitney, median, ratio};
use crate::suite::Suite;
use crate::system::{COLD, INSIDE, PLAIN, System};
use crate::verdict::Verdict;
use crate::workload::{Job, Workload};
use bailiwick_event::Failure;
use std::ffi::OsString;

struct Cell {
    system: &'static str,
    argv: Vec<OsString>,
    in_force: Option<InForce>,
    /// Where the commands are timed, when that is inside the sandbox.
    session: Option<InsideSession>,
    samples: Vec<Sample>,
    /// Why the system is out.
    out: Option<Verdict>,
}

/// Measures one row.
///
/// # Errors
/// [`Failure::Fault`] when the bench itself cannot go on; what a system does wrong is a verdict.
pub(crate) fn measure(suite: &mut Suite<'_>, workload: &Workload) -> Result<RowRecord, Failure> {
    let mut cells = Vec::with_capacity(suite.systems.len());
    for system in &suite.systems {
        let same: Option<&Cell> = match system {
            System::Inside => cells.iter().find(|cell: &&Cell| cell.system == COLD),
            _ => None,
        };
        let known = same.and_then(|cell| cell.in_force.clone());
        cells.push(open(suite, workload, system, known)?);
    }
    for run in 0..=suite.runs {
        for cell in &mut cells {
            if cell.out.is_none() {
                take(suite, workload, cell, run)?;
            }
        }
    }
    suite.log.flush().map_err(|error| fault(workload, &error))?;
    Ok(record(suite, workload, cells))
}

fn fault(workload: &Workload, error: &std::io::Error) -> Failure {
    Failure::fault(format!("row \"{}\": {error}", workload.name))
}

/// Builds the command line and has the sandbox prove itself.
fn open(
    suite: &Suite<'_>,
    workload: &Workload,
    system: &System,
    known: Option<InForce>,
) -> Result<Cell, Failure> {
    let mut cell = Cell {
        system: system.name(),
        argv: Vec::new(),
        in_force: None,
        session: None,
        samples: Vec::new(),
        out: None,
    };
    let job = match (&workload.job, &workload.plain, system) {
        (Err(missing), _, _) => {
            cell.out = Some(Verdict::Absent(missing.clone()));
            return Ok(cell);
        }
        (Ok(_), Some(plain), System::Plain) => plain.clone(),
        (Ok(job), _, System::Inside) => timed_inside(suite, job),
        (Ok(job), _, _) => job.clone(),
    };
    match system.argv(&suite.product, workload, &job) {
        Ok(argv) => cell.argv = argv,
        Err(verdict) => {
            cell.out = Some(verdict);
            return Ok(cell);
        }
    }
    if !matches!(system, System::Plain) {
        let found = match known {
            Some(found) => found,
            None => prove(suite, workload, system)?,
        };
        if !found.holds {
            cell.out = Some(Verdict::Fail(format!("not in force: {}", found.detail)));
        }
        cell.in_force = Some(found);
    }
    if cell.out.is_none() && matches!(system, System::Inside) {
        let workspace = suite.fixture.workspace();
        match InsideSession::start(&cell.argv, &workspace, &suite.variables) {
            Ok(session) => cell.session = Some(session),
            Err(reason) => cell.out = Some(Verdict::Fail(reason)),
        }
    }
    Ok(cell)
}

/// The helper that runs `job` once per turn, and once more to warm up.
fn timed_inside(suite: &Suite<'_>, job: &Job) -> Job {
    let path = suite.fixture.helper();
    let runs = (suite.runs + 1).to_string();
    let mut argv: Vec<OsString> = vec![path.clone().into()];
    argv.extend(["bench", "inside", "--runs", &runs, "--"].map(OsString::from));
    argv.extend(job.argv.iter().cloned());
    Job { argv, path }
}

fn prove(suite: &Suite<'_>, workload: &Workload, system: &System) -> Result<InForce, Failure> {
    let helper = suite.fixture.helper();
    let attempt = Job {
        argv: suite.yard.command(&helper),
        path: helper,
    };
    let workspace = suite.fixture.workspace();
    match system.argv(&suite.product, workload, &attempt) {
        Ok(argv) => suite
            .yard
            .check(&argv, &workspace, &suite.variables)
            .map_err(|error| fault(workload, &error)),
        Err(verdict) => Ok(InForce {
            checks: crate::in_force::CHECKS.to_owned(),
            holds: false,
            detail: verdict.to_string(),
        }),
    }
}

/// One turn of one system.
fn take(
    suite: &mut Suite<'_>,
    workload: &Workload,
    cell: &mut Cell,
    run: u32,
) -> Result<(), Failure> {
    workload
        .prepare()
        .map_err(|error| fault(workload, &error))?;
    let taken = match &mut cell.session {
        Some(session) => session.step(),
        None => measure::run(&cell.argv, &suite.fixture.workspace(), &suite.variables)
            .map_err(|error| error.to_string()),
    };
    let sample = match taken {
        Ok(sample) => sample,
        Err(reason) => {
            cell.out = Some(Verdict::Fail(format!("run {run}: {reason}")));
            return Ok(());
        }
    };
    let verified = workload.verify(&sample);
    suite
        .log
        .sample(&workload.name, cell.system, run, &sample, &verified)
        .map_err(|error| fault(workload, &error))?;
    if let Err(reason) = verified {
        cell.out = Some(Verdict::Fail(format!("run {run}: {reason}")));
    }
    if run > 0 {
        cell.samples.push(sample);
    }
    Ok(())
}

fn record(suite: &Suite<'_>, workload: &Workload, cells: Vec<Cell>) -> RowRecord {
    let mut cells: Vec<CellRecord> = cells.into_iter().map(|cell| judge(suite, cell)).collect();
    let samples = |system: &str| {
        cells
            .iter()
            .find(|cell| cell.system == system)
            .and_then(CellRecord::passed_samples)
    };
    let (plain, cold) = (samples(PLAIN), samples(COLD));
    for cell in &mut cells {
        let Some(own) = cell.passed_samples() else {
            continue;
        };
        cell.median = median(&own);
        cell.factor = plain.as_ref().and_then(|plain| ratio(&own, plain));
        if cell.system != COLD {
            cell.p_against_cold = cold.as_ref().map(|cold| mann_whitney(&own, cold));
        }
    }
    let verdict = cells
        .iter()
        .filter(|cell| [PLAIN, COLD, INSIDE].contains(&cell.system.as_str()))
        .fold(Verdict::Pass, |worst, cell| {
            worst.worse(match &cell.verdict {
                Verdict::Fail(reason) => Verdict::Fail(format!("{}: {reason}", cell.system)),
                other => other.clone(),
            })
        });
    RowRecord {
        name: workload.name.clone(),
        workload: workload.definition.clone(),
        includes: workload.includes.to_owned(),
        verifier: workload.verifier.clone(),
        control: suite.control.clone(),
        verdict,
        cells,
    }
}

fn judge(suite: &Suite<'_>, cell: Cell) -> CellRecord {
    let ran: u64 = cell.samples.iter().map(|s| s.run_ns).sum();
    let waited: u64 = cell.samples.iter().map(|s| s.wait_ns).sum();
    let contention = (ran > 0).then(|| waited as f64 / ran as f64);
    let verdict = cell.out.unwrap_or_else(|| {
        suite.conditions.judge(&Facts {
            samples: cell.samples.len(),
            contention,
            load: suite.load,
            quick: suite.quick,
        })
    });
    CellRecord {
        system: cell.system.to_owned(),
        argv: recorded(&cell.argv),
        verdict,
        in_force: cell.in_force,
        contention,
        unit: "ns".to_owned(),
        samples: cell.samples.iter().map(|s| s.ns).collect(),
        user_us: cell.samples.iter().map(|s| s.user_us).collect(),
        system_us: cell.samples.iter().map(|s| s.system_us).collect(),
        median: None,
        factor: None,
        p_against_cold: None,
    }
}
