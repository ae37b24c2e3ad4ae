//! What a person sees of a run. A cell is a figure or the word that stands in its place, never
//! both, and every word's reason follows below the table.

use crate::against;
use crate::counter_table;
use crate::evidence::{CellRecord, Evidence, LimitRecord};
use crate::statistics::Estimate;
use crate::system::{PLAIN, is_own};
use crate::verdict::Verdict;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use std::fmt::{self, Write as _};
use std::path::PathBuf;

/// The result of a suite.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The evidence file. The raw log lies beside it.
    pub evidence: PathBuf,
    /// One verdict per row, per limit and per counted run of ours, in the table's order: of rows,
    /// the worse of the plain column's and the product's.
    pub rows: Vec<RowVerdict>,
    /// Whether the product passed every row whose program is installed, and met every limit that
    /// could be measured. What peers do does not count.
    pub all_passed: bool,
    table: String,
}

/// What was found about one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowVerdict {
    /// The row's name.
    pub name: String,
    /// Its verdict. A limit that was measured and missed is a fail.
    pub verdict: Verdict,
}

impl Outcome {
    /// The outcome of a run whose evidence lies at `path`.
    pub(crate) fn new(evidence: &Evidence, path: PathBuf) -> Self {
        let mut rows: Vec<RowVerdict> = evidence
            .rows
            .iter()
            .map(|row| RowVerdict {
                name: row.name.clone(),
                verdict: row.verdict.clone(),
            })
            .collect();
        rows.extend(evidence.limits.iter().map(|limit| RowVerdict {
            name: limit.name.clone(),
            verdict: limit.outcome(),
        }));
        let counted = evidence
            .counters
            .iter()
            .filter(|record| is_own(&record.system));
        rows.extend(counted.map(|record| RowVerdict {
            name: format!("counters of {}, {}", record.row, record.system),
            verdict: record.verdict(),
        }));
        Self::of(rows, text(evidence), path)
    }

    /// What these verdicts come to.
    pub(crate) fn of(rows: Vec<RowVerdict>, table: String, evidence: PathBuf) -> Self {
        let fine = |v: &Verdict| matches!(v, Verdict::Pass | Verdict::Absent(_));
        Self {
            all_passed: rows.iter().all(|row| fine(&row.verdict))
                && rows.iter().any(|row| row.verdict.passed()),
            rows,
            table,
            evidence,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.table)?;
        writeln!(f, "evidence: {}", self.evidence.display())
    }
}

impl LimitRecord {
    /// The verdict of the row that it is.
    pub(crate) fn outcome(&self) -> Verdict {
        match (&self.verdict, self.met) {
            (Verdict::Pass, Some(false)) => Verdict::Fail("the limit is exceeded".to_owned()),
            (Verdict::Pass, None) if self.value.is_some() => {
                Verdict::Absent("one sample decides no limit".to_owned())
            }
            (verdict, _) => verdict.clone(),
        }
    }
}

fn text(evidence: &Evidence) -> String {
    let mut text = String::new();
    let parameters = &evidence.parameters;
    let kind = match (parameters.quick, evidence.publishable) {
        (true, _) => "quick, not for publication",
        (false, true) => "for publication where a row passed",
        (false, false) => "not for publication",
    };
    let _ = writeln!(
        text,
        "overhead {}: {} runs per system and row, {kind}\n\
         {} on {}, {}",
        evidence.run_id,
        parameters.runs,
        evidence.product.version,
        evidence.environment.cpu_model,
        evidence.environment.class,
    );
    if !evidence.rows.is_empty() {
        let _ = writeln!(
            text,
            "median wall time, and the factor over plain [95 % confidence interval]\n{}",
            rows(evidence)
        );
    }
    for told in evidence.rows.iter().filter_map(against::told) {
        let _ = writeln!(text, "{told}");
    }
    for limit in &evidence.limits {
        let _ = writeln!(text, "{}", limit_line(limit));
    }
    let missing: Vec<&str> = evidence
        .systems
        .iter()
        .filter(|s| !s.measured)
        .map(|s| s.name.as_str())
        .collect();
    if !missing.is_empty() {
        let _ = writeln!(text, "not on PATH: {}", missing.join(", "));
    }
    for reason in reasons(evidence) {
        let _ = writeln!(text, "{reason}");
    }
    if let Some(table) = counter_table::table(&evidence.counters) {
        let _ = writeln!(text, "{table}");
    }
    text
}

