//! The vocabulary that every other crate speaks: events, decisions, hosts and failures.
//!
//! Decision: these types do no input or output and know no boundary, so that a process, a
//! virtual machine and a capability kernel describe the same act with the same words.

mod boundary;
mod decision;
mod event;
mod failure;
pub mod fields;
mod host;
mod host_pattern;
mod id;
pub mod json;
mod kept_bodies;
mod model;
mod origin;
mod suggest;
mod text;
mod travel;

pub use boundary::Boundary;
pub use decision::{Decision, MatchedField, RuleRef, Verdict};
pub use event::{Act, Event, LimitKind};
pub use failure::{Failure, Refused};
pub use host::{AddressClass, Host, HostError};
pub use host_pattern::{HostPattern, PatternHost, Ports, first_of_network};
pub use id::{InvalidSessionId, SessionId};
pub use kept_bodies::{KeptBodies, KeptBody};
pub use model::{ModelAnswer, ModelCall, ModelTotals, ToolUse};
pub use origin::Origin;
pub use suggest::closest;
pub use text::{Text, harmless, shell_word};
pub use travel::{Scheme, Transport, Via};
