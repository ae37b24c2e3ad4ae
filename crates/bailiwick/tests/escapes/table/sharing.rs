//! What comes along from outside, and what is shared without a path: descriptors, variables,
//! terminals, memory, queues, sockets.

use crate::act::{is_secret, nothing, open_at, owned};
use crate::field::{Field, SECRET};
use crate::row::{Group, Row, Shown, bare, container, full, root, row, user};
use crate::sys::{self, Word, call};
use std::io;
use std::os::fd::AsRawFd;

const DESCRIPTORS: &[Shown] = &[
    full("descriptors"),
    bare("descriptors"),
    container("descriptors"),
];
const FOLDER: &[Shown] = &[
    user("descriptors,landlock"),
    root("descriptors,identity,landlock"),
    bare("descriptors,landlock"),
    container("descriptors,landlock"),
];
const VARIABLES: &[Shown] = &[
    full("environment"),
    bare("environment"),
    container("environment"),
];
const IPC: &[Shown] = &[
    user("ipc"),
    root("ipc,identity"),
    bare("seccomp"),
    container("seccomp"),
];
/// A queue is a file besides, which Landlock knows nothing about.
const QUEUE: &[Shown] = &[
    user("ipc,landlock"),
    root("ipc,identity,landlock"),
    bare("seccomp,landlock"),
    container("seccomp,landlock"),
];
const TYPING: &[Shown] = &[
    full("terminal,seccomp"),
    bare("terminal,seccomp"),
    container("terminal,seccomp"),
];
const LINE: &[Shown] = &[full("seccomp"), bare("seccomp"), container("seccomp")];
const CONTROLLING: &[Shown] = &[full("terminal"), bare("terminal"), container("terminal")];

/// The rows.
pub(super) fn rows() -> Vec<Row> {
    [inherited(), terminals(), memory()]
        .into_iter()
        .flatten()
        .collect()
}

fn inherited() -> Vec<Row> {
    vec![
        row(
            "inherited-file",
            "reads a file that the caller had open",
            |_| {
                let fd = call(libc::SYS_dup, &mut [Word::N(7)])?;
                rustix::fs::seek(owned(fd), rustix::fs::SeekFrom::Start(0))?;
                is_secret(owned(call(libc::SYS_dup, &mut [Word::N(7)])?))
            },
        )
        .shown(DESCRIPTORS)
        .full("EBADF")
        .bare("EBADF"),
        row(
            "inherited-folder",
            "opens a file in a folder that the caller had open",
            |_| is_secret(open_at(8, "secret", libc::O_RDONLY, 0)?),
        )
        .shown(FOLDER)
        .full("EBADF")
        .bare("EBADF"),
        row(
            "inherited-fchdir",
            "goes to a folder that the caller had open",
            |_| call(libc::SYS_fchdir, &mut [Word::N(8)]).map(drop),
        )
        .shown(DESCRIPTORS)
        .full("EBADF")
        .bare("EBADF"),
        row(
            "variable-token",
            "reads a token in a variable of the caller",
            |_| variable("HOST_TOKEN", SECRET),
        )
        .shown(VARIABLES)
        .full("nothing")
        .bare("nothing"),
        row(
            "variable-agent",
            "learns where the caller's key agent is",
            |f| variable("SSH_AUTH_SOCK", f.text("agent")),
        )
        .shown(VARIABLES)
        .full("nothing")
        .bare("nothing"),
        row(
            "variable-preload",
            "is given a library of the caller's (LD_PRELOAD)",
            |_| variable("LD_PRELOAD", "libm.so.6"),
        )
        .shown(VARIABLES)
        .full("nothing")
        .bare("nothing"),
        row(
            "variable-start",
            "has every shell run a file of the caller's (BASH_ENV)",
            |_| variable("BASH_ENV", "/absent.sh"),
        )
        .shown(VARIABLES)
        .full("nothing")
        .bare("nothing"),
        row(
            "variable-git",
            "has git use the caller's programs (GIT_SSH_COMMAND)",
            |_| variable("GIT_SSH_COMMAND", "/absent"),
        )
        .shown(VARIABLES)
        .full("nothing")
        .bare("nothing"),
    ]
}

fn variable(name: &str, value: &str) -> io::Result<()> {
    match std::env::var(name) {
        Ok(found) if found == value => Ok(()),
        _ => Err(nothing("it is not set")),
    }
}

