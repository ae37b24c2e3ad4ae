//! A rule as somebody wrote it, and as it is enforced.

mod compiled;
mod example;
mod memory;
mod replacement;
mod rewrite;
mod source;

pub use compiled::{Compiled, Counters, RuleError};
pub use example::Example;
pub use memory::{LESS_MEMORY, MAX_MEMORY, MAX_SESSION_MEMORY, Memory};
pub use rewrite::{Rewrite, RewriteError, RewriteTarget};
pub use source::{Action, Confidence, Effect, Rule, Severity};

#[cfg(test)]
#[path = "rule_tests.rs"]
mod tests;
