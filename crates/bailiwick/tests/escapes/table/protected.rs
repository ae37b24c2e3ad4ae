//! Names that something outside would later run or obey: hooks, settings of editors and agents,
//! git's configuration.

use crate::act::{
    HERE, again, at, create, link, on, open, open_at, overwrite, prepared, put, rename, symlink,
};
use crate::field::{Field, HOST, WRITTEN, c};
use crate::row::{Group, Row, Shown, bare, container, full, row};
use crate::sys::{Word, call};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

/// The broker decides the name, and a mount keeps the file besides.
const EXISTING: &[Shown] = &[
    full("protection,broker"),
    bare("broker"),
    container("broker"),
];

/// Without Landlock besides, which forbids whatever no layer allows: moves between folders.
const MOVED: &[Shown] = &[
    full("protection,broker"),
    bare("broker,landlock"),
    container("broker,landlock"),
];

/// The rows.
pub(super) fn rows() -> Vec<Row> {
    [existing(), moved()].into_iter().flatten().collect()
}

fn changed(field: &Field) -> bool {
    Field::holds(&field.protected(), WRITTEN)
}

fn existing() -> Vec<Row> {
    vec![
        row("write-protected", "writes a protected file", |f| {
            overwrite(f.protected())
        })
        .effect(changed)
        .shown(EXISTING)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "write-protected-folder",
            "writes one from its folder, held open",
            |f| {
                let folder = open(f.workspace().join(".vscode"), libc::O_PATH)?;
                put(open_at(
                    folder.as_raw_fd(),
                    &f.id,
                    libc::O_WRONLY | libc::O_TRUNC,
                    0,
                )?)
            },
        )
        .effect(changed)
        .shown(EXISTING)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "write-protected-again",
            "opens one for reading, then again for writing",
            |f| {
                let fd = open(f.protected(), libc::O_RDONLY)?;
                put(open(again(&fd), libc::O_WRONLY | libc::O_TRUNC)?)
            },
        )
        .effect(changed)
        .shown(EXISTING)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "write-protected-link",
            "writes one through a symbolic link",
            |f| {
                symlink(f.protected(), f.own("link"))?;
                overwrite(f.own("link"))
            },
        )
        .effect(changed)
        .shown(EXISTING)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "write-protected-dots",
            "writes one by a path with `..`, `.` and `//`",
            |f| overwrite(format!(".vscode/.././/.vscode//{}", f.id)),
        )
        .effect(changed)
        .shown(EXISTING)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "link-protected",
            "gives one a second name and writes that",
            |f| {
                link(f.protected(), f.own("link"))?;
                overwrite(f.own("link"))
            },
        )
        .effect(changed)
        .shown(MOVED)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "link-protected-fd",
            "gives one a second name by its descriptor",
            |f| {
                let fd = open(f.protected(), libc::O_RDONLY)?;
                let name = f.own("link");
                call(
                    libc::SYS_linkat,
                    &mut [
                        Word::N(HERE),
                        Word::T(&c(again(&fd))),
                        Word::N(HERE),
                        Word::T(&c(&name)),
                        Word::N(libc::AT_SYMLINK_FOLLOW.into()),
                    ],
                )?;
                overwrite(name)
            },
        )
        .effect(changed)
        .shown(MOVED)
        .full("EACCES")
        .bare("EACCES"),
        row("truncate-protected", "empties one", |f| {
            on(libc::SYS_truncate, f.protected(), &[0])
        })
        .effect(|f| !Field::holds(&f.protected(), HOST))
        .shown(EXISTING)
        .full("EACCES")
        .bare("EACCES"),
        row("replace-protected", "replaces one", |f| {
            rename(prepared(f, "file")?, f.protected(), 0)
        })
        .effect(changed)
        .shown(MOVED)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "exchange-protected",
            "exchanges one for another file",
            |f| rename(prepared(f, "file")?, f.protected(), libc::RENAME_EXCHANGE),
        )
        .effect(changed)
        .shown(MOVED)
        .full("EACCES")
        .bare("EACCES"),
        row("unlink-protected", "removes one", |f| {
            at(libc::SYS_unlinkat, f.protected(), &[0])
        })
        .effect(|f| !f.protected().exists())
        .shown(EXISTING)
        .full("EACCES")
        .bare("EACCES"),
        row("chmod-protected", "makes one executable", |f| {
            at(libc::SYS_fchmodat, f.protected(), &[0o755])
        })
        .effect(|f| std::fs::metadata(f.protected()).is_ok_and(|m| m.mode() & 0o111 != 0))
        .shown(EXISTING)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "create-beside-protected",
            "makes a file in a protected folder",
            |f| create(f.protected().with_extension("new")),
        )
        .effect(|f| f.protected().with_extension("new").exists())
        .shown(EXISTING)
        .full("EACCES")
        .bare("EACCES"),
    ]
}

/// Protected folders that are moved out of the way.
fn moved() -> Vec<Row> {
    vec![
        row(
            "move-protected-folder",
            "moves a protected folder away",
            |f| rename(".idea", f.own("idea"), 0),
        )
        .effect(|f| !f.workspace().join(".idea").exists())
        .shown(EXISTING)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "exchange-protected-folder",
            "exchanges a protected folder for another",
            |f| {
                std::fs::create_dir(f.own("folder"))?;
                rename(f.own("folder"), ".cursor", libc::RENAME_EXCHANGE)
            },
        )
        .effect(|f| !f.workspace().join(".cursor/file").exists())
        .shown(EXISTING)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "move-pinned-folder",
            "moves the folder above protected ones away",
            |_| rename(".claude", "claude", 0),
        )
        .effect(|f| !f.workspace().join(".claude").exists())
        .shown(EXISTING)
        .full("EACCES")
        .bare("EBUSY"),
        row(
            "move-git",
            "moves the repository away, to put another in its place",
            |_| rename(".git", "git", 0),
        )
        .group(Group::Alone)
        .effect(|f| !f.workspace().join(".git/HEAD").exists())
        .shown(EXISTING)
        .full("EACCES")
        .bare("EBUSY"),
    ]
}
