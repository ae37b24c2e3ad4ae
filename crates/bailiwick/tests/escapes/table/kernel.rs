//! The kernel's surface: what can rearrange the sandbox, what has a history of holes, and what
//! administers the machine.

use crate::act::{HERE, open, owned};
use crate::field::c;
use crate::row::{
    Group, Row, Shown, bare, bare_root, container, container_root, full, root, row, user,
};
use crate::sys::{self, Word, call};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Rights that a user namespace gives, over a mount or another namespace.
const RIGHTS: &[Shown] = &[
    user("seccomp,capabilities"),
    root("seccomp,capabilities,identity"),
    bare_root("seccomp,capabilities"),
];

/// The same for what Landlock refuses besides.
const MOUNTS: &[Shown] = &[
    user("seccomp,capabilities,landlock"),
    root("seccomp,capabilities,identity,landlock"),
    bare_root("seccomp,capabilities,landlock"),
];

/// Rights over oneself.
const OWN_RIGHTS: &[Shown] = &[
    full("seccomp,capabilities"),
    bare_root("seccomp,capabilities"),
    container_root("seccomp,capabilities"),
];

/// Rights over the machine.
const MACHINE: &[Shown] = &[
    root("seccomp,capabilities,identity"),
    bare_root("seccomp,capabilities"),
];

/// What everybody may call: only the filter stops it.
const FILTER: &[Shown] = &[full("seccomp"), bare("seccomp"), container("seccomp")];

/// The same where no namespace can be made anyway.
const FILTER_OF_NAMESPACES: &[Shown] = &[full("seccomp")];

#[cfg(target_arch = "x86_64")]
const BOTH_FILTERS: &[Shown] = &[
    full("seccomp,broker"),
    bare("seccomp,broker"),
    container("seccomp,broker"),
];

const BY_HANDLE: &[Shown] = &[
    root("seccomp,capabilities,identity,landlock,broker"),
    bare_root("seccomp,capabilities,landlock,broker"),
];

/// The rows.
pub(super) fn rows() -> Vec<Row> {
    [mounts(), namespaces(), surface()]
        .into_iter()
        .flatten()
        .collect()
}

/// Whether a call got as far as this error, behind the check of rights.
pub(super) fn past(result: io::Result<i64>, errno: i32) -> io::Result<()> {
    match result {
        Err(error) if error.raw_os_error() != Some(errno) => Err(error),
        _ => Ok(()),
    }
}