fn rows(evidence: &Evidence) -> Table {
    let columns: Vec<&str> = evidence
        .systems
        .iter()
        .filter(|s| s.measured)
        .map(|s| s.name.as_str())
        .collect();
    let mut table = Table::new();
    table
        .load_style(presets::ASCII_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Disabled);
    let mut header = vec![""];
    header.extend(&columns);
    header.push("in force");
    table.set_header(header);
    for row in &evidence.rows {
        let mut cells = vec![Cell::new(&row.name)];
        for column in &columns {
            let shown = row.cell(column).map(figure).unwrap_or_default();
            cells.push(Cell::new(shown).set_alignment(CellAlignment::Right));
        }
        let check = row.cells.iter().find_map(|c| c.in_force.as_ref());
        cells.push(Cell::new(
            check
                .map_or("", |check| check.checks.as_str())
                .replace(", ", "\n"),
        ));
        table.add_row(cells);
    }
    table
}

fn figure(cell: &CellRecord) -> String {
    match (&cell.verdict, cell.median) {
        (Verdict::Pass, Some(median)) => {
            let time = format!("{:.2} ms", median.value / 1e6);
            match cell.factor {
                Some(factor) if cell.system != PLAIN => {
                    format!("{time}\n×{}", estimate(&factor))
                }
                _ => time,
            }
        }
        (Verdict::Pass, None) => "no samples".to_owned(),
        (verdict, _) => verdict.word().to_owned(),
    }
}

/// A value with its interval.
pub(crate) fn estimate(e: &Estimate) -> String {
    format!("{:.2} [{:.2}, {:.2}]", e.value, e.low, e.high)
}

/// A number with three decimals at the most.
fn rounded(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A limit with its figure, or the word in its place.
pub(crate) fn limit_line(limit: &LimitRecord) -> String {
    let LimitRecord {
        name,
        limit: bound,
        unit,
        ..
    } = limit;
    let bound = rounded(*bound);
    match (limit.value, limit.met) {
        (Some(value), met) => {
            let word = match met {
                Some(true) => "met",
                Some(false) => "EXCEEDED",
                None => "not decided by one sample",
            };
            format!(
                "{name}: {} {unit}, limit {bound} {unit}: {word}",
                estimate(&value)
            )
        }
        _ => format!("{name}: {} (limit {bound} {unit})", limit.verdict),
    }
}

/// Why cells have no figure: each reason once, with the places it stands for.
fn reasons(evidence: &Evidence) -> Vec<String> {
    let mut places: Vec<(&Verdict, String)> = Vec::new();
    for row in &evidence.rows {
        for cell in &row.cells {
            let waited = match (&cell.verdict, cell.contention) {
                (Verdict::Inconclusive(_), Some(share)) => format!(" ({:.0} %)", share * 100.0),
                _ => String::new(),
            };
            places.push((
                &cell.verdict,
                format!("{} / {}{waited}", row.name, cell.system),
            ));
        }
    }
    for record in &evidence.counters {
        let place = format!("counters of {} / {}", record.row, record.system);
        places.push((&record.traced, place.clone()));
        if record.accounted != record.traced {
            places.push((&record.accounted, place));
        }
    }
    let mut found: Vec<(&Verdict, Vec<String>)> = Vec::new();
    for (verdict, place) in places {
        match found.iter_mut().find(|(known, _)| *known == verdict) {
            _ if verdict.passed() => {}
            Some((_, places)) => places.push(place),
            None => found.push((verdict, vec![place])),
        }
    }
    found
        .into_iter()
        .map(|(verdict, places)| format!("{verdict}\n    {}", places.join(", ")))
        .collect()
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
