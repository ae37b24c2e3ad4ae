//! The evidence of the suites about the boundary. It has the same parts as that of `bench overhead`
//! (machine, product, policies, verdicts); its rows are series of samples and the limits that come
//! out of them. What the verifier found and what the row is worth are two fields: a busy machine
//! takes a figure's worth away, and not the fact that all of it was right.

use crate::environment::Environment;
use crate::evidence::{Authority, LimitRecord, ProductRecord};
use crate::gate::tally::Tally;
use crate::in_force::InForce;
use crate::machine::MachineRecord;
use crate::outcome::{Outcome, RowVerdict, limit_line};
use crate::statistics::{Estimate, median};
use crate::verdict::Verdict;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The version of the file's form.
pub(crate) const SCHEMA: u32 = 1;
/// Fewer samples have no 99th percentile.
const ENOUGH_FOR_P99: usize = 100;

/// One run of a suite.
#[derive(Serialize)]
pub(crate) struct Record {
    pub schema: u32,
    pub suite: String,
    pub run_id: String,
    /// RFC 3339, UTC.
    pub started: String,
    /// RFC 3339, UTC.
    pub finished: String,
    /// Whether the run may be published: release builds, and not quick.
    pub publishable: bool,
    pub quick: bool,
    /// In which order samples are taken.
    pub order: String,
    pub authority: Vec<Authority>,
    pub product: ProductRecord,
    pub environment: Environment,
    /// The machine that was measured; none where none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineRecord>,
    /// What each sandbox refused before anything was timed, where that was found out once for all rows.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub in_force: BTreeMap<String, InForce>,
    pub rows: Vec<BoundaryRow>,
    /// The name of the raw log beside this file.
    pub log: String,
}

/// One row.
#[derive(Serialize)]
pub(crate) struct BoundaryRow {
    pub name: String,
    /// What is done, independent of the machine.
    pub workload: String,
    /// What a sample includes.
    pub includes: String,
    /// What was checked.
    pub verifier: String,
    /// What the verifier found.
    pub verified: Verdict,
    /// The same, and whether the machine let the figures mean something.
    pub verdict: Verdict,
    /// The share of the machine's time that others used between the samples.
    pub busy: Option<f64>,
    /// What was counted, by who counted it.
    pub counted: BTreeMap<String, Tally>,
    pub series: Vec<Series>,
    pub limits: Vec<LimitRecord>,
}

/// Samples of one thing.
#[derive(Serialize)]
pub(crate) struct Series {
    pub name: String,
    pub unit: String,
    /// In the order in which they were taken.
    pub samples: Vec<f64>,
    /// None where the row is not a pass.
    pub summary: Option<Summary>,
}

/// What there is to say about samples.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Summary {
    pub min: f64,
    pub mean: f64,
    pub median: Estimate,
    pub p95: f64,
    /// None where there are too few.
    pub p99: Option<f64>,
    pub max: f64,
}

impl Series {
    /// Samples in their unit.
    pub(crate) fn new(name: &str, unit: &str, samples: Vec<f64>) -> Self {
        Self {
            name: name.to_owned(),
            unit: unit.to_owned(),
            samples,
            summary: None,
        }
    }

    pub(crate) fn summarise(&mut self) {
        self.summary = Summary::of(&self.samples);
    }
}

impl Summary {
    /// None of nothing.
    pub(crate) fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
        Some(Self {
            median: median(samples)?,
            min: *sorted.first()?,
            mean: samples.iter().sum::<f64>() / samples.len() as f64,
            p95: at(0.95),
            p99: (samples.len() >= ENOUGH_FOR_P99).then(|| at(0.99)),
            max: *sorted.last()?,
        })
    }
}

/// A limit that a value must not exceed; `verdict` is decided with the row.
pub(crate) fn limit(
    name: &str,
    includes: &str,
    unit: &str,
    limit: f64,
    value: Option<Estimate>,
) -> LimitRecord {
    LimitRecord {
        name: name.to_owned(),
        includes: includes.to_owned(),
        argv: Vec::new(),
        unit: unit.to_owned(),
        limit,
        samples: Vec::new(),
        verdict: match value {
            Some(_) => Verdict::Pass,
            None => Verdict::Inconclusive("there are too few samples".to_owned()),
        },
        value,
        met: value.and_then(|v| v.meets(limit)),
    }
}

/// A value that is no statistic: a peak, a count.
pub(crate) fn once(value: f64) -> Estimate {
    Estimate {
        value,
        low: value,
        high: value,
        samples: 0,
    }
}

impl BoundaryRow {
    /// With figures where the verdict is a pass, and without any where it is not.
    pub(crate) fn decided(mut self) -> Self {
        let passed = self.verdict.passed();
        for limit in &mut self.limits {
            if !passed {
                limit.verdict = self.verdict.clone();
                (limit.value, limit.met) = (None, None);
            }
        }
        if passed {
            self.series.iter_mut().for_each(Series::summarise);
        }
        self
    }
}

impl Record {
    /// What a person sees of it.
    pub(crate) fn outcome(&self, path: PathBuf) -> Outcome {
        let mut rows = Vec::new();
        for row in &self.rows {
            rows.push(RowVerdict {
                name: row.name.clone(),
                verdict: row.verdict.clone(),
            });
            rows.extend(row.limits.iter().map(|limit| RowVerdict {
                name: limit.name.clone(),
                verdict: limit.outcome(),
            }));
        }
        Outcome::of(rows, self.text(), path)
    }

    fn text(&self) -> String {
        let kind = match (self.quick, self.publishable) {
            (true, _) => "quick, not for publication",
            (false, true) => "for publication where a row passed",
            (false, false) => "not for publication",
        };
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{} {}: {kind}\n{} on {}, {}\n{}",
            self.suite,
            self.run_id,
            self.product.version,
            self.environment.cpu_model,
            self.environment.class,
            self.table()
        );
        if let Some(machine) = &self.machine {
            let _ = writeln!(text, "{machine}");
        }
        for limit in self.rows.iter().flat_map(|row| &row.limits) {
            if limit.verdict.passed() {
                let _ = writeln!(text, "{}", limit_line(limit));
            }
        }
        for row in self.rows.iter().filter(|row| !row.verdict.passed()) {
            let _ = writeln!(text, "{}: {}", row.name, row.verdict);
        }
        text
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table
            .load_style(presets::ASCII_HORIZONTAL_ONLY)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(["", "", "n", "median", "p95", "p99", "max", ""]);
        for row in &self.rows {
            if !row.verdict.passed() {
                table.add_row([row.name.as_str(), row.verdict.word()]);
                continue;
            }
            for (n, series) in row.series.iter().enumerate() {
                let Some(summary) = series.summary else {
                    continue;
                };
                let name = if n == 0 { row.name.as_str() } else { "" };
                let mut cells = vec![Cell::new(name), Cell::new(&series.name)];
                let figure = |value: Option<f64>| {
                    let shown = value.map_or(String::new(), |v| format!("{v:.1}"));
                    Cell::new(shown).set_alignment(CellAlignment::Right)
                };
                cells.push(Cell::new(series.samples.len()).set_alignment(CellAlignment::Right));
                cells.push(figure(Some(summary.median.value)));
                cells.push(figure(Some(summary.p95)));
                cells.push(figure(summary.p99));
                cells.push(figure(Some(summary.max)));
                cells.push(Cell::new(&series.unit));
                table.add_row(cells);
            }
        }
        table
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
