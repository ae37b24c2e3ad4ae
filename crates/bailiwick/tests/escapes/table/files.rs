//! Files of the host that the policy does not name, or names for reading only.

use crate::act::{
    HERE, again, is_secret, link, nothing, on, open, open_at, overwrite, read, rename, symlink,
};
use crate::field::{Field, WRITTEN, c};
use crate::row::{Row, Shown, bare, container, full, root, row, user};
use crate::sys::{Word, call};
use bailiwick_process::WITHOUT_NAMESPACES;
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

/// Only the mounts stop it; where there are none, Landlock.
const READ: &[Shown] = &[
    user("mounts"),
    root("mounts,identity"),
    bare("landlock"),
    container("landlock"),
];

/// What needs no right of Landlock's; where there are no mounts nothing stops it.
const LOOK: &[Shown] = &[user("mounts"), root("mounts,identity")];

const WRITE: &[Shown] = &[
    user("mounts,landlock"),
    root("mounts,landlock,identity"),
    bare("landlock"),
    container("landlock"),
];

const DENIED: &[Shown] = &[full("protection"), bare("broker"), container("broker")];

/// What is executed no broker sees.
const DENIED_PROGRAM: &[Shown] = &[full("protection"), bare("landlock"), container("landlock")];

/// Without Landlock besides, which forbids whatever no layer allows: moves between folders.
const DENIED_NAME: &[Shown] = &[
    full("protection,broker"),
    bare("broker,landlock"),
    container("broker,landlock"),
];

const NAMES: &str = WITHOUT_NAMESPACES[0];

const WATCHING: &str = WITHOUT_NAMESPACES[1];

/// The rows.
pub(super) fn rows() -> Vec<Row> {
    [reading(), looking(), denied()]
        .into_iter()
        .flatten()
        .collect()
}

/// The secret's path below another.
fn below(top: &str, field: &Field) -> PathBuf {
    PathBuf::from(format!("{top}{}", field.secret().display()))
}

fn reading() -> Vec<Row> {
    vec![
        row(
            "read-outside",
            "reads a file of the host by its path",
            |f| read(f.secret()),
        )
        .shown(READ)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "read-parent",
            "reads a file of the host through `..`",
            |_| read("../outside/secret"),
        )
        .shown(READ)
        .full("ENOENT")
        .bare("EACCES"),
        row("read-home", "reads a key in the home directory", |f| {
            read(f.home().join(".ssh/id"))
        })
        .shown(READ)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "read-link",
            "reads through a symbolic link that it makes",
            |f| {
                // In the workspace no such link is made.
                let own = tempfile::tempdir()?;
                symlink(f.secret(), own.path().join("link"))?;
                read(own.path().join("link"))
            },
        )
        .shown(READ)
        .full("ENOENT")
        .bare("EACCES"),
        row("read-proc-root", "reads through /proc/self/root", |f| {
            read(below("/proc/self/root", f))
        })
        .shown(READ)
        .full("ENOENT")
        .bare("EACCES"),
        row("read-proc-cwd", "reads through /proc/self/cwd", |_| {
            read("/proc/self/cwd/../outside/secret")
        })
        .shown(READ)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "read-folder",
            "reads from a folder that it holds open with O_PATH",
            |_| {
                let here = open(".", libc::O_PATH)?;
                is_secret(open_at(
                    here.as_raw_fd(),
                    "../outside/secret",
                    libc::O_RDONLY,
                    0,
                )?)
            },
        )
        .shown(READ)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "read-again",
            "opens a file with O_PATH, and for reading by /proc/self/fd",
            |f| {
                let fd = open(f.secret(), libc::O_PATH)?;
                read(again(&fd))
            },
        )
        .shown(READ)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "read-chdir",
            "goes to a folder of the host and reads from there",
            |f| {
                on(libc::SYS_chdir, f.outside(), &[])?;
                read("secret")
            },
        )
        .shown(READ)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "read-moved-folder",
            "moves a folder that it stands in, and reads through its `..`",
            |f| {
                let (inner, outer) = (f.own("a/b"), f.own("c"));
                std::fs::create_dir_all(&inner)?;
                let here = open(&inner, libc::O_PATH)?;
                rename(&inner, &outer, 0)?;
                is_secret(open_at(
                    here.as_raw_fd(),
                    "../../outside/secret",
                    libc::O_RDONLY,
                    0,
                )?)
            },
        )
        .shown(READ)
        .full("ENOENT")
        .bare("EACCES"),
        row("list-outside", "lists a folder of the host", |f| {
            let folder = open(f.outside(), libc::O_RDONLY | libc::O_DIRECTORY)?;
            let mut bytes = [0; 4096];
            let fd = folder.as_raw_fd().into();
            call(
                libc::SYS_getdents64,
                &mut [Word::N(fd), Word::W(&mut bytes), Word::N(4096)],
            )
            .map(drop)
        })
        .shown(READ)
        .full("ENOENT")
        .bare("EACCES"),
        row("execute-outside", "executes a program of the host", |f| {
            let status = std::process::Command::new(f.outside().join("tool")).status()?;
            match status.code() {
                Some(42) => Ok(()),
                _ => Err(nothing("it did not run")),
            }
        })
        .shown(READ)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "link-in",
            "gives a file of the host a second name in the workspace",
            |f| {
                link(f.target(), f.own("link"))?;
                overwrite(f.own("link"))
            },
        )
        .effect(|f| Field::holds(&f.target(), WRITTEN))
        .shown(WRITE)
        .full("ENOENT")
        .bare("EXDEV"),
        row(
            "move-in",
            "moves a file of the host into the workspace",
            |f| rename(f.target(), f.own("moved"), 0),
        )
        .effect(|f| !f.target().exists())
        .shown(WRITE)
        .full("ENOENT")
        .bare("EACCES"),
    ]
}

