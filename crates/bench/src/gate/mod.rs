//! `bench gate`: what the gate costs the programs of a sandbox. Client and server are the benchmark's
//! own and stand on one machine's loopback; the client is the same program with the same library on
//! the host and in a real run of the product, and the two take turns. A figure stands only where every
//! answer was right, the gate has really looked into the connection, its ledger holds exactly what was
//! done, and the server has seen exactly what was allowed.

mod authority;
mod bodies;
mod cost;
mod crowds;
mod mitmproxy;
mod names;
mod one_cpu;
mod origin;
pub(crate) mod record;
pub(crate) mod requests;
pub(crate) mod row;
pub(crate) mod side;
pub(crate) mod site;
mod suite;
pub(crate) mod tally;

pub(crate) use authority::NAME;
pub use suite::{GateOptions, gate};
pub(crate) use suite::{finish, prepare};
