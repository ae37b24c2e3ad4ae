//! One row, measured. The systems take turns, sample by sample, so that whatever the machine does
//! meanwhile happens to all of them alike; a system that fails its verifier once is out, because a
//! median over the runs that happened to work is a lie.

use crate::against::Against;
use crate::companion::Companion;
use crate::conditions::{Contention, Facts};
use crate::evidence::{CellRecord, RowRecord, recorded};
use crate::in_force::InForce;
use crate::inside_session::InsideSession;
use crate::measure::{self, Sample};
use crate::opening::{Opening, fault};
use crate::peace::Peace;
use crate::statistics::{mann_whitney, median, ratio};
use crate::suite::Suite;
use crate::system::{COLD, EXEC, PLAIN, System, is_own};
use crate::verdict::Verdict;
use crate::workload::Workload;
use bailiwick_event::Failure;
use std::ffi::OsString;
use std::time::Duration;

/// How long the machine is left alone before each sample. What the one before has left to be done
/// (the kernel takes network namespaces apart, a new sandbox is made for the next run) is not the
/// next system's to pay for.
pub(crate) const SETTLE: Duration = Duration::from_millis(100);

struct Cell {
    system: &'static str,
    argv: Vec<OsString>,
    in_force: Option<InForce>,
    /// Where the commands are timed, when that is inside the sandbox.
    session: Option<InsideSession>,
    /// What the commands enter.
    _companion: Option<Companion>,
    samples: Vec<Sample>,
    /// What the machine did before each sample.
    peace: Peace,
    /// Whether what is timed hands its work to other processes.
    hands_over: bool,
    /// Why the system is out.
    out: Option<Verdict>,
}

/// Measures one row.
///
/// # Errors
/// [`Failure::Fault`] when the bench itself cannot go on; what a system does wrong is a verdict.
pub(crate) fn measure(suite: &mut Suite<'_>, workload: &Workload) -> Result<RowRecord, Failure> {
    if let Some(extra) = workload.extra {
        extra
            .generate(suite.fixture)
            .map_err(|error| fault(workload, &error))?;
    }
    let mut cells = Vec::with_capacity(suite.systems.len());
    for system in suite.systems.iter().filter(|s| workload.has(s)) {
        let same = match system {
            System::Inside => Some(COLD),
            System::Connection => Some(EXEC),
            _ => None,
        };
        let same = same.and_then(|same| cells.iter().find(|cell: &&Cell| cell.system == same));
        let known = same.and_then(|cell| cell.in_force.clone());
        cells.push(open(suite, workload, system, known)?);
    }
    for run in 0..=workload.runs(suite.runs) {
        if let Some(against) = suite.against.as_ref().filter(|_| Against::is_due(run)) {
            against.renew().map_err(|error| fault(workload, &error))?;
            for cell in cells.iter_mut().filter(|cell| cell.out.is_none()) {
                take(suite, workload, cell, 0)?;
            }
        }
        // Of two builds none is always the one that comes after the other.
        if suite.against.is_some() {
            cells.reverse();
        }
        for cell in &mut cells {
            if cell.out.is_none() {
                take(suite, workload, cell, run)?;
            }
        }
    }
    suite.log.flush().map_err(|error| fault(workload, &error))?;
    let place = |cell: &Cell| suite.systems.iter().position(|s| s.name() == cell.system);
    cells.sort_by_key(place);
    Ok(record(suite, workload, cells))
}

/// Builds the command line, has the sandbox prove itself, and starts what runs all the time.
fn open(
    suite: &Suite<'_>,
    workload: &Workload,
    system: &System,
    known: Option<InForce>,
) -> Result<Cell, Failure> {
    let companion = system
        .companion(&suite.product, workload)
        .map(|argv| Companion::start(&argv, &workload.workspace, &suite.variables));
    let (companion, broken) = match companion {
        Some(Err(reason)) => (None, Some(Verdict::Fail(reason))),
        other => (other.and_then(Result::ok), None),
    };
    let Opening {
        argv,
        in_force,
        out,
    } = Opening::of(suite, workload, system, known)?;
    let out = broken.or(out);
    let mut cell = Cell {
        system: system.name(),
        argv,
        in_force,
        session: None,
        _companion: companion,
        samples: Vec::new(),
        peace: Peace::default(),
        hands_over: system.hands_over() || workload.piped,
        out,
    };
    if cell.out.is_none() && matches!(system, System::Inside | System::Connection) {
        match InsideSession::start(&cell.argv, &workload.workspace, &suite.variables) {
            Ok(session) => cell.session = Some(session),
            Err(reason) => cell.out = Some(Verdict::Fail(reason)),
        }
    }
    Ok(cell)
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
    cell.peace.keep(|| std::thread::sleep(SETTLE));
    let taken = match &mut cell.session {
        Some(session) => session.step(),
        None => measure::run_within(
            workload.time_limit,
            &cell.argv,
            &workload.workspace,
            &suite.variables,
        )
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
    let mut cells: Vec<CellRecord> = cells
        .into_iter()
        .map(|cell| judge(suite, workload, cell))
        .collect();
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
    let verdict =
        cells
            .iter()
            .filter(|cell| is_own(&cell.system))
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
        acts: workload.acts,
        verifier: workload.verifier.clone(),
        control: suite.control.clone(),
        verdict,
        cells,
    }
}

fn judge(suite: &Suite<'_>, workload: &Workload, cell: Cell) -> CellRecord {
    let ran: u64 = cell.samples.iter().map(|s| s.run_ns).sum();
    let waited: u64 = cell.samples.iter().map(|s| s.wait_ns).sum();
    let contention = match cell.hands_over {
        true => cell
            .peace
            .busy()
            .map_or(Contention::Unknown, Contention::OfMachine),
        false => Contention::of_processes(ran, waited),
    };
    let verdict = cell.out.unwrap_or_else(|| {
        suite.conditions.judge(&Facts {
            samples: cell.samples.len(),
            most_runs: workload.most_runs,
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
        contention: contention.share(),
        unit: "ns".to_owned(),
        samples: cell.samples.iter().map(|s| s.ns).collect(),
        user_us: cell.samples.iter().map(|s| s.user_us).collect(),
        system_us: cell.samples.iter().map(|s| s.system_us).collect(),
        median: None,
        factor: None,
        p_against_cold: None,
    }
}
