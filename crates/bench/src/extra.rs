//! Files that only one row needs. There are tens of thousands of them, so that they are generated
//! when their row begins and not in a run that does not have it.

use crate::fixture::Fixture;
use std::fs::{File, create_dir_all};
use std::io;
use std::path::{Path, PathBuf};

/// Sources of the project that is built. Tests look at what a row does and not at its time.
pub(crate) const SOURCES: usize = if cfg!(test) { 3 } else { 2000 };
/// Files of the trees in which a pattern is searched.
pub(crate) const WIDE: [usize; 2] = if cfg!(test) {
    [200, 300]
} else {
    [1_000, 50_000]
};
/// Files that match the pattern, in each of the trees.
pub(crate) const SECRETS: usize = 10;
const FOLDER: usize = 100;

/// What a row generates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extra {
    /// A workspace of its own with so many files, of which some are secret.
    Wide(usize),
    /// A project of many small sources, in the workspace.
    Project,
}

impl Extra {
    /// Its folder.
    pub(crate) fn folder(self, fixture: &Fixture) -> PathBuf {
        match self {
            Self::Wide(files) => fixture.base().join(format!("wide-{files}")),
            Self::Project => fixture.workspace().join("project"),
        }
    }

    /// Makes it, where it is not there yet.
    pub(crate) fn generate(self, fixture: &Fixture) -> io::Result<()> {
        let folder = self.folder(fixture);
        if folder.exists() {
            return Ok(());
        }
        match self {
            Self::Wide(files) => {
                wide(&folder, files)?;
                // The in-force check starts it in the row's own workspace.
                crate::program::copy(&fixture.helper(), &Fixture::helper_in(&folder))
            }
            Self::Project => project(&folder),
        }
    }
}

/// One of the secret files of a tree: the last.
pub(crate) fn secret(folder: &Path, files: usize) -> PathBuf {
    secret_file(folder, files, SECRETS - 1)
}

/// They are spread over the whole tree.
fn secret_file(folder: &Path, files: usize, i: usize) -> PathBuf {
    let folders = files / FOLDER;
    folder.join(format!("folder-{:03}/{i}.secret", i * folders / SECRETS))
}

fn wide(folder: &Path, files: usize) -> io::Result<()> {
    for i in 0..files / FOLDER {
        let part = folder.join(format!("folder-{i:03}"));
        create_dir_all(&part)?;
        for k in 0..FOLDER {
            File::create(part.join(format!("file-{k:02}.txt")))?;
        }
    }
    for i in 0..SECRETS {
        std::fs::write(secret_file(folder, files, i), "secret\n")?;
    }
    Ok(())
}

fn project(folder: &Path) -> io::Result<()> {
    let sources = folder.join("src");
    create_dir_all(&sources)?;
    for i in 0..SOURCES {
        std::fs::write(
            sources.join(format!("part-{i:04}.c")),
            format!("int part_{i}(int x)\n{{\n    return x * {i} + 1;\n}}\n"),
        )?;
    }
    Ok(())
}

/// Whether every source has its object file, and nothing else lies there.
pub(crate) fn built(project: &Path) -> Result<(), String> {
    const ELF: &[u8] = b"\x7fELF";
    let objects = project.join("obj");
    let entries = std::fs::read_dir(&objects)
        .map_err(|error| format!("{}: {error}", objects.display()))?
        .count();
    if entries != SOURCES {
        return Err(format!("{entries} object files exist instead of {SOURCES}"));
    }
    for i in 0..SOURCES {
        let file = objects.join(format!("part-{i:04}.o"));
        match std::fs::read(&file) {
            Ok(bytes) if bytes.starts_with(ELF) => {}
            Ok(_) => return Err(format!("{} is not an object file", file.display())),
            Err(error) => return Err(format!("{}: {error}", file.display())),
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "extra_tests.rs"]
mod tests;
