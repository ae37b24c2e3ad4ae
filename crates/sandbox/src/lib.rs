//! A session: one command in one sandbox, from the policy to the last row of the record.
//!
//! Decision: the order of a start is fixed here for every backend: policy, sandbox, record, gate,
//! command. The command does not start before all the others stand, and nothing of the sandbox
//! is left when the session has ended.

mod backend;
mod environment;
mod job;
mod session;
mod signals;
mod summary;
mod supervisor;
mod terminal;

pub use backend::{Backend, Begun, Launch, News, Running, Started, TerminalShape};
pub use session::{Finished, RunRequest, run};
