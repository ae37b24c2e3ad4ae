//! What two runs say about each other. "Faster" is a claim about two sets of samples, so it needs
//! both a small probability of chance and an interval that leaves out "equal"; everything else is
//! no difference, and what cannot be compared says why.

use crate::outcome::estimate;
use crate::statistics::{Estimate, SIGNIFICANT};
use comfy_table::{ContentArrangement, Table, presets};
use std::fmt;

/// Two runs, compared.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The run id of the first.
    pub a: String,
    /// The run id of the second.
    pub b: String,
    /// Whether only factors over plain are compared, because the machines differ.
    pub factors_only: bool,
    /// Whether either run was a quick one, which is never published.
    pub quick: bool,
    /// Every system of every row, in the order of the first run.
    pub rows: Vec<ComparisonRow>,
}

/// One system on one row, in two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparisonRow {
    /// The row's name.
    pub row: String,
    /// The system's name.
    pub system: String,
    /// What the second run is.
    pub change: Change,
    /// The second run's median (or factor) over the first's. None where not compared.
    pub ratio: Option<Estimate>,
    /// Mann–Whitney, two-sided. None where not compared.
    pub p: Option<f64>,
}

/// What the second run is, compared with the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Significantly less time.
    Faster,
    /// Significantly more time.
    Slower,
    /// Not significant.
    NoDifference,
    /// There is no figure in one of them; why.
    NotCompared(String),
}

impl Change {
    pub(crate) fn of(ratio: &Estimate, p: f64) -> Self {
        match p < SIGNIFICANT {
            true if ratio.high < 1.0 => Self::Faster,
            true if ratio.low > 1.0 => Self::Slower,
            _ => Self::NoDifference,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Faster => f.write_str("faster"),
            Self::Slower => f.write_str("slower"),
            Self::NoDifference => f.write_str("no difference"),
            Self::NotCompared(reason) => write!(f, "not compared: {reason}"),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.factors_only {
            true => "factor over plain (the machines differ, so times are not compared)",
            false => "median wall time",
        };
        writeln!(f, "{} compared with {}: {what}", self.b, self.a)?;
        if self.quick {
            writeln!(f, "from quick runs, not for publication")?;
        }
        let mut table = Table::new();
        table
            .load_style(presets::ASCII_HORIZONTAL_ONLY)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(["", "system", "ratio [95 % interval]", "p", ""]);
        for row in &self.rows {
            table.add_row([
                row.row.clone(),
                row.system.clone(),
                row.ratio.as_ref().map(estimate).unwrap_or_default(),
                row.p.map(|p| format!("{p:.4}")).unwrap_or_default(),
                row.change.to_string(),
            ]);
        }
        writeln!(f, "{table}")
    }
}
