//! `bench compare A B`. Two files are comparable only when they measured the same work in the same
//! way; on different machines only factors mean the same thing. Everything is computed again from
//! the samples, so that an edited median changes nothing.

use crate::comparison::{Change, Comparison, ComparisonRow};
use crate::evidence::{CellRecord, Evidence, RowRecord};
use crate::statistics::{bootstrap, mann_whitney, median, ratio};
use crate::system::PLAIN;
use bailiwick_event::{Failure, Text};
use std::path::Path;

/// Compares the run in file `b` with the run in file `a`.
///
/// # Errors
/// [`Failure::Usage`] when a file is not evidence of this schema, or the two measured different
/// work or with different parameters.
pub fn compare(a: &Path, b: &Path) -> Result<Comparison, Failure> {
    compare_evidence(&Evidence::read(a)?, &Evidence::read(b)?)
}

fn compare_evidence(a: &Evidence, b: &Evidence) -> Result<Comparison, Failure> {
    if a.parameters != b.parameters {
        return Err(Failure::usage(format!(
            "the runs have different parameters, so their figures do not mean the same: {} of \
             {}, and {} of {}; measure again with the same flags",
            parameters(a),
            Text::from(a.run_id.as_str()),
            parameters(b),
            Text::from(b.run_id.as_str()),
        )));
    }
    if a.rows.is_empty() && b.rows.is_empty() {
        return Err(Failure::usage(
            "neither file has a timed row; counts are compared by eye, in the files' `counters`",
        ));
    }
    let work = |e: &Evidence| -> Vec<[String; 4]> {
        e.rows
            .iter()
            .map(|r| [&r.name, &r.workload, &r.includes, &r.verifier].map(String::clone))
            .collect()
    };
    if work(a) != work(b) {
        let names = |e: &Evidence| {
            let names: Vec<String> = e
                .rows
                .iter()
                .map(|r| Text::from(r.workload.as_str()).to_string())
                .collect();
            names.join("; ")
        };
        return Err(Failure::usage(format!(
            "the runs measured different work: ({}) and ({}); measure again with the same \
             programs installed",
            names(a),
            names(b)
        )));
    }
    let factors_only = !a.environment.is_same_machine(&b.environment);
    let mut rows = Vec::new();
    for (row_a, row_b) in a.rows.iter().zip(&b.rows) {
        for cell_a in &row_a.cells {
            if factors_only && cell_a.system == PLAIN {
                continue;
            }
            rows.push(compare_cell(row_a, row_b, cell_a, factors_only));
        }
    }
    Ok(Comparison {
        a: Text::from(a.run_id.as_str()).to_string(),
        b: Text::from(b.run_id.as_str()).to_string(),
        factors_only,
        quick: a.parameters.quick || b.parameters.quick,
        rows,
    })
}

fn parameters(e: &Evidence) -> String {
    let p = &e.parameters;
    format!(
        "{} runs, {} warm-up, quick {}, network {}",
        p.runs, p.warm_up, p.quick, p.network
    )
}

fn compare_cell(
    row_a: &RowRecord,
    row_b: &RowRecord,
    cell_a: &CellRecord,
    factors_only: bool,
) -> ComparisonRow {
    let compared = figures(row_a, row_b, cell_a, factors_only);
    let (change, ratio, p) = match compared {
        Ok((ratio, p)) => (Change::of(&ratio, p), Some(ratio), Some(p)),
        Err(reason) => (Change::NotCompared(reason), None, None),
    };
    ComparisonRow {
        row: Text::from(row_a.name.as_str()).to_string(),
        system: Text::from(cell_a.system.as_str()).to_string(),
        change,
        ratio,
        p,
    }
}

fn figures(
    row_a: &RowRecord,
    row_b: &RowRecord,
    cell_a: &CellRecord,
    factors_only: bool,
) -> Result<(crate::Estimate, f64), String> {
    let cell_b = row_b
        .cell(&cell_a.system)
        .ok_or("the second run does not have it")?;
    let (a, b) = (samples("first", cell_a)?, samples("second", cell_b)?);
    let degenerate = || "the samples have no ratio".to_owned();
    if !factors_only {
        return Ok((ratio(&b, &a).ok_or_else(degenerate)?, mann_whitney(&a, &b)));
    }
    let plain_a = samples(
        "first",
        row_a.cell(PLAIN).ok_or("there is no plain column")?,
    )?;
    let plain_b = samples(
        "second",
        row_b.cell(PLAIN).ok_or("there is no plain column")?,
    )?;
    let estimate = bootstrap(&[&b, &plain_b, &a, &plain_a], |m| {
        (m[0] / m[1]) / (m[2] / m[3])
    })
    .ok_or_else(degenerate)?;
    let scaled = |samples: &[f64], plain: &[f64]| -> Option<Vec<f64>> {
        let unit = median(plain)?.value;
        Some(samples.iter().map(|s| s / unit).collect())
    };
    let a = scaled(&a, &plain_a).ok_or_else(degenerate)?;
    let b = scaled(&b, &plain_b).ok_or_else(degenerate)?;
    Ok((estimate, mann_whitney(&a, &b)))
}

fn samples(which: &str, cell: &CellRecord) -> Result<Vec<f64>, String> {
    cell.passed_samples().ok_or_else(|| {
        format!(
            "the {which} run's \"{}\" is {}",
            Text::from(cell.system.as_str()),
            match cell.verdict.passed() {
                true => "without usable samples",
                false => cell.verdict.word(),
            }
        )
    })
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
