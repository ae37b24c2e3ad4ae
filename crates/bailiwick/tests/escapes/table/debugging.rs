//! Calls of debuggers and of those who keep order, on processes of the host and on the sandbox's
//! own keeper.

use super::processes::{OUTSIDE_OF_NAMESPACE, victim};
use crate::act::{is_secret, nothing, open, owned};
use crate::field::{Field, SECRET};
use crate::row::{
    Group, Mode, Row, Shown, Who, bare, bare_root, bare_user, container, container_root,
    container_user, full, root, row, user,
};
use crate::sys::{Word, call};
use bailiwick_process::WITHOUT_NAMESPACES;
use std::io;
use std::os::fd::AsRawFd;

/// Files of a process that only a debugger may open. The kernel keeps a user namespace's programs
/// from debugging others besides, so that an ordinary user's is shown where there is none.
const DEBUG: &[Shown] = &[
    root("pid,identity,capabilities,landlock,broker"),
    bare_user("landlock,broker"),
    bare_root("capabilities,landlock,broker"),
    container_user("landlock,broker"),
    container_root("capabilities,landlock,broker"),
];

/// Calls on a process of the same user.
const SAME_USER: &[Shown] = &[
    user("pid"),
    root("pid,identity,capabilities"),
    bare_root("capabilities"),
    container_root("capabilities"),
];

const DEBUG_CALL: &[Shown] = &[
    root("pid,identity,capabilities,landlock,seccomp,broker"),
    bare_user("landlock,seccomp,broker"),
    bare_root("capabilities,landlock,seccomp,broker"),
    container_user("landlock,seccomp,broker"),
    container_root("capabilities,landlock,seccomp,broker"),
];

const LIMITS: &[Shown] = &[
    user("pid,seccomp"),
    root("pid,identity,seccomp"),
    bare("seccomp"),
    container("seccomp"),
];

const SUPERVISOR: &[Shown] = &[
    root("pid,identity,capabilities,landlock,seccomp,broker,dumpable"),
    bare_user("landlock,seccomp,broker,dumpable"),
    bare_root("capabilities,landlock,seccomp,broker,dumpable"),
    container_user("landlock,seccomp,broker,dumpable"),
    container_root("capabilities,landlock,seccomp,broker,dumpable"),
];

/// Pid 1 has the rights of a debugger, which its programs have not.
const KEEPER: &[Shown] = &[
    full("dumpable,broker"),
    bare_user("landlock,broker"),
    bare_root("capabilities,landlock,broker"),
    container_user("landlock,broker"),
    container_root("capabilities,landlock,broker"),
];

const KEEPER_CALL: &[Shown] = &[
    full("dumpable,broker,seccomp"),
    bare_user("landlock,seccomp,broker"),
    bare_root("capabilities,landlock,seccomp,broker"),
    container_user("landlock,seccomp,broker"),
    container_root("capabilities,landlock,seccomp,broker"),
];

const KEEPER_LIMITS: &[Shown] = &[full("seccomp"), bare("seccomp"), container("seccomp")];

const SLOWED: &str = WITHOUT_NAMESPACES[3];

const DEBUG_CALL_PRIVILEGED: &[Shown] = &[
    root("pid,identity,capabilities,landlock,seccomp,broker"),
    bare_root("seccomp,capabilities"),
];

/// The rows.
pub(super) fn rows() -> Vec<Row> {
    [calls(), schedule(), keeper()]
        .into_iter()
        .flatten()
        .collect()
}

