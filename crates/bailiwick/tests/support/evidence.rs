//! What a suite of `bailiwick bench` leaves behind, read as a stranger reads it.

use super::{binary, host_command, pass_on, run_to_end};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// Variables by which the product finds machines and their parts.
const PARTS: [&str; 4] = [
    "XDG_CACHE_HOME",
    "BAILIWICK_GUEST",
    "BAILIWICK_CAPOS_KERNEL",
    "BAILIWICK_CAPOS_COSTS",
];

/// The product as whoever measures calls it, without any word yet.
pub(crate) fn product() -> Command {
    let mut command = host_command(binary());
    pass_on(&mut command, &PARTS);
    command
}

/// A folder on a disk, which a workspace of the bench has to lie on.
pub(crate) fn folder() -> TempDir {
    let home = std::env::home_dir().unwrap();
    tempfile::Builder::new()
        .prefix(".bailiwick-test-")
        .tempdir_in(home)
        .unwrap()
}

pub(crate) fn evidence(out: &Path) -> serde_json::Value {
    let file = std::fs::read_dir(out)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|e| e == "json"))
        .unwrap();
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// A short run of a suite; its evidence.
pub(crate) fn short(words: &[&str]) -> serde_json::Value {
    let out = folder();
    let mut command = product();
    command
        .args(words)
        .args(["--quick", "--out"])
        .arg(out.path());
    let finished = run_to_end(&mut command, b"", Duration::from_secs(600));
    // What a busy machine makes of a figure is not asked here, nor what the figure is.
    let code = finished.status.code();
    assert!(
        matches!(code, Some(0 | 1 | 3)),
        "{code:?}: {}",
        finished.stderr()
    );
    let left: Vec<_> = std::fs::read_dir(out.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        !left.iter().any(|name| name.starts_with("work-")),
        "{left:?}"
    );
    evidence(out.path())
}

/// Every row has run to its end, and its verifier found everything right.
pub(crate) fn all_verified(evidence: &serde_json::Value) {
    let rows = evidence["rows"].as_array().unwrap();
    assert!(!rows.is_empty());
    for row in rows {
        assert_eq!(
            row["verified"]["verdict"], "pass",
            "{}: {}",
            row["name"], row["verified"]
        );
        assert!(!row["limits"].is_null());
    }
    assert_eq!(evidence["publishable"], false);
}
