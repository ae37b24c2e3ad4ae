//! Which system calls a sandboxed program is refused, and why. Everything here is either a way
//! out of the sandbox, kernel surface that ordinary programs do not need, or a call that would
//! go round a check; programs must be able to fall back, hence ENOSYS for what has an older form.

use super::assembler::{Verdict, assemble};
use super::sockets;
use crate::kernel::ACCESS;
use libc::{EAFNOSUPPORT, ENOSYS, EOPNOTSUPP, EPERM, sock_filter};

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
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
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

/// What the write broker looks at its programs with, and nobody else.
const LOOKING: [i64; 2] = [libc::SYS_process_vm_readv, libc::SYS_pidfd_getfd];

/// Calls with an older form to which programs fall back; the newer one hides its arguments in
/// memory, where no filter can read them, or does its work outside of the filter (io_uring).
const ABSENT: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_clone3,
];

/// What the write broker walks with, and nobody else: to programs it is absent as well.
const WALKING: i64 = libc::SYS_openat2;

/// What processes share without files. Where there is no namespace for it, it would be the host's;
/// a kernel may be built without it.
const SHARED: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
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
const TERMINAL_TRICKS: [u32; 4] = [0x5412, 0x541c, 0x541d, 0x5423];
/// `BTRFS_IOC_SNAP_CREATE`, `BTRFS_IOC_SUBVOL_CREATE` and their second versions: folders that no
/// mkdir makes.
const SUBVOLUMES: [u32; 4] = [0x5000_9401, 0x5000_940e, 0x5000_9417, 0x5000_9418];
/// What takes any amount of disk space at once besides fallocate: `XFS_IOC_ALLOCSP`, `XFS_IOC_FREESP`
/// and their second versions, which older kernels have, and `FS_IOC_RESVSP`, `FS_IOC_RESVSP64`,
/// `FS_IOC_ZERO_RANGE` (falloc.h), which take room on every file system.
const RESERVING: [u32; 7] = [
    0x4030_580a,
    0x4030_580b,
    0x4030_5824,
    0x4030_5825,
    0x4030_5828,
    0x4030_582a,
    0x4030_5839,
];
/// What changes a file, under all of its names, through a descriptor that may only read it: `FS_IOC_SETFLAGS` and its form
/// for programs of 32 bits, `FS_IOC_FSSETXATTR`, `FS_IOC_SETVERSION`, `FS_IOC_ENABLE_VERITY` and
/// `FS_IOC_SET_ENCRYPTION_POLICY` (fs.h, fsverity.h, fscrypt.h).
const FLAGS: [u32; 6] = [
    0x4008_6602,
    0x4004_6602,
    0x401c_5820,
    0x4008_7602,
    0x4080_6685,
    0x400c_6613,
];
/// [`RESERVING`] comes last.
const IOCTLS: [u32; 21] = joined([&TERMINAL_TRICKS, &SUBVOLUMES, &FLAGS, &RESERVING]);

/// Lists in one, which has exactly as many values.
const fn joined<const N: usize>(lists: [&[u32]; 4]) -> [u32; N] {
    let (mut all, mut at, mut list) = ([0; N], 0, 0);
    while list < lists.len() {
        let mut value = 0;
        while value < lists[list].len() {
            all[at] = lists[list][value];
            at += 1;
            value += 1;
        }
        list += 1;
    }
    assert!(at == N);
    all
}

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
pub(crate) const FCHMODAT2: i64 = 452;

/// What changes what belongs to a file and is not in it.
const ATTRIBUTES: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];
/// Newer forms of these (`setxattrat`, `removexattrat`, `file_setattr`), instead of which programs call those.
const OTHER_ATTRIBUTES: &[i64] = &[463, 466, 469];

/// For whom a filter is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filter {
    /// Whether the CPUs that the program may use are a limit, which it must then not change.
    pub(crate) cpu_limited: bool,
    /// Whether disk space is a limit. It is looked at from time to time; a call that takes any
    /// amount of it at once is then answered as by a file system that does not have it.
    pub(crate) disk_limited: bool,
    pub(crate) network: Network,
    /// Whether it is the write broker; what it starts gets [`broker_program`] besides.
    pub(crate) looks: bool,
}

impl Filter {
    /// The filter of a program in namespaces.
    pub(crate) const PLAIN: Self = Self {
        cpu_limited: false,
        disk_limited: false,
        network: Network::Own,
        looks: false,
    };
}

/// Which network a program has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    /// One of its own, in which nothing has to be refused.
    Own,
    /// The host's, of which it may use nothing.
    None,
    /// The host's, where the supervisor makes its connections: it gets sockets of TCP, which
    /// nothing but the supervisor connects.
    Mediated,
}

/// Calls that the write broker takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Brokered {
    /// Whether also those that open a file for reading: where no mount keeps what may not be read.
    pub(crate) reads: bool,
    /// Whether `bind`, which gives a socket a name; without namespaces it is refused.
    pub(crate) binds: bool,
    /// Whether also `connect`.
    pub(crate) connects: bool,
}