fn mounts() -> Vec<Row> {
    vec![
        row("mount", "mounts a file system", |f| {
            let place = f.own("mount");
            std::fs::create_dir(&place)?;
            call(
                libc::SYS_mount,
                &mut [
                    Word::T(c"none"),
                    Word::T(&c(place)),
                    Word::T(c"tmpfs"),
                    Word::N(0),
                    Word::N(0),
                ],
            )
            .map(drop)
        })
        .privileged()
        .engine_refuses("EPERM")
        .shown(MOUNTS)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "bind-over",
            "mounts a file of its own over another (bind)",
            |f| {
                let own = c(crate::act::prepared(f, "file")?);
                let flags = Word::N(libc::MS_BIND.cast_signed());
                let protected = c(f.protected());
                call(
                    libc::SYS_mount,
                    &mut [
                        Word::T(&own),
                        Word::T(&protected),
                        Word::N(0),
                        flags,
                        Word::N(0),
                    ],
                )
                .map(drop)
            },
        )
        .privileged()
        .engine_refuses("EPERM")
        .shown(MOUNTS)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "remount",
            "mounts what is protected again, for writing",
            |_| {
                let flags = libc::MS_REMOUNT | libc::MS_BIND;
                let words = &mut [
                    Word::N(0),
                    Word::T(c"/"),
                    Word::N(0),
                    Word::N(flags.cast_signed()),
                    Word::N(0),
                ];
                call(libc::SYS_mount, words).map(drop)
            },
        )
        .of_root("EPERM")
        .engine_refuses("EPERM")
        .shown(MOUNTS)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "umount",
            "takes a mount away, and sees what is under it",
            |f| {
                let detach = i64::from(libc::MNT_DETACH);
                let own = Path::new(f.text("root")).with_file_name("mounted");
                let take = |place: &Path| {
                    call(
                        libc::SYS_umount2,
                        &mut [Word::T(&c(place)), Word::N(detach)],
                    )
                    .map(drop)
                };
                match take(&own) {
                    Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {
                        take(Path::new("/dev/pts"))
                    }
                    other => other,
                }
            },
        )
        .group(Group::Alone)
        .of_root("EPERM")
        .engine_refuses("EPERM")
        .shown(MOUNTS)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "pivot-root",
            "makes another folder the root (pivot_root)",
            |_| {
                past(
                    call(
                        libc::SYS_pivot_root,
                        &mut [Word::T(c"/absent"), Word::T(c"/absent")],
                    ),
                    libc::ENOENT,
                )
            },
        )
        .privileged()
        .engine_refuses("EPERM")
        .shown(RIGHTS)
        .full("EPERM")
        .bare("EPERM"),
        row("chroot", "makes another folder the root (chroot)", |f| {
            call(libc::SYS_chroot, &mut [Word::T(&c(f.workspace()))]).map(drop)
        })
        .privileged()
        .shown(OWN_RIGHTS)
        .full("EPERM")
        .bare("EPERM"),
        row("open-tree", "copies a mount (open_tree)", |_| {
            clone_tree().map(drop)
        })
        .privileged()
        .engine_refuses("EPERM")
        .shown(RIGHTS)
        .full("EPERM")
        .bare("EPERM"),
        row("move-mount", "puts a mount elsewhere (move_mount)", |f| {
            let place = f.own("mount");
            std::fs::create_dir(&place)?;
            let tree = clone_tree()?;
            call(
                libc::SYS_move_mount,
                &mut [
                    Word::N(tree),
                    Word::T(c""),
                    Word::N(HERE),
                    Word::T(&c(place)),
                    // MOVE_MOUNT_F_EMPTY_PATH
                    Word::N(4),
                ],
            )
            .map(drop)
        })
        .privileged()
        .engine_refuses("EPERM")
        .shown(MOUNTS)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "fsopen",
            "makes a file system by the newer calls (fsopen)",
            |_| call(libc::SYS_fsopen, &mut [Word::T(c"tmpfs"), Word::N(0)]).map(drop),
        )
        .privileged()
        .engine_refuses("EPERM")
        .shown(RIGHTS)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "fspick",
            "takes a file system to change it (fspick)",
            |_| {
                call(
                    libc::SYS_fspick,
                    &mut [Word::N(HERE), Word::T(c"/"), Word::N(0)],
                )
                .map(drop)
            },
        )
        .of_root("EPERM")
        .engine_refuses("EPERM")
        .shown(FSPICK)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "mount-setattr",
            "changes the attributes of a mount (mount_setattr)",
            |_| {
                call(
                    libc::SYS_mount_setattr,
                    &mut [
                        Word::N(HERE),
                        Word::T(c"/"),
                        Word::N(0),
                        Word::R(&[0; 32]),
                        Word::N(32),
                    ],
                )
                .map(drop)
            },
        )
        .privileged()
        .engine_refuses("EPERM")
        .shown(RIGHTS)
        .full("EPERM")
        .bare("EPERM"),
    ]
}

const FSPICK: &[Shown] = &[
    root("seccomp,capabilities,identity"),
    bare_root("seccomp,capabilities"),
];

fn clone_tree() -> io::Result<i64> {
    call(
        libc::SYS_open_tree,
        &mut [Word::N(HERE), Word::T(c"."), Word::N(1)],
    )
}

