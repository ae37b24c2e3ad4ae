//! Files of the host that an escape writes, makes, moves or takes away.

use crate::act::{
    HERE, again, at, create, link, on, open, open_at, overwrite, prepared, put, rename, symlink,
};
use crate::field::{Field, HOST, WRITTEN, c};
use crate::row::{Row, Shown, bare, container, root, row, user};
use crate::sys::{Word, call};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const WRITE: &[Shown] = &[
    user("mounts,landlock"),
    root("mounts,landlock,identity"),
    bare("landlock"),
    container("landlock"),
];

/// What needs no right of Landlock's and changes something; where there are no mounts, the broker.
const CHANGE: &[Shown] = &[
    user("mounts"),
    root("mounts,identity"),
    bare("broker"),
    container("broker"),
];

const READ_ONLY: &[Shown] = &[
    user("readonly,landlock"),
    root("readonly,landlock,identity"),
    bare("landlock"),
    container("landlock"),
];

const ATTRIBUTES_OF_READ_ONLY: &[Shown] = &[
    user("readonly"),
    root("readonly,identity"),
    bare("broker"),
    container("broker"),
];

/// The rows.
pub(super) fn rows() -> Vec<Row> {
    [writing(), naming(), read_only()]
        .into_iter()
        .flatten()
        .collect()
}

fn writing() -> Vec<Row> {
    vec![
        row("write-outside", "writes a file of the host", |f| {
            overwrite(f.target())
        })
        .effect(|f| Field::holds(&f.target(), WRITTEN))
        .shown(WRITE)
        .full("ENOENT")
        .bare("EACCES"),
        row("write-proc-root", "writes through /proc/self/root", |f| {
            overwrite(format!("/proc/self/root{}", f.target().display()))
        })
        .effect(|f| Field::holds(&f.target(), WRITTEN))
        .shown(WRITE)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "write-link",
            "writes through a symbolic link that it makes",
            |f| {
                // In the workspace no such link is made.
                let own = tempfile::tempdir()?;
                symlink(f.target(), own.path().join("link"))?;
                overwrite(own.path().join("link"))
            },
        )
        .effect(|f| Field::holds(&f.target(), WRITTEN))
        .shown(WRITE)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "write-planted-link",
            "writes through a link that lay in the workspace",
            |f| overwrite(f.workspace().join("planted").join(format!("{}.file", f.id))),
        )
        .effect(|f| Field::holds(&f.target(), WRITTEN))
        .shown(WRITE)
        .full("ENOENT")
        .bare("EACCES"),
        row("write-home", "writes a start-up file of the shell", |f| {
            create(f.home().join(".bashrc"))
        })
        .effect(|f| f.home().join(".bashrc").exists())
        .shown(WRITE)
        .full("nothing")
        .bare("EACCES"),
        row("write-ssh", "lets a key in (~/.ssh/authorized_keys)", |f| {
            create(f.home().join(".ssh/authorized_keys"))
        })
        .effect(|f| f.home().join(".ssh/authorized_keys").exists())
        .shown(WRITE)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "write-gitconfig",
            "has every git of the user run a program (~/.gitconfig)",
            |f| create(f.home().join(".gitconfig")),
        )
        .effect(|f| f.home().join(".gitconfig").exists())
        .shown(WRITE)
        .full("nothing")
        .bare("EACCES"),
        row(
            "truncate-outside",
            "empties a file of the host (truncate)",
            |f| on(libc::SYS_truncate, f.target(), &[0]),
        )
        .effect(|f| Field::holds(&f.target(), ""))
        .shown(WRITE)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "chmod-outside",
            "changes the mode of a file of the host",
            |f| at(libc::SYS_fchmodat, f.target(), &[0o600]),
        )
        .effect(|f| mode(&f.target()) == 0o600)
        .shown(CHANGE)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "chown-outside",
            "changes the owner of a file of the host",
            |f| {
                let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
                let rest = [uid.as_raw().into(), gid.as_raw().into(), 0];
                at(libc::SYS_fchownat, f.target(), &rest)
            },
        )
        .shown(CHANGE)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "touch-outside",
            "changes the times of a file of the host",
            |f| {
                let times = [1_i64, 0, 1, 0].map(i64::to_ne_bytes).concat();
                call(
                    libc::SYS_utimensat,
                    &mut [
                        Word::N(HERE),
                        Word::T(&c(f.target())),
                        Word::R(&times),
                        Word::N(0),
                    ],
                )
                .map(drop)
            },
        )
        .effect(|f| std::fs::metadata(f.target()).is_ok_and(|m| m.mtime() == 1))
        .shown(CHANGE)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "setxattr-outside",
            "gives a file of the host an extended attribute",
            |f| {
                let path = c(f.target());
                call(
                    libc::SYS_setxattr,
                    &mut [
                        Word::T(&path),
                        Word::T(c"user.inside"),
                        Word::R(b"1"),
                        Word::N(1),
                        Word::N(0),
                    ],
                )
                .map(drop)
            },
        )
        .shown(CHANGE)
        .full("ENOENT")
        .bare("EACCES"),
    ]
}

