//! Makes the "host" of a cell: a machine of its own with addresses of the internet, so that nothing
//! that an escape reaches is the real one, and every process of it ends with it. What it has not of
//! its own is the kernel; nothing in the table changes what all of the machine shares.

#[path = "../support/surroundings.rs"]
pub(crate) mod surroundings;

use crate::row::{Mode, Who};
use crate::sys::{Word, call};
use serde_json::{Value, json};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Addresses of the host's network: a server of the internet, one of the internal network, the one
/// where clouds keep credentials, the sandbox's own name server.
const ADDRESSES: [Ipv4Addr; 4] = [
    Ipv4Addr::new(192, 0, 2, 10),
    Ipv4Addr::new(10, 1, 2, 3),
    Ipv4Addr::new(169, 254, 169, 254),
    crate::services::NAMESERVER,
];
/// The same of the internet, in its newer form.
const ADDRESS6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x10);
/// The id of the ordinary user where root runs the tests.
const USER: u32 = 1000;

/// Where the cell's files are.
pub(crate) fn ground() -> PathBuf {
    std::env::var_os("BAILIWICK_ESCAPES_GROUND").map_or_else(|| "/tmp".into(), PathBuf::from)
}

/// What `unshare` makes of the caller before [`become_machine`].
pub(crate) fn command(who: Who, mode: Mode, ground: &Path) -> Command {
    // Before anything is started: every process of the cell inherits it.
    surroundings::in_order();
    let mut command = Command::new("unshare");
    let root = rustix::process::getuid().is_root();
    if !root {
        let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
        command
            .arg("--user")
            .arg(format!("--map-user={}", uid.as_raw()))
            .arg(format!("--map-group={}", gid.as_raw()))
            .arg("--keep-caps");
    }
    command
        .args([
            "--fork",
            "--kill-child=KILL",
            "--pid",
            "--mount",
            "--net",
            "--uts",
            "--ipc",
        ])
        .arg("--mount-proc")
        .arg(ground.join("bin/escapes"))
        .args(["--machine", who.name(), mode.name()])
        .env("BAILIWICK_ESCAPES_GROUND", ground);
    command
}

/// Gives a cell's folder to who starts the sandboxes.
pub(crate) fn own(ground: &Path, who: Who) -> io::Result<()> {
    match who == Who::User && rustix::process::getuid().is_root() {
        true => {
            let bin = ground.join("bin");
            for path in [ground, &bin, &bin.join("escapes")] {
                std::os::unix::fs::chown(path, Some(USER), Some(USER))?;
            }
            Ok(())
        }
        false => Ok(()),
    }
}

/// Completes the machine of a cell and becomes its stage; returns only where that failed.
pub(crate) fn become_machine(who: Who, mode: Mode, words: &[String]) -> io::Result<()> {
    network()?;
    // What is found inside at a number is never a process of the host by chance.
    std::fs::write("/proc/sys/kernel/ns_last_pid", "20000")?;
    let ground = ground();
    std::fs::create_dir(ground.join("planted"))?;
    if rustix::process::getuid().is_root() {
        plant(&ground, who, mode)?;
    }
    let mut stage = vec![ground.join("bin/escapes").to_string_lossy().into_owned()];
    stage.extend(["--stage", who.name(), mode.name()].map(String::from));
    stage.extend(words.iter().cloned());
    if mode == Mode::Container {
        let bundle = bundle(&ground, who, &stage)?;
        let name = format!("bailiwick-escapes-{}-{}", who.name(), std::process::id());
        return Err(Command::new("runc")
            .arg("--root")
            .arg(ground.join("runc"))
            .args(["run", "--bundle"])
            .arg(bundle)
            .arg(name)
            .exec());
    }
    let root = rustix::process::getuid().is_root();
    if mode == Mode::Bare {
        // Root keeps every right over the machine, as where `user.max_user_namespaces` is 0; that
        // is all of the machine's, and must stay what it is.
        match root {
            true => refuse_namespaces()?,
            false => lock_namespaces()?,
        }
    }
    if who == Who::User && root {
        become_user(USER)?;
    }
    if who == Who::User {
        drop_capabilities()?;
    }
    Err(Command::new(&stage[0]).args(&stage[1..]).exec())
}

