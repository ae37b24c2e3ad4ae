//! Which folders the sandboxes of this user could ever write, run by run. A link in such a folder may be
//! a sandbox's work long after that run has ended, so whoever follows links asks here who may have
//! made them ([`crate::Foreign`]).
//!
//! The list is a file beside the trust store: one canonical folder a line, its bytes escaped as Rust
//! escapes them. A line stands before the command starts that may write the folder; a start whose folders
//! are all covered by lines only reads the file.
//!
//! A second list of the same kind holds the files that policies were read from, so that no later run changes one
//! in its workspace.

use crate::source_text::{ReadError, read_opened};
use bailiwick_event::Text;
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The name of the file.
pub(crate) const NAME: &str = "written";

/// The name of the list of policy files.
const USED: &str = "policies";

/// The most folders that are remembered; the oldest are forgotten first.
const MOST: usize = 4096;

/// The most bytes of the file.
const LARGEST: usize = 1 << 20;

/// The folders that are remembered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    file: PathBuf,
    /// The file's lines, the oldest first.
    text: Vec<u8>,
}

impl Written {
    /// Reads the list; where there is none, no sandbox ran.
    ///
    /// # Errors
    /// A message for the user: it cannot be read, others may have changed it, or it is damaged. Nothing
    /// is started without it, because nobody knows then who has made a link.
    pub fn read(file: &Path) -> Result<Self, String> {
        let shown = Text::from(file.as_os_str());
        let (text, meta) = match read_opened(file, LARGEST as u64) {
            Ok((text, meta)) => (text, Some(meta)),
            Err(ReadError::Missing) => (Vec::new(), None),
            Err(why) => return Err(unusable(&shown, &format!("cannot be read: {why}"))),
        };
        if let Some(meta) = meta.filter(|_| !text.is_empty()) {
            if meta.uid() != rustix::process::geteuid().as_raw() {
                return Err(unusable(&shown, "belongs to another user"));
            }
            if meta.mode() & 0o022 != 0 {
                return Err(unusable(&shown, "can be written by other users"));
            }
        }
        let known = Self {
            file: file.to_path_buf(),
            text,
        };
        let bad = known.lines().position(|line| !line.starts_with(b"/"));
        match bad {
            Some(at) => Err(unusable(
                &shown,
                &format!("is damaged: line {} is no absolute path", at + 1),
            )),
            None => Ok(known),
        }
    }

    /// Adds folders to the list in a file, where no line covers them yet. They are canonical.
    ///
    /// # Errors
    /// A message for the user, as of [`Written::read`]; or the file cannot be written.
    pub fn remember(file: &Path, folders: &[PathBuf]) -> Result<(), String> {
        let is_new = |known: &Self, folder: &PathBuf| known.line_over(folder).is_none();
        let known = Self::read(file)?;
        if !folders.iter().any(|folder| is_new(&known, folder)) {
            return Ok(());
        }
        let wrong = |error: io::Error| unwritable(&Text::from(file.as_os_str()), &error);
        let folder = file.parent().unwrap_or(Path::new("/"));
        let make = |folder| DirBuilder::new().recursive(true).mode(0o700).create(folder);
        make(folder).map_err(wrong)?;
        // Two starts at once must not write over each other's line.
        let lock = File::open(folder).map_err(wrong)?;
        rustix::io::retry_on_intr(|| flock(&lock, FlockOperation::LockExclusive))
            .map_err(|error| wrong(error.into()))?;
        let mut known = Self::read(file)?;
        for folder in folders {
            if is_new(&known, folder) {
                known.add(folder);
            }
        }
        known.write().map_err(wrong)
    }

    /// The line of the list, as it stands there, whose folder a path is or lies in.
    #[must_use]
    pub fn line_over(&self, path: &Path) -> Option<String> {
        if self.text.is_empty() {
            return None;
        }
        let path = escaped(path);
        let over = self.lines().find(|line| is_in(&path, line))?;
        Some(String::from_utf8_lossy(over).into_owned())
    }