/// Calls of debuggers, on a process of the host.
fn calls() -> Vec<Row> {
    vec![
        row(
            "vm-readv",
            "reads the memory of a process of the host",
            |f| {
                let mut bytes = vec![0; SECRET.len()];
                let here = vector(bytes.as_mut_ptr() as u64, bytes.len());
                let there = vector(f.number("address").cast_unsigned(), SECRET.len());
                call(
                    libc::SYS_process_vm_readv,
                    &mut [
                        Word::N(victim(f)),
                        Word::R(&here),
                        Word::N(1),
                        Word::R(&there),
                        Word::N(1),
                        Word::N(0),
                    ],
                )?;
                let read = std::hint::black_box(&mut bytes);
                (read == SECRET.as_bytes())
                    .then_some(())
                    .ok_or_else(|| nothing("other bytes"))
            },
        )
        .unshown(Who::User, Mode::Full, OUTSIDE_OF_NAMESPACE)
        .shown(DEBUG_CALL)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "vm-writev",
            "writes the memory of a process of the host",
            |f| {
                let here = vector(SECRET.as_ptr() as u64, SECRET.len());
                let there = vector(f.number("address").cast_unsigned(), SECRET.len());
                call(
                    libc::SYS_process_vm_writev,
                    &mut [
                        Word::N(victim(f)),
                        Word::R(&here),
                        Word::N(1),
                        Word::R(&there),
                        Word::N(1),
                        Word::N(0),
                    ],
                )
                .map(drop)
            },
        )
        .unshown(Who::User, Mode::Full, OUTSIDE_OF_NAMESPACE)
        .shown(DEBUG_CALL)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "ptrace-attach",
            "traces a process of the host (attach)",
            |f| {
                call(
                    libc::SYS_ptrace,
                    &mut [Word::N(16), Word::N(victim(f)), Word::N(0), Word::N(0)],
                )
                .map(drop)
            },
        )
        .group(Group::Alone)
        .unshown(Who::User, Mode::Full, OUTSIDE_OF_NAMESPACE)
        .shown(DEBUG_CALL)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "ptrace-seize",
            "traces a process of the host (seize)",
            |f| {
                let seize = Word::N(0x4206);
                call(
                    libc::SYS_ptrace,
                    &mut [seize, Word::N(victim(f)), Word::N(0), Word::N(0)],
                )
                .map(drop)
            },
        )
        .unshown(Who::User, Mode::Full, OUTSIDE_OF_NAMESPACE)
        .shown(DEBUG_CALL)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "supervisor-ptrace",
            "traces the process that started the sandbox",
            |f| {
                let seize = |pid| {
                    let words = &mut [Word::N(0x4206), Word::N(pid), Word::N(0), Word::N(0)];
                    call(libc::SYS_ptrace, words).map(drop)
                };
                // One of them is enough.
                let tried = supervisors(f).into_iter().map(seize);
                tried
                    .reduce(Result::or)
                    .unwrap_or_else(|| Err(nothing("nobody")))
            },
        )
        .group(Group::Alone)
        .unshown(Who::User, Mode::Full, OUTSIDE_OF_NAMESPACE)
        .shown(SUPERVISOR)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "pidfd-getfd",
            "takes a descriptor from a process of the host",
            |f| {
                let fd = owned(call(
                    libc::SYS_pidfd_open,
                    &mut [Word::N(victim(f)), Word::N(0)],
                )?);
                let words = &mut [
                    Word::N(fd.as_raw_fd().into()),
                    Word::N(f.number("descriptor")),
                    Word::N(0),
                ];
                is_secret(owned(call(libc::SYS_pidfd_getfd, words)?))
            },
        )
        .unshown(Who::User, Mode::Full, OUTSIDE_OF_NAMESPACE)
        .shown(DEBUG_CALL)
        .full("ESRCH")
        .bare("EPERM"),
        row(
            "process-madvise",
            "has the memory of a process of the host thrown out",
            |f| {
                let fd = owned(call(
                    libc::SYS_pidfd_open,
                    &mut [Word::N(victim(f)), Word::N(0)],
                )?);
                let page = f.number("address").cast_unsigned() & !4095;
                let there = vector(page, 4096);
                call(
                    libc::SYS_process_madvise,
                    &mut [
                        Word::N(fd.as_raw_fd().into()),
                        Word::R(&there),
                        Word::N(1),
                        Word::N(libc::MADV_PAGEOUT.into()),
                        Word::N(0),
                    ],
                )
                .map(drop)
            },
        )
        .group(Group::Alone)
        .engine_withholds("EPERM")
        .shown(DEBUG_CALL_PRIVILEGED)
        .full("ESRCH")
        .bare("EPERM")
        .of_root("EPERM"),
        row(
            "kcmp",
            "compares what it has open with what a process of the host has",
            |f| {
                let own = i64::from(std::process::id());
                call(
                    libc::SYS_kcmp,
                    &mut [
                        Word::N(own),
                        Word::N(victim(f)),
                        Word::N(2),
                        Word::N(0),
                        Word::N(0),
                    ],
                )
                .map(drop)
            },
        )
        .engine_refuses("EPERM")
        .unshown(Who::User, Mode::Full, OUTSIDE_OF_NAMESPACE)
        .shown(DEBUG_CALL)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "robust-list",
            "asks where a process of the host keeps its locks",
            |f| {
                let (mut head, mut length) = ([0; 8], [0; 8]);
                call(
                    libc::SYS_get_robust_list,
                    &mut [Word::N(victim(f)), Word::W(&mut head), Word::W(&mut length)],
                )
                .map(drop)
            },
        )
        .unshown(Who::User, Mode::Full, OUTSIDE_OF_NAMESPACE)
        .shown(DEBUG)
        .full("ESRCH")
        .bare("EPERM"),
        row(
            "move-pages",
            "asks where the memory of a process of the host is",
            |f| {
                let page = (f.number("address") & !4095).to_ne_bytes();
                let mut status = [0; 4];
                call(
                    libc::SYS_move_pages,
                    &mut [
                        Word::N(victim(f)),
                        Word::N(1),
                        Word::R(&page),
                        Word::N(0),
                        Word::W(&mut status),
                        Word::N(0),
                    ],
                )
                .map(drop)
            },
        )
        .engine_refuses("EPERM")
        .unshown(Who::User, Mode::Full, OUTSIDE_OF_NAMESPACE)
        .shown(DEBUG)
        .full("ESRCH")
        .bare("EPERM"),
    ]
}

