//! Evidence: what the product costs, measured so that a stranger can check it.
//!
//! Decision: a figure exists only behind a verdict. Every sample is verified, every sandbox must
//! first prove that it holds, every doubt about the machine makes a result inconclusive; a fast
//! program that does nothing must never win a row.

mod act;
mod against;
mod catalogue;
mod companion;
mod compare;
mod comparison;
mod conditions;
mod connected;
mod count;
mod counter_table;
mod counters;
mod crowd;
mod enforce;
mod environment;
mod evidence;
mod extra;
mod fixture;
mod gate;
mod in_force;
mod inside;
mod inside_session;
mod limit;
mod load;
mod machine;
mod measure;
mod opening;
mod outcome;
mod overhead;
mod peace;
mod peer;
mod profile;
mod program;
mod row;
mod row_limit;
mod runc_bundle;
mod selection;
mod server;
mod statistics;
mod suite;
mod system;
mod tested;
#[cfg(test)]
mod testing;
mod tracer;
mod trial;
mod verdict;
mod workload;

pub use act::act;
pub use compare::compare;
pub use comparison::{Change, Comparison, ComparisonRow};
pub use connected::connected;
pub use count::count;
pub use enforce::{EnforceOptions, Enforced, enforce};
pub use gate::{GateOptions, gate};
pub use inside::inside;
pub use load::load;
pub use machine::{HttpRequests, MachineOptions, MachineSuite, channel, machine};
pub use outcome::{Outcome, RowVerdict};
pub use overhead::{OverheadOptions, overhead};
pub use statistics::Estimate;
pub use verdict::Verdict;
