//! Protected names that do not exist yet: each way in which one is made, disguised, or raced for.

use crate::act::{
    HERE, again, at, create, link, nothing, open, open_at, owned, prepared, put, rename, symlink,
};
use crate::field::{Field, c};
use crate::row::{Row, Shown, bare, container, full, row};
use crate::sys::{Word, call};
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Nobody but the broker decides names that do not exist.
const ABSENT: &[Shown] = &[full("broker"), bare("broker"), container("broker")];

const ABSENT_MOVED: &[Shown] = &[
    full("broker"),
    bare("broker,landlock"),
    container("broker,landlock"),
];

/// The filter refuses a call that the broker does not know, and that the broker alone may make.
const UNKNOWN_CALL: &[Shown] = &[
    full("seccomp,broker"),
    bare("seccomp,broker"),
    container("seccomp,broker"),
];

/// How long a race goes on.
const RACE: Duration = Duration::from_millis(300);
/// So often one of the two finds that the other has done something.
const TURNS: u32 = 60;

/// The rows.
pub(super) fn rows() -> Vec<Row> {
    [absent(), disguised(), races()]
        .into_iter()
        .flatten()
        .collect()
}

/// Protected names that do not exist, each way in which one is made.
fn absent() -> Vec<Row> {
    vec![
        row(
            "create-protected",
            "makes a file of a protected name",
            |f| create(fresh(f, ".envrc")?),
        )
        .effect(is_made)
        .shown(ABSENT)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "mkdir-protected",
            "makes a folder of a protected name",
            |f| at(libc::SYS_mkdirat, fresh(f, ".envrc")?, &[0o755]),
        )
        .effect(is_made)
        .shown(ABSENT)
        .full("EACCES")
        .bare("EACCES"),
        row("mknod-protected", "makes one by mknod", |f| {
            at(
                libc::SYS_mknodat,
                fresh(f, ".envrc")?,
                &[i64::from(libc::S_IFREG) | 0o644, 0],
            )
        })
        .effect(is_made)
        .shown(ABSENT)
        .full("EACCES")
        .bare("EACCES"),
        row("symlink-protected", "makes a symbolic link of one", |f| {
            symlink("../field", fresh(f, ".envrc")?)
        })
        .effect(is_made)
        .shown(ABSENT)
        .full("EACCES")
        .bare("EACCES"),
        row("hard-link-protected", "makes a hard link of one", |f| {
            link(prepared(f, "file")?, fresh(f, ".envrc")?)
        })
        .effect(is_made)
        .shown(ABSENT_MOVED)
        .full("EACCES")
        .bare("EACCES"),
        row("rename-protected", "renames a file to one", |f| {
            rename(prepared(f, "file")?, fresh(f, ".envrc")?, 0)
        })
        .effect(is_made)
        .shown(ABSENT_MOVED)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "tmpfile-protected",
            "makes a nameless file, and gives it one",
            |f| {
                let name = fresh(f, ".envrc")?;
                let flags = libc::O_TMPFILE | libc::O_WRONLY;
                let fd = open_at(libc::AT_FDCWD, f.own("new"), flags, 0o644)?;
                call(
                    libc::SYS_linkat,
                    &mut [
                        Word::N(HERE),
                        Word::T(&c(again(&fd))),
                        Word::N(HERE),
                        Word::T(&c(name)),
                        Word::N(libc::AT_SYMLINK_FOLLOW.into()),
                    ],
                )
                .map(drop)
            },
        )
        .effect(is_made)
        .shown(ABSENT)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "move-onto-protected",
            "renames a folder to a protected name",
            |f| {
                std::fs::create_dir_all(f.own("new/vscode"))?;
                create(f.own("new/vscode/tasks.json"))?;
                rename(f.own("new/vscode"), f.own("new/.vscode"), 0)
            },
        )
        .effect(|f| f.own("new/.vscode/tasks.json").exists())
        .shown(ABSENT)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "move-above-protected",
            "renames a folder above one that becomes protected",
            |f| {
                std::fs::create_dir_all(f.own("new/x/commands"))?;
                rename(f.own("new/x"), f.own("new/.claude"), 0)
            },
        )
        .effect(has_commands)
        .shown(ABSENT)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "exchange-above-protected",
            "exchanges folders so that one becomes protected",
            |f| {
                std::fs::create_dir_all(f.own("new/x/commands"))?;
                std::fs::create_dir_all(f.own("new/.claude"))?;
                rename(f.own("new/x"), f.own("new/.claude"), libc::RENAME_EXCHANGE)
            },
        )
        .effect(has_commands)
        .shown(ABSENT)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "link-above-protected",
            "makes a link that leads to where nothing is protected",
            |f| {
                std::fs::create_dir_all(f.own("new/x/commands"))?;
                symlink("x", f.own("new/.claude"))
            },
        )
        .effect(has_commands)
        .shown(ABSENT)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "link-out",
            "leaves a link in the workspace that leads to a file of the host",
            |f| symlink(f.target(), f.own("out")),
        )
        .effect(|f| f.own("out").is_symlink())
        .shown(ABSENT)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "openat2-protected",
            "makes one by a call that the broker does not know",
            |f| {
                // `struct open_how`: flags, mode, resolve.
                let flags = (libc::O_CREAT | libc::O_WRONLY) as u64;
                let how = [flags, 0o644, 0].map(u64::to_ne_bytes).concat();
                let path = c(fresh(f, ".envrc")?);
                let fd = call(
                    libc::SYS_openat2,
                    &mut [Word::N(HERE), Word::T(&path), Word::R(&how), Word::N(24)],
                )?;
                put(owned(fd))
            },
        )
        .effect(is_made)
        .shown(UNKNOWN_CALL)
        .full("ENOSYS")
        .bare("ENOSYS"),
    ]
}