/// The process that started the sandbox, and those of its name; where there is none, as outside, any
/// of the host.
fn supervisors(field: &Field) -> Vec<i64> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|e| e.file_name().to_str()?.parse::<i64>().ok());
    let found: Vec<i64> = pids
        .filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let mut words = line.split(|&b| b == 0);
            let program = words.next().unwrap_or_default();
            let named = String::from_utf8_lossy(program).contains("bin/bailiwick");
            let workspace = field.workspace();
            named && words.any(|word| word == workspace.as_os_str().as_encoded_bytes())
        })
        .collect();
    match found.is_empty() {
        true => vec![victim(field)],
        false => found,
    }
}

/// What decides how much a process of the host gets to do.
fn schedule() -> Vec<Row> {
    vec![
        row(
            "setpriority",
            "lowers the priority of a process of the host",
            |f| {
                call(
                    libc::SYS_setpriority,
                    &mut [Word::N(0), Word::N(victim(f)), Word::N(15)],
                )
                .map(drop)
            },
        )
        .shown(SAME_USER)
        .full("ESRCH")
        .bare_open(SLOWED)
        .bare_root("EPERM"),
        row(
            "sched-setscheduler",
            "has a process of the host run when nothing else does",
            |f| {
                let parameter = 0_i32.to_ne_bytes();
                let idle = Word::N(libc::SCHED_IDLE.into());
                call(
                    libc::SYS_sched_setscheduler,
                    &mut [Word::N(victim(f)), idle, Word::R(&parameter)],
                )
                .map(drop)
            },
        )
        .shown(SAME_USER)
        .full("ESRCH")
        .bare_open(SLOWED)
        .bare_root("EPERM"),
        row(
            "sched-setaffinity",
            "chooses the CPUs of a process of the host",
            |f| {
                let mask = 1_u64.to_ne_bytes();
                call(
                    libc::SYS_sched_setaffinity,
                    &mut [Word::N(victim(f)), Word::N(8), Word::R(&mask)],
                )
                .map(drop)
            },
        )
        .shown(SAME_USER)
        .full("ESRCH")
        .bare_open(SLOWED)
        .bare_root("EPERM"),
        row(
            "ioprio-set",
            "has a process of the host wait for the disk",
            |f| {
                // A process, the idle class.
                let idle = 3 << 13;
                call(
                    libc::SYS_ioprio_set,
                    &mut [Word::N(1), Word::N(victim(f)), Word::N(idle)],
                )
                .map(drop)
            },
        )
        .shown(SAME_USER)
        .full("ESRCH")
        .bare_open(SLOWED)
        .bare_root("EPERM"),
        row("prlimit", "lowers a limit of a process of the host", |f| {
            lower_limit(victim(f), 4096)
        })
        .effect(|f| {
            let limits = std::fs::read_to_string(format!("/proc/{}/limits", f.text("victim")));
            limits.is_ok_and(|text| {
                let line = text.lines().find(|line| line.starts_with("Max core"));
                line.is_some_and(|line| line.split_whitespace().any(|word| word == "4096"))
            })
        })
        .shown(LIMITS)
        .full("EPERM")
        .bare("EPERM"),
    ]
}

