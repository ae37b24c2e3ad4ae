//! Black-box tests speak to the binary that a user runs, in words that read as a sentence, and
//! never to its insides: what a test here proves, a user has.
//!
//! Each [`Sandbox`] has a workspace, a state folder and a configuration folder of its own and a
//! clean environment, so that no test depends on the machine's settings or on another test.
#![allow(
    dead_code,
    unused_imports,
    reason = "every test binary has a copy of its own and uses only a part"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a helper that cannot do its work fails the test that called it"
)]

mod attempts;
mod authority;
#[macro_use]
pub(crate) mod backend;
mod background;
mod command;
mod elsewhere;
pub(crate) mod evidence;
mod host;
mod outcome;
pub(crate) mod ports;
pub(crate) mod processes;
mod program;
mod raw_origin;
mod recorded;
mod sandbox;
mod scratch;
mod server;
mod stopping;
mod surroundings;
mod traces;
mod trial;
pub(crate) mod wait;
mod waiting;

pub(crate) use authority::Authority;
pub(crate) use backend::{Backend, Shared};
pub(crate) use background::Background;
pub(crate) use command::{Finished, run_to_end};
pub(crate) use host::{host_command, pass_on};
pub(crate) use outcome::Outcome;
pub(crate) use program::Program;
pub(crate) use raw_origin::RawOrigin;
pub(crate) use sandbox::Sandbox;
pub(crate) use scratch::{Scratch, copy};
pub(crate) use server::Server;
pub(crate) use stopping::{Stopped, children, kill_children, places, places_in};
pub(crate) use traces::Traces;
pub(crate) use trial::{said, trial};

/// The binary under test: the one that was built with the tests, or a copy of it that another
/// user can reach.
pub(crate) fn binary() -> std::ffi::OsString {
    surroundings::in_order();
    std::env::var_os("BAILIWICK_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_bailiwick").into())
}