/// Puts down what only root can make: a device, a program that runs as its owner, who is another
/// user, and a mount.
fn plant(ground: &Path, who: Who, mode: Mode) -> io::Result<()> {
    use rustix::fs::{CWD, FileType, Mode as Bits, makedev, mknodat};
    let owner = match who {
        Who::Root => 0,
        Who::User => USER,
    };
    std::os::unix::fs::chown(ground.join("planted"), Some(owner), Some(owner))?;
    let device = ground.join("planted/device");
    mknodat(
        CWD,
        &device,
        FileType::CharacterDevice,
        Bits::from_raw_mode(0o666),
        makedev(1, 5),
    )?;
    std::os::unix::fs::chown(&device, Some(owner), Some(owner))?;
    let program = ground.join("planted/set-user-id");
    std::fs::copy(ground.join("bin/escapes"), &program)?;
    std::os::unix::fs::chown(&program, Some(USER - owner), Some(USER - owner))?;
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755))?;
    let mounted = ground.join("mounted");
    std::fs::create_dir(&mounted)?;
    if mode != Mode::Container {
        let flags = rustix::mount::MountFlags::empty();
        // One on the other, for each phase that may take one away.
        for _ in 0..4 {
            rustix::mount::mount("none", &mounted, "tmpfs", flags, None::<&std::ffi::CStr>)?;
        }
    }
    Ok(())
}

/// Brings up `lo` with every address of [`ADDRESSES`].
fn network() -> io::Result<()> {
    let socket = call(
        libc::SYS_socket,
        &mut [Word::N(2), Word::N(libc::SOCK_DGRAM.into()), Word::N(0)],
    )?;
    let request = |name: &str, rest: &[u8]| {
        let mut bytes = [0_u8; 40];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        bytes[16..16 + rest.len()].copy_from_slice(rest);
        bytes
    };
    let flags = (libc::IFF_UP | libc::IFF_RUNNING) as u16;
    let up = request("lo", &flags.to_ne_bytes());
    let ioctl = |socket: i64, number: u64, bytes: &[u8]| {
        let number = number.cast_signed();
        call(
            libc::SYS_ioctl,
            &mut [Word::N(socket), Word::N(number), Word::R(bytes)],
        )
    };
    ioctl(socket, libc::SIOCSIFFLAGS, &up)?;
    for (number, address) in ADDRESSES.iter().enumerate() {
        let mut socket_address = vec![2, 0, 0, 0];
        socket_address.extend(address.octets());
        let set = request(&format!("lo:{}", number + 1), &socket_address);
        ioctl(socket, libc::SIOCSIFADDR, &set)?;
    }
    let socket6 = call(
        libc::SYS_socket,
        &mut [Word::N(10), Word::N(libc::SOCK_DGRAM.into()), Word::N(0)],
    )?;
    // `struct in6_ifreq`: the address, the length of its prefix, the interface.
    let mut set = ADDRESS6.octets().to_vec();
    set.extend(128_u32.to_ne_bytes());
    set.extend(1_i32.to_ne_bytes());
    ioctl(socket6, libc::SIOCSIFADDR, &set)?;
    // In a user namespace only its own groups are known.
    let groups = match rustix::process::getgid().as_raw() {
        0 => "0 2147483647".to_owned(),
        own => format!("{own} {own}"),
    };
    std::fs::write("/proc/sys/net/ipv4/ping_group_range", groups)?;
    std::fs::write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0")
}

fn become_user(id: u32) -> io::Result<()> {
    let id = i64::from(id);
    call(libc::SYS_setgroups, &mut [Word::N(0), Word::N(0)])?;
    call(
        libc::SYS_setresgid,
        &mut [Word::N(id), Word::N(id), Word::N(id)],
    )?;
    call(
        libc::SYS_setresuid,
        &mut [Word::N(id), Word::N(id), Word::N(id)],
    )?;
    // Or its files in /proc would be root's until the next exec.
    call(
        libc::SYS_prctl,
        &mut [Word::N(libc::PR_SET_DUMPABLE.into()), Word::N(1)],
    )?;
    Ok(())
}

