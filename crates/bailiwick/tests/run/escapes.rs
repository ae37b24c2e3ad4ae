//! Ways out that were tried before, each from inside. An attempt prints `OUT` if it succeeded;
//! the same attempt must succeed outside where it can be tried there without harm.

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
const EINVAL: i32 = 22;
const ENOSYS: i32 = 38;

#[cfg(target_arch = "x86_64")]
#[test]
fn the_kernel_surface_is_closed() {
    for (name, number, arguments, errno) in [
        ("mount", 165, "b'none', b'/tmp', b'tmpfs', 0, 0", EPERM),
        ("umount2", 166, "b'/proc', 2", EPERM),
        ("pivot_root", 155, "b'/tmp', b'/tmp'", EPERM),
        ("chroot", 161, "b'/tmp'", EPERM),
        ("open_tree", 428, "-100, b'/', 1", EPERM),
        ("fsopen", 430, "b'tmpfs', 0", EPERM),
        ("setns", 308, "0, 0", EPERM),
        ("unshare user", 272, "0x10000000", EPERM),
        ("unshare mount", 272, "0x20000", EPERM),
        ("clone new user", 56, "0x10000000 | 17, 0, 0, 0, 0", EPERM),
        ("bpf", 321, "0, 0, 0", EPERM),
        ("perf_event_open", 298, "0, 0, -1, -1, 0", EPERM),
        ("userfaultfd", 323, "1", EPERM),
        ("keyctl", 250, "0, 0", EPERM),
        ("add_key", 248, "b'user', b'x', b'y', 1, -3", EPERM),
        ("process_vm_readv", 310, "1, 0, 0, 0, 0, 0", EPERM),
        ("process_vm_writev", 311, "1, 0, 0, 0, 0, 0", EPERM),
        ("pidfd_getfd", 438, "0, 0, 0", EPERM),
        ("kexec_load", 246, "0, 0, 0, 0", EPERM),
        ("init_module", 175, "0, 0, b''", EPERM),
        ("ptrace attach", 101, "16, 1, 0, 0", EPERM),
        ("ptrace seize", 101, "0x4206, 1, 0, 0", EPERM),
        ("open_by_handle_at", 304, "-100, 0, 0", EPERM),
        ("fanotify_init", 300, "0, 0", EPERM),
        (
            "io_uring_setup",
            425,
            "8, ctypes.create_string_buffer(200)",
            ENOSYS,
        ),
        ("clone3", 435, "ctypes.create_string_buffer(88), 88", ENOSYS),
        (
            "openat2",
            437,
            "-100, b'/', ctypes.create_string_buffer(24), 24",
            ENOSYS,
        ),
        ("personality READ_IMPLIES_EXEC", 135, "0x400000", EPERM),
        ("a call of the future", 600, "0", ENOSYS),
    ] {
        refused_call(name, number, arguments, &[errno]);
    }
    refused_call(
        "32-bit personality of swapon",
        167,
        "b'/x', 0",
        &[EPERM, EINVAL],
    );
}

#[cfg(target_arch = "x86_64")]
#[test]
fn other_system_call_tables_are_closed() {
    // x32 (bit 30) and i386 (int 0x80) end the program: SIGSYS.
    let sandbox = Sandbox::new();
    sandbox
        .exec([
            "python3",
            "-c",
            "import ctypes; ctypes.CDLL(None).syscall(0x40000000 + 39); print('OUT')",
        ])
        .code(128 + 31)
        .stdout_lacks("OUT");
    let int80 = r"
import ctypes, mmap
m = mmap.mmap(-1, 4096, prot=7)
m.write(b'\xb8\x14\x00\x00\x00\xcd\x80\xc3')  # mov eax, 20 (getpid); int 0x80; ret
f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))
print('OUT', f())
";
    let outcome = sandbox.exec(["python3", "-c", int80]);
    outcome.failure().stdout_lacks("OUT");
}

