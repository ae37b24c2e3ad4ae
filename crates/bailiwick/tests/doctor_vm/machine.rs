//! Machines of tests.

use crate::row::{Row, only};
use crate::support::{Backend, Sandbox, binary};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The guest's binary, where a machine has it.
pub(crate) const GUEST: &str = "/run/bailiwick/guest";

/// The guest's binary on the host, found as the product finds it.
pub(crate) fn guest() -> PathBuf {
    if let Some(given) = std::env::var_os("BAILIWICK_GUEST") {
        return given.into();
    }
    let own = PathBuf::from(binary());
    let folder = own.parent().unwrap_or(Path::new("/"));
    let places = ["bailiwick-guest", "../release/bailiwick-guest"];
    let places = places.map(|place| folder.join(place));
    places
        .into_iter()
        .find(|path| path.is_file())
        .unwrap_or_default()
}

/// A machine to be, under this policy.
pub(crate) fn machine(policy: &str) -> Sandbox {
    Sandbox::on(Backend::Vm)
        .policy(&format!("extends = [\"default\"]\n{policy}"))
        .within(Duration::from_secs(240))
}

/// Runs a line of shell in a machine, in which `$CHECK` runs this check; what the check found.
#[track_caller]
pub(crate) fn check(sandbox: &Sandbox, check: &str, script: &str) -> Row {
    let words = OsString::from(format!("CHECK='{GUEST} doctor --only {check}'\n{script}"));
    let outcome = sandbox.run(words.to_str().unwrap());
    only(&outcome.stdout(), check, &outcome.stderr())
}
