//! Administration of the machine: what root does outside, and nobody may inside.

use super::kernel::past;
use crate::act::{at, nothing, open, read};
use crate::row::{
    Group, Mode, Row, Shown, Who, bare, bare_root, container, container_root, full, root, row, user,
};
use crate::sys::{Word, call};
use bailiwick_process::WITHOUT_NAMESPACES;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Rights that a user namespace gives, over a mount or another namespace.
const RIGHTS: &[Shown] = &[
    user("seccomp,capabilities"),
    root("seccomp,capabilities,identity"),
    bare_root("seccomp,capabilities"),
];

/// Rights over the machine.
const MACHINE: &[Shown] = &[
    root("seccomp,capabilities,identity"),
    bare_root("seccomp,capabilities"),
];

/// What everybody may call: only the filter stops it.
const FILTER: &[Shown] = &[full("seccomp"), bare("seccomp"), container("seccomp")];

const MACHINE_UNFILTERED: &[Shown] = &[root("capabilities,identity"), bare_root("capabilities")];

const BECOME: &[Shown] = &[
    root("capabilities"),
    bare_root("capabilities"),
    container_root("capabilities"),
];

const SYSTEM_FILE: &[Shown] = &[
    root("identity,capabilities,landlock,broker"),
    bare_root("landlock,broker"),
];

const READ_SYSTEM_FILE: &[Shown] = &[
    root("identity,landlock"),
    bare_root("broker"),
    container_root("broker"),
];

const SYSTEM_FOLDER: &[Shown] = &[
    root("mounts,identity,capabilities,landlock,broker"),
    bare_root("capabilities,landlock"),
];

const DEVICE: &[Shown] = &[
    root("capabilities,identity,broker"),
    bare_root("capabilities,broker"),
    container_root("capabilities,broker"),
];

const PLANTED_DEVICE: &[Shown] = &[full("nosuid")];

const SET_USER_ID: &[Shown] = &[
    root("nosuid,nonewprivs,seccomp,landlock,broker"),
    bare("nonewprivs,seccomp,landlock,broker"),
    container("nonewprivs,seccomp,landlock,broker"),
];

const ONE_USER: &str = "a user namespace of one user knows no other: what stops it besides is shown \
    where there is none";

const CPUS: &[Shown] = &[full("seccomp"), bare("seccomp"), container("seccomp")];

const STAYS_ROOT: &str = WITHOUT_NAMESPACES[6];

const OWN_DEVICE: &str = WITHOUT_NAMESPACES[5];

const HOST_NAME: &[Shown] = &[root("capabilities,identity,uts"), bare_root("capabilities")];

const TERMINAL: &[Shown] = &[
    user("mounts,landlock"),
    root("mounts,landlock,identity"),
    bare("landlock"),
    container("landlock"),
];

const SHARED_FILE: &[Shown] = &[
    user("mounts"),
    root("mounts,identity"),
    bare("landlock"),
    container("landlock"),
];

/// The rows.
pub(super) fn rows() -> Vec<Row> {
    [machine(), identity(), system_files(), devices()]
        .into_iter()
        .flatten()
        .collect()
}

