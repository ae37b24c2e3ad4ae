//! The rule engine: conditions in the Common Expression Language over the fields of an event,
//! compiled once, decided in nanoseconds, explained in words.

pub mod expr;
