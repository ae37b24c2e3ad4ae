//! What a row is and how it is decided. A row is measured only once it has run to its end and its
//! verifier has found everything right; before that there is nothing to look at.

use super::record::{BoundaryRow, Series};
use super::side::{Side, close};
use super::site::Site;
use super::tally::Tally;
use crate::conditions::{Conditions, Contention, Facts};
use crate::evidence::LimitRecord;
use crate::peace::Peace;
use crate::verdict::Verdict;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long the machine is left alone before each block of samples.
const SETTLE: Duration = Duration::from_millis(100);

/// What checks a row that has clients.
pub(crate) const VERIFIER: &str = "status, length and every byte of each answer; the issuer of each \
    connection's certificate as the client saw it (the gate's authority behind the gate, the \
    benchmark's without); the rows of the run's ledger, of every kind, exactly; the requests that \
    the server has seen, exactly";

/// How a row is measured; what it finds wrong is its verdict.
type Measure = Box<dyn Fn(&Site, &mut Draft) -> Result<(), Verdict>>;

/// One row.
pub(crate) struct Row {
    pub name: String,
    /// What is done.
    pub workload: String,
    /// What a sample includes.
    pub includes: &'static str,
    pub verifier: &'static str,
    /// Whether it is run only when it is asked for.
    pub long: bool,
    /// So many samples are enough.
    pub least: u32,
    pub measure: Measure,
}

/// What is being measured.
#[derive(Default)]
pub(crate) struct Draft {
    pub series: Vec<Series>,
    pub limits: Vec<LimitRecord>,
    pub counted: BTreeMap<String, Tally>,
    peace: Peace,
}

impl Draft {
    /// Leaves the machine alone for a moment, and notes what it does then.
    pub(crate) fn settle(&mut self) {
        self.peace.keep(|| std::thread::sleep(SETTLE));
    }

    /// More samples of a series, which is made where there is none.
    pub(crate) fn add(&mut self, name: &str, unit: &str, samples: impl IntoIterator<Item = f64>) {
        match self.series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.samples.extend(samples),
            None => {
                let samples = samples.into_iter().collect();
                self.series.push(Series::new(name, unit, samples));
            }
        }
    }

    /// More samples in microseconds, of nanoseconds.
    pub(crate) fn add_us(&mut self, name: &str, ns: &[u64]) {
        self.add(name, "µs", ns.iter().map(|ns| *ns as f64 / 1000.0));
    }

    /// The samples of a series.
    pub(crate) fn of(&self, name: &str) -> &[f64] {
        let series = self.series.iter().find(|series| series.name == name);
        series.map_or(&[], |series| &series.samples)
    }

    /// Ends the clients and compares what they have left behind.
    pub(crate) fn close(&mut self, site: &Site, sides: Vec<Side<'_>>) -> Result<(), Verdict> {
        self.counted.extend(close(site, sides)?);
        Ok(())
    }
}

impl Row {
    /// Measures it, unless something that it needs does not hold.
    pub(crate) fn take(
        &self,
        conditions: &Conditions,
        load: f64,
        site: &Site,
        broken: Option<&Verdict>,
    ) -> BoundaryRow {
        let mut draft = Draft::default();
        let measured = match broken {
            Some(verdict) => Err(verdict.clone()),
            None => (self.measure)(site, &mut draft),
        };
        // A row that broke off leaves nothing to the next one's count.
        site.origin.take();
        let description = Description {
            name: self.name.clone(),
            workload: self.workload.clone(),
            includes: self.includes,
            verifier: self.verifier,
            least: self.least,
            timed: true,
        };
        draft.judged(&description, measured, conditions, load, site.quick)
    }
}

/// What a row says of itself.
pub(crate) struct Description {
    pub name: String,
    /// What is done.
    pub workload: String,
    /// What a sample includes.
    pub includes: &'static str,
    pub verifier: &'static str,
    /// So many samples are enough.
    pub least: u32,
    /// Whether it is about time, of which a busy machine takes some; it takes no memory from a program.
    pub timed: bool,
}

impl Draft {
    /// The row that it comes to.
    pub(crate) fn judged(
        self,
        description: &Description,
        measured: Result<(), Verdict>,
        conditions: &Conditions,
        load: f64,
        quick: bool,
    ) -> BoundaryRow {
        let verified = measured.err().unwrap_or(Verdict::Pass);
        let busy = self.peace.busy();
        let samples = self.series.iter().map(|series| series.samples.len());
        let facts = Facts {
            samples: samples.min().unwrap_or(0),
            most_runs: Some(description.least),
            contention: match description.timed {
                true => busy.map_or(Contention::Unknown, Contention::OfMachine),
                false => Contention::OfMachine(0.0),
            },
            load: if description.timed { load } else { 0.0 },
            quick,
        };
        let verdict = match verified {
            Verdict::Pass => conditions.judge(&facts),
            ref other => other.clone(),
        };
        BoundaryRow {
            name: description.name.clone(),
            workload: description.workload.clone(),
            includes: description.includes.to_owned(),
            verifier: description.verifier.to_owned(),
            verified,
            verdict,
            busy,
            counted: self.counted,
            series: self.series,
            limits: self.limits,
        }
        .decided()
    }
}