fn namespaces() -> Vec<Row> {
    vec![
        row("setns", "enters a namespace (setns)", |_| {
            let namespace = open("/proc/self/ns/uts", libc::O_RDONLY)?;
            let fd = Word::N(namespace.as_raw_fd().into());
            call(libc::SYS_setns, &mut [fd, Word::N(0)]).map(drop)
        })
        .privileged()
        .engine_refuses("EPERM")
        .shown(RIGHTS)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "unshare-user",
            "makes a user namespace, with every right in it (unshare)",
            |_| {
                call(
                    libc::SYS_unshare,
                    &mut [Word::N(libc::CLONE_NEWUSER.into())],
                )
                .map(drop)
            },
        )
        .engine_refuses("EPERM")
        .of_namespaces("ENOSPC")
        .shown(FILTER_OF_NAMESPACES)
        .full("EPERM")
        .bare("EPERM"),
        row("unshare-mount", "makes a mount namespace (unshare)", |_| {
            call(libc::SYS_unshare, &mut [Word::N(libc::CLONE_NEWNS.into())]).map(drop)
        })
        .privileged()
        .engine_refuses("EPERM")
        .shown(RIGHTS)
        .full("EPERM")
        .bare("EPERM"),
        row("clone-user", "makes a user namespace (clone)", |_| {
            let flags = i64::from(libc::CLONE_NEWUSER | libc::SIGCHLD);
            let words = &mut [
                Word::N(flags),
                Word::N(0),
                Word::N(0),
                Word::N(0),
                Word::N(0),
            ];
            match call(libc::SYS_clone, words)? {
                0 => sys::leave(),
                _ => Ok(()),
            }
        })
        .engine_refuses("EPERM")
        .of_namespaces("ENOSPC")
        .shown(FILTER_OF_NAMESPACES)
        .full("EPERM")
        .bare("EPERM"),
        row("clone3-user", "makes a user namespace (clone3)", |_| {
            // `struct clone_args`: flags first, the signal at the end as the fifth.
            let mut words = [0_u64; 8];
            words[0] = libc::CLONE_NEWUSER as u64;
            words[4] = libc::SIGCHLD as u64;
            let arguments = words.map(u64::to_ne_bytes).concat();
            match call(libc::SYS_clone3, &mut [Word::R(&arguments), Word::N(64)])? {
                0 => sys::leave(),
                _ => Ok(()),
            }
        })
        .engine_refuses("ENOSYS")
        .of_namespaces("ENOSYS ENOSPC")
        .shown(FILTER_OF_NAMESPACES)
        .full("ENOSYS")
        .bare("ENOSYS"),
    ]
}

