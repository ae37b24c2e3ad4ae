//! What an index says of files that are there, and that can be compared with it.

use super::{FOLDER, GITLINK, Seen, Site, digest, id_of_file, parsed};

/// An entry that a file of the working tree may be compared with.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// Empty where the entry replaces one of another index that is not known.
    pub(crate) path: Vec<u8>,
    id: Vec<u8>,
    seen: Seen,
    skipped: bool,
    /// Where it begins.
    at: usize,
}

impl Recorded {
    /// Whether git can take any file for the one that the entry is of, without a look at what the file says: it looks
    /// where the entry has no length.
    pub(crate) fn may_be_believed(&self) -> bool {
        self.seen.1[2] != [0; 4]
    }

    /// Whether the entry is of this file as lstat shows it. Devices and owners are others in a virtual machine.
    pub(crate) fn is_of(&self, file: &Seen) -> bool {
        let Seen([times @ .., _, number], [_, _, length]) = &self.seen;
        let Seen([its_times @ .., _, its_number], [_, _, its_length]) = file;
        (times, number, length) == (its_times, its_number, its_length)
    }

    /// Whether another index has the same entry.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let all = |entry: &Self| (entry.id.clone(), entry.seen, entry.skipped);
        self.path == other.path && all(self) == all(other)
    }

    /// Whether the entry is of a file with this content.
    pub(crate) fn says(&self, content: &[u8]) -> bool {
        id_of_file(content, self.id.len()) == self.id
    }
}

/// The entries of files whose paths are meant, or not known.
///
/// # Errors
/// Why the index cannot be read.
pub(crate) fn recorded(
    bytes: &[u8],
    site: &Site<'_>,
    is_meant: &dyn Fn(&[u8]) -> bool,
) -> Result<Vec<Recorded>, String> {
    let index = parsed(bytes, site)?;
    let shared = index.replaces().then(|| index.shared(site)).flatten();
    let shared = shared.as_deref().and_then(|text| parsed(text, site).ok());
    let entries = index.entries_of(shared.as_ref()).into_iter();
    let files = entries.filter_map(|entry| {
        let file = entry.stage == 0 && !matches!(entry.mode, GITLINK | FOLDER);
        if !file || !entry.path.is_empty() && !is_meant(&entry.path) {
            return None;
        }
        Some(Recorded {
            id: entry.id.to_vec(),
            seen: entry.seen()?,
            skipped: entry.skipped,
            at: entry
                .raw
                .as_ptr()
                .addr()
                .checked_sub(bytes.as_ptr().addr())?,
            path: entry.path.into_owned(),
        })
    });
    Ok(files.collect())
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