#[test]
fn a_terminal_cannot_be_typed_into() {
    attempt(
        "TIOCSTI",
        "m, s = os.openpty()\n\
         tried(lambda: fcntl.ioctl(s, 0x5412, b'x'))\n\
         tried(lambda: fcntl.ioctl(s, 0x541c, b'\\x03'))",
    );
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
fn other_processes_cannot_be_seen_or_touched() {
    let sandbox = Sandbox::new();
    let seen = sandbox.run("ls -d /proc/[0-9]* | wc -l").success().stdout();
    assert!(seen.trim().parse::<u32>().unwrap() <= 5, "{seen}");
    for path in [
        "/proc/1/mem",
        "/proc/1/environ",
        "/proc/1/root/etc/passwd",
        "/proc/1/fd/3",
        "/proc/1/cwd/x",
        "/proc/1/maps",
        "/proc/1/map_files",
    ] {
        sandbox.run(&format!("cat {path}")).failure();
    }
    attempt(
        "signal pid 1",
        "os.kill(1, 9); os.kill(1, 19); import time; time.sleep(0.1); print('alive')",
    );
    attempt(
        "signal all",
        "tried(lambda: os.kill(%d, 0) or True)"
            .replace("%d", &std::process::id().to_string())
            .as_str(),
    );
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
fn no_set_user_id_file_can_be_left_in_the_workspace() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    let script = r"
import os, ctypes
libc = ctypes.CDLL(None)
open('a', 'w')
def tried(f):
    try: f()
    except OSError as e: print('held', e.errno)
tried(lambda: os.chmod('a', 0o4755))
tried(lambda: os.chmod('a', 0o2755))
tried(lambda: os.fchmod(os.open('a', os.O_RDWR), 0o6755))
tried(lambda: os.open('b', os.O_CREAT | os.O_WRONLY, 0o4755))
tried(lambda: os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o4755))
tried(lambda: os.mknod('c', 0o104755))
libc.syscall(452, -100, b'a', 0o4755, 0)
libc.creat(b'd', 0o4755)
os.chmod('a', 0o755); os.open('e', os.O_RDONLY | os.O_CREAT, 0o755)
";
    sandbox
        .exec(["python3", "-c", script])
        .success()
        .stdout_has("held 1");
    for entry in std::fs::read_dir(sandbox.workspace()).unwrap() {
        let mode = entry
            .as_ref()
            .unwrap()
            .metadata()
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o6000, 0, "{entry:?}");
    }
}

#[test]
fn links_do_not_lead_out_of_the_workspace() {
    let sandbox = Sandbox::new();
    let secret = sandbox.scratch().write("secret", "the key");
    let secret = secret.display();
    for script in [
        format!("ln -s {secret} l; cat l"),
        format!("ln {secret} l; cat l"),
        format!(
            "cat ../secret; cat {secret}; cat /proc/self/cwd/../secret; cat /proc/self/root{secret}"
        ),
        "python3 -c \"import os; d = os.open('.', os.O_PATH); print(open(f'/proc/self/fd/{d}/../secret').read())\"".to_owned(),
    ] {
        sandbox.run(&script).failure().stdout_lacks("the key");
    }
}

#[test]
fn descriptors_of_the_caller_stay_outside() {
    let sandbox = Sandbox::new();
    let secret = sandbox.scratch().write("secret", "the key");
    let script = format!(
        "exec 7< {}; exec \"$0\" run --workspace . -- sh -c 'cat <&7; ls /proc/self/fd | wc -l'",
        secret.display()
    );
    let mut command = std::process::Command::new("sh");
    for (key, value) in sandbox.command().get_envs() {
        if let Some(value) = value {
            command.env(key, value);
        }
    }
    let output = command
        .current_dir(sandbox.workspace())
        .args(["-c", &script])
        .arg(crate::support::binary())
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(!stdout.contains("the key"));
    // stdin, stdout, stderr, and the folder that ls reads.
    assert_eq!(stdout.trim(), "4");
}

#[test]
fn sockets_of_the_hosts_services_do_not_exist() {
    Sandbox::new()
        .run("ls /run/docker.sock /var/run/docker.sock /run/dbus /run/systemd /run/user/*/bus 2>/dev/null; env | grep -E 'SSH_AUTH_SOCK|DBUS_SESSION|DOCKER_HOST'; true")
        .success()
        .stdout_is("");
}

#[test]
fn limits_cannot_be_loosened_from_inside() {
    let policy = "extends = [\"default\"]\n[limits]\ncpu = 1.0\n";
    let sandbox = Sandbox::new().policy(policy);
    let script = r"
import os, resource
def tried(f):
    try: f(); print('OUT')
    except (OSError, PermissionError) as e: print('held', e.errno)
tried(lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0)))
tried(lambda: os.sched_setaffinity(0, range(64)))
";
    sandbox
        .exec(["python3", "-c", script])
        .success()
        .stdout_lacks("OUT")
        .stdout_has("held 1");
}
