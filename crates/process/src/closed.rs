//! Folders of which a search knows nothing: it could not list them, or go into them, or there are too many. A run may
//! take the rights from a folder and the next one may give them back, so such a folder counts as holding whatever is
//! looked for.

use crate::paths::is_absent;
use crate::setup::raw;
use bailiwick_event::{Text, shell_word};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, openat, statat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, ReadDir};
use std::io;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// So many are kept apart; of more, folders above them are closed.
const MOST: usize = 1_000;
/// So many are named to a person.
const NAMED: usize = 3;

/// Why nothing is known of what a folder holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Why {
    /// It belongs to somebody else, and the sandbox could not open it either.
    Others,
    /// The rights are missing, which its owner, the user, can give back.
    Rights,
    /// The kernel gives another error.
    Unreadable,
    /// There is more than is looked at.
    TooMuch,
}

/// A folder, or a file that decides about folders, of which nothing is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Closed {
    #[serde(with = "raw")]
    pub(crate) path: PathBuf,
    pub(crate) why: Why,
}

/// The entries of a folder whose files can be reached as well; none where it is gone.
pub(crate) fn open(folder: &Path) -> io::Result<Option<ReadDir>> {
    // Names can be listed without the right to go to what has them.
    let opened = fs::read_dir(folder).and_then(|entries| {
        fs::symlink_metadata(folder.join("."))?;
        Ok(entries)
    });
    match opened {
        Err(error) if is_absent(&error) => Ok(None),
        opened => opened.map(Some),
    }
}

/// Space for what the kernel says of folders, which one walk uses for all of them.
pub(crate) struct Listing(Box<[MaybeUninit<u8>; 32 << 10]>);

impl Listing {
    pub(crate) fn new() -> Self {
        Self(Box::new([MaybeUninit::uninit(); 32 << 10]))
    }

    /// Gives each entry of such a folder with its type, until it is told to end; none where it is gone. A walk of many small folders costs about
    /// half of what it costs with [`open`]: five system calls for a folder, and none that maps memory.
    ///
    /// # Errors
    ///
    /// The folder cannot be listed, or what is in it cannot be reached, or the type of an entry cannot be read, behind
    /// all others.
    pub(crate) fn each(
        &mut self,
        folder: &Path,
        entry: &mut dyn FnMut(&OsStr, FileType) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = openat(CWD, folder, flags, Mode::empty());
        let opened = opened.and_then(|fd| statat(&fd, c".", AtFlags::empty()).map(|_| fd));
        let fd = match opened.map_err(io::Error::from) {
            Err(error) if is_absent(&error) => return Ok(()),
            opened => opened?,
        };
        let mut entries = RawDir::new(&fd, &mut self.0[..]);
        let mut unread = Ok(());
        while let Some(found) = entries.next() {
            let found = match found {
                // It was removed meanwhile.
                Err(Errno::NOENT) => break,
                found => found?,
            };
            let name = found.file_name();
            let kind = match found.file_type() {
                _ if matches!(name.to_bytes(), b"." | b"..") => continue,
                FileType::Unknown => match statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Err(Errno::NOENT) => continue,
                    Err(error) => {
                        unread = Err(error.into());
                        continue;
                    }
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                },
                kind => kind,
            };
            if entry(OsStr::from_bytes(name.to_bytes()), kind).is_break() {
                break;
            }
        }
        unread
    }
}

impl Closed {
    /// What could not be looked at because of an error: the path itself, or the first folder above it that cannot be
    /// entered.
    pub(crate) fn of(path: &Path, error: &io::Error) -> Self {
        let closed = |above: &&Path| {
            let entered = fs::symlink_metadata(above.join("."));
            entered.is_err_and(|error| !is_absent(&error))
        };
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.reverse();
        let path = above
            .iter()
            .copied()
            .find(|above| closed(above))
            .unwrap_or(path);
        let own = rustix::process::geteuid().as_raw();
        let why = match fs::symlink_metadata(path) {
            Ok(meta) if meta.uid() != own => Why::Others,
            _ if error.kind() == io::ErrorKind::PermissionDenied => Why::Rights,
            _ => Why::Unreadable,
        };
        let path = path.to_path_buf();
        Self { path, why }
    }
}

/// The closed folders that a search meets, each once.
#[derive(Debug, Default)]
pub(crate) struct All(BTreeMap<PathBuf, Why>);

