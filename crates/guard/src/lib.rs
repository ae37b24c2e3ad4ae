//! The one place that decides.
//!
//! Decision: every boundary asks [`Guard`] and has no opinion of its own, and asking and
//! recording are one act: an answer that the ledger could not keep is a refusal. So what is in
//! the record is what happened, and what is not in the record did not happen.

mod asking;
mod connection;
mod decide;
mod guard;
mod name;
mod refusal;
mod request;
mod rules;

#[cfg(test)]
mod testing;

pub use asking::{Answer, Approver, Question, Tell};
pub use guard::{Guard, Observer, Submitted};
