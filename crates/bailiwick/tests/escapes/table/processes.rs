//! Other processes: of the host, and the one that keeps the sandbox.

use super::wait;
use crate::act::{nothing, open, owned, read};
use crate::field::{Field, SECRET, TOKEN};
use crate::row::{
    Group, Mode, Row, Shown, Who, bare, bare_root, bare_user, container, container_root,
    container_user, full, root, row, user,
};
use crate::sys::{Word, call};
use bailiwick_process::WITHOUT_NAMESPACES;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

/// Files of a process that only a debugger may open. The kernel keeps a user namespace's programs
/// from debugging others besides, so that an ordinary user's is shown where there is none.
const DEBUG: &[Shown] = &[
    root("pid,identity,capabilities,landlock,broker"),
    bare_user("landlock,broker"),
    bare_root("capabilities,landlock,broker"),
    container_user("landlock,broker"),
    container_root("capabilities,landlock,broker"),
];

/// Why an ordinary user's is not shown where there are namespaces.
pub(super) const OUTSIDE_OF_NAMESPACE: &str = "the kernel lets no program in a user namespace look \
    into a process outside of it, and an ordinary user has the other namespaces only in one: what \
    stops it besides is shown where there are none";

/// What debuggers are not alone to write.
const WEIGHT: &[Shown] = &[
    user("pid,landlock,broker"),
    root("pid,identity,capabilities,landlock,broker"),
    bare("landlock,broker"),
    container("landlock,broker"),
];

/// What everybody may read about a process.
const PUBLIC: &[Shown] = &[full("pid")];

const SIGNAL: &[Shown] = &[
    user("pid,landlock"),
    root("pid,identity,landlock"),
    bare("landlock"),
    container("landlock"),
];

const SEEN: &str = WITHOUT_NAMESPACES[2];

/// The rows.
pub(super) fn rows() -> Vec<Row> {
    [files(), signals()].into_iter().flatten().collect()
}

/// The process of the host, found as an attacker would: in /proc, or by its number.
pub(super) fn victim(field: &Field) -> i64 {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids = entries.filter_map(|e| e.file_name().to_str()?.parse::<i64>().ok());
    let found = pids.find(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|&b| b == 0).collect();
        let outside = field.outside();
        words.len() > 2
            && words[1] == b"--services"
            && words[2] == outside.as_os_str().as_encoded_bytes()
    });
    found.unwrap_or_else(|| field.number("victim"))
}

fn of_victim(field: &Field, name: &str) -> String {
    format!("/proc/{}/{name}", victim(field))
}

/// That a file of the process can be read at all.
fn reads(path: impl AsRef<Path>) -> io::Result<()> {
    let mut byte = [0; 1];
    match rustix::io::read(open(path, libc::O_RDONLY)?, &mut byte)? {
        0 => Err(nothing("it is empty")),
        _ => Ok(()),
    }
}

fn files() -> Vec<Row> {
    vec![
        row(
            "proc-environ",
            "reads the variables of a process of the host",
            |f| {
                let text = std::fs::read(of_victim(f, "environ"))?;
                let found = text
                    .windows(SECRET.len())
                    .any(|part| part == SECRET.as_bytes());
                found
                    .then_some(())
                    .ok_or_else(|| nothing("the secret is not there"))
            },
        )
        .unshown(Who::User, Mode::Full, OUTSIDE_OF_NAMESPACE)
        .shown(DEBUG)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "proc-mem-read",
            "reads the memory of a process of the host by /proc",
            |f| {
                let memory = open(of_victim(f, "mem"), libc::O_RDONLY)?;
                let mut bytes = vec![0; SECRET.len()];
                let address = f.number("address").cast_unsigned();
                rustix::io::pread(&memory, &mut bytes, address)?;
                (bytes == SECRET.as_bytes())
                    .then_some(())
                    .ok_or_else(|| nothing("other bytes"))
            },
        )
        .unshown(Who::User, Mode::Full, OUTSIDE_OF_NAMESPACE)
        .shown(DEBUG)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "proc-mem-write",
            "opens the memory of a process of the host for writing",
            |f| open(of_victim(f, "mem"), libc::O_RDWR).map(drop),
        )
        .unshown(Who::User, Mode::Full, OUTSIDE_OF_NAMESPACE)
        .shown(DEBUG)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "proc-root",
            "reads a file through the root of a process of the host",
            |f| read(format!("{}{}", of_victim(f, "root"), f.secret().display())),
        )
        .unshown(Who::User, Mode::Full, OUTSIDE_OF_NAMESPACE)
        .shown(DEBUG)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "proc-cwd",
            "reads a file through the folder of a process of the host",
            |f| read(of_victim(f, "cwd/secret")),
        )
        .unshown(Who::User, Mode::Full, OUTSIDE_OF_NAMESPACE)
        .shown(DEBUG)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "proc-fd",
            "opens a file that a process of the host has open",
            |f| read(of_victim(f, &format!("fd/{}", f.text("descriptor")))),
        )
        .unshown(Who::User, Mode::Full, OUTSIDE_OF_NAMESPACE)
        .shown(DEBUG)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "proc-maps",
            "reads where a process of the host has its memory",
            |f| reads(of_victim(f, "maps")),
        )
        .unshown(Who::User, Mode::Full, OUTSIDE_OF_NAMESPACE)
        .shown(DEBUG)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "proc-auxv",
            "reads what a process of the host was started with",
            |f| reads(of_victim(f, "auxv")),
        )
        .unshown(Who::User, Mode::Full, OUTSIDE_OF_NAMESPACE)
        .shown(DEBUG)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "proc-io",
            "reads how much a process of the host has read and written",
            |f| reads(of_victim(f, "io")),
        )
        .unshown(Who::User, Mode::Full, OUTSIDE_OF_NAMESPACE)
        .shown(DEBUG)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "proc-exe",
            "reads which program a process of the host is",
            |f| std::fs::read_link(of_victim(f, "exe")).map(drop),
        )
        .unshown(Who::User, Mode::Full, OUTSIDE_OF_NAMESPACE)
        .shown(DEBUG)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "proc-ns",
            "opens a namespace of a process of the host",
            |f| open(of_victim(f, "ns/mnt"), libc::O_RDONLY).map(drop),
        )
        .unshown(Who::User, Mode::Full, OUTSIDE_OF_NAMESPACE)
        .shown(DEBUG)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "proc-oom",
            "has a process of the host killed first when memory is short",
            |f| put_text(of_victim(f, "oom_score_adj"), "1000"),
        )
        .effect(|f| {
            let path = format!("/proc/{}/oom_score_adj", f.text("victim"));
            std::fs::read_to_string(path).is_ok_and(|text| text.trim() == "1000")
        })
        .shown(WEIGHT)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "proc-cmdline",
            "reads the command line of a process of the host",
            |f| reads(of_victim(f, "cmdline")),
        )
        .shown(PUBLIC)
        .full("ENOENT")
        .bare_open(SEEN),
        row(
            "proc-stat",
            "reads what a process of the host is doing",
            |f| reads(of_victim(f, "stat")),
        )
        .shown(PUBLIC)
        .full("ENOENT")
        .bare_open(SEEN),
    ]
}

