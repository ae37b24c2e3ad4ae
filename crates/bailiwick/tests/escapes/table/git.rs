//! Repositories: what git would run or obey when it is next used outside.

use crate::act::{create, overwrite, rename};
use crate::field::{Field, WRITTEN};
use crate::row::{Group, Row, Shown, bare, container, full, row};
use std::io;

/// The broker decides the name, and a mount keeps the file besides.
const EXISTING: &[Shown] = &[
    full("protection,broker"),
    bare("broker"),
    container("broker"),
];

/// Nobody but the broker decides names that do not exist.
const ABSENT: &[Shown] = &[full("broker"), bare("broker"), container("broker")];

/// Without Landlock besides, which forbids whatever no layer allows: moves between folders.
const ABSENT_MOVED: &[Shown] = &[
    full("broker"),
    bare("broker,landlock"),
    container("broker,landlock"),
];

/// The rows.
pub(super) fn rows() -> Vec<Row> {
    [git()].into_iter().flatten().collect()
}

fn git() -> Vec<Row> {
    let harmful: fn(&Field) -> bool = |f| {
        let read = std::fs::read_to_string(f.workspace().join(".git/config"));
        read.is_ok_and(|text| text.contains("fsmonitor"))
    };
    vec![
        row(
            "git-config",
            "writes a program into git's configuration",
            |_| overwrite(".git/config"),
        )
        .group(Group::Alone)
        .effect(harmful)
        .shown(EXISTING)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "git-config-lock",
            "writes git's configuration as git does",
            |_| {
                create(".git/config.lock")?;
                rename(".git/config.lock", ".git/config", 0)
            },
        )
        .group(Group::Alone)
        .effect(harmful)
        .shown(EXISTING)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "git-config-worktree",
            "writes the configuration of a working tree",
            |_| create(".git/config.worktree"),
        )
        .group(Group::Alone)
        .effect(|f| Field::holds(&f.workspace().join(".git/config.worktree"), WRITTEN))
        .shown(EXISTING)
        .full("nothing")
        .bare("nothing"),
        row("git-hook", "makes a hook", |f| {
            create(format!(".git/hooks/{}", f.id))
        })
        .effect(|f| f.workspace().join(".git/hooks").join(&f.id).exists())
        .shown(EXISTING)
        .full("EACCES")
        .bare("EACCES"),
        row("git-modules", "names a program in .gitmodules", |_| {
            create(".gitmodules")
        })
        .effect(|f| Field::holds(&f.workspace().join(".gitmodules"), WRITTEN))
        .shown(ABSENT)
        .full("nothing")
        .bare("nothing"),
        row(
            "git-submodule-config",
            "writes the configuration of a submodule",
            |_| {
                std::fs::create_dir_all(".git/modules/m")?;
                create(".git/modules/m/config")
            },
        )
        .effect(|f| Field::holds(&f.workspace().join(".git/modules/m/config"), WRITTEN))
        .shown(ABSENT)
        .full("nothing")
        .bare("nothing"),
        row(
            "git-new",
            "makes a repository whose configuration runs a program",
            |f| repository(&f.own("repository/.git")),
        )
        .effect(|f| Field::holds(&f.own("repository/.git/config"), WRITTEN))
        .shown(ABSENT)
        .full("nothing")
        .bare("nothing"),
        row(
            "git-bare",
            "makes of a folder a repository without a working tree",
            |f| repository(&f.own("repository")),
        )
        .effect(|f| {
            let at = |name| f.own("repository").join(name);
            Field::holds(&at("config"), WRITTEN) && at("HEAD").exists() && at("refs").exists()
        })
        .shown(ABSENT)
        .full("nothing")
        .bare("nothing"),
        row(
            "git-bare-late",
            "the same, where the configuration lies there first",
            |f| {
                let top = f.own("repository");
                std::fs::create_dir_all(&top)?;
                create(top.join("config"))?;
                for name in ["objects", "refs"] {
                    std::fs::create_dir(top.join(name))?;
                }
                std::fs::write(f.own("HEAD"), "ref: refs/heads/main\n")?;
                rename(f.own("HEAD"), top.join("HEAD"), 0)
            },
        )
        .effect(|f| {
            let at = |name| f.own("repository").join(name);
            Field::holds(&at("config"), WRITTEN) && at("HEAD").exists() && at("refs").exists()
        })
        .shown(ABSENT_MOVED)
        .full("EACCES")
        .bare("EACCES"),
        row("git-new-hook", "makes a hook in a new repository", |f| {
            std::fs::create_dir_all(f.own("repository/.git/hooks"))?;
            create(f.own("repository/.git/hooks/post-checkout"))
        })
        .effect(|f| f.own("repository/.git/hooks/post-checkout").exists())
        .shown(ABSENT)
        .full("EACCES")
        .bare("EACCES"),
        row("git-sample", "renames a sample of a hook to a hook", |f| {
            std::fs::create_dir_all(f.own("repository/.git/hooks"))?;
            let sample = f.own("repository/.git/hooks/post-merge.sample");
            create(&sample)?;
            rename(&sample, f.own("repository/.git/hooks/post-merge"), 0)
        })
        .effect(|f| f.own("repository/.git/hooks/post-merge").exists())
        .shown(ABSENT)
        .full("EACCES")
        .bare("EACCES"),
        row(
            "git-file",
            "makes a file .git that leads to a repository of its own",
            |f| {
                let place = f.own("repository");
                std::fs::create_dir_all(place.join("tree"))?;
                std::fs::create_dir_all(place.join("objects"))?;
                std::fs::create_dir_all(place.join("refs"))?;
                std::fs::write(place.join("x"), WRITTEN)?;
                std::fs::write(
                    place.join("tree/.git"),
                    format!("gitdir: {}\n", place.display()),
                )?;
                rename(place.join("x"), place.join("config"), 0)?;
                std::fs::write(place.join("HEAD"), "ref: refs/heads/main\n")
            },
        )
        .effect(|f| {
            let at = |name| f.own("repository").join(name);
            Field::holds(&at("config"), WRITTEN) && at("HEAD").exists() && at("tree/.git").exists()
        })
        .shown(ABSENT)
        .full("EACCES")
        .bare("EACCES"),
    ]
}

/// A repository as git makes one, with a configuration of an escape's.
fn repository(top: &std::path::Path) -> io::Result<()> {
    for name in ["objects", "refs"] {
        std::fs::create_dir_all(top.join(name))?;
    }
    std::fs::write(top.join("HEAD"), "ref: refs/heads/main\n")?;
    create(top.join("config"))
}