/// Has the kernel refuse user namespaces to this process and all that it starts, with the error of
/// a machine that gives none.
fn refuse_namespaces() -> io::Result<()> {
    // `struct sock_filter`: what to do, how far to jump if so and if not, a number.
    let does = |code: u32, yes: u8, no: u8, number: u32| {
        let mut bytes = (code as u16).to_ne_bytes().to_vec();
        bytes.extend([yes, no]);
        bytes.extend(number.to_ne_bytes());
        bytes
    };
    let load = |offset| does(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset);
    let is = |call: i64, yes, no| {
        let code = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        does(code, yes, no, call as u32)
    };
    let answer = |what: u32| does(libc::BPF_RET | libc::BPF_K, 0, 0, what);
    let refuse = |errno: i32| answer(libc::SECCOMP_RET_ERRNO | errno as u32);
    let has_flag = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
    let filter = [
        load(0),
        is(libc::SYS_clone3, 6, 0),
        is(libc::SYS_unshare, 1, 0),
        is(libc::SYS_clone, 0, 2),
        // The flags: the lower half of the first argument.
        load(16),
        does(has_flag, 1, 0, libc::CLONE_NEWUSER as u32),
        answer(libc::SECCOMP_RET_ALLOW),
        refuse(libc::ENOSPC),
        refuse(libc::ENOSYS),
    ];
    let length = (filter.len() as u64).to_ne_bytes();
    let filter = filter.concat();
    let program = [length, (filter.as_ptr() as u64).to_ne_bytes()].concat();
    let set_filter = Word::N(libc::SECCOMP_SET_MODE_FILTER.into());
    call(
        libc::SYS_seccomp,
        &mut [set_filter, Word::N(0), Word::R(&program)],
    )
    .map(drop)
}

/// Enters a user namespace below which there can be no other.
fn lock_namespaces() -> io::Result<()> {
    let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
    call(
        libc::SYS_unshare,
        &mut [Word::N(libc::CLONE_NEWUSER.into())],
    )?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{0} {0} 1", uid.as_raw()))?;
    std::fs::write("/proc/self/gid_map", format!("{0} {0} 1", gid.as_raw()))?;
    std::fs::write("/proc/sys/user/max_user_namespaces", "0")
}

fn drop_capabilities() -> io::Result<()> {
    for capability in 0..64 {
        // The kernel's last one is not known here; without CAP_SETPCAP there is nothing to drop.
        let _ = call(
            libc::SYS_prctl,
            &mut [Word::N(libc::PR_CAPBSET_DROP.into()), Word::N(capability)],
        );
    }
    // Version 3 of the call, for this thread; the sets are empty.
    let header = [0x2008_0522_u32.to_ne_bytes(), [0; 4]].concat();
    call(libc::SYS_capset, &mut [Word::R(&header), Word::R(&[0; 24])])?;
    Ok(())
}

/// Folders of the root that a container has its own of.
const OWN: [&str; 6] = ["dev", "proc", "sys", "tmp", "run", "lost+found"];
/// What Docker gives root in a container.
const CAPABILITIES: [&str; 14] = [
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FSETID",
    "CAP_FOWNER",
    "CAP_MKNOD",
    "CAP_NET_RAW",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_SETFCAP",
    "CAP_SETPCAP",
    "CAP_NET_BIND_SERVICE",
    "CAP_SYS_CHROOT",
    "CAP_KILL",
    "CAP_AUDIT_WRITE",
];
/// Calls that its filter refuses to a container without CAP_SYS_ADMIN.
const REFUSED: &[&str] = &[
    "acct",
    "add_key",
    "bpf",
    "clock_adjtime",
    "clock_settime",
    "delete_module",
    "fanotify_init",
    "finit_module",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "init_module",
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    "ioperm",
    "iopl",
    "kcmp",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "lookup_dcookie",
    "mount",
    "mount_setattr",
    "move_mount",
    "move_pages",
    "name_to_handle_at",
    "nfsservctl",
    "open_by_handle_at",
    "open_tree",
    "perf_event_open",
    "pivot_root",
    "quotactl",
    "quotactl_fd",
    "reboot",
    "request_key",
    "setns",
    "settimeofday",
    "swapoff",
    "swapon",
    "syslog",
    "umount",
    "umount2",
    "unshare",
    "userfaultfd",
    "vhangup",
];