fn put_text(path: impl AsRef<Path>, text: &str) -> io::Result<()> {
    let fd = open(path, libc::O_WRONLY)?;
    rustix::io::write(fd, text.as_bytes())
        .map(drop)
        .map_err(io::Error::from)
}

/// A signal that no way of sending one has.
const BEHIND: i64 = 50;

/// Each way of sending one has a signal of its own.
fn arrived(field: &Field, signal: i64) -> bool {
    let times = |signal: i64| {
        let text = std::fs::read_to_string(field.outside().join("signals")).unwrap_or_default();
        let signal = signal.to_string();
        text.lines().filter(|line| *line == signal).count()
    };
    // Of those that wait the kernel gives the lowest first: when this one has arrived, the others have.
    let before = times(BEHIND);
    let words = &mut [Word::N(field.number("victim")), Word::N(BEHIND)];
    if call(libc::SYS_kill, words).is_ok() {
        wait::until("a signal arrives", || times(BEHIND) > before);
    }
    times(signal) > 0
}

fn signals() -> Vec<Row> {
    vec![
        row(
            "kill",
            "sends a signal to a process of the host (kill)",
            |f| call(libc::SYS_kill, &mut [Word::N(victim(f)), Word::N(40)]).map(drop),
        )
        .effect(|f| arrived(f, 40))
        .shown(SIGNAL)
        .full("ESRCH")
        .bare("EPERM"),
        row(
            "tgkill",
            "sends one to a thread of a process of the host (tgkill)",
            |f| {
                let pid = victim(f);
                call(
                    libc::SYS_tgkill,
                    &mut [Word::N(pid), Word::N(pid), Word::N(41)],
                )
                .map(drop)
            },
        )
        .effect(|f| arrived(f, 41))
        .shown(SIGNAL)
        .full("ESRCH")
        .bare("EPERM"),
        row(
            "pidfd-signal",
            "sends one by a descriptor of the process",
            |f| {
                let fd = owned(call(
                    libc::SYS_pidfd_open,
                    &mut [Word::N(victim(f)), Word::N(0)],
                )?);
                let fd = Word::N(fd.as_raw_fd().into());
                call(
                    libc::SYS_pidfd_send_signal,
                    &mut [fd, Word::N(42), Word::N(0), Word::N(0)],
                )
                .map(drop)
            },
        )
        .effect(|f| arrived(f, 42))
        .shown(SIGNAL)
        .full("ESRCH")
        .bare("EPERM"),
        row(
            "fcntl-owner",
            "has the kernel send one when a pipe can be read (F_SETOWN)",
            |f| {
                let (reader, writer) = rustix::pipe::pipe()?;
                let fd: i64 = reader.as_raw_fd().into();
                let set = |command: i32, value: i64| {
                    let command = Word::N(command.into());
                    call(libc::SYS_fcntl, &mut [Word::N(fd), command, Word::N(value)])
                };
                // `F_SETSIG`, `F_SETOWN`, and the flag that asks for signals.
                set(10, 43)?;
                set(8, victim(f))?;
                set(libc::F_SETFL, i64::from(libc::O_ASYNC))?;
                rustix::io::write(&writer, b"x")?;
                Ok(())
            },
        )
        .effect(|f| arrived(f, 43))
        .shown(SIGNAL)
        .full("ESRCH")
        .bare("nothing"),
        row(
            "kill-all",
            "sends one to every process that it may signal",
            |_| call(libc::SYS_kill, &mut [Word::N(-1), Word::N(44)]).map(drop),
        )
        .effect(|f| arrived(f, 44))
        .group(Group::Alone)
        .shown(SIGNAL)
        .full("ended nothing")
        .bare("ended nothing"),
    ]
}

/// What an escape gets from a server of the host.
pub(super) fn answered(fd: OwnedFd) -> io::Result<()> {
    let mut bytes = vec![0; TOKEN.len()];
    io::Read::read_exact(&mut std::fs::File::from(fd), &mut bytes)
        .map_err(|_| nothing("there is no answer"))?;
    match bytes == TOKEN {
        true => Ok(()),
        false => Err(nothing("another answer")),
    }
}