/// Names of the host that an escape makes or takes away.
fn naming() -> Vec<Row> {
    let exists: fn(&Field) -> bool = |f| f.folder().join("new").symlink_metadata().is_ok();
    vec![
        row("create-outside", "makes a file on the host", |f| {
            create(f.folder().join("new"))
        })
        .effect(exists)
        .shown(WRITE)
        .full("ENOENT")
        .bare("EACCES"),
        row("mkdir-outside", "makes a folder on the host", |f| {
            at(libc::SYS_mkdirat, f.folder().join("new"), &[0o755])
        })
        .effect(exists)
        .shown(WRITE)
        .full("ENOENT")
        .bare("EACCES"),
        row("mkfifo-outside", "makes a pipe on the host", |f| {
            at(
                libc::SYS_mknodat,
                f.folder().join("new"),
                &[i64::from(libc::S_IFIFO) | 0o644, 0],
            )
        })
        .effect(exists)
        .shown(WRITE)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "symlink-outside",
            "makes a symbolic link on the host",
            |f| symlink("/etc/passwd", f.folder().join("new")),
        )
        .effect(exists)
        .shown(WRITE)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "link-outside",
            "gives a file of its own a name on the host",
            |f| link(prepared(f, "file")?, f.folder().join("new")),
        )
        .effect(exists)
        .shown(WRITE)
        .full("ENOENT")
        .bare("EACCES"),
        row("move-outside", "moves a file of its own to the host", |f| {
            rename(prepared(f, "file")?, f.folder().join("new"), 0)
        })
        .effect(exists)
        .shown(WRITE)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "replace-outside",
            "replaces a file of the host by one of its own",
            |f| rename(prepared(f, "file")?, f.target(), 0),
        )
        .effect(|f| Field::holds(&f.target(), WRITTEN))
        .shown(WRITE)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "exchange-outside",
            "exchanges a file of the host for one of its own",
            |f| rename(prepared(f, "file")?, f.target(), libc::RENAME_EXCHANGE),
        )
        .effect(|f| Field::holds(&f.target(), WRITTEN))
        .shown(WRITE)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "tmpfile-outside",
            "makes a nameless file on the host, and names it",
            |f| {
                let flags = libc::O_TMPFILE | libc::O_WRONLY;
                let fd = open_at(libc::AT_FDCWD, f.folder(), flags, 0o644)?;
                call(
                    libc::SYS_linkat,
                    &mut [
                        Word::N(HERE),
                        Word::T(&c(again(&fd))),
                        Word::N(HERE),
                        Word::T(&c(f.folder().join("new"))),
                        Word::N(libc::AT_SYMLINK_FOLLOW.into()),
                    ],
                )
                .map(drop)
            },
        )
        .effect(exists)
        .shown(WRITE)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "race-outside",
            "makes a file through a folder that becomes a link to the host meanwhile",
            |f| {
                let own = tempfile::tempdir()?;
                let (here, there) = (own.path().join("x"), own.path().join("link"));
                std::fs::create_dir(&here)?;
                symlink(f.folder(), &there)?;
                let place = here.join("new");
                // Inside nobody can look there.
                let made = f.folder().join("new");
                super::absent::race_for(
                    || made.symlink_metadata().is_ok(),
                    move || drop(rename(&here, &there, libc::RENAME_EXCHANGE)),
                    || {
                        let _ = create(&place);
                        let _ = std::fs::remove_file(&place);
                        drop(create(&place));
                    },
                )
            },
        )
        .effect(exists)
        .shown(WRITE)
        .full("nothing")
        .bare("nothing"),
        row("unlink-outside", "removes a file of the host", |f| {
            at(libc::SYS_unlinkat, f.target(), &[0])
        })
        .effect(|f| !f.target().exists())
        .shown(WRITE)
        .full("ENOENT")
        .bare("EACCES"),
        row("rmdir-outside", "removes a folder of the host", |f| {
            at(libc::SYS_unlinkat, f.folder(), &[libc::AT_REMOVEDIR.into()])
        })
        .effect(|f| !f.folder().exists())
        .shown(WRITE)
        .full("ENOENT")
        .bare("EACCES"),
        row(
            "move-folder-in",
            "moves a folder of the host into the workspace",
            |f| rename(f.folder(), f.own("folder"), 0),
        )
        .effect(|f| !f.folder().exists())
        .shown(WRITE)
        .full("ENOENT")
        .bare("EACCES"),
    ]
}