impl Brokered {
    /// Those of a program in namespaces.
    pub(crate) const PLAIN: Self = Self {
        reads: false,
        binds: true,
        connects: false,
    };
}

/// The filter for the machine that this was built for.
pub(crate) fn program(filter: &Filter) -> Vec<sock_filter> {
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
            match filter.network {
                Network::Own => Verdict::FailUnlessPair {
                    index: 0,
                    values: FAMILIES,
                    errno: EAFNOSUPPORT,
                    pivot: NETLINK,
                    second: 2,
                    and: &[NETLINK_ROUTE],
                },
                Network::None => Verdict::Fail(EAFNOSUPPORT),
                Network::Mediated => Verdict::Require(sockets::TCP),
            },
        ),
        (
            libc::SYS_socketpair,
            match filter.network {
                Network::Own => Verdict::Require(sockets::PAIR),
                _ => Verdict::Require(sockets::CONNECTED_PAIR),
            },
        ),
        (
            libc::SYS_ioctl,
            Verdict::FailIfOneOf {
                index: 1,
                values: match filter.disk_limited {
                    true => &IOCTLS,
                    false => IOCTLS.split_at(IOCTLS.len() - RESERVING.len()).0,
                },
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
    let shared = SHARED.iter().filter(|_| filter.network != Network::Own);
    let looking = LOOKING.iter().filter(|_| !filter.looks);
    let walking = Some(&WALKING).filter(|_| !filter.looks);
    let pinned = filter
        .cpu_limited
        .then_some((libc::SYS_sched_setaffinity, Verdict::Fail(EPERM)));
    let reserving = filter
        .disk_limited
        .then_some((libc::SYS_fallocate, Verdict::Fail(EOPNOTSUPP)));
    let calls = REFUSED
        .iter()
        .chain(architecture::REFUSED)
        .chain(looking)
        .map(|&n| (n, Verdict::Fail(EPERM)))
        .chain(
            ABSENT
                .iter()
                .chain(walking)
                .chain(shared)
                .map(|&n| (n, Verdict::Fail(ENOSYS))),
        )
        .chain(conditional)
        .chain(modes)
        .chain(limits)
        .chain(pinned)
        .chain(sockets::shared(filter.network))
        .chain(reserving)
        .map(|(number, verdict)| (number as u32, verdict))
        .collect();
    assemble(architecture::AUDIT, architecture::X32, UNKNOWN, calls)
}

/// The flags of an open that can create a file, or that can write one.
const WRITES: u32 =
    (libc::O_CREAT | ACCESS | libc::O_TRUNC | (libc::O_TMPFILE & !libc::O_DIRECTORY)) as u32;

/// The filter that hands to the write broker what gives a file a name or takes one away, opens one for writing,
/// or changes what belongs to one.
pub(crate) fn broker_program(brokered: &Brokered) -> Vec<sock_filter> {
    let open = |index| match brokered.reads {
        // A handle shows nothing and cannot be handed over; what it is opened for comes here.
        true => Verdict::NotifyUnlessBits {
            index,
            mask: libc::O_PATH as u32,
        },
        false => Verdict::NotifyIfBits {
            index,
            mask: WRITES,
        },
    };
    let others = [
        libc::SYS_unlinkat,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_unlink,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rmdir,
    ]
    .into_iter()
    .chain(ATTRIBUTES.iter().copied())
    .map(|number| (number, Verdict::Notify))
    .chain(
        OTHER_ATTRIBUTES
            .iter()
            .map(|&number| (number, Verdict::Fail(ENOSYS))),
    );
    let calls = [
        (libc::SYS_openat, open(2)),
        (libc::SYS_mkdirat, Verdict::Notify),
        (libc::SYS_mknodat, Verdict::Notify),
        (libc::SYS_symlinkat, Verdict::Notify),
        (libc::SYS_linkat, Verdict::Notify),
        (libc::SYS_renameat, Verdict::Notify),
        (libc::SYS_renameat2, Verdict::Notify),
        (libc::SYS_truncate, Verdict::Notify),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, open(1)),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_creat, Verdict::Notify),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_mkdir, Verdict::Notify),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_mknod, Verdict::Notify),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_symlink, Verdict::Notify),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_link, Verdict::Notify),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_rename, Verdict::Notify),
    ]
    .into_iter()
    .chain(others)
    .chain(
        brokered
            .connects
            .then_some((libc::SYS_connect, Verdict::Notify)),
    )
    .chain(brokered.binds.then_some((libc::SYS_bind, Verdict::Notify)))
    // What the broker does is not done under a program's own rules; it must not believe that.
    .chain([(libc::SYS_landlock_create_ruleset, Verdict::Fail(ENOSYS))])
    .chain([(WALKING, Verdict::Fail(ENOSYS))])
    .chain(LOOKING.map(|number| (number, Verdict::Fail(EPERM))))
    .map(|(number, verdict)| (number as u32, verdict))
    .collect();
    assemble(architecture::AUDIT, architecture::X32, UNKNOWN, calls)
}
