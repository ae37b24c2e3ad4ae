//! The rule engine: conditions in the Common Expression Language over the fields of an event,
//! compiled once, decided in nanoseconds, explained in words.

pub mod backtest;
pub mod check;
pub mod eval;
pub mod expr;
mod index;
mod lower;
pub mod pack;
#[cfg(test)]
mod reference;
mod rule;
mod set;
pub mod sigma;

pub use eval::show_seconds;
pub use lower::{CompileError, Outcome, Program};
pub use rule::{
    Action, Compiled, Confidence, Counters, Effect, Example, LESS_MEMORY, MAX_MEMORY,
    MAX_SESSION_MEMORY, Memory, Rewrite, RewriteError, RewriteTarget, Rule, RuleError, Severity,
};
pub use set::{Decided, Edit, Finding, Listed, Match, Need, Part, Registry, RuleSet, masked};
