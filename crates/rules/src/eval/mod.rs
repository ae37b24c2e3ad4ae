//! What a condition says about an event.
//!
//! Decision: this evaluator is the meaning of the language here. It walks the tree and keeps to
//! the specification's words; it is not made fast. What is made fast ([`crate::lower`]) must agree
//! with it on every event, and falls back to it for what it does not know.

mod arithmetic;
mod call;
mod compare;
mod convert;
mod error;
mod evaluator;
pub(crate) mod network;
pub(crate) mod pattern;
pub(crate) mod secrets;
mod steps;
mod text;
pub(crate) mod time;
mod value;

pub(crate) use call::LOOKED_AT;
pub use error::{ErrorKind, EvalError};
pub use evaluator::Evaluator;
pub use network::Cidr;
pub(crate) use pattern::{Pattern, Patterns};
pub use steps::{MAX_EVENT_STEPS, MAX_STEPS, Steps};
pub use time::show_seconds;
pub use value::{List, Map, Value};

#[cfg(test)]
#[path = "specification_tests.rs"]
mod specification_tests;
