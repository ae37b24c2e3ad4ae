//! The text of one policy file, read once. Every later use (parsing, hashing for trust, showing a
//! line) sees these bytes, so that a file that changes meanwhile cannot be trusted as one thing
//! and obeyed as another. Reading takes a regular file of at most 1 MiB: a FIFO or a device that
//! a hostile project put there must not hang or flood the product.

use crate::{Step, Way};
use bailiwick_event::{Origin, Text};
use rustix::fs::OFlags;
use std::fs::{Metadata, OpenOptions};
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The largest policy file, in bytes.
pub(crate) const MAX_BYTES: u64 = 1 << 20;

/// Why a file could not be read as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// There is none.
    Missing,
    /// A folder, a FIFO, a device or a socket.
    NotAFile,
    /// Above so many bytes.
    TooLarge(u64),
    /// It lies outside of the folder of the project whose policy names it.
    Outside,
    /// Not UTF-8; the offset of the first byte that is not.
    NotUtf8(usize),
    /// The machine's own words.
    Io(String),
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no such file"),
            Self::NotAFile => f.write_str("it is not a regular file"),
            Self::Outside => f.write_str("it lies outside of the project's folder"),
            Self::TooLarge(limit) => write!(f, "it is larger than {} MiB", limit >> 20),
            Self::NotUtf8(at) => write!(f, "it is not UTF-8 (byte {at})"),
            Self::Io(why) => f.write_str(why),
        }
    }
}

/// Reads a regular file of at most `limit` bytes, without ever waiting for one.
///
/// # Errors
/// Why it cannot be read.
pub fn read_regular(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    read_opened(path, limit).map(|(bytes, _)| bytes)
}

/// The same, also which file it was.
pub(crate) fn read_opened(path: &Path, limit: u64) -> Result<(Vec<u8>, Metadata), ReadError> {
    let io = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => ReadError::Missing,
        std::io::ErrorKind::IsADirectory => ReadError::NotAFile,
        // What open() says of a socket, and of a device without a driver.
        _ if e.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            ReadError::NotAFile
        }
        _ => ReadError::Io(e.to_string()),
    };
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .map_err(io)?;
    let meta = file.metadata().map_err(io)?;
    if !meta.is_file() {
        return Err(ReadError::NotAFile);
    }
    if meta.len() > limit {
        return Err(ReadError::TooLarge(limit));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0) + 1);
    (&file)
        .take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    if bytes.len() as u64 > limit {
        return Err(ReadError::TooLarge(limit));
    }
    Ok((bytes, meta))
}

/// A policy file's text and name.
#[derive(Debug)]
pub(crate) struct SourceText {
    /// As the user knows it: `./bailiwick.toml`, `template:agent`.
    pub(crate) shown: Arc<str>,
    /// Canonical; None for a template.
    pub(crate) path: Option<PathBuf>,
    /// The links through which it was found there.
    pub(crate) links: Vec<Step>,
    /// The entry that names it, where one does.
    pub(crate) by: Option<Origin>,
    pub(crate) text: String,
    /// Whether no message may show what stands in it.
    pub(crate) withheld: bool,
    /// The offset at which each line begins, once somebody asked.
    lines: OnceLock<Vec<usize>>,
}

impl SourceText {
    pub(crate) fn new(shown: &str, path: Option<PathBuf>, text: String) -> Self {
        Self {
            shown: Text::from(shown).to_string().into(),
            path,
            links: Vec::new(),
            by: None,
            text,
            withheld: false,
            lines: OnceLock::new(),
        }
    }

    /// The same text, of which no message shows anything.
    pub(crate) fn withheld(self) -> Self {
        Self {
            withheld: true,
            ..self
        }
    }

    fn lines(&self) -> &[usize] {
        self.lines.get_or_init(|| {
            let ends = self.text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
            std::iter::once(0).chain(ends.map(|(i, _)| i + 1)).collect()
        })
    }

    /// Reads `path`, which people know as `shown`.
    pub(crate) fn read(path: &Path, shown: &str) -> Result<Self, ReadError> {
        let io = |e: std::io::Error| ReadError::Io(e.to_string());
        let (bytes, opened) = read_opened(path, MAX_BYTES)?;
        let text = String::from_utf8(bytes)
            .map_err(|e| ReadError::NotUtf8(e.utf8_error().valid_up_to()))?;
        // Links on the way can change between the two: what was read is what lies at the place that
        // it is taken for.
        let full = std::path::absolute(path).map_err(io)?;
        let Way { real, links, .. } = Way::of(&full).ok_or(ReadError::Missing)?;
        let there = real.symlink_metadata().map_err(io)?;
        if (there.dev(), there.ino()) != (opened.dev(), opened.ino()) {
            return Err(ReadError::Io("it changed while it was read".to_owned()));
        }
        Ok(Self {
            links,
            ..Self::new(shown, Some(real), text)
        })
    }

    /// The same, which an entry names.
    pub(crate) fn named_by(self, origin: &Origin) -> Self {
        let by = Some(origin.clone());
        Self { by, ..self }
    }

    /// The line (from 0) that holds an offset, and the range of that line without its end.
    pub(crate) fn line_at(&self, offset: usize) -> (usize, Range<usize>) {
        let lines = self.lines();
        let line = lines
            .partition_point(|start| *start <= offset)
            .saturating_sub(1);
        let start = lines.get(line).copied().unwrap_or(0);
        let end = lines.get(line + 1).map_or(self.text.len(), |next| next - 1);
        let text = self.text.get(start..end).unwrap_or_default();
        (line, start..start + text.trim_end_matches('\r').len())
    }

    /// The position of an offset: line and column from 1, the column in characters.
    pub(crate) fn origin(&self, offset: usize) -> Origin {
        let (line, range) = self.line_at(offset);
        let before = self.text.get(range.start..offset.max(range.start));
        let column = before.unwrap_or_default().chars().count() + 1;
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Origin::new(Arc::clone(&self.shown), number(line + 1), number(column))
    }
}