impl All {
    pub(crate) fn add(&mut self, Closed { path, why }: Closed) {
        self.0.entry(path).or_insert(why);
    }

    /// All of them without those that lie in others; where these are too many, folders above them that are few.
    pub(crate) fn take(self) -> Vec<Closed> {
        let mut all = without_inner(self.0);
        let longest = all.keys().map(|path| path.components().count()).max();
        let mut depth = longest.unwrap_or_default();
        while all.len() > MOST && depth > 1 {
            depth -= 1;
            let cut = |(path, why): (PathBuf, Why)| {
                let above: PathBuf = path.components().take(depth).collect();
                let why = if above == path { why } else { Why::TooMuch };
                (above, why)
            };
            all = without_inner(all.into_iter().map(cut).collect());
        }
        let all = all.into_iter();
        all.map(|(path, why)| Closed { path, why }).collect()
    }
}

fn without_inner(all: BTreeMap<PathBuf, Why>) -> BTreeMap<PathBuf, Why> {
    let mut kept: BTreeMap<PathBuf, Why> = BTreeMap::new();
    for (path, why) in all {
        // What lies in a folder comes right behind it.
        let last = kept.last_key_value();
        if !last.is_some_and(|(last, _)| path.starts_with(last)) {
            kept.insert(path, why);
        }
    }
    kept
}

/// What a person is told of closed folders, a line for each reason; `so` says what follows for the run.
pub(crate) fn told(all: &[Closed], so: &str) -> Vec<String> {
    let line = |why: Why, because: &str, remedy: &dyn Fn(&str) -> String| {
        let of = all.iter().filter(|closed| closed.why == why);
        let of: Vec<&Path> = of.map(|closed| closed.path.as_path()).collect();
        let text = |path: &&Path| Text::from(path.as_os_str()).to_string();
        let mut shown: Vec<String> = of.iter().take(NAMED).map(text).collect();
        let words: Vec<String> = shown.iter().map(|path| shell_word(path)).collect();
        if of.len() > NAMED {
            shown.push(format!("{} more", of.len() - NAMED));
        }
        let shown = shown.join(", ");
        let remedy = remedy(&words.join(" "));
        (!of.is_empty()).then(|| format!("{shown}: {because}, so {so}; {remedy}"))
    };
    let rights = line(
        Why::Rights,
        "the rights to look through it are missing",
        &|words| {
            format!(
                "to give them back, outside of the sandbox, once you know who took them: chmod u+rwX {words}"
            )
        },
    );
    let unreadable = line(Why::Unreadable, "it cannot be read", &|_| {
        "see outside of the sandbox why that is".to_owned()
    });
    let much = line(
        Why::TooMuch,
        "there is more in it than is looked through",
        &|_| {
            "name smaller folders under [filesystem] write, or take away what is not needed"
                .to_owned()
        },
    );
    [rights, unreadable, much].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(paths: impl IntoIterator<Item = String>) -> Vec<Closed> {
        let mut all = All::default();
        for path in paths {
            let (path, why) = (path.into(), Why::Rights);
            all.add(Closed { path, why });
        }
        all.take()
    }

    #[test]
    fn what_lies_in_another_is_closed_with_it() {
        let found = all(["/w/a/b", "/w/a", "/w/a.b"].map(str::to_owned));
        let found: Vec<&Path> = found.iter().map(|closed| closed.path.as_path()).collect();
        assert_eq!(found, [Path::new("/w/a"), Path::new("/w/a.b")]);
    }

    #[test]
    fn of_too_many_the_folders_above_are_closed() {
        let many = (0..=MOST).map(|number| format!("/w/many/{number}"));
        let found = all(many.chain(["/w/few/1".to_owned(), "/w/x".to_owned()]));
        let found: Vec<_> = found
            .iter()
            .map(|closed| (closed.path.to_str().unwrap(), closed.why))
            .collect();
        let expected = [
            ("/w/few", Why::TooMuch),
            ("/w/many", Why::TooMuch),
            ("/w/x", Why::Rights),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_first_folder_that_cannot_be_entered_is_the_closed_one() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        let of = Closed::of(&top.join("a/b"), &denied);
        assert_eq!((of.path, of.why), (top.join("a/b"), Why::Rights));
        let of = Closed::of(Path::new("/proc/1/cwd"), &denied);
        if !rustix::process::geteuid().is_root() {
            assert_eq!(of.why, Why::Others);
        }
    }
}