    /// The list of policy files that stands beside the list of folders in `file`.
    #[must_use]
    pub fn used_beside(file: &Path) -> PathBuf {
        file.with_file_name(USED)
    }

    /// All that the list holds.
    pub(crate) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.lines()
            .map(|line| PathBuf::from(OsString::from_vec(unescaped(line))))
    }

    /// Where the list is.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let text = self.text.strip_suffix(b"\n").unwrap_or(&self.text);
        let lines = text.split(|byte| *byte == b'\n');
        lines.take(if self.text.is_empty() { 0 } else { usize::MAX })
    }

    /// Adds a folder in the place of those in it, which could be written as well.
    fn add(&mut self, folder: &Path) {
        let line = escaped(folder);
        let mut lines: Vec<&[u8]> = self.lines().filter(|known| !is_in(known, &line)).collect();
        lines.push(&line);
        let mut bytes: usize = lines.iter().map(|line| line.len() + 1).sum();
        let mut forgotten = lines.len().saturating_sub(MOST);
        bytes -= lines[..forgotten]
            .iter()
            .map(|line| line.len() + 1)
            .sum::<usize>();
        while bytes > LARGEST && forgotten + 1 < lines.len() {
            bytes -= lines[forgotten].len() + 1;
            forgotten += 1;
        }
        let mut text = lines[forgotten..].join(&b'\n');
        text.push(b'\n');
        self.text = text;
    }

    /// Puts the list in the place of the one that is there.
    fn write(&self) -> io::Result<()> {
        let draft = self
            .file
            .with_file_name(format!(".{NAME}.{}", std::process::id()));
        let _ = fs::remove_file(&draft);
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)?;
        let done = (file.write_all(&self.text))
            .and_then(|()| file.sync_data())
            .and_then(|()| fs::rename(&draft, &self.file));
        if done.is_err() {
            let _ = fs::remove_file(&draft);
        }
        done
    }
}

/// A path as it stands in the list. Every byte is escaped by itself, so that one folder lies in another
/// where its text does.
fn escaped(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes();
    bytes.escape_ascii().collect()
}

/// The bytes that were escaped (`u8::escape_ascii`).
fn unescaped(line: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(line.len());
    let mut rest = line;
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let digits = |hex: &[u8]| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok();
        let (byte, length) = match rest {
            [b'x', one, two, ..] => (digits(&[*one, *two]).unwrap_or_default(), 3),
            [b't', ..] => (b'\t', 1),
            [b'r', ..] => (b'\r', 1),
            [b'n', ..] => (b'\n', 1),
            [other, ..] => (*other, 1),
            [] => break,
        };
        bytes.push(byte);
        rest = &rest[length..];
    }
    bytes
}

/// Whether a path is a folder or lies in it, by their bytes: both are spelled alike.
pub(crate) fn is_in(path: &[u8], folder: &[u8]) -> bool {
    let top = folder.strip_suffix(b"/").unwrap_or(folder);
    let rest = path.strip_prefix(top);
    rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

fn unusable(shown: &Text, why: &str) -> String {
    if Path::new(&*shown.to_string()).ends_with(USED) {
        return format!(
            "the list of policy files that were used, {shown}, {why}\n  remedy: mend it, or remove it when you \
             have read your policies that lie in workspaces: sandboxes may write them from then on, until they \
             are used again"
        );
    }
    format!(
        "the list of folders that sandboxes could write, {shown}, {why}\n  remedy: mend it, or remove it \
         when you have looked at the symbolic links in the folders in which you ran sandboxes: they are \
         followed from then on"
    )
}

fn unwritable(shown: &Text, error: &io::Error) -> String {
    let remedy = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space there, or set XDG_STATE_HOME to another disk"
        }
        _ => "set XDG_STATE_HOME to a folder of yours that can be written",
    };
    format!(
        "the list {shown} cannot be written: {error}\n  remedy: \
         {remedy}"
    )
}

#[cfg(test)]
#[path = "written_tests.rs"]
mod tests;
