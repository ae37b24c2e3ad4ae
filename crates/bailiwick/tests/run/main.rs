//! What a user relies on, tried on the real binary. Each module is one promise.
#![allow(missing_docs, reason = "tests are named after what they prove")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a helper that cannot do its work fails the test that called it"
)]

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
