//! Machines whose guest is an enemy: a first program that breaks the protocol, programs that race for the
//! files outside of the share, disks that are full. What holds is looked at on the host.
//!
//! A tier of its own (scripts/test): they need QEMU, the image `code` and the guests' binaries (`make
//! image`; `cargo build --release --package bailiwick-guest --target x86_64-unknown-linux-musl --examples`),
//! and fail where these are not there. `BAILIWICK_HOSTILE_SECONDS` and `BAILIWICK_RACE_ROUNDS` say how long
//! they try; 600 and 100,000 are what is asked of a release.
#![allow(missing_docs, reason = "tests are named after what they prove")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a helper that cannot do its work fails the test that called it"
)]

#[path = "../support/mod.rs"]
mod support;

mod full;
mod guest;
mod races;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use support::Sandbox;

/// So long that what others do meanwhile would be measured as well.
const LONG: u64 = 60;

/// How long a guest of each kind is hostile.
fn seconds() -> u64 {
    number("BAILIWICK_HOSTILE_SECONDS", 1)
}

/// One machine at a time, where it is measured how long something takes.
fn alone() -> Option<MutexGuard<'static, ()>> {
    static ALONE: Mutex<()> = Mutex::new(());
    let is_measured = seconds() >= LONG;
    is_measured.then(|| ALONE.lock().unwrap_or_else(PoisonError::into_inner))
}

fn number(variable: &str, usual: u64) -> u64 {
    let given = std::env::var(variable);
    given.map_or(usual, |text| text.parse().expect("a number"))
}

/// Where images are kept.
fn cache() -> PathBuf {
    let own = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    own.unwrap_or_else(|| Path::new(&std::env::var_os("HOME").unwrap()).join(".cache"))
}

/// Sandboxes that are machines.
fn machine() -> Sandbox {
    let sandbox = Sandbox::new()
        .host_env("XDG_CACHE_HOME", cache())
        .option("--backend")
        .option("vm")
        .within(Duration::from_secs(300));
    match std::env::var_os("BAILIWICK_GUEST") {
        Some(guest) => sandbox.host_env("BAILIWICK_GUEST", guest),
        None => sandbox,
    }
}