/// Bytes that wait in the caller's terminal.
fn waiting(field: &Field) -> bool {
    let flags = libc::O_RDONLY | libc::O_NOCTTY | libc::O_NONBLOCK;
    let Ok(fd) = crate::act::open(field.text("terminal"), flags) else {
        return false;
    };
    let mut count = [0; 4];
    let request = libc::FIONREAD.cast_signed();
    let words = &mut [
        Word::N(fd.as_raw_fd().into()),
        Word::N(request),
        Word::W(&mut count),
    ];
    call(libc::SYS_ioctl, words).is_ok() && u32::from_ne_bytes(count) > 0
}

fn terminals() -> Vec<Row> {
    vec![
        row("type", "types into the caller's terminal (TIOCSTI)", |_| {
            for byte in b"x\n" {
                let request = libc::TIOCSTI.cast_signed();
                call(
                    libc::SYS_ioctl,
                    &mut [Word::N(0), Word::N(request), Word::R(&[*byte])],
                )?;
            }
            Ok(())
        })
        .group(Group::Terminal)
        .effect(waiting)
        .shown(TYPING)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "line-discipline",
            "changes what a terminal makes of its bytes (TIOCSETD)",
            |_| {
                let discipline = 0_i32.to_ne_bytes();
                // TIOCSETD
                call(
                    libc::SYS_ioctl,
                    &mut [Word::N(0), Word::N(0x5423), Word::R(&discipline)],
                )
                .map(drop)
            },
        )
        .group(Group::Terminal)
        .shown(LINE)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "console",
            "has a console paste what it shows (TIOCLINUX)",
            |_| {
                // There is no console here: whoever gets as far as the terminal is told so.
                let paste = [3_u8];
                let request = libc::TIOCLINUX.cast_signed();
                let words = &mut [Word::N(0), Word::N(request), Word::R(&paste)];
                super::kernel::past(call(libc::SYS_ioctl, words), libc::ENOTTY)
            },
        )
        .group(Group::Terminal)
        .shown(LINE)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "controlling-terminal",
            "has the caller's terminal as its own",
            |f| {
                let stat = rustix::fs::fstat(rustix::stdio::stdin())?;
                match format!("{} {}", stat.st_dev, stat.st_rdev) == f.text("terminal-device") {
                    true => Ok(()),
                    false => Err(nothing("it is another")),
                }
            },
        )
        .group(Group::Terminal)
        .shown(CONTROLLING)
        .full("nothing")
        .bare("nothing"),
    ]
}

fn memory() -> Vec<Row> {
    vec![
        row("shm", "reads shared memory of the host (System V)", |f| {
            let found = sys::attached(f.number("shm"), SECRET.len())?;
            match found == SECRET.as_bytes() {
                true => Ok(()),
                false => Err(nothing("other bytes")),
            }
        })
        .shown(IPC)
        .full("EINVAL")
        .bare("ENOSYS"),
        row("sem", "changes a semaphore of the host", |f| {
            // `struct sembuf`: semaphore 0, one more, no flags.
            let up = [0, 0, 1, 0, 0, 0];
            call(
                libc::SYS_semop,
                &mut [Word::N(f.number("sem")), Word::R(&up), Word::N(1)],
            )
            .map(drop)
        })
        .shown(IPC)
        .full("EINVAL")
        .bare("ENOSYS"),
        row(
            "msg",
            "takes a message from a queue of the host (System V)",
            |f| {
                let mut message = [0; 64];
                let words = &mut [
                    Word::N(f.number("msg")),
                    Word::W(&mut message),
                    Word::N(56),
                    Word::N(0),
                    Word::N(libc::IPC_NOWAIT.into()),
                ];
                call(libc::SYS_msgrcv, words).map(drop)
            },
        )
        .shown(IPC)
        .full("EINVAL")
        .bare("ENOSYS"),
        row("mqueue", "opens a queue of the host (POSIX)", |_| {
            let words = &mut [
                Word::T(c"bailiwick-escapes"),
                Word::N(libc::O_RDONLY.into()),
                Word::N(0),
                Word::N(0),
            ];
            call(libc::SYS_mq_open, words).map(drop)
        })
        .shown(QUEUE)
        .full("ENOENT")
        .bare("ENOSYS"),
    ]
}
