//! Files of the product's own in which each line is about a path of the user's: read whole, changed whole by one
//! process at a time, and of bounded size. The bytes of a path are escaped as Rust escapes them.

use crate::source_text::{ReadError, read_opened};
use bailiwick_event::Text;
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The most lines; the oldest are forgotten first.
pub(crate) const MOST: usize = 4096;

/// The most bytes of a file.
pub(crate) const LARGEST: usize = 1 << 20;

/// A list in a file.
pub(crate) struct List<'a> {
    pub(crate) file: &'a Path,
    /// What it is, for messages.
    pub(crate) what: &'static str,
    /// What the user can do about one that cannot be used, besides mending it.
    pub(crate) mend: &'static str,
}

impl List<'_> {
    /// Its text; empty where there is no file.
    ///
    /// # Errors
    /// A message for the user: it cannot be read, others may have changed it, or it is damaged.
    pub(crate) fn read(&self) -> Result<Vec<u8>, String> {
        let (text, meta) = match read_opened(self.file, LARGEST as u64) {
            Ok(read) => read,
            Err(ReadError::Missing) => return Ok(Vec::new()),
            Err(why) => return Err(self.unusable(&format!("cannot be read: {why}"))),
        };
        if !text.is_empty() {
            if meta.uid() != rustix::process::geteuid().as_raw() {
                return Err(self.unusable("belongs to another user"));
            }
            if meta.mode() & 0o022 != 0 {
                return Err(self.unusable("can be written by other users"));
            }
        }
        let bad = lines(&text).position(|line| !line.starts_with(b"/"));
        match bad {
            Some(at) => {
                Err(self.unusable(&format!("is damaged: line {} is no absolute path", at + 1)))
            }
            None => Ok(text),
        }
    }

    /// Puts the text that `change` makes of its text in its place; nothing is written where that is the same.
    ///
    /// # Errors
    /// A message for the user, as of [`List::read`]; or the file cannot be written.
    pub(crate) fn change(&self, change: impl Fn(&Vec<u8>) -> Vec<u8>) -> Result<(), String> {
        let known = self.read()?;
        if change(&known) == known {
            return Ok(());
        }
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        let mut made = DirBuilder::new();
        let made = made.recursive(true).mode(0o700).create(folder);
        made.map_err(|error| self.unwritable(&error))?;
        // Two starts at once must not write over each other's line.
        let lock = File::open(folder).map_err(|error| self.unwritable(&error))?;
        rustix::io::retry_on_intr(|| flock(&lock, FlockOperation::LockExclusive))
            .map_err(|error| self.unwritable(&error.into()))?;
        let text = change(&self.read()?);
        self.write(&text).map_err(|error| self.unwritable(&error))
    }

    /// Puts a text in the place of the one that is there.
    fn write(&self, text: &[u8]) -> io::Result<()> {
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        let draft = format!(".{name}.{}", std::process::id());
        let draft = self.file.with_file_name(draft);
        let _ = fs::remove_file(&draft);
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)?;
        let done = (file.write_all(text))
            .and_then(|()| file.sync_data())
            .and_then(|()| fs::rename(&draft, self.file));
        if done.is_err() {
            let _ = fs::remove_file(&draft);
        }
        done
    }

    fn unusable(&self, why: &str) -> String {
        let (shown, mend) = (Text::from(self.file.as_os_str()), self.mend);
        format!(
            "{}, {shown}, {why}\n  remedy: mend it, or {mend}",
            self.what
        )
    }

    fn unwritable(&self, error: &io::Error) -> String {
        let remedy = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "free some space there, or set XDG_STATE_HOME to another disk"
            }
            _ => "set XDG_STATE_HOME to a folder of yours that can be written",
        };
        let shown = Text::from(self.file.as_os_str());
        format!("the list {shown} cannot be written: {error}\n  remedy: {remedy}")
    }
}

/// The lines of a text.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let all = text.strip_suffix(b"\n").unwrap_or(text);
    let lines = all.split(|byte| *byte == b'\n');
    lines.take(if text.is_empty() { 0 } else { usize::MAX })
}

/// A text with one more line, at its end, in the place of those that it replaces.
pub(crate) fn add(text: &[u8], line: &[u8], replaces: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = lines(text).filter(|known| !replaces(known)).collect();
    kept.push(line);
    let mut bytes: usize = kept.iter().map(|line| line.len() + 1).sum();
    let mut forgotten = 0;
    while (bytes > LARGEST || kept.len() - forgotten > MOST) && forgotten + 1 < kept.len() {
        bytes -= kept[forgotten].len() + 1;
        forgotten += 1;
    }
    let mut text = kept[forgotten..].join(&b'\n');
    text.push(b'\n');
    text
}

/// A path as it stands in a list. Every byte is escaped by itself, so that one folder lies in another
/// where its text does.
pub(crate) fn escaped(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes();
    bytes.escape_ascii().collect()
}

/// The path that was escaped (`u8::escape_ascii`).
pub(crate) fn path_of(line: &[u8]) -> PathBuf {
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
    PathBuf::from(OsString::from_vec(bytes))
}

/// Whether a path is a folder or lies in it, by their bytes: both are spelled alike.
pub(crate) fn is_in(path: &[u8], folder: &[u8]) -> bool {
    let top = folder.strip_suffix(b"/").unwrap_or(folder);
    let rest = path.strip_prefix(top);
    rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}
