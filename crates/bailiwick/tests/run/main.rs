//! What a user relies on, tried on the real binary. Each module is one promise.
#![allow(missing_docs, reason = "tests are named after what they prove")]

#[path = "../support/mod.rs"]
mod support;

mod command;
mod crates;
mod death;
mod escapes;
mod files;
mod limits;
mod network;
mod policy;
mod record;
mod terminal;
mod toolchains;
