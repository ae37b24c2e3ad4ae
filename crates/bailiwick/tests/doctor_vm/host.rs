//! The guest's checks on the host, in a mount namespace where something is as it must not be.

use crate::filter;
use crate::machine::guest;
use crate::row::{Row, only};
use crate::support::{host_command, run_to_end};
use std::time::Duration;

/// How long a check may take, on the busiest machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// Runs a line of shell as root of a user and mount namespace, in which `$CHECK` runs this check.
#[track_caller]
pub(crate) fn check(check: &str, script: &str) -> Row {
    let mut command = host_command("unshare");
    if !rustix::process::getuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--mount", "--net", "sh", "-ec"]).arg(format!(
        "CHECK='{} doctor --only {check}'\n{script}",
        guest().display()
    ));
    let ended = run_to_end(&mut command, &[], PATIENCE);
    only(&ended.stdout(), check, &ended.stderr())
}

/// Runs this check where the kernel does not know this system call.
#[track_caller]
pub(crate) fn check_without(check: &str, call: i64) -> Row {
    let mut command = host_command(guest());
    command.args(["doctor", "--only", check]);
    filter::without(&mut command, call);
    let ended = run_to_end(&mut command, &[], PATIENCE);
    only(&ended.stdout(), check, &ended.stderr())
}
