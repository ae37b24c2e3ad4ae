//! What `bailiwick setup` changes, and that it changes nothing else. Each test has a machine of its
//! own: a mount namespace in which the system's folders are empty and its tools only write down that
//! they were called.

use crate::support::{binary, host_command, run_to_end};
use std::time::Duration;

/// A machine with AppArmor's restriction and systemd, for a script that knows the binary as `$B`.
const MACHINE: &str = "set -e
for folder in /proc/sys/kernel /etc /run /usr/sbin; do mount -t tmpfs none $folder; done
mkdir -p /run/systemd/system /etc/apparmor.d
echo 1 > /proc/sys/kernel/apparmor_restrict_unprivileged_userns
for tool in apparmor_parser systemctl; do
    printf '#!/bin/sh\necho %s \"$@\" >> /etc/called\n' $tool > /usr/sbin/$tool
    chmod 755 /usr/sbin/$tool
done
PATH=/usr/bin:/bin
: > /etc/called
";

/// What a script printed, on both streams, on such a machine.
#[track_caller]
fn on_a_machine(script: &str) -> String {
    let mut command = host_command("unshare");
    // A user is root on a machine of his own, as far as it goes.
    command
        .arg("-rm")
        .args(["sh", "-c", &format!("{MACHINE}exec 2>&1\n{script}")])
        .env("B", binary());
    run_to_end(&mut command, &[], Duration::from_secs(120))
        .success()
        .stdout()
}

#[test]
fn the_apparmor_profile_is_for_this_binary_alone_and_loaded_once() {
    let said = on_a_machine(
        "$B setup apparmor; cat /etc/apparmor.d/bailiwick; $B setup apparmor; cat /etc/called; ls -A \
         /etc/apparmor.d; stat -c %a /etc/apparmor.d/bailiwick",
    );
    let path = std::fs::canonicalize(binary()).unwrap();
    for line in [
        "/etc/apparmor.d/bailiwick is in place: ",
        "abi <abi/4.0>,\n",
        &format!(
            "\nprofile bailiwick {} flags=(unconfined) {{\n  userns,\n}}\n",
            path.display()
        ),
        "/etc/apparmor.d/bailiwick was in place already\napparmor_parser -r /etc/apparmor.d/bailiwick\nbailiwick\n644\n",
    ] {
        assert!(said.contains(line), "{line:?} in {said}");
    }
    assert_eq!(said.matches("apparmor_parser").count(), 1, "{said}");
}

#[test]
fn a_setup_is_taken_back_as_it_was_made() {
    let said = on_a_machine(
        "$B setup apparmor; $B setup apparmor --remove; $B setup apparmor --remove; $B setup delegate; \
         cat /etc/systemd/system/user@.service.d/*; $B setup delegate --remove; cat /etc/called; find \
         /etc -type f",
    );
    assert!(
        said.contains("\n[Service]\nDelegate=cpu cpuset io memory pids\n"),
        "{said}"
    );
    let called = "apparmor_parser -r /etc/apparmor.d/bailiwick\napparmor_parser -R \
        /etc/apparmor.d/bailiwick\nsystemctl daemon-reload\nsystemctl daemon-reload\n/etc/called\n";
    assert!(said.ends_with(called), "{said}");
    assert!(
        said.contains("/etc/apparmor.d/bailiwick is not there\n"),
        "{said}"
    );
}

#[test]
fn somebody_elses_file_stays_and_a_profile_that_is_refused_does_not() {
    let said = on_a_machine(
        "echo mine > /etc/apparmor.d/bailiwick; $B setup apparmor || echo code=$?; cat \
         /etc/apparmor.d/bailiwick; rm /etc/apparmor.d/bailiwick; printf '#!/bin/sh\\necho bad \
         profile >&2; exit 1\\n' > /usr/sbin/apparmor_parser; $B setup apparmor || echo code=$?; ls \
         -A /etc/apparmor.d | wc -l",
    );
    assert!(
        said.contains("not made by bailiwick and stays as it is"),
        "{said}"
    );
    assert!(said.contains("code=125\nmine\n"), "{said}");
    assert!(said.contains("bad profile"), "{said}");
    assert!(said.ends_with("code=125\n0\n"), "{said}");
}

#[test]
fn what_would_be_done_is_shown_and_not_done() {
    let said =
        on_a_machine("$B setup apparmor --print; $B setup delegate --print; find /etc -type f");
    assert!(said.contains("userns,"), "{said}");
    assert!(said.contains("then: systemctl daemon-reload\n"), "{said}");
    assert!(said.ends_with("\n/etc/called\n"), "{said}");
    let none = on_a_machine(
        "rm /proc/sys/kernel/apparmor_restrict_unprivileged_userns; rm -r /run/systemd; $B setup \
         apparmor; $B setup delegate; find /etc -type f",
    );
    assert_eq!(
        none.matches("there is nothing to set up\n").count(),
        2,
        "{none}"
    );
    assert!(none.ends_with("\n/etc/called\n"), "{none}");
}

#[test]
fn doctor_names_the_setting_that_forbids_namespaces_and_what_mends_it() {
    // Users may make no namespaces below this one: as where a setting forbids them.
    let forbid = "echo 0 > /proc/sys/user/max_user_namespaces\n";
    let user = "setpriv --bounding-set -all --no-new-privs";
    let said = on_a_machine(&format!("{forbid}{user} $B doctor || echo code=$?"));
    assert!(
        said.contains("`sudo sysctl -w user.max_user_namespaces=15000`"),
        "{said}"
    );
    assert!(said.contains("code=1\n"), "{said}");
}

#[test]
fn doctor_and_run_name_the_limit_of_namespaces_to_root_and_where_it_is_not_to_be_seen() {
    let remedy = "`sudo sysctl -w user.max_user_namespaces=15000`";
    let run =
        "cd /run && XDG_STATE_HOME=/run/state HOME=/run $B run --workspace /run/systemd -- true";
    // Root has every other namespace, but not the one that owns the workspace.
    let root = "echo 0 > /proc/sys/user/max_user_namespaces\n";
    // The limit is that of the namespace above, as in a container.
    let inner = "echo 1 > /proc/sys/user/max_user_namespaces\nexec unshare -rm sh -c '";
    for (before, after) in [(root, ""), (inner, "'")] {
        let both = format!("{before}$B doctor || echo code=$?; {run} || echo code=$?{after}");
        let said = on_a_machine(&both);
        assert_eq!(said.matches(remedy).count(), 2, "{said}");
        assert!(
            said.contains("code=1\n") && said.contains("code=125\n"),
            "{said}"
        );
        assert!(!said.contains("apparmor"), "{said}");
    }
}
