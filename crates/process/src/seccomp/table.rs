//! Which system calls a sandboxed program is refused, and why. Everything here is either a way
//! out of the sandbox, kernel surface that ordinary programs do not need, or a call that would
//! go round a check; programs must be able to fall back, hence ENOSYS for what has an older form.

use super::assembler::{Verdict, assemble};
use libc::{EAFNOSUPPORT, ENOSYS, EPERM, sock_filter};

/// The namespaces that `clone` and `unshare` can make.
const NEW_NAMESPACE: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWCGROUP
    | 0x80/* CLONE_NEWTIME, for unshare only */) as u32;

/// Refused with EPERM, as the kernel refuses them without capabilities.
const REFUSED: &[i64] = &[
    // Mounts: the private root is made of them.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    OPEN_TREE_ATTR,
    libc::SYS_setns,
    // Kernel surface with a history of escapes.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_fanotify_init,
    libc::SYS_open_by_handle_at,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    // Other processes' memory and descriptors: pid 1 has the same user id.
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // The machine itself.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_syslog,
    libc::SYS_vhangup,
];

/// Calls with an older form to which programs fall back; the newer one hides its arguments in
/// memory, where no filter can read them, or does its work outside of the filter (io_uring).
const ABSENT: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_clone3,
    libc::SYS_openat2,
];

/// `open_tree_attr` (Linux 6.15), which the C library's headers do not name yet.
const OPEN_TREE_ATTR: i64 = 467;
/// Numbers from here on did not exist when this table was written (Linux 6.18 ends at 470).
const UNKNOWN: u32 = 471;

#[cfg(target_arch = "x86_64")]
mod architecture {
    pub(super) const AUDIT: u32 = 0xc000_003e;
    pub(super) const X32: Option<u32> = Some(0x4000_0000);
    pub(super) const REFUSED: &[i64] = &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt];
}
#[cfg(target_arch = "aarch64")]
mod architecture {
    pub(super) const AUDIT: u32 = 0xc000_00b7;
    pub(super) const X32: Option<u32> = None;
    pub(super) const REFUSED: &[i64] = &[];
}

/// Unix, IPv4, IPv6, netlink. Netlink only for routes: Go and Node list interfaces with it.
const FAMILIES: &[u32] = &[1, 2, 10, 16];
const NETLINK: u32 = 16;
const NETLINK_ROUTE: u32 = 0;
/// `TIOCSTI`, `TIOCLINUX`, `TIOCCONS`, `TIOCSETD`: typing into, and rewiring, a terminal.
const TERMINAL_TRICKS: &[u32] = &[0x5412, 0x541c, 0x541d, 0x5423];
/// `PTRACE_ATTACH`, `PTRACE_SEIZE`: tracing what is not one's own child.
const ATTACH: &[u32] = &[16, 0x4206];
/// `PER_LINUX` with and without `ADDR_NO_RANDOMIZE` (debuggers), `PER_LINUX32`, and the query.
const PERSONALITIES: &[u32] = &[0, 0x0004_0000, 0x8, u32::MAX];

/// The set-user-id and set-group-id bits of a mode. What is written in the workspace belongs, on
/// the host, to whoever started the sandbox: such a file would hand that identity, which may be
/// root's, to every user of the host.
const SET_ID: u32 = 0o6000;
/// `O_CREAT` and the bit by which `O_TMPFILE` differs from `O_DIRECTORY`: calls that give a mode.
const CREATE: u32 = (libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY)) as u32;

/// Calls that set a mode at argument `index`.
const fn mode(index: u32) -> Verdict {
    Verdict::FailIfBits {
        index,
        mask: SET_ID,
        errno: EPERM,
    }
}

/// Calls that set a mode at argument `index` if the flags before it say so.
const fn mode_of_new(index: u32) -> Verdict {
    Verdict::FailIfBoth {
        first: (index - 1, CREATE),
        second: (index, SET_ID),
        errno: EPERM,
    }
}

/// `fchmodat2` (Linux 6.6), which the C library's headers may not name yet.
const FCHMODAT2: i64 = 452;

/// The filter for the machine that this was built for. `cpu_limited` says whether the CPUs that the
/// program may use are a limit, which it must then not change.
pub(crate) fn program(cpu_limited: bool) -> Vec<sock_filter> {
    let conditional = [
        (
            libc::SYS_clone,
            Verdict::FailIfBits {
                index: 0,
                mask: NEW_NAMESPACE & !0xff,
                errno: EPERM,
            },
        ),
        (
            libc::SYS_unshare,
            Verdict::FailIfBits {
                index: 0,
                mask: NEW_NAMESPACE,
                errno: EPERM,
            },
        ),
        (
            libc::SYS_socket,
            Verdict::FailUnlessPair {
                index: 0,
                values: FAMILIES,
                errno: EAFNOSUPPORT,
                pivot: NETLINK,
                second: 2,
                and: &[NETLINK_ROUTE],
            },
        ),
        (
            libc::SYS_socketpair,
            Verdict::FailUnlessOneOf {
                index: 0,
                values: &[1],
                errno: EAFNOSUPPORT,
            },
        ),
        (
            libc::SYS_ioctl,
            Verdict::FailIfOneOf {
                index: 1,
                values: TERMINAL_TRICKS,
                errno: EPERM,
            },
        ),
        (
            libc::SYS_ptrace,
            Verdict::FailIfOneOf {
                index: 0,
                values: ATTACH,
                errno: EPERM,
            },
        ),
        (
            libc::SYS_personality,
            Verdict::FailUnlessOneOf {
                index: 0,
                values: PERSONALITIES,
                errno: EPERM,
            },
        ),
    ];
    let modes = [
        (libc::SYS_fchmod, mode(1)),
        (libc::SYS_fchmodat, mode(2)),
        (FCHMODAT2, mode(2)),
        (libc::SYS_mknodat, mode(2)),
        (libc::SYS_openat, mode_of_new(3)),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_chmod, mode(1)),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_mknod, mode(1)),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_creat, mode(1)),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, mode_of_new(2)),
    ];
    // Pid 1 has the same user id, and keeps the limits.
    let limits = [(
        libc::SYS_prlimit64,
        Verdict::FailUnlessOneOf {
            index: 0,
            values: &[0],
            errno: EPERM,
        },
    )];
    let pinned = cpu_limited.then_some((libc::SYS_sched_setaffinity, Verdict::Fail(EPERM)));
    let calls = REFUSED
        .iter()
        .chain(architecture::REFUSED)
        .map(|&n| (n, Verdict::Fail(EPERM)))
        .chain(ABSENT.iter().map(|&n| (n, Verdict::Fail(ENOSYS))))
        .chain(conditional)
        .chain(modes)
        .chain(limits)
        .chain(pinned)
        .map(|(number, verdict)| (number as u32, verdict))
        .collect();
    assemble(architecture::AUDIT, architecture::X32, UNKNOWN, calls)
}