/// What the policy lets a program read and not write.
fn read_only() -> Vec<Row> {
    let changed: fn(&Field) -> bool = |f| Field::holds(&f.readable(), WRITTEN);
    vec![
        row(
            "write-readable",
            "writes a file that may only be read",
            |f| overwrite(f.readable()),
        )
        .effect(changed)
        .shown(READ_ONLY)
        .full("EROFS")
        .bare("EACCES"),
        row(
            "write-readable-again",
            "opens such a file for reading, then again for writing",
            |f| {
                let fd = open(f.readable(), libc::O_RDONLY)?;
                put(open(again(&fd), libc::O_WRONLY | libc::O_TRUNC)?)
            },
        )
        .effect(changed)
        .shown(READ_ONLY)
        .full("EROFS")
        .bare("EACCES"),
        row(
            "replace-readable",
            "replaces a file that may only be read",
            |f| rename(prepared(f, "file")?, f.readable(), 0),
        )
        .effect(changed)
        .shown(WRITE)
        .full("EXDEV")
        .bare("EACCES"),
        row(
            "unlink-readable",
            "removes a file that may only be read",
            |f| at(libc::SYS_unlinkat, f.readable(), &[0]),
        )
        .effect(|f| !f.readable().exists())
        .shown(READ_ONLY)
        .full("EROFS")
        .bare("EACCES"),
        row(
            "create-readable",
            "makes a file in a folder that may only be read",
            |f| {
                let name = f.readable().with_extension("new");
                create(name)
            },
        )
        .effect(|f| f.readable().with_extension("new").exists())
        .shown(READ_ONLY)
        .full("EROFS")
        .bare("EACCES"),
        row(
            "chmod-readable",
            "changes the mode of a file that may only be read",
            |f| at(libc::SYS_fchmodat, f.readable(), &[0o600]),
        )
        .effect(|f| mode(&f.readable()) == 0o600)
        .shown(ATTRIBUTES_OF_READ_ONLY)
        .full("EROFS")
        .bare("EACCES"),
        row(
            "fchmod-readable",
            "changes the mode of such a file by its descriptor",
            |f| {
                let fd = open(f.readable(), libc::O_RDONLY)?;
                let words = &mut [Word::N(fd.as_raw_fd().into()), Word::N(0o600)];
                call(libc::SYS_fchmod, words).map(drop)
            },
        )
        .effect(|f| mode(&f.readable()) == 0o600)
        .shown(ATTRIBUTES_OF_READ_ONLY)
        .full("EROFS")
        .bare("EACCES"),
        row(
            "truncate-readable",
            "empties a file that may only be read",
            |f| on(libc::SYS_truncate, f.readable(), &[0]),
        )
        .effect(|f| !Field::holds(&f.readable(), HOST))
        .shown(READ_ONLY)
        .full("EACCES EROFS")
        .bare("EACCES"),
    ]
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).map_or(0, |m| m.mode() & 0o7777)
}
