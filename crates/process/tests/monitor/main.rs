//! Monitors: programs of the product's own that show the policy's files below one folder. Each test
//! starts one for real, as whoever runs the tests; where that is root, all are run once more as an
//! ordinary user.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod files;
mod identity;
mod qemu;
mod races;
mod sockets;
mod world;

use std::os::unix::fs::PermissionsExt;
use std::panic;
use std::process::{Command, ExitCode};

/// A test and its name.
type Test = (&'static str, fn());

/// The name of a function that is a test, and the function.
#[macro_export]
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub(crate) const ALL: &[$crate::Test] = &[$((stringify!($name), $name)),*];
    };
}

/// Whoever has no name on any machine.
const USER: &str = "1000";

fn main() -> ExitCode {
    // The files that the tests make are those of an ordinary user, whoever started this.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let wanted = std::env::args()
        .nth(1)
        .filter(|word| !word.starts_with('-'));
    let tests = [
        files::ALL,
        identity::ALL,
        sockets::ALL,
        qemu::ALL,
        races::ALL,
    ]
    .concat();
    let mut good = true;
    for (name, test) in tests {
        if wanted.as_ref().is_some_and(|wanted| !name.contains(wanted)) {
            continue;
        }
        let passed = panic::catch_unwind(test).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        good &= passed;
    }
    if rustix::process::geteuid().is_root() && !identity::is_locked_in() {
        println!("\nas an ordinary user:");
        good &= as_user(wanted.as_deref());
    }
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Runs the tests as an ordinary user, from where he can read them.
fn as_user(wanted: Option<&str>) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let exe = dir.path().join("monitor");
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    // By another process: a child that still runs would hold it open for writing.
    let mut install = Command::new("install");
    install
        .args(["-m", "755"])
        .arg(std::env::current_exe().unwrap());
    assert!(install.arg(&exe).status().unwrap().success());
    let mut command = Command::new("setpriv");
    command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]);
    command.arg(exe).args(wanted).current_dir("/");
    command
        .env_remove("XDG_RUNTIME_DIR")
        .status()
        .unwrap()
        .success()
}