/// What ordinary programs do not need, and whole classes of attacks do.
fn surface() -> Vec<Row> {
    let mut rows = vec![
        row("bpf", "loads a map into the kernel (bpf)", |_| {
            // `union bpf_attr` of BPF_MAP_CREATE: an array, key, value, entries.
            let array = [2_u32, 4, 8, 1, 0, 0, 0, 0].map(u32::to_ne_bytes).concat();
            call(
                libc::SYS_bpf,
                &mut [Word::N(0), Word::R(&array), Word::N(32)],
            )
            .map(drop)
        })
        .of_root("EPERM")
        .engine_refuses("EPERM")
        .shown(MACHINE)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "perf-event",
            "measures by the kernel's events (perf_event_open)",
            |_| {
                // `struct perf_event_attr`: software, its size, the CPU's clock, no kernel and no
                // hypervisor.
                let mut event = [0_u8; 64];
                event[0] = 1;
                event[4] = 64;
                event[40] = 0x60;
                let none = Word::N(-1);
                call(
                    libc::SYS_perf_event_open,
                    &mut [Word::R(&event), Word::N(0), none, Word::N(-1), Word::N(0)],
                )
                .map(drop)
            },
        )
        .engine_refuses("EPERM")
        .shown(FILTER)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "userfaultfd",
            "handles page faults itself (userfaultfd)",
            |_| call(libc::SYS_userfaultfd, &mut [Word::N(1)]).map(drop),
        )
        .engine_refuses("EPERM")
        .shown(FILTER)
        .full("EPERM")
        .bare("EPERM"),
        row("keyctl", "asks for a keyring (keyctl)", |_| {
            call(libc::SYS_keyctl, &mut [Word::N(0), Word::N(-3), Word::N(1)]).map(drop)
        })
        .engine_refuses("EPERM")
        .shown(FILTER)
        .full("EPERM")
        .bare("EPERM"),
        row("add-key", "puts a key into the kernel (add_key)", |_| {
            call(
                libc::SYS_add_key,
                &mut [
                    Word::T(c"user"),
                    Word::T(c"escape"),
                    Word::R(b"x"),
                    Word::N(1),
                    Word::N(-2),
                ],
            )
            .map(drop)
        })
        .engine_refuses("EPERM")
        .shown(FILTER)
        .full("EPERM")
        .bare("EPERM"),
        row("request-key", "asks for a key (request_key)", |_| {
            past(
                call(
                    libc::SYS_request_key,
                    &mut [Word::T(c"user"), Word::T(c"absent"), Word::N(0), Word::N(0)],
                ),
                libc::ENOKEY,
            )
        })
        .engine_refuses("EPERM")
        .shown(FILTER)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "io-uring",
            "has calls made that no filter sees (io_uring)",
            |_| {
                let mut parameters = [0; 120];
                call(
                    libc::SYS_io_uring_setup,
                    &mut [Word::N(8), Word::W(&mut parameters)],
                )
                .map(drop)
            },
        )
        .engine_refuses("EPERM")
        .shown(FILTER)
        .full("ENOSYS")
        .bare("ENOSYS"),
        row("fanotify", "watches file systems (fanotify)", |_| {
            call(libc::SYS_fanotify_init, &mut [Word::N(0x200), Word::N(0)]).map(drop)
        })
        .engine_refuses("EPERM")
        .shown(FILTER)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "open-by-handle",
            "opens a file of the host by its number",
            |f| {
                let mount = open(".", libc::O_RDONLY | libc::O_DIRECTORY)?;
                let bytes: Vec<u8> = f
                    .text("handle")
                    .split(' ')
                    .filter_map(|byte| byte.parse().ok())
                    .collect();
                let fd = call(
                    libc::SYS_open_by_handle_at,
                    &mut [
                        Word::N(mount.as_raw_fd().into()),
                        Word::R(&bytes),
                        Word::N(libc::O_RDONLY.into()),
                    ],
                )?;
                crate::act::is_secret(owned(fd))
            },
        )
        .of_root("EPERM")
        .engine_refuses("EPERM")
        .shown(BY_HANDLE)
        .full("EPERM")
        .bare("EPERM"),
        row("quotactl", "asks for the disk's quotas (quotactl)", |_| {
            // Q_SYNC, of users.
            let command = 0x80_0001_i64 << 8;
            call(
                libc::SYS_quotactl,
                &mut [Word::N(command), Word::N(0), Word::N(0), Word::N(0)],
            )
            .map(drop)
        })
        .engine_refuses("EPERM")
        .shown(FILTER)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "personality",
            "makes all that it reads executable (personality)",
            |_| call(libc::SYS_personality, &mut [Word::N(0x40_0000)]).map(drop),
        )
        .shown(FILTER)
        .full("EPERM")
        .bare("EPERM"),
    ];
    #[cfg(target_arch = "x86_64")]
    rows.extend([
        row(
            "modify-ldt",
            "writes segments of its own (modify_ldt)",
            |_| {
                // `struct user_desc`: entry 0, base 0, a limit, a 32-bit data segment.
                let entry = [0_u32, 0, 0xfff, 0x51].map(u32::to_ne_bytes).concat();
                call(
                    libc::SYS_modify_ldt,
                    &mut [Word::N(1), Word::R(&entry), Word::N(16)],
                )
                .map(drop)
            },
        )
        .shown(FILTER)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "i386",
            "makes a call of the 32-bit table (int 0x80)",
            |_| match sys::call_32_bit(20) {
                1.. => Ok(()),
                error => Err(io::Error::from_raw_os_error(-error)),
            },
        )
        .engine_refuses("SIGSYS")
        .shown(BOTH_FILTERS)
        .full("SIGSYS")
        .bare("SIGSYS"),
    ]);
    rows
}

/// What is here, that a handle of a secret is made on the host.
pub(crate) fn handle(path: &Path) -> io::Result<String> {
    let mut bytes = vec![0_u8; 136];
    bytes[..4].copy_from_slice(&128_u32.to_ne_bytes());
    let mut mount = [0; 4];
    call(
        libc::SYS_name_to_handle_at,
        &mut [
            Word::N(HERE),
            Word::T(&c(path)),
            Word::W(&mut bytes),
            Word::W(&mut mount),
            Word::N(0),
        ],
    )?;
    let length = usize::from(bytes[0]);
    let words: Vec<String> = bytes[..8 + length].iter().map(u8::to_string).collect();
    Ok(words.join(" "))
}
