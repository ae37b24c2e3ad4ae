//! `bench enforce`: what a refusal takes that a rule causes which was not there when the run began. It
//! is counted by everybody who knows of it, and all of them must have counted the same, exactly: what
//! was refused without a row, or has a row without a refusal, is no enforcement.

mod commands;
mod counted;
mod lookups;
mod requests;

use crate::gate::{finish, prepare};
use crate::outcome::Outcome;
use bailiwick_event::Failure;
use std::path::PathBuf;

/// What is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enforced {
    /// Names that are looked up.
    Dns,
    /// Requests within TLS.
    Http,
    /// Commands that enter by `bailiwick exec`.
    Exec,
}

/// What `bench enforce` is to do.
#[derive(Clone, Debug)]
pub struct EnforceOptions {
    /// What is refused.
    pub what: Enforced,
    /// The program under test.
    pub binary: PathBuf,
    /// Fresh processes that are refused, after one that warms up.
    pub runs: u32,
    /// Eight of them, also of debug builds; never for publication.
    pub quick: bool,
    /// The folder for the evidence; it is made where it is missing.
    pub out: PathBuf,
}

/// Fresh processes of a quick run.
const QUICK_RUNS: u32 = 8;

/// Runs the suite.
///
/// # Errors
/// [`Failure::Usage`] when it cannot be run as asked; [`Failure::Fault`] when the machine does not
/// let the bench do its work. What the product does wrong is a verdict of the outcome.
pub fn enforce(
    options: &EnforceOptions,
    progress: &mut dyn FnMut(&str),
) -> Result<Outcome, Failure> {
    let runs = match options.quick {
        true => QUICK_RUNS,
        false => options.runs.max(QUICK_RUNS),
    };
    let (suite, row) = match options.what {
        Enforced::Dns => ("enforce-dns", lookups::row(runs)),
        Enforced::Http => ("enforce-http", requests::row(runs)),
        Enforced::Exec => ("enforce-exec", commands::row(runs)),
    };
    let prepared = prepare(suite, &options.binary, options.quick, &options.out, "")?;
    let taken = prepared.take(&[row], progress);
    finish(prepared, taken)
}
