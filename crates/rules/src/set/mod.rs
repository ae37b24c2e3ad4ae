//! The rules that are in force.
//!
//! Decision: what is asked on every event is never locked. A set of rules does not change; a new
//! one takes its place in one swap, and shares with the one before it all that is the same.

mod bits;
mod capture;
mod finding;
mod registry;
mod rule_set;
mod table;

pub use capture::Match;
pub(crate) use capture::{Asked, hex, matched, show, signature_of};
pub use finding::{Finding, masked};
pub(crate) use finding::{is_secret_header, show_value};
pub use registry::{Edit, Listed, Registry};
pub use rule_set::{Decided, Need, Part, RuleSet};
pub(crate) use table::Table;

#[cfg(test)]
#[path = "agreement_tests.rs"]
mod agreement;

#[cfg(test)]
#[path = "set_tests.rs"]
mod tests;
