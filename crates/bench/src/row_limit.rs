//! Figures that have a bound and come out of rows: what a start, an act and a build may cost. A
//! row that was not measured has no limit; a figure that did not pass is not compared.

use crate::catalogue::{
    GIT_STATUS, PIPE, PYTHON, RIPGREP, TRUE, build_name, creates_name, reads_name, starts_name,
};
use crate::evidence::{LimitRecord, RowRecord};
use crate::statistics::{bootstrap, ratio};
use crate::system::{COLD, CONNECTION, EXEC, INSIDE, PLAIN, SWEEP, WARM};
use crate::verdict::Verdict;

/// How a figure comes out of two cells of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Figure {
    /// The one's median over the other's.
    Ratio,
    /// What one act costs more in the one than in the other, in microseconds.
    Added,
    /// What one act takes in the one, in microseconds.
    Each,
}

struct RowLimit {
    row: String,
    system: &'static str,
    other: &'static str,
    figure: Figure,
    limit: f64,
}

/// Every limit that a row has.
fn all() -> Vec<RowLimit> {
    let limit = |row: &str, system, other, figure, limit| RowLimit {
        row: row.to_owned(),
        system,
        other,
        figure,
        limit,
    };
    vec![
        // `bwrap --unshare-all --ro-bind / / true`.
        limit(TRUE, COLD, "bwrap", Figure::Ratio, 0.9),
        limit(PYTHON, COLD, PLAIN, Figure::Ratio, 1.3),
        limit(GIT_STATUS, COLD, PLAIN, Figure::Ratio, 2.8),
        limit(RIPGREP, COLD, PLAIN, Figure::Ratio, 1.5),
        limit(TRUE, EXEC, PLAIN, Figure::Ratio, 2.8),
        limit(TRUE, CONNECTION, PLAIN, Figure::Ratio, 1.5),
        limit(TRUE, WARM, PLAIN, Figure::Ratio, 2.8),
        // 95 % of the throughput.
        limit(PIPE, COLD, PLAIN, Figure::Ratio, 1.0 / 0.95),
        limit(&starts_name(), INSIDE, PLAIN, Figure::Ratio, 1.03),
        limit(&reads_name(), INSIDE, PLAIN, Figure::Added, 0.45),
        limit(&creates_name(), INSIDE, PLAIN, Figure::Each, 100.0),
        limit(&build_name(), COLD, PLAIN, Figure::Ratio, 1.05),
        limit(&build_name(), SWEEP, PLAIN, Figure::Ratio, 1.02),
    ]
}

/// The limits of the rows that were measured.
pub(crate) fn of(rows: &[RowRecord]) -> Vec<LimitRecord> {
    let row = |name: &str| rows.iter().find(|row| row.name == name);
    all()
        .iter()
        .filter_map(|limit| row(&limit.row).map(|row| limit.of(row)))
        .collect()
}

impl RowLimit {
    fn of(&self, row: &RowRecord) -> LimitRecord {
        let verdict = match (row.cell(self.system), row.cell(self.other)) {
            (_, None) => Verdict::Absent(format!("{} was not measured", self.other)),
            (None, _) => Verdict::Absent(format!("{} was not measured", self.system)),
            (Some(one), Some(other)) => one.verdict.clone().worse(other.verdict.clone()),
        };
        let value = match verdict.passed() {
            true => self.value(row),
            false => None,
        };
        let (what, unit) = match self.figure {
            Figure::Ratio => (format!("{} over {}", self.system, self.other), "×"),
            Figure::Added => (
                format!("{} more than {}, each", self.system, self.other),
                "µs",
            ),
            Figure::Each => (format!("{}, each", self.system), "µs"),
        };
        LimitRecord {
            name: format!("{}: {what}", row.name),
            includes: format!("the medians of row \"{}\"", row.name),
            argv: Vec::new(),
            unit: unit.to_owned(),
            limit: self.limit,
            samples: Vec::new(),
            verdict,
            value,
            met: value.and_then(|v| v.meets(self.limit)),
        }
    }

    fn value(&self, row: &RowRecord) -> Option<crate::Estimate> {
        let one = row.cell(self.system)?.passed_samples()?;
        let other = row.cell(self.other)?.passed_samples()?;
        if self.figure == Figure::Ratio {
            return ratio(&one, &other);
        }
        let each = row.acts? as f64 * 1000.0;
        match self.figure {
            Figure::Added => bootstrap(&[&one, &other], |m| (m[0] - m[1]) / each),
            _ => bootstrap(&[&one], |m| m[0] / each),
        }
    }
}

#[cfg(test)]
#[path = "row_limit_tests.rs"]
mod tests;
