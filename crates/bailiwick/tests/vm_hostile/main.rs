//! Machines whose guest is an enemy: a first program that breaks the protocol, programs that race for the
//! files outside of the share, disks that are full. What holds is looked at on the host.
//!
//! They need QEMU, the image `code` and the guests' binaries (`make image`; `cargo build --release
//! --package bailiwick-guest --target x86_64-unknown-linux-musl --examples`), and are left out, which they
//! say, where these are not there. `BAILIWICK_HOSTILE_SECONDS` and `BAILIWICK_RACE_ROUNDS` say how long
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

/// One machine at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Sandboxes that are machines, with a folder of templates and guests of their own; none where there can
/// be none.
fn machine() -> Option<Sandbox> {
    let images = cache().join("bailiwick");
    let folder = PathBuf::from(support::binary());
    let folder = folder.parent()?;
    let mut beside = ["", "../release", "../libexec/bailiwick"].iter();
    let guest = beside.any(|place| folder.join(place).join("bailiwick-guest").exists())
        || std::env::var_os("BAILIWICK_GUEST").is_some();
    for (what, there) in [
        ("QEMU", Path::new("/usr/bin/qemu-system-x86_64").exists()),
        ("the image", images.join("images/code.json").exists()),
        ("the guest", guest),
    ] {
        if !there {
            eprintln!("{what} is not there: not tried");
            return None;
        }
    }
    let sandbox = Sandbox::new();
    let own = sandbox.scratch().root().join("cache/bailiwick");
    std::fs::create_dir_all(&own).unwrap();
    for part in ["images", "parts", "accelerator"] {
        std::os::unix::fs::symlink(images.join(part), own.join(part)).unwrap();
    }
    let cache = own.parent().unwrap().to_owned();
    let guest = std::env::var_os("BAILIWICK_GUEST");
    let sandbox = sandbox
        .host_env("XDG_CACHE_HOME", cache)
        .option("--backend")
        .option("vm")
        .within(Duration::from_secs(120));
    Some(match guest {
        Some(guest) => sandbox.host_env("BAILIWICK_GUEST", guest),
        None => sandbox,
    })
}