/// The same name, by paths in which it is not seen.
fn disguised() -> Vec<Row> {
    vec![
        row(
            "protected-from-folder",
            "makes one in a folder that it holds open",
            |f| {
                let name = fresh(f, "")?;
                let folder = open(name, libc::O_PATH)?;
                put(open_at(
                    folder.as_raw_fd(),
                    ".envrc",
                    libc::O_CREAT | libc::O_WRONLY,
                    0o644,
                )?)
            },
        )
        .effect(is_made)
        .shown(ABSENT)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "protected-from-moved",
            "makes one in a folder that was moved since",
            |f| {
                std::fs::create_dir_all(f.own("old"))?;
                let folder = open(f.own("old"), libc::O_PATH)?;
                rename(f.own("old"), f.own("new"), 0)?;
                put(open_at(
                    folder.as_raw_fd(),
                    ".envrc",
                    libc::O_CREAT | libc::O_WRONLY,
                    0o644,
                )?)
            },
        )
        .effect(is_made)
        .shown(ABSENT)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "protected-by-cwd",
            "makes one through /proc/self/cwd",
            |f| {
                fresh(f, "")?;
                create(format!("/proc/self/cwd/{}-new/.envrc", f.id))
            },
        )
        .effect(is_made)
        .shown(ABSENT)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "protected-by-link",
            "makes one through a link to it that leads nowhere yet",
            |f| {
                symlink(fresh(f, ".envrc")?, f.own("link"))?;
                create(f.own("link"))
            },
        )
        .effect(is_made)
        .shown(ABSENT)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "protected-by-dots",
            "makes one by a path with `..`, `.` and `//`",
            |f| {
                fresh(f, "x").map(std::fs::create_dir)??;
                create(f.own("new/x/../././/.envrc"))
            },
        )
        .effect(is_made)
        .shown(ABSENT)
        .full("EACCES")
        .bare("EACCES"),
    ]
}