/// Administration of the machine. None of it changes anything: what is set is what is already so, or
/// is wrong in a way that is found out after the check of rights.
fn machine() -> Vec<Row> {
    vec![
        row("reboot", "restarts the machine", |_| {
            // The wrong magic numbers.
            let words = &mut [Word::N(0), Word::N(0), Word::N(0), Word::N(0)];
            past(call(libc::SYS_reboot, words), libc::EINVAL)
        })
        .privileged()
        .engine_refuses("EPERM")
        .shown(RIGHTS)
        .full("EPERM")
        .bare("EPERM"),
        row("swapon", "adds swap space", |_| {
            let words = &mut [Word::T(c"/absent"), Word::N(0)];
            past(call(libc::SYS_swapon, words), libc::ENOENT)
        })
        .of_root("EPERM")
        .engine_refuses("EPERM")
        .shown(MACHINE)
        .full("EPERM")
        .bare("EPERM"),
        row("swapoff", "takes swap space away", |_| {
            past(
                call(libc::SYS_swapoff, &mut [Word::T(c"/absent")]),
                libc::ENOENT,
            )
        })
        .of_root("EPERM")
        .engine_refuses("EPERM")
        .shown(MACHINE)
        .full("EPERM")
        .bare("EPERM"),
        row("acct", "switches accounting of processes", |_| {
            call(libc::SYS_acct, &mut [Word::N(0)]).map(drop)
        })
        .of_root("EPERM")
        .engine_refuses("EPERM")
        .shown(MACHINE)
        .full("EPERM")
        .bare("EPERM"),
        row("settimeofday", "sets the clock", |_| {
            call(libc::SYS_settimeofday, &mut [Word::N(0), Word::N(0)]).map(drop)
        })
        .of_root("EPERM")
        .engine_refuses("EPERM")
        .shown(MACHINE)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "clock-adjtime",
            "changes the speed of the clock (clock_adjtime)",
            |_| same_tick(|bytes| call(libc::SYS_clock_adjtime, &mut [Word::N(0), Word::W(bytes)])),
        )
        .of_root("EPERM")
        .engine_refuses("EPERM")
        .shown(MACHINE)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "adjtimex",
            "changes the speed of the clock (adjtimex)",
            |_| same_tick(|bytes| call(libc::SYS_adjtimex, &mut [Word::W(bytes)])),
        )
        .of_root("EPERM")
        .engine_withholds("EPERM")
        .shown(MACHINE_UNFILTERED)
        .full("EPERM")
        .bare("EPERM"),
        row("syslog", "reads the kernel's messages", |_| {
            let mut bytes = [0; 4096];
            call(
                libc::SYS_syslog,
                &mut [Word::N(3), Word::W(&mut bytes), Word::N(4096)],
            )
            .map(drop)
        })
        .of_root("EPERM")
        .engine_refuses("EPERM")
        .shown(MACHINE)
        .full("EPERM")
        .bare("EPERM"),
        row("vhangup", "hangs a terminal up", |_| {
            call(libc::SYS_vhangup, &mut []).map(drop)
        })
        .of_root("EPERM")
        .engine_refuses("EPERM")
        .shown(MACHINE)
        .full("EPERM")
        .bare("EPERM"),
        row("hostname", "changes the machine's name", |f| {
            let name = format!("escaped-{}", f.text("run"));
            call(
                libc::SYS_sethostname,
                &mut [Word::R(name.as_bytes()), Word::N(name.len() as i64)],
            )
            .map(drop)
        })
        .effect(|f| {
            let name = rustix::system::uname();
            name.nodename().to_bytes() == format!("escaped-{}", f.text("run")).as_bytes()
        })
        .of_root("EPERM")
        .engine_withholds("EPERM")
        .shown(HOST_NAME)
        .full("EPERM")
        .bare("EPERM"),
    ]
}

fn identity() -> Vec<Row> {
    vec![
        row("become-root", "becomes root", |_| {
            call(
                libc::SYS_setresuid,
                &mut [Word::N(0), Word::N(0), Word::N(0)],
            )?;
            Ok(())
        })
        .of_root("EPERM EINVAL")
        .bare_root_open(STAYS_ROOT)
        .shown(BECOME)
        .full("EPERM EINVAL")
        .bare("EPERM EINVAL"),
        row("set-groups", "joins other groups", |_| {
            let groups = [0_u32, 4].map(u32::to_ne_bytes).concat();
            call(libc::SYS_setgroups, &mut [Word::N(2), Word::R(&groups)]).map(drop)
        })
        .of_root("EPERM")
        .shown(BECOME)
        .full("EPERM")
        .bare("EPERM"),
        row("raise-priority", "runs before all others", |_| {
            let parameter = 1_i32.to_ne_bytes();
            let words = &mut [
                Word::N(0),
                Word::N(libc::SCHED_FIFO.into()),
                Word::R(&parameter),
            ];
            call(libc::SYS_sched_setscheduler, words).map(drop)
        })
        .of_root("EPERM")
        .engine_withholds("EPERM")
        .shown(MACHINE_UNFILTERED)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "set-user-id",
            "runs a program as its owner, who is another user",
            |f| {
                let status =
                    std::process::Command::new(Path::new(f.text("planted")).join("set-user-id"))
                        .args(["--who"])
                        .status()?;
                let own = rustix::process::getuid().as_raw();
                match status.code() {
                    // The owner is root or the user with the smallest number.
                    Some(code) if code as u32 != own & 0xff => Ok(()),
                    _ => Err(nothing("it ran as its caller")),
                }
            },
        )
        .planted()
        .unshown(Who::User, Mode::Full, ONE_USER)
        .shown(SET_USER_ID)
        .full("nothing")
        .bare("nothing"),
        row(
            "leave-set-user-id",
            "leaves a set-user-id program of its own",
            |f| {
                let path = f.own("program");
                crate::act::create(&path)?;
                at(libc::SYS_fchmodat, path, &[0o4755])
            },
        )
        .effect(|f| std::fs::metadata(f.own("program")).is_ok_and(|m| m.mode() & 0o4000 != 0))
        .shown(FILTER)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "make-set-group-id",
            "makes a set-group-id program in one call",
            |f| {
                crate::act::open_at(
                    libc::AT_FDCWD,
                    f.own("program"),
                    libc::O_CREAT | libc::O_WRONLY,
                    0o2755,
                )
                .map(drop)
            },
        )
        .effect(|f| std::fs::metadata(f.own("program")).is_ok_and(|m| m.mode() & 0o2000 != 0))
        .shown(FILTER)
        .full("EPERM")
        .bare("EPERM"),
        row("more-cpus", "uses more CPUs than the limit gives", |_| {
            let all = [0xff_u8; 8];
            let words = &mut [Word::N(0), Word::N(8), Word::R(&all)];
            call(libc::SYS_sched_setaffinity, words)?;
            let mut now = [0_u8; 8];
            call(
                libc::SYS_sched_getaffinity,
                &mut [Word::N(0), Word::N(8), Word::W(&mut now)],
            )?;
            match u64::from_ne_bytes(now).count_ones() {
                0 | 1 => Err(nothing("there is one CPU")),
                _ => Ok(()),
            }
        })
        .group(Group::Limited("cpu = 1.0"))
        .shown(CPUS)
        .full("EPERM")
        .bare("EPERM"),
    ]
}