/// Writes a bundle in which the host's own files are the container's, read-only, in the shape that
/// container engines give by default.
fn bundle(ground: &Path, who: Who, argv: &[String]) -> io::Result<PathBuf> {
    let bundle = ground.join("bundle");
    let root = bundle.join("rootfs");
    std::fs::create_dir_all(&root)?;
    let bind = |path: &str, write: &str| {
        json!({"destination": path, "type": "bind", "source": path,
               "options": ["rbind", write, "rprivate"]})
    };
    let mut mounts = Vec::new();
    for entry in std::fs::read_dir("/")? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        if OWN.iter().any(|own| name == *own) {
            continue;
        }
        if kind.is_symlink() {
            let link = root.join(&name);
            if link.symlink_metadata().is_err() {
                std::os::unix::fs::symlink(std::fs::read_link(entry.path())?, link)?;
            }
        } else if kind.is_dir() {
            mounts.push(bind(&entry.path().to_string_lossy(), "ro"));
        }
    }
    let tmpfs = |path: &str, mode: &str| {
        json!({"destination": path, "type": "tmpfs", "source": "tmpfs",
               "options": ["nosuid", "nodev", mode]})
    };
    mounts.extend([
        json!({"destination": "/proc", "type": "proc", "source": "proc"}),
        json!({"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
               "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]}),
        json!({"destination": "/dev/pts", "type": "devpts", "source": "devpts",
               "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"]}),
        json!({"destination": "/dev/mqueue", "type": "mqueue", "source": "mqueue",
               "options": ["nosuid", "noexec", "nodev"]}),
        json!({"destination": "/sys", "type": "sysfs", "source": "sysfs",
               "options": ["nosuid", "noexec", "nodev", "ro"]}),
        tmpfs("/dev/shm", "mode=1777"),
        tmpfs("/tmp", "mode=1777"),
        tmpfs("/run", "mode=755"),
    ]);
    mounts.push(bind(&ground.to_string_lossy(), "rw"));
    let config = config(who, argv, ground, &mounts);
    std::fs::write(
        bundle.join("config.json"),
        serde_json::to_vec_pretty(&config)?,
    )?;
    Ok(bundle)
}

fn config(who: Who, argv: &[String], ground: &Path, mounts: &[Value]) -> Value {
    let id = match who {
        Who::Root => 0,
        Who::User => USER,
    };
    let capabilities = match who {
        Who::Root => json!({"bounding": CAPABILITIES, "effective": CAPABILITIES,
                            "permitted": CAPABILITIES}),
        Who::User => json!({"bounding": CAPABILITIES}),
    };
    let namespaces: Vec<Value> = ["pid", "ipc", "uts", "mount", "cgroup"]
        .iter()
        .map(|kind| json!({"type": kind}))
        .collect();
    let variables: Vec<String> = std::env::vars()
        .filter(|(name, _)| name.starts_with("BAILIWICK_") || name == "PATH")
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let new = |architecture: &str| json!(["SCMP_ARCH_".to_owned() + architecture]);
    json!({
        "ociVersion": "1.0.2",
        "process": {
            "terminal": false,
            "user": {"uid": id, "gid": id},
            "args": argv,
            "env": variables,
            "cwd": ground,
            "capabilities": capabilities,
            "noNewPrivileges": false,
        },
        "root": {"path": "rootfs", "readonly": true},
        "hostname": "container",
        "mounts": mounts,
        "linux": {
            "namespaces": namespaces,
            "maskedPaths": ["/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys",
                "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats",
                "/proc/sched_debug", "/proc/scsi", "/sys/firmware"],
            "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                "/proc/sysrq-trigger"],
            "seccomp": {
                "defaultAction": "SCMP_ACT_ALLOW",
                "architectures": new(if cfg!(target_arch = "x86_64") { "X86_64" } else { "AARCH64" }),
                "syscalls": [
                    {"names": REFUSED, "action": "SCMP_ACT_ERRNO", "errnoRet": libc::EPERM},
                    {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": libc::ENOSYS},
                    {"names": ["clone"], "action": "SCMP_ACT_ERRNO", "errnoRet": libc::EPERM,
                     "args": [{"index": 0, "value": libc::CLONE_NEWUSER, "valueTwo": libc::CLONE_NEWUSER,
                               "op": "SCMP_CMP_MASKED_EQ"}]},
                ],
            },
        },
    })
}
