//! Programs of the host that a test calls beside the product. They see nothing of the environment in which
//! the tests were started but where programs, the home directory and temporary files are: no locale, no
//! proxy, and none of the variables by which somebody tells git, Python or a C library what to do.

use super::surroundings;
use std::ffi::OsStr;
use std::process::Command;

/// What a program of the host sees of the caller's environment.
const SEEN: [&str; 3] = ["PATH", "HOME", "TMPDIR"];

/// Calls a program of the host.
pub(crate) fn host_command(program: impl AsRef<OsStr>) -> Command {
    surroundings::in_order();
    let mut command = Command::new(program);
    command.env_clear().env("LANG", "C.UTF-8");
    pass_on(&mut command, &SEEN);
    command
}

/// Lets a program see these variables of the caller's as well, where they are set.
pub(crate) fn pass_on(command: &mut Command, names: &[&str]) {
    for name in names {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
}
