//! The rules that are in force.
//!
//! Decision: what is asked on every event is never locked. A set of rules does not change; a new
//! one takes its place in one swap, and shares with the one before it all that is the same.

mod bits;
mod finding;
mod registry;
mod rule_set;
mod table;

pub use finding::{Finding, MatchedField};
pub(crate) use finding::{
    hex, is_secret_header, matched, show, show_value, signature, signature_of,
};
pub use registry::{Listed, Registry};
pub use rule_set::{Decided, RuleSet};
pub(crate) use table::Table;

#[cfg(test)]
#[path = "set_tests.rs"]
mod tests;