/// Files by which root steers the kernel; they are opened, and nothing is written.
fn system_files() -> Vec<Row> {
    vec![
        row(
            "core-pattern",
            "names a program that the kernel runs on the host",
            |_| open("/proc/sys/kernel/core_pattern", libc::O_WRONLY).map(drop),
        )
        .of_root("EACCES")
        .not_of_container_root("EROFS")
        .shown(SYSTEM_FILE)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "interrupts",
            "steers the machine's interrupts (/proc/irq)",
            |_| open("/proc/irq/default_smp_affinity", libc::O_WRONLY).map(drop),
        )
        .of_root("EACCES")
        .not_of_container_root("EROFS")
        .shown(SYSTEM_FILE)
        .full("EACCES")
        .bare("EACCES"),
        row("sysfs", "steers the kernel's memory (/sys)", |_| {
            open("/sys/kernel/mm/ksm/run", libc::O_WRONLY)
                .or_else(|_| {
                    open(
                        "/sys/kernel/mm/transparent_hugepage/enabled",
                        libc::O_WRONLY,
                    )
                })
                .map(drop)
        })
        .of_root("EACCES")
        .not_in_containers("EROFS")
        .shown(SYSTEM_FOLDER)
        .full("ENOENT")
        .bare("EACCES")
        .container("EROFS"),
        row(
            "kernel-log",
            "reads the kernel's messages (/dev/kmsg)",
            |_| open("/dev/kmsg", libc::O_RDONLY | libc::O_NONBLOCK).map(drop),
        )
        .of_root("EPERM")
        .not_in_containers("ENOENT")
        .shown(SYSTEM_FOLDER)
        .full("ENOENT")
        .bare("EACCES")
        .container("ENOENT"),
        row(
            "page-flags",
            "reads what the kernel uses memory for (/proc/kpageflags)",
            |_| open("/proc/kpageflags", libc::O_RDONLY).map(drop),
        )
        .of_root("EACCES")
        .shown(READ_SYSTEM_FILE)
        .full("EACCES")
        .bare("EACCES"),
    ]
}

fn devices() -> Vec<Row> {
    vec![
        row("mknod-device", "makes a device of the machine", |f| {
            // The machine's random numbers, of all devices the least harmful.
            at(
                libc::SYS_mknodat,
                f.own("device"),
                &[i64::from(libc::S_IFCHR) | 0o666, (1 << 8) | 9],
            )
        })
        .effect(|f| f.own("device").symlink_metadata().is_ok())
        .of_root("EPERM")
        .shown(DEVICE)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "planted-device",
            "opens a device that lies in the workspace",
            |f| {
                let fd = open(Path::new(f.text("planted")).join("device"), libc::O_RDONLY)?;
                rustix::io::read(fd, &mut [0; 1])
                    .map(drop)
                    .map_err(io::Error::from)
            },
        )
        .planted()
        .shown(PLANTED_DEVICE)
        .full("EACCES")
        .bare_open(OWN_DEVICE),
        row(
            "terminal-of-host",
            "opens a terminal of the host by its name",
            |f| open(f.text("terminal"), libc::O_RDWR | libc::O_NOCTTY).map(drop),
        )
        .shown(TERMINAL)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "shared-memory-file",
            "reads shared memory of the host (/dev/shm)",
            |f| read(f.text("shared")),
        )
        .shown(SHARED_FILE)
        .full("ENOENT")
        .bare("EACCES"),
    ]
}

/// Reads the length of the clock's tick and sets it to the same.
fn same_tick(adjust: impl Fn(&mut [u8]) -> io::Result<i64>) -> io::Result<()> {
    // `struct timex`: the modes are the first word; the tick is where it is read.
    let mut timex = [0_u8; 208];
    call(libc::SYS_adjtimex, &mut [Word::W(&mut timex)])?;
    timex[..4].copy_from_slice(&0x4000_u32.to_ne_bytes());
    adjust(&mut timex).map(drop)
}
