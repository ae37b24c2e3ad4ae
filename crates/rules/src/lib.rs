//! The rule engine: conditions in the Common Expression Language over the fields of an event,
//! compiled once, decided in nanoseconds, explained in words.

pub mod check;
pub mod eval;
pub mod expr;
mod lower;

pub use lower::{CompileError, Outcome, Program};
