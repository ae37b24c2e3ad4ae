//! Without a place for the record, of one's own and that can be written, nothing is started.

use super::{not_started, root};
use crate::support::Sandbox;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// Makes something that is no state folder where one should be; the words about it.
type NoState = (fn(&Path), &'static str, &'static str);

const NO_STATE: [NoState; 3] = [
    (
        |path| fs::write(path, "").unwrap(),
        "Not a directory",
        "move away what stands there",
    ),
    (
        |path| symlink("nowhere", path).unwrap(),
        "File exists",
        "move away what stands there",
    ),
    (
        |path| {
            fs::create_dir(path).unwrap();
            fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
        },
        "can be written by other users",
        "mend its owner and mode (0700)",
    ),
];

#[test]
fn a_state_folder_that_is_none_or_open_to_others_is_refused_with_the_remedy() {
    for (spoil, why, remedy) in NO_STATE {
        let sandbox = Sandbox::new();
        spoil(&sandbox.scratch().state().join("bailiwick"));
        let outcome = sandbox.run("touch began");
        not_started(&sandbox, &outcome, 125)
            .stderr_has(why)
            .stderr_has(remedy);
        outcome.stderr_has("XDG_STATE_HOME");
    }
}

#[test]
fn a_state_folder_that_cannot_be_written_is_named() {
    let sandbox = Sandbox::new();
    let text = sandbox
        .elsewhere(
            r#"
mnt tmpfs size=1m "$STATE"
mount -o remount,ro "$STATE"
bw run -- touch began 2>&1
umount "$STATE"
mnt tmpfs size=1m "$STATE"
plain "$BAILIWICK" run -- true
mount -o remount,ro "$STATE"
echo "-- used before"
bw run -- touch began 2>&1
bw sessions list --json 2>&1
bw log --json 2>&1
bw log verify 2>&1
ls "$WS""#,
        )
        .stdout();
    let (new, used) = text.split_once("-- used before\n").unwrap();
    for part in [new, used] {
        assert!(part.contains("exit 125\n"), "{text}");
        assert!(part.contains("Read-only file system"), "{text}");
        assert!(
            part.contains("set XDG_STATE_HOME to a folder of yours"),
            "{text}"
        );
    }
    // What is on record can be read there all the same.
    assert!(
        used.contains("\"exit_code\":0") && used.contains("exec_start"),
        "{text}"
    );
    assert!(used.contains("intact: 4 rows"), "{text}");
    assert!(!used.contains("began\n"), "{text}");
    if !root() {
        let folder = sandbox.scratch().state();
        fs::set_permissions(&folder, Permissions::from_mode(0o500)).unwrap();
        let outcome = sandbox.run("touch began");
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        not_started(&sandbox, &outcome, 125).stderr_has("Permission denied");
        outcome.stderr_has("set XDG_STATE_HOME to a folder of yours");
    }
}

#[test]
fn a_state_folder_of_somebody_else_is_refused() {
    let sandbox = Sandbox::new();
    let outcome = if root() {
        let folder = sandbox.scratch().state().join("bailiwick");
        fs::create_dir(&folder).unwrap();
        std::os::unix::fs::chown(&folder, Some(12_345), Some(12_345)).unwrap();
        sandbox.run("touch began")
    } else {
        // Root's folder: there `bailiwick` cannot even be made.
        Sandbox::new()
            .host_env("XDG_STATE_HOME", "/")
            .run("touch began")
    };
    let why = match root() {
        true => "belongs to another user",
        false => "Permission denied",
    };
    not_started(&sandbox, &outcome, 125)
        .stderr_has(why)
        .stderr_has("XDG_STATE_HOME");
}

#[test]
fn without_any_place_for_a_record_nothing_starts() {
    let sandbox = Sandbox::new()
        .host_env("XDG_STATE_HOME", "relative")
        .host_env("HOME", "");
    let outcome = sandbox.run("touch began");
    not_started(&sandbox, &outcome, 2).stderr_has("set XDG_STATE_HOME or HOME to an absolute path");
    let sandbox = Sandbox::new().host_env("XDG_STATE_HOME", "/proc");
    let outcome = sandbox.run("touch began");
    not_started(&sandbox, &outcome, 125)
        .stderr_has("/proc/bailiwick")
        .stderr_has("XDG_STATE_HOME");
}
