//! What is broken for which check. `Host`: the check runs on the host, in namespaces of its own, where
//! something is as it must not be in a machine. `Machine`: it runs in a real machine in which a program,
//! a policy or a setting has broken one thing. `Unit`: what is compared is on the host, and a test of
//! the function beside it breaks it.

use crate::host;
use crate::machine::{check, guest, machine};
use crate::real;
use crate::row::Row;
use crate::support::host_command;
use std::collections::BTreeSet;

/// A check and how it is made to fail.
pub(crate) struct Control {
    pub(crate) check: &'static str,
    broken: Broken,
    /// What it has to say then.
    says: &'static str,
}

enum Broken {
    /// By a line of shell on the host.
    Host(&'static str),
    /// By a kernel that lacks this system call.
    Without(i64),
    /// By a line of shell in a machine.
    Machine(&'static str),
    /// By more than that.
    By(fn(&str) -> Row),
}

use Broken::{By, Host, Machine, Without};

/// Checks whose control is a unit test: the module of it.
const UNIT: [(&str, &str); 5] = [
    ("network.untouched", "doctor/vm_tests.rs"),
    ("bulk.host", "doctor/known.rs"),
    ("bulk.output", "doctor/known.rs"),
    ("boot.total", "doctor/starts.rs"),
    ("boot.stages", "doctor/starts.rs"),
];

const fn control(check: &'static str, broken: Broken, says: &'static str) -> Control {
    Control {
        check,
        broken,
        says,
    }
}

/// The table.
pub(crate) fn all() -> Vec<Control> {
    vec![
        control(
            "kernel.modules",
            Host("mount -t tmpfs t /proc && touch /proc/modules && $CHECK"),
            "/proc/modules is there",
        ),
        control(
            "kernel.mem",
            Host("mount -t tmpfs t /dev && touch /dev/mem && $CHECK"),
            "/dev/mem is there",
        ),
        control(
            "kernel.port",
            Host("mount -t tmpfs t /dev && touch /dev/port && $CHECK"),
            "/dev/port is there",
        ),
        control(
            "kernel.kcore",
            Host("mount -t tmpfs t /proc && touch /proc/kcore && $CHECK"),
            "/proc/kcore is there",
        ),
        control(
            "kernel.kallsyms",
            Host("mount -t tmpfs t /proc && touch /proc/kallsyms && $CHECK"),
            "/proc/kallsyms is there",
        ),
        control(
            "kernel.debugfs",
            Host("mount -t tmpfs t /proc && echo 'nodev debugfs' >/proc/filesystems && $CHECK"),
            "the kernel knows debugfs",
        ),
        control(
            "kernel.drivers",
            Host(
                "mount -t tmpfs t /sys && mkdir -p /sys/bus/a/drivers/b && \
                 touch /sys/bus/a/drivers/b/unbind && $CHECK",
            ),
            "/sys/bus/a/drivers/b/unbind can be written",
        ),
        control(
            "kernel.command-line",
            Machine("$CHECK 'cmdline=console=ttyS0 quiet'"),
            "instead of",
        ),
        control(
            "kernel.clock-source",
            Host(
                "mount -t tmpfs t /sys && cd /sys && f=devices/system/clocksource/clocksource0 && \
                 mkdir -p $f && echo refined-jiffies >$f/current_clocksource && $CHECK",
            ),
            "refined-jiffies",
        ),
        control(
            "kernel.seccomp",
            Without(libc::SYS_seccomp),
            "the system-call filter cannot be had",
        ),
        control(
            "kernel.landlock",
            Without(libc::SYS_landlock_create_ruleset),
            "Landlock",
        ),
        control(
            "files.root-device",
            Host(
                "mount -t tmpfs t /sys && mkdir -p /sys/block/vda && echo 0 >/sys/block/vda/ro && \
                 echo 7:250 >/sys/block/vda/dev && $CHECK",
            ),
            "vda can be written",
        ),
        control(
            "files.setuid",
            Machine("cp /bin/true /usr/local/bin/x && chmod 4755 /usr/local/bin/x && $CHECK"),
            "/usr/local/bin/x has mode 4755",
        ),
        control(
            "files.guest-binary",
            Machine("cp /run/bailiwick/guest /tmp/copy && $CHECK guest=/tmp/copy"),
            "it worked: OpenToWrite",
        ),
        control(
            "files.fresh",
            By(real::a_marker_that_stays),
            "from an earlier machine",
        ),
        control(
            "files.venv",
            Machine("PATH=/usr/bin:/bin $CHECK"),
            "uv cannot be run",
        ),
        control(
            "again.workspace",
            By(real::a_file_that_does_not_stay),
            "No such file",
        ),
        control(
            "identity.set",
            Machine("echo bailiwick >/etc/machine-id && $CHECK"),
            "the machine id is \"bailiwick\"",
        ),
        control(
            "identity.clock",
            By(real::a_host_whose_clock_is_off),
            "ms off, and at most",
        ),
        control(
            "again.identity",
            Machine(
                "$CHECK host-before=$(cat /proc/sys/kernel/hostname) \
                 machine-before=$(cat /etc/machine-id)",
            ),
            "both are bailiwick-",
        ),
        control(
            "session.variables",
            By(real::a_variable_that_is_handed_on),
            "LD_PRELOAD is set",
        ),
        control("session.locale", Machine("LC_ALL=C $CHECK"), "ANSI"),
        control(
            "terminal.pty",
            Machine("$CHECK size=24x80"),
            "stdin is no terminal",
        ),
        control(
            "network.cards",
            Host("mount -t tmpfs t /sys && mkdir -p /sys/class/net/eth0 && $CHECK"),
            "there is eth0",
        ),
        control(
            "network.direct-address",
            By(real::a_listener_that_is_granted),
            "this is the host",
        ),
        control("network.icmp", Host("$CHECK"), "can be had"),
        control(
            "network.udp",
            By(real::a_host_that_answers_datagrams),
            "this is the host",
        ),
        control(
            "network.ipv6",
            Host("mount -t tmpfs t /proc && mkdir /proc/net && touch /proc/net/if_inet6 && $CHECK"),
            "/proc/net/if_inet6 is there",
        ),
        control(
            "network.denied",
            By(real::a_host_that_is_granted),
            "was answered with",
        ),
        control(
            "network.dns",
            By(real::a_name_that_is_granted),
            "says that denied.test is",
        ),
        control("https.curl", By(real::no_interception), "exit code"),
        control("https.python", By(real::no_interception), "exit code"),
        control("https.node", By(real::no_interception), "exit code"),
        control("https.git", By(real::no_interception), "exit code"),
        control("direct.curl", By(real::no_authority), "exit code"),
        control("direct.python", By(real::no_authority), "exit code"),
        control("direct.node", By(real::no_authority), "exit code"),
        control("direct.git", By(real::no_authority), "exit code"),
        control("packages.pip", By(real::no_interception), "exit code"),
        control(
            "bulk.workspace",
            Machine("$CHECK large=1048576 large-at=/dev/full"),
            "No space left",
        ),
    ]
}

impl Control {
    /// The check fails, and for the reason that was given to it.
    pub(crate) fn prove(&self) {
        let row = match &self.broken {
            Host(script) => host::check(self.check, script),
            Without(call) => host::check_without(self.check, *call),
            Machine(script) => check(&machine(""), self.check, script),
            By(how) => how(self.check),
        };
        assert!(!row.passed, "it passed: {row:?}");
        assert!(row.found.contains(self.says), "for another reason: {row:?}");
    }
}

/// Every check of the guest has a row, and nothing else has.
pub(crate) fn are_complete() {
    let listed = host_command(guest())
        .args(["doctor", "--list"])
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let checks: BTreeSet<_> = listed
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    let controls: BTreeSet<_> = all().iter().map(|control| control.check).collect();
    assert!(checks.len() > 30, "{listed}");
    assert_eq!(checks, controls);
    for (check, module) in UNIT {
        let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("src")
            .join(module);
        assert!(source.is_file(), "{check}: there is no {module}");
    }
}
