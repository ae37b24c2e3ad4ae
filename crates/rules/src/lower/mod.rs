//! A condition made fast.
//!
//! Decision: what rules mostly ask (is this text that, does it contain this, is the number below
//! that) becomes a tree of tests that read the event in place, with every pattern and every
//! constant made beforehand, and neither make a value nor allocate. A part that is none of these
//! stays with the evaluator, which is the meaning of the language; the two must never differ.

mod case;
mod lowering;
mod needle;
mod outcome;
mod possible;
mod program;
mod run;
mod test;

pub use outcome::Outcome;
pub use program::{CompileError, Program};
pub(crate) use test::{OfText, Place, Test, TextTest};

#[cfg(test)]
#[path = "lower_tests.rs"]
mod tests;
