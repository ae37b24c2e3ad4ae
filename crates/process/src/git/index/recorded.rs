//! What an index says of files that are there, and that can be compared with it.

use super::{FOLDER, GITLINK, Seen, Site, digest, id_of_file, parsed};

/// An entry that a file of the working tree may be compared with.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) path: Vec<u8>,
    id: Vec<u8>,
    seen: Seen,
    skipped: bool,
    /// Where it begins.
    at: usize,
}

impl Recorded {
    /// Whether git can take a file of which lstat says this for the one that the entry is of. By its configuration it
    /// may look at no more than the second of the last change and the length.
    pub(crate) fn may_be_taken_for(&self, seen: &Seen) -> bool {
        self.seen.0[2] == seen.0[2] && self.seen.1[2] == seen.1[2]
    }

    /// Whether another index has the same entry.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let all = |entry: &Self| (entry.id.clone(), entry.seen, entry.skipped);
        self.path == other.path && all(self) == all(other)
    }

    /// Whether another index has the same file there.
    pub(crate) fn has_same(&self, other: &Self) -> bool {
        self.path == other.path && self.id == other.id
    }

    /// The id of its content.
    pub(crate) fn id(&self) -> &[u8] {
        &self.id
    }

    /// Whether the entry is of a file with this content.
    pub(crate) fn says(&self, content: &[u8]) -> bool {
        id_of_file(content, self.id.len()) == self.id
    }
}

/// The entries of files whose paths are meant.
///
/// # Errors
/// Why the index cannot be read.
pub(crate) fn recorded(
    bytes: &[u8],
    site: &Site<'_>,
    is_meant: &dyn Fn(&[u8]) -> bool,
) -> Result<Vec<Recorded>, String> {
    let index = parsed(bytes, site)?;
    let files = index.entries.iter().filter(|entry| {
        entry.stage == 0 && !matches!(entry.mode, GITLINK | FOLDER) && is_meant(&entry.path)
    });
    let recorded = files.filter_map(|entry| {
        Some(Recorded {
            path: entry.path.clone(),
            id: entry.id.to_vec(),
            seen: entry.seen()?,
            skipped: entry.skipped,
            at: entry
                .raw
                .as_ptr()
                .addr()
                .checked_sub(bytes.as_ptr().addr())?,
        })
    });
    Ok(recorded.collect())
}

/// The same index without what lstat said of these files.
pub(crate) fn unsaid(bytes: &[u8], entries: &[Recorded]) -> Vec<u8> {
    let mut written = bytes.to_vec();
    for entry in entries {
        written[entry.at..entry.at + 24].fill(0);
        written[entry.at + 28..entry.at + 40].fill(0);
    }
    let width = entries.first().map_or(0, |entry| entry.id.len());
    let body = written.len() - width;
    let sum = digest(&written[..body], width);
    written.splice(body.., sum);
    written
}
