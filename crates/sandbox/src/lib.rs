//! A session: one command in one sandbox, from the policy to the last row of the record.
//!
//! Decision: the order of a start is fixed here for every backend: policy, sandbox, record, gate,
//! command. The command does not start before all the others stand, and nothing of the sandbox
//! is left when the session has ended.

mod asks;
mod backend;
mod continuation;
mod door;
mod early;
mod ending;
mod environment;
mod exec;
mod front;
mod input;
mod job;
mod output;
mod own_text;
pub mod packet;
pub mod place;
mod protocol;
mod ready;
mod record;
mod rules;
mod secrets;
mod serve;
mod session;
mod signals;
mod spare;
pub mod startup;
#[cfg(all(feature = "stop-at-stage", debug_assertions))]
mod stop;
mod summary;
mod supervisor;
mod switches;
mod terminal;
pub mod trust;
mod visit;
mod warm;

pub use backend::{
    Backend, Begun, Entry, Invocation, Launch, Monitor, News, OWN, Own, OwnAccess, Prepared,
    Running, Save, Started, TerminalShape,
};
pub use continuation::{Continuation, SaveRequest, save};
pub use early::Early;
pub use ending::stop;
pub use environment::without_proxy;
pub use exec::{Connection, ExecRequest, exec};
pub use rules::{ListedRule, RulesAsk, rules};
pub use serve::{ServeRequest, serve};
pub use session::{Finished, RunRequest, private_folder, run};
pub use spare::spare;
pub use trust::{Trust, TrustFiles};
