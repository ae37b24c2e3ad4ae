//! A rule as somebody wrote it, and as it is enforced.

mod compiled;
mod example;
mod rewrite;
mod source;

pub use compiled::{Compiled, Counters, RuleError};
pub use example::Example;
pub use rewrite::{Rewrite, RewriteError, RewriteTarget};
pub use source::{Action, Confidence, Effect, Rule, Severity};

#[cfg(test)]
#[path = "rule_tests.rs"]
mod tests;
