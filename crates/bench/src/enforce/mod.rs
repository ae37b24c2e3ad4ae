use crate::outcome::Outcome;
use bailiwick_event::Failure;
use std::path::PathBuf;
/// What is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enforced {
    /// Names.
    Dns,
    /// Requests.
    Http,
    /// Commands.
    Exec,
}
/// What `bench enforce` is to do.
#[derive(Clone, Debug)]
pub struct EnforceOptions {
    /// What is refused.
    pub what: Enforced,
    /// The program under test.
    pub binary: PathBuf,
    /// Fresh processes that are refused.
    pub runs: u32,
    /// Few samples.
    pub quick: bool,
    /// The folder for the evidence.
    pub out: PathBuf,
}
/// Runs.
///
/// # Errors
/// x
pub fn enforce(_: &EnforceOptions, _: &mut dyn FnMut(&str)) -> Result<Outcome, Failure> {
    Err(Failure::usage("x"))
}
