//! Ways out that not every machine has, so that what stops them cannot be shown on each: calls that a
//! kernel may be built without, devices, services. What can be shown is in the table of
//! `tests/escapes`. An attempt prints `OUT` if it succeeded.

use crate::support::Sandbox;

/// Runs a Python attempt inside; it prints OUT where it got through.
fn attempt(name: &str, script: &str) {
    let prelude = "import os, socket, ctypes, fcntl, struct, sys, signal\n\
        libc = ctypes.CDLL(None, use_errno=True)\n\
        def call(*a):\n    r = libc.syscall(*a)\n    return r, ctypes.get_errno()\n\
        def tried(f):\n    try:\n        if f() is not False: print('OUT')\n    except OSError as e: print('held', e.errno)\n";
    let outcome = Sandbox::new().exec(["python3", "-c", &format!("{prelude}{script}")]);
    outcome.success().stdout_lacks("OUT");
    assert!(
        !outcome.stdout().is_empty(),
        "{name} tried nothing: {}",
        outcome.stderr()
    );
}

/// A system call by number must fail with one of these errors.
fn refused_call(name: &str, number: u32, arguments: &str, errno: &[i32]) {
    let list: Vec<_> = errno.iter().map(ToString::to_string).collect();
    attempt(
        name,
        &format!(
            "r, e = call({number}, {arguments})\nprint('OUT' if r >= 0 or e not in ({},) else 'held', r, e)",
            list.join(",")
        ),
    );
}

const EPERM: i32 = 1;
const ENOSYS: i32 = 38;

#[cfg(target_arch = "x86_64")]
#[test]
fn calls_that_a_kernel_may_be_built_without_are_closed() {
    for (name, number, arguments, errno) in [
        ("kexec_load", 246, "0, 0, 0, 0", EPERM),
        ("kexec_file_load", 320, "0, 0, 0, 0, 0", EPERM),
        ("init_module", 175, "0, 0, b''", EPERM),
        ("finit_module", 313, "0, b'', 0", EPERM),
        ("delete_module", 176, "b'x', 0", EPERM),
        ("iopl", 172, "3", EPERM),
        ("ioperm", 173, "0, 1, 1", EPERM),
        ("lookup_dcookie", 212, "0, 0, 0", EPERM),
        ("nfsservctl", 180, "0, 0, 0", EPERM),
        ("quotactl_fd", 443, "0, 0, 0, 0", EPERM),
        ("io_uring_enter", 426, "0, 0, 0, 0, 0, 0", ENOSYS),
        ("io_uring_register", 427, "0, 0, 0, 0", ENOSYS),
        ("a call of the future", 600, "0", ENOSYS),
    ] {
        refused_call(name, number, arguments, &[errno]);
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_x32_table_is_closed() {
    // The call ends the program: SIGSYS.
    Sandbox::new()
        .exec([
            "python3",
            "-c",
            "import ctypes; ctypes.CDLL(None).syscall(0x40000000 + 39); print('OUT')",
        ])
        .code(128 + 31)
        .stdout_lacks("OUT");
}

#[test]
fn only_ordinary_socket_families_exist() {
    // AF_PACKET, AF_VSOCK, AF_BLUETOOTH, AF_ALG, AF_CAN, AF_XDP, AF_TIPC, by number: raw, stream
    // and datagram.
    for family in [17, 40, 31, 38, 29, 44, 30] {
        for kind in [1, 2, 3, 5] {
            let call = format!("tried(lambda: socket.socket({family}, {kind}, 0))");
            attempt(&format!("family {family}"), &call);
        }
    }
    attempt(
        "netfilter netlink",
        "tried(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12))",
    );
    attempt(
        "audit netlink",
        "tried(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9))",
    );
    attempt(
        "raw IP",
        "tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))",
    );
    Sandbox::new()
        .exec([
            "python3",
            "-c",
            "import socket; print(len(socket.if_nameindex()))",
        ])
        .success()
        .stdout_is("1\n");
}

#[test]
fn the_kernels_own_files_cannot_be_written() {
    let sandbox = Sandbox::new();
    for path in [
        "/proc/sys/kernel/core_pattern",
        "/proc/sysrq-trigger",
        "/proc/sys/net/ipv4/ip_forward",
        "/sys/kernel/uevent_helper",
        "/proc/1/oom_score_adj",
        "/sys/devices/system/cpu/cpu0/online",
        "/proc/sys/kernel/modprobe",
        "/proc/kcore",
        "/dev/mem",
        "/dev/kmsg",
    ] {
        // In the sandbox's own /dev a plain file of that name may be made; it is nothing.
        let device = format!("case {path} in /dev/*) test -c {path} || exit 1;; esac");
        sandbox.run(&format!("{device}; echo 0 > {path}")).failure();
    }
    sandbox
        .run("mknod d b 254 0; mknod c c 1 1; ls d c")
        .failure();
}

#[test]
fn set_user_id_programs_give_nothing() {
    let sandbox = Sandbox::new();
    sandbox
        .run("grep -q '^NoNewPrivs:.1' /proc/self/status && echo set")
        .stdout_is("set\n");
    sandbox
        .run("grep -E '^Cap(Eff|Prm|Bnd|Amb)' /proc/self/status | grep -v 0000000000000000")
        .failure();
    sandbox
        .run("cp /bin/sh s && chmod u+s s && ./s -p -c 'id -u'")
        .stdout_lacks("\n0\n");
}

#[test]
fn sockets_of_the_hosts_services_do_not_exist() {
    Sandbox::new()
        .run("ls /run/docker.sock /var/run/docker.sock /run/dbus /run/systemd /run/user/*/bus 2>/dev/null; env | grep -E 'SSH_AUTH_SOCK|DBUS_SESSION|DOCKER_HOST'; true")
        .success()
        .stdout_is("");
}

#[test]
fn the_product_has_no_switch_that_leaves_out_a_layer() {
    const SWITCHES: [&str; 3] = [
        "BAILIWICK_TEST_WITHOUT",
        "BAILIWICK_TEST_LANDLOCK_ABI",
        "BAILIWICK_STOP_AT",
    ];
    let sandbox = Sandbox::new()
        .home_file(".ssh/id", "the key\n")
        .host_env(SWITCHES[0], "mounts,landlock,seccomp,broker");
    sandbox.run("cat ~/.ssh/id").failure().stdout_is("");
    let binary = std::fs::read(crate::support::binary()).unwrap();
    for switch in SWITCHES {
        let mut parts = binary.windows(switch.len());
        let named = parts.any(|part| part == switch.as_bytes());
        assert!(
            !named,
            "{switch}: is it what is shipped (BAILIWICK_BINARY)?"
        );
    }
}