/// The sandbox's own keeper, which has the same user id.
fn keeper() -> Vec<Row> {
    vec![
        row(
            "keeper-mem",
            "opens the memory of the sandbox's pid 1",
            |_| open("/proc/1/mem", libc::O_RDWR).map(drop),
        )
        .shown(KEEPER)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "keeper-fd",
            "lists what the sandbox's pid 1 has open",
            |_| std::fs::read_link("/proc/1/fd/0").map(drop),
        )
        .shown(KEEPER)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "keeper-environ",
            "reads the variables of the sandbox's pid 1",
            |_| open("/proc/1/environ", libc::O_RDONLY).map(drop),
        )
        .shown(KEEPER)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "keeper-root",
            "goes through the root of the sandbox's pid 1",
            |_| open("/proc/1/root/proc/1/status", libc::O_RDONLY).map(drop),
        )
        .shown(KEEPER)
        .full("EACCES")
        .bare("EACCES"),
        row("keeper-ptrace", "traces the sandbox's pid 1", |_| {
            call(
                libc::SYS_ptrace,
                &mut [Word::N(0x4206), Word::N(1), Word::N(0), Word::N(0)],
            )
            .map(drop)
        })
        .shown(KEEPER_CALL)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "keeper-getfd",
            "takes the way to the supervisor from the sandbox's pid 1",
            |_| {
                let fd = owned(call(libc::SYS_pidfd_open, &mut [Word::N(1), Word::N(0)])?);
                let words = &mut [Word::N(fd.as_raw_fd().into()), Word::N(1), Word::N(0)];
                call(libc::SYS_pidfd_getfd, words).map(drop)
            },
        )
        .shown(KEEPER_CALL)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "keeper-limit",
            "lowers a limit of the sandbox's pid 1",
            |_| lower_limit(1, 8192),
        )
        .group(Group::Alone)
        .shown(KEEPER_LIMITS)
        .full("EPERM")
        .bare("EPERM"),
    ]
}

/// `struct iovec`.
fn vector(address: u64, length: usize) -> Vec<u8> {
    [address.to_ne_bytes(), (length as u64).to_ne_bytes()].concat()
}

/// Gives a process no more than so many bytes for its core file.
fn lower_limit(pid: i64, bytes: u64) -> io::Result<()> {
    let mut now = [0; 16];
    let core = i64::from(libc::RLIMIT_CORE);
    call(
        libc::SYS_prlimit64,
        &mut [Word::N(pid), Word::N(core), Word::N(0), Word::W(&mut now)],
    )?;
    let limit = [bytes.to_ne_bytes(), bytes.to_ne_bytes()].concat();
    call(
        libc::SYS_prlimit64,
        &mut [Word::N(pid), Word::N(core), Word::R(&limit), Word::N(0)],
    )
    .map(drop)
}
