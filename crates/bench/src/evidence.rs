//! The file that a result is. Everything that a figure rests on is in it, down to the single
//! sample and the exact command line, so that a reader can compute the table again and object.
//! It is read back as the work of a stranger: `compare` trusts its samples, not its medians.

use crate::counters::CounterRecord;
use crate::environment::Environment;
use crate::in_force::InForce;
use crate::statistics::Estimate;
use crate::verdict::Verdict;
use bailiwick_event::{Failure, Text};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The version of the file's form; a reader refuses every other.
pub(crate) const SCHEMA: u32 = 1;
/// More than this is not a benchmark.
const SIZE_LIMIT: u64 = 256 << 20;

/// One run of a suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Evidence {
    pub schema: u32,
    pub suite: String,
    pub run_id: String,
    /// RFC 3339, UTC.
    pub started: String,
    /// RFC 3339, UTC.
    pub finished: String,
    /// Whether the run may be published: release builds, not quick, enough runs.
    pub publishable: bool,
    pub parameters: Parameters,
    pub authority: Vec<Authority>,
    pub product: ProductRecord,
    /// The build that took turns with it, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<ProductRecord>,
    pub environment: Environment,
    pub systems: Vec<SystemRecord>,
    pub rows: Vec<RowRecord>,
    pub limits: Vec<LimitRecord>,
    /// What was counted, in runs that are in no row.
    #[serde(default)]
    pub counters: Vec<CounterRecord>,
    /// The name of the raw log beside this file.
    pub log: String,
}

/// What the caller chose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Parameters {
    pub runs: u32,
    pub warm_up: u32,
    pub quick: bool,
    pub network: bool,
    /// In which order samples are taken.
    pub order: String,
}

/// A policy that was in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Authority {
    pub rows: String,
    /// BLAKE3 of the policy file, in hex.
    pub hash: String,
    pub text: String,
}

/// The product under test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProductRecord {
    /// What it prints for `--version`.
    pub version: String,
    pub release: bool,
    /// BLAKE3 of its program, in hex.
    pub hash: String,
    pub bench_version: String,
    pub bench_release: bool,
    /// Of the folder in which the bench was started; `-dirty` where it had changes.
    pub git_commit: Option<String>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SystemRecord {
    pub name: String,
    pub version: Option<String>,
    /// False for a sandbox that is not installed and was not asked for.
    pub measured: bool,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RowRecord {
    pub name: String,
    /// What the command does, independent of the machine.
    pub workload: String,
    /// What a sample includes.
    pub includes: String,
    /// How many acts a sample is made of, where it is one act again and again.
    #[serde(default)]
    pub acts: Option<usize>,
    pub verifier: String,
    /// Whether the positive control of the in-force check succeeded outside a sandbox.
    pub control: String,
    /// The worse of the plain column's and the product's.
    pub verdict: Verdict,
    pub cells: Vec<CellRecord>,
}

/// One system on one row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CellRecord {
    pub system: String,
    pub argv: Vec<Text>,
    pub verdict: Verdict,
    pub in_force: Option<InForce>,
    /// Nanoseconds waited for a CPU over nanoseconds run.
    pub contention: Option<f64>,
    /// The unit of the samples and of the median.
    pub unit: String,
    /// Every sample, in the order in which it was taken.
    pub samples: Vec<u64>,
    /// User CPU microseconds of each sample, of the process and what it waited for.
    pub user_us: Vec<u64>,
    /// System CPU microseconds, the same.
    pub system_us: Vec<u64>,
    /// None where the verdict is not a pass.
    pub median: Option<Estimate>,
    /// Over the plain column of the same row. None where either verdict is not a pass.
    pub factor: Option<Estimate>,
    /// Mann–Whitney, against the product's column of whole runs.
    pub p_against_cold: Option<f64>,
}

/// A figure that has a bound of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LimitRecord {
    pub name: String,
    pub includes: String,
    pub argv: Vec<Text>,
    pub unit: String,
    pub limit: f64,
    pub samples: Vec<f64>,
    pub verdict: Verdict,
    /// None where the verdict is not a pass.
    pub value: Option<Estimate>,
    /// Whether the value is within the limit. None where there is no value.
    pub met: Option<bool>,
}

impl Evidence {
    /// Reads a file of any origin.
    ///
    /// # Errors
    /// [`Failure::Usage`] when it is not evidence of this schema.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let usage = |what: String| Failure::usage(format!("{}: {what}", path.display()));
        let size = std::fs::metadata(path)
            .map_err(|error| usage(error.to_string()))?
            .len();
        if size > SIZE_LIMIT {
            return Err(usage(format!(
                "{size} bytes are too many for an evidence file"
            )));
        }
        let bytes = std::fs::read(path).map_err(|error| usage(error.to_string()))?;
        Self::parse(&bytes).map_err(usage)
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Header {
            schema: u32,
            suite: String,
        }
        let header: Header = serde_json::from_slice(bytes)
            .map_err(|error| format!("this is not an evidence file: {error}"))?;
        if header.schema != SCHEMA {
            return Err(format!(
                "the file has schema {}, and this program reads schema {SCHEMA}; measure again, \
                 or use the program that wrote the file",
                Text::from(header.schema.to_string())
            ));
        }
        if header.suite != "overhead" {
            return Err(format!(
                "the suite is \"{}\", and only \"overhead\" can be compared",
                Text::from(header.suite)
            ));
        }
        serde_json::from_slice(bytes).map_err(|error| format!("the evidence is damaged: {error}"))
    }
}

impl RowRecord {
    /// The cell of a system.
    pub(crate) fn cell(&self, system: &str) -> Option<&CellRecord> {
        self.cells.iter().find(|cell| cell.system == system)
    }
}

impl CellRecord {
    /// The samples of a result that passed.
    pub(crate) fn passed_samples(&self) -> Option<Vec<f64>> {
        let positive = !self.samples.is_empty() && self.samples.iter().all(|ns| *ns > 0);
        (self.verdict.passed() && positive)
            .then(|| self.samples.iter().map(|ns| *ns as f64).collect())
    }
}

/// A command line as it is recorded.
pub(crate) fn recorded(argv: &[std::ffi::OsString]) -> Vec<Text> {
    argv.iter().map(|word| word.clone().into()).collect()
}
