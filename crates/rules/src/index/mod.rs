//! Which rules could be true of an event.
//!
//! Decision: of the tests that a rule needs to pass, one that asks for a literal text is entered
//! into an index of that field, and the event's value is looked up once for all rules. A rule is
//! left out only where its test is certain to be false: then the whole condition is false,
//! whatever else of it failed. Where the value is absent the test fails, and the rule is asked.

mod atom;
mod choice;
mod group;

pub(crate) use choice::Index;

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
