//! The folders in which the suite works. They are generated, so that every machine measures the
//! same files; they lie in a real folder and not below `/tmp` or in a cache, because sandboxes
//! replace those, and a memory file system is not where anybody's code lies; nothing of them
//! outlives the run.

use crate::measure;
use bailiwick_event::Failure;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Files of the searched tree that have a match.
pub(crate) const MATCHING_FILES: usize = 109;
/// Matches in all of them.
pub(crate) const MATCHES: u64 = 327;
const TREE_FILES: usize = 763;
const REPOSITORY_FILES: usize = 200;
/// `f_type` of tmpfs, from statfs(2).
const TMPFS: u64 = 0x0102_1994;

/// What `git status --porcelain` prints in the generated repository.
pub(crate) fn status_text() -> String {
    " M dir-00/file-000.txt\n M dir-05/file-105.txt\n M dir-09/file-199.txt\n\
     ?? new-0.txt\n?? new-1.txt\n"
        .to_owned()
}

/// The generated folders, until it is dropped.
pub(crate) struct Fixture {
    base: PathBuf,
}

impl Fixture {
    /// Generates everything below `out`, or in the home directory where `out` is not a place for a
    /// workspace.
    ///
    /// # Errors
    /// [`Failure::Usage`] where there is no place; [`Failure::Fault`] where it cannot be written.
    pub(crate) fn generate(out: &Path, run_id: &str) -> Result<Self, Failure> {
        Self::with(out, run_id, |fixture| {
            fixture.make_folders()?;
            write_tree(&fixture.tree())?;
            write_repository(&fixture.repository())
        })
    }

    /// The folders, and nothing in them.
    ///
    /// # Errors
    /// Those of [`Fixture::generate`].
    pub(crate) fn empty(out: &Path, run_id: &str) -> Result<Self, Failure> {
        Self::with(out, run_id, Self::make_folders)
    }

    fn with(
        out: &Path,
        run_id: &str,
        write: impl FnOnce(&Self) -> io::Result<()>,
    ) -> Result<Self, Failure> {
        let base = place(out, run_id)?;
        let fixture = Self { base };
        write(&fixture).map_err(|error| {
            Failure::fault(format!(
                "{}: the benchmark's files cannot be written: {error}",
                fixture.base.display()
            ))
        })?;
        Ok(fixture)
    }

    fn make_folders(&self) -> io::Result<()> {
        for directory in [
            self.workspace(),
            self.state(),
            self.policies(),
            self.peers(),
            self.created(),
        ] {
            std::fs::create_dir_all(directory)?;
        }
        Ok(())
    }

    /// The folder of everything.
    pub(crate) fn base(&self) -> &Path {
        &self.base
    }
    /// The workspace of every sandbox, but for rows that have one of their own.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.base.join("workspace")
    }
    /// The git repository, in the workspace.
    pub(crate) fn repository(&self) -> PathBuf {
        self.workspace().join("repository")
    }
    /// The searched files, in the workspace.
    pub(crate) fn tree(&self) -> PathBuf {
        self.workspace().join("tree")
    }
    /// A file that is read again and again, in the workspace.
    pub(crate) fn read_file(&self) -> PathBuf {
        self.tree().join("module-01/part-001.txt")
    }
    /// How much of it one read gets.
    pub(crate) fn read_file_bytes(&self) -> usize {
        let length = self.read_file().metadata().map_or(0, |meta| meta.len());
        usize::try_from(length).unwrap_or(usize::MAX).min(4096)
    }
    /// Where a row creates files, in the workspace.
    pub(crate) fn created(&self) -> PathBuf {
        self.workspace().join("created")
    }
    /// The copy of this program, in the workspace.
    pub(crate) fn helper(&self) -> PathBuf {
        Self::helper_in(&self.workspace())
    }
    /// The copy of this program in another workspace.
    pub(crate) fn helper_in(workspace: &Path) -> PathBuf {
        workspace.join("bench-helper")
    }
    /// What must stay untouched, outside the workspace.
    pub(crate) fn outside(&self) -> PathBuf {
        self.base.join("outside")
    }
    /// `XDG_STATE_HOME` of the run.
    pub(crate) fn state(&self) -> PathBuf {
        self.base.join("state")
    }
    /// Policy files.
    pub(crate) fn policies(&self) -> PathBuf {
        self.base.join("policies")
    }
    /// Settings of other sandboxes.
    pub(crate) fn peers(&self) -> PathBuf {
        self.base.join("peers")
    }

    /// Removes everything.
    ///
    /// # Errors
    /// [`Failure::Fault`] that names the folder, where something of it stays.
    pub(crate) fn remove(self) -> Result<(), Failure> {
        std::fs::remove_dir_all(&self.base).map_err(|error| {
            Failure::fault(format!(
                "{}: the benchmark's files cannot be removed: {error}; remove the folder yourself",
                self.base.display()
            ))
        })
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        // After `remove`, or after an error that is already being reported.
        let _ = std::fs::remove_dir_all(&self.base);
    }
}

