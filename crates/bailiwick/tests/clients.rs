//! Real package clients with real protocols work in a sandbox as they do without one, reach what
//! the policy names and nothing else. A client that is missing fails its tests: a test that was
//! skipped looks like one that passed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a helper that cannot do its work fails the test that called it"
)]

#[macro_use]
mod support;

#[path = "clients/client.rs"]
mod client;

#[path = "clients/apt.rs"]
mod apt;
#[path = "clients/cargo.rs"]
mod cargo;
#[path = "clients/git.rs"]
mod git;
#[path = "clients/npm.rs"]
mod npm;
#[path = "clients/pip.rs"]
mod pip;