/// What another thread changes between the decision and the act.
fn races() -> Vec<Row> {
    vec![
        row(
            "race-path",
            "changes the path in memory while the broker looks at it",
            |f| {
                let (free, held) = (fresh(f, "xenvrc")?, f.own("new/.envrc"));
                let path = Arc::new(bytes_of(&free));
                let place = free.as_os_str().len() - "xenvrc".len();
                let text = Arc::clone(&path);
                let change = move || {
                    // Each stays for a while: of two stores right after each other another CPU
                    // hardly ever sees the first.
                    for byte in [b'.', b'x'] {
                        text[place].store(byte, Ordering::Relaxed);
                        (0..100).for_each(|_| std::hint::spin_loop());
                    }
                };
                let make = || {
                    let flags = i64::from(libc::O_CREAT | libc::O_WRONLY);
                    let address = path.as_ptr() as i64;
                    // The address of shared bytes, as a number: they change while the kernel reads.
                    let words = &mut [
                        Word::N(HERE),
                        Word::N(address),
                        Word::N(flags),
                        Word::N(0o644),
                    ];
                    if let Ok(fd) = call(libc::SYS_openat, words) {
                        drop(owned(fd));
                    }
                };
                race_for(|| held.exists(), change, make)
            },
        )
        .effect(is_made)
        .shown(ABSENT)
        .full("nothing")
        .bare("nothing"),
        row(
            "race-link",
            "changes where a link leads while the broker follows it",
            |f| {
                std::fs::create_dir_all(f.own("new/plain"))?;
                std::fs::create_dir_all(f.own("new/.claude"))?;
                symlink("plain", f.own("new/a"))?;
                symlink(".claude", f.own("new/b"))?;
                let (a, b) = (f.own("new/a"), f.own("new/b"));
                race(
                    move || drop(rename(&a, &b, libc::RENAME_EXCHANGE)),
                    f,
                    || drop(std::fs::create_dir(f.own("new/a/commands"))),
                )
            },
        )
        .effect(has_commands)
        .shown(ABSENT)
        .full("nothing")
        .bare("nothing"),
        row(
            "race-ancestor",
            "renames a folder above while the broker makes the name",
            |f| {
                std::fs::create_dir_all(f.own("new/x"))?;
                let (plain, special) = (f.own("new/x"), f.own("new/.claude"));
                race(
                    move || {
                        let _ = rename(&plain, &special, 0);
                        if !special.join("commands").exists() {
                            let _ = rename(&special, &plain, 0);
                        }
                    },
                    f,
                    || {
                        drop(std::fs::create_dir(f.own("new/x/commands")));
                        drop(std::fs::create_dir(f.own("new/.claude/commands")));
                    },
                )?;
                // The other thread may have moved it back once more.
                let _ = rename(f.own("new/x"), f.own("new/.claude"), 0);
                Ok(())
            },
        )
        .effect(has_commands)
        .shown(ABSENT)
        .full("nothing")
        .bare("nothing"),
    ]
}

/// A folder of this row's own, for a protected name in it.
fn fresh(field: &Field, name: &str) -> io::Result<PathBuf> {
    std::fs::create_dir_all(field.own("new"))?;
    Ok(field.own("new").join(name))
}

fn is_made(field: &Field) -> bool {
    field.own("new/.envrc").symlink_metadata().is_ok()
}

fn has_commands(field: &Field) -> bool {
    field.own("new/.claude/commands").exists()
}

/// Runs one thing beside another until `.claude/commands` is there.
fn race(other: impl Fn() + Send + 'static, field: &Field, act: impl Fn()) -> io::Result<()> {
    race_for(|| has_commands(field), other, act)
}

/// Runs one thing beside another until something is so.
pub(super) fn race_for(
    reached: impl Fn() -> bool,
    other: impl Fn() + Send + 'static,
    act: impl Fn(),
) -> io::Result<()> {
    let stop = Arc::new(AtomicBool::new(false));
    let rounds = Arc::new(AtomicU32::new(0));
    let (end, count) = (Arc::clone(&stop), Arc::clone(&rounds));
    let other = std::thread::spawn(move || {
        while !end.load(Ordering::Relaxed) {
            other();
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    let begin = Instant::now();
    // On a busy machine each runs for a while without the other; what counts is how often they took turns.
    let (mut done, mut turns, mut seen) = (false, 0, 0);
    let long_enough =
        |turns: u32| begin.elapsed() > RACE && (turns > TURNS || begin.elapsed() > 100 * RACE);
    while !done && !long_enough(turns) {
        act();
        let now = rounds.load(Ordering::Relaxed);
        turns += u32::from(now != seen);
        seen = now;
        done = reached();
    }
    stop.store(true, Ordering::Relaxed);
    let _ = other.join();
    match done || reached() {
        true => Ok(()),
        false => Err(nothing("it was never made")),
    }
}

/// A path as bytes that threads share, with the NUL at its end.
fn bytes_of(path: &std::path::Path) -> Vec<AtomicU8> {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes
        .iter()
        .chain([&0])
        .map(|byte| AtomicU8::new(*byte))
        .collect()
}
