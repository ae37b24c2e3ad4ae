//! Whether a condition can mean anything: every name is a field or a variable, every function is
//! given what it takes, and what could only ever fail is said before it is enforced.
//!
//! Decision: what the checker accepts and the evaluator then meets at run time differ only by
//! `dyn`; a rule that could never be evaluated is refused when it is written, not when it matters.

mod checker;
mod constants;
mod functions;
mod operators;
mod suggest;
mod types;

pub use checker::{Checked, check};
pub use functions::{FUNCTIONS, Function, Overload, Sig};
pub use types::Ty;

#[cfg(test)]
#[path = "checker_tests.rs"]
mod tests;
