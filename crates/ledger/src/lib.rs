//! The record of a session: what was tried, what was decided, by which rule.
//!
//! Decision: an answer leaves the supervisor only after its row stands in memory that outlives
//! the process. So the hot path is one copy into a shared-mapped file, and everything that can
//! be slow (the database, the disk, another reader) is elsewhere. Everything that is read back
//! may have been changed by anyone with the user's rights, and is parsed as hostile input.

mod bodies;
mod chain;
mod database;
mod error;
mod index;
mod journal;
mod layout;
mod ledger;
mod mapping;
mod meta;
mod names;
mod reader;
mod recovery;
mod replay;
mod sessions;
mod shorten;
mod state;
mod state_dir;
mod verification;
mod writer;

#[cfg(test)]
mod testing;

pub use error::LedgerError;
pub use ledger::{Blank, Counts, Ledger};
pub use meta::NewSession;
pub use reader::{Filter, SessionReader};
pub use recovery::Damage;
pub use sessions::{SessionInfo, SessionState, Sessions};
pub use state_dir::StateDir;
pub use verification::{Anchor, Problem, Verification};
