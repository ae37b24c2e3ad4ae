//! Sigma rules as conditions.
//!
//! Decision: a rule passes through a form of its own, the [`Detection`]: what it says, with fields
//! of events in place of Sigma's and every modifier carried out. It is kept as JSON, checked on its
//! own, and printed as a condition of the language that all rules are written in, so that nothing
//! but that language is ever evaluated.
//!
//! The threat is twofold. A rule is a stranger's text: its size, depth and regular expressions are
//! bounded, and no value of it can become syntax. And a rule that is carried over wrongly looks
//! like protection and is none: whatever has no exact counterpart is [`Skipped`] with the reason.

mod atom;
mod condition;
mod detection;
mod detection_parts;
mod detection_read;
mod detection_write;
mod encode;
mod logsource;
mod lower;
mod mapping;
mod modifiers;
mod pattern;
mod pcre;
mod rule;
mod selection;
mod skipped;
mod to_rule;
mod validate;
mod values;
mod yaml;

pub use detection::{Condition, Detection, Level, MAX_DEPTH, MAX_PARTS, SCHEMA};
pub use detection_parts::{Flags, How, Match, Operand, Relation};
pub use detection_read::InvalidDetection;
pub use pattern::{Pattern, Token};
pub use rule::read;
pub use skipped::{Reason, Skipped};
pub use to_rule::{Carried, Imported};

#[cfg(test)]
mod condition_tests;
#[cfg(test)]
mod detection_tests;
#[cfg(test)]
mod files_tests;
#[cfg(test)]
mod logsource_tests;
#[cfg(test)]
mod lower_tests;
#[cfg(test)]
mod modifiers_tests;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod oracle_cel;
#[cfg(test)]
mod values_tests;
#[cfg(test)]
mod yaml_tests;
