//! The protocol between the host and a guest: one byte stream carries messages and many
//! flow-controlled streams.
//!
//! Decision: one table of messages ([`schema`]), one state machine without any I/O ([`Mux`]) and one
//! loop that moves bytes ([`Pump`]), the same code at both ends: what one end does not send the
//! other cannot be made to wait for, and what bounds one bounds the other. The host takes a guest for
//! hostile: whatever it sends costs bounded memory, and what no honest peer sends ends the channel.

pub mod frame;
mod hello;
mod mux;
mod pump;
mod queue;
pub mod schema;
mod terminal;

pub use frame::Violation;
pub use hello::{Role, SCHEMA};
pub use mux::{Event, FIRST, Mux, POOL, STREAMS, WINDOW};
pub use pump::{Ends, Fault, Handler, Line, Opening, Pump};
