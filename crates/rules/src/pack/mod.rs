//! Files of rules.
//!
//! Decision: a rule is written the same way in a pack and in a policy, and is read by the same
//! code; every mistake is told with its line and column in the file, those of a condition too.

mod keys;
mod lines;
mod places;
mod read_pack;
mod read_rule;
mod shipped;
mod signature;
mod toml_json;

pub use keys::{DETECTION_KEYS, RULE_KEYS, RuleKey};
pub use read_pack::{Pack, PackError, Status};
pub use read_rule::{Mistake, RuleKind, read_rule, warnings_of};
pub use shipped::{shipped, shipped_names};
pub use signature::{SignatureError, is_public_key, verify};

#[cfg(test)]
#[path = "pack_tests.rs"]
mod tests;