/// The folder of the generated files. Sandboxes replace `/tmp` and the user's cache.
fn place(out: &Path, run_id: &str) -> Result<PathBuf, Failure> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(home.as_ref()?.join(".cache")));
    let replaced = ["/tmp", "/var/tmp"].map(PathBuf::from);
    let usable = |directory: &Path| {
        !replaced
            .iter()
            .chain(&cache)
            .any(|path| directory.starts_with(path))
            && rustix::fs::statfs(directory).is_ok_and(|s| s.f_type.cast_unsigned() != TMPFS)
    };
    if usable(out) {
        return Ok(out.join(format!("work-{run_id}")));
    }
    home.and_then(|home| home.canonicalize().ok())
        .filter(|home| usable(home))
        .map(|home| home.join(format!(".bailiwick-bench-{run_id}")))
        .ok_or_else(|| {
            Failure::usage(format!(
                "{}: a benchmark's workspace does not go below /tmp, into a cache or into memory, \
                 and the home directory is no better; give a folder on a disk with --out",
                out.display()
            ))
        })
}

fn write_tree(tree: &Path) -> io::Result<()> {
    for i in 0..TREE_FILES {
        let directory = tree.join(format!("module-{:02}", i % 31));
        if i < 31 {
            std::fs::create_dir_all(&directory)?;
        }
        let mut file =
            io::BufWriter::new(File::create(directory.join(format!("part-{i:03}.txt")))?);
        for line in 0..80 {
            // Every seventh file has three matches: 109 files, 327 matches.
            let found = i % 7 == 0 && line % 27 == 0;
            let word = if found { "needle" } else { "straw" };
            writeln!(
                file,
                "{line:04} let value_{i}_{line} = {word}({i}, {line});"
            )?;
        }
        file.flush()?;
    }
    Ok(())
}

fn write_repository(repository: &Path) -> io::Result<()> {
    let file = |i: usize| repository.join(format!("dir-{:02}/file-{i:03}.txt", i / 20 % 10));
    let past = SystemTime::now() - Duration::from_secs(3600);
    for i in 0..REPOSITORY_FILES {
        let path = file(i);
        if i % 20 == 0 {
            std::fs::create_dir_all(path.parent().unwrap_or(repository))?;
        }
        std::fs::write(&path, format!("file {i}\n").repeat(20))?;
        // Older than the index, so that git does not have to read it again at each status.
        File::options()
            .write(true)
            .open(&path)?
            .set_modified(past)?;
    }
    git(repository, &["init", "--quiet", "--template="])?;
    git(repository, &["add", "--all"])?;
    let identity = [
        "-c",
        "user.name=Bench",
        "-c",
        "user.email=bench@example.test",
    ];
    let commit = ["commit", "--quiet", "--no-verify", "--message=200 files"];
    git(repository, &[&identity[..], &commit[..]].concat())?;
    for i in [0, 105, 199] {
        std::fs::write(file(i), "changed\n")?;
    }
    for i in 0..2 {
        std::fs::write(repository.join(format!("new-{i}.txt")), "new\n")?;
    }
    Ok(())
}

/// Git without the user's settings. Where git is absent its row is, too; the files stay.
fn git(repository: &Path, arguments: &[&str]) -> io::Result<()> {
    let Some(program) = crate::program::find("git") else {
        return Ok(());
    };
    let mut argv = vec![program.word];
    argv.extend(arguments.iter().map(OsString::from));
    let environment = [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_SYSTEM", "/dev/null"),
        ("GIT_CEILING_DIRECTORIES", "/"),
    ]
    .map(|(k, v)| (k.into(), v.into()));
    let sample = measure::run(&argv, repository, &environment)?;
    match sample.code {
        Some(0) => Ok(()),
        _ => Err(io::Error::other(format!(
            "git {}: {}",
            arguments.join(" "),
            sample.ending()
        ))),
    }
}

#[cfg(test)]
#[path = "fixture_tests.rs"]
mod tests;