/// What tells something about a file without opening it.
fn looking() -> Vec<Row> {
    vec![
        row(
            "stat-outside",
            "asks for the size of a file of the host",
            |f| {
                rustix::fs::stat(f.secret())
                    .map(drop)
                    .map_err(io::Error::from)
            },
        )
        .shown(LOOK)
        .full("ENOENT")
        .bare_open(NAMES),
        row(
            "readlink-outside",
            "reads where a link of the host leads",
            |f| {
                let mut bytes = [0; 100];
                call(
                    libc::SYS_readlinkat,
                    &mut [
                        Word::N(HERE),
                        Word::T(&c(f.outside().join("link"))),
                        Word::W(&mut bytes),
                        Word::N(100),
                    ],
                )
                .map(drop)
            },
        )
        .shown(LOOK)
        .full("ENOENT")
        .bare_open(NAMES),
        row(
            "getxattr-outside",
            "reads an extended attribute of a file of the host",
            |f| {
                let mut bytes = [0; 100];
                let path = c(f.secret());
                let name = Word::T(c"user.of-host");
                call(
                    libc::SYS_getxattr,
                    &mut [Word::T(&path), name, Word::W(&mut bytes), Word::N(100)],
                )
                .map(drop)
            },
        )
        .shown(LOOK)
        .full("ENOENT")
        .bare_open(NAMES),
        row(
            "watch-outside",
            "watches what happens in a folder of the host (inotify)",
            |f| {
                let watch = call(libc::SYS_inotify_init1, &mut [Word::N(0)])?;
                call(
                    libc::SYS_inotify_add_watch,
                    &mut [
                        Word::N(watch),
                        Word::T(&c(f.outside())),
                        Word::N(libc::IN_ALL_EVENTS.into()),
                    ],
                )
                .map(drop)
            },
        )
        .shown(LOOK)
        .full("ENOENT")
        .bare_open(WATCHING),
    ]
}

/// What the policy denies in the workspace.
fn denied() -> Vec<Row> {
    vec![
        row(
            "read-denied",
            "reads a denied folder of the workspace",
            |_| read("denied/key"),
        )
        .shown(DENIED)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "read-denied-pattern",
            "reads what a denying pattern matches",
            |_| read("deep/er/x.secret"),
        )
        .shown(DENIED)
        .full("EACCES")
        .bare("EACCES"),
        row("execute-denied", "executes a denied program", |f| {
            let program = f.readable().with_file_name("hidden");
            let status = std::process::Command::new(program).arg("--who").status()?;
            match status.code() {
                Some(_) => Ok(()),
                None => Err(nothing("it did not run")),
            }
        })
        .shown(DENIED_PROGRAM)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "move-denied",
            "moves a denied file to another name and reads it",
            |f| {
                rename("deep/er/y.secret", f.own("moved"), 0)?;
                read(f.own("moved"))
            },
        )
        .shown(DENIED_NAME)
        .full("EBUSY")
        .bare("EACCES"),
        row(
            "move-above-denied",
            "moves the folder above a denied file and reads it there",
            |f| {
                rename("deeper", f.own("moved"), 0)?;
                read(f.own("moved/z.secret"))
            },
        )
        .shown(DENIED)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "link-denied",
            "gives a denied file a second name and reads that",
            |f| {
                link("deep/er/x.secret", f.own("link"))?;
                read(f.own("link"))
            },
        )
        .shown(DENIED_NAME)
        .full("EXDEV")
        .bare("EACCES"),
    ]
}
