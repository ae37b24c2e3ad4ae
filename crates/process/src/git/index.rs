//! Git's index: what is checked out, and what the next commit will hold. Git checks a path when it adds an
//! entry, and never again; so an index that somebody made by hand lets `git restore` write any file and
//! `git add` read any. Layout: git's `Documentation/gitformat-index.txt`.
//!
//! Parts that only make git quicker (`UNTR`, `FSMN`, `EOIE`, `IEOT`, and a `TREE` that does not follow from
//! the entries) are left out, because git believes them: with them a commit would hold other files than
//! `git status` shows.

mod files;
mod recorded;
mod split;

pub(crate) use files::{ByPath, Indexed, Whole};
pub(crate) use recorded::{Recorded, recorded, unsaid};
pub(crate) use split::shared_of;

use super::config;
use super::content::{Content, Site};
use super::names::is_path_of_tree;
use super::objects::id_of_file;
use super::trees;
use rustix::fs::Stat;
use sha1::{Digest, Sha1};
use sha2::Sha256;
use split::Change;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Entries that are ordinary files, executable files, links, other repositories, and folders of a sparse index.
const MODES: [u32; 5] = [0o100_644, 0o100_755, LINK, GITLINK, FOLDER];
const LINK: u32 = 0o120_000;
const GITLINK: u32 = 0o160_000;
const FOLDER: u32 = 0o040_000;
/// Flags of an entry that have a second word.
const EXTENDED: u16 = 0x4000;
const INTENT_TO_ADD: u16 = 0x2000;
const SKIP_WORKTREE: u16 = 0x4000;
/// The longest path that is followed; the kernel takes none that is longer.
const PATH: usize = 4096;

/// An entry, as far as it is looked at.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) mode: u32,
    pub(super) id: &'a [u8],
    pub(super) path: Cow<'a, [u8]>,
    pub(super) stage: u8,
    /// It stands for a file that is added later, and is part of no tree.
    pub(super) intended: bool,
    /// It is not checked out.
    skipped: bool,
    /// How it is written.
    raw: &'a [u8],
}

/// What an index holds.
struct Index<'a> {
    entries: Vec<Entry<'a>>,
    /// Where its entries end.
    end: usize,
    extensions: Vec<([u8; 4], &'a [u8])>,
    /// The length of an id.
    width: usize,
}

/// Whether an index may have its name; what it is to say instead, where parts have to be left out.
pub(super) fn check(
    content: Content,
    bytes: &[u8],
    site: &Site<'_>,
) -> Result<Option<Vec<u8>>, String> {
    let index = parsed(bytes, site)?;
    let width = index.width;
    let change = index.change()?;
    if change.is_some() && content == Content::SharedIndex {
        return Err("a shared index cannot be a change of another".to_owned());
    }
    check_entries(&index, change.as_ref(), site)?;
    let keep = |(name, body): &([u8; 4], &[u8])| match name {
        b"link" | b"REUC" | b"sdir" => true,
        // Of a change of another index not all entries are known.
        b"TREE" => change.is_none() && trees::follow(body, &index.entries, width),
        _ => false,
    };
    let is_known = |(name, body): &&([u8; 4], &[u8])| {
        !name[0].is_ascii_lowercase() || name == b"link" || name == b"sdir" && body.is_empty()
    };
    if let Some((name, _)) = index.extensions.iter().find(|part| !is_known(part)) {
        return Err(format!(
            "it needs a part of git that is not known: {}",
            String::from_utf8_lossy(name)
        ));
    }
    if index.extensions.iter().all(keep) {
        return Ok(None);
    }
    Ok(Some(index.without(bytes, keep)))
}

/// The length of the ids of an index: that of its repository, with which its checksum is right if it has one.
fn width(bytes: &[u8], site: &Site<'_>) -> Result<usize, String> {
    if bytes.len() < 12 + 20 || &bytes[..4] != b"DIRC" {
        return Err("it is not an index".to_owned());
    }
    let long = config::has_long_ids(site)
        .map_err(|objection| format!("the configuration of its repository: {objection}"))?;
    let width = if long { 32 } else { 20 };
    let (body, sum) = bytes.split_at(bytes.len().saturating_sub(width));
    let right = sum.iter().all(|&b| b == 0) || digest(body, width) == sum;
    match right && body.len() >= 12 {
        true => Ok(width),
        false => Err("its checksum is wrong".to_owned()),
    }
}

fn digest(bytes: &[u8], width: usize) -> Vec<u8> {
    match width {
        20 => Sha1::digest(bytes).to_vec(),
        _ => Sha256::digest(bytes).to_vec(),
    }
}

fn parsed<'a>(bytes: &'a [u8], site: &Site<'_>) -> Result<Index<'a>, String> {
    read(bytes, width(bytes, site)?)
}

/// Whether entries of the index may stand in another file: then nothing can be marked in it.
pub(crate) fn is_split(bytes: &[u8], site: &Site<'_>) -> bool {
    parsed(bytes, site).map_or(true, |index| index.is_change())
}

/// What lstat says of a file, as an index has it: times of change, device and number; owner, group and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen([[u8; 4]; 6], [[u8; 4]; 3]);

impl From<&Stat> for Seen {
    fn from(stat: &Stat) -> Self {
        // An index has the lower half of each.
        let word = |value: u64| (value as u32).to_be_bytes();
        let times = [
            stat.st_ctime.cast_unsigned(),
            stat.st_ctime_nsec,
            stat.st_mtime.cast_unsigned(),
            stat.st_mtime_nsec,
        ];
        let [c, cn, m, mn] = times.map(word);
        let owner = [u64::from(stat.st_uid), u64::from(stat.st_gid)].map(word);
        let length = word(stat.st_size.cast_unsigned());
        Self(
            [c, cn, m, mn, word(stat.st_dev), word(stat.st_ino)],
            [owner[0], owner[1], length],
        )
    }
}

/// Whether nothing is lost where the file at a path goes: the index has one with this content there, or the file was
/// withheld before and nobody has touched it since.
pub(crate) fn records(
    bytes: &[u8],
    path: &[u8],
    (content, seen): (&[u8], Seen),
    site: &Site<'_>,
) -> bool {
    parsed(bytes, site).is_ok_and(|index| {
        let id = id_of_file(content, index.width);
        let mut entries = index.entries.iter();
        entries.any(|entry| {
            let known = entry.id == id || entry.skipped && entry.seen() == Some(seen);
            entry.path == path && entry.stage == 0 && known
        })
    })
}

/// The same index with these files marked as not checked out (git-update-index(1), *Skip-worktree bit*), so that
/// nobody takes them for removed or changed; none where it has no such entry. Of a file that is there the index gets
/// what lstat says of it, so that git takes it for the one that it has checked out, until somebody changes it.
///
/// # Errors
/// Why they cannot be marked.
pub(crate) fn without_checkout(
    bytes: &[u8],
    names: &BTreeMap<Vec<u8>, Option<Seen>>,
    site: &Site<'_>,
) -> Result<Option<Vec<u8>>, String> {
    let index = parsed(bytes, site)?;
    let width = index.width;
    if index.is_change() {
        return Err("it is split, and cannot say which files were not checked out".to_owned());
    }
    // Git keeps a mark, and then has what lstat said of what it was given instead.
    let is_meant = |entry: &Entry<'_>| {
        let seen = names.get(&*entry.path);
        seen.is_some_and(|seen| !entry.skipped || seen.is_some() && *seen != entry.seen())
    };
    if !index.entries.iter().any(is_meant) {
        return Ok(None);
    }
    let version = bytes[7].max(3);
    let mut written = bytes[..12].to_vec();
    written[7] = version;
    for entry in &index.entries {
        match is_meant(entry) {
            true => {
                let begin = written.len();
                entry.skip(width, version, &mut written);
                if let Some(Some(Seen(file, owner))) = names.get(&*entry.path) {
                    // The mode, which is git's own, stands between.
                    written[begin..begin + 24].copy_from_slice(file.as_flattened());
                    written[begin + 28..begin + 40].copy_from_slice(owner.as_flattened());
                }
            }
            false => written.extend_from_slice(entry.raw),
        }
    }
    written.extend_from_slice(&bytes[index.end..bytes.len() - width]);
    let sum = digest(&written, width);
    written.extend(sum);
    Ok(Some(written))
}

impl Index<'_> {
    /// Whether it is a change of another.
    fn is_change(&self) -> bool {
        self.extensions.iter().any(|(name, _)| name == b"link")
    }
}

impl Entry<'_> {
    /// What lstat said of the file.
    fn seen(&self) -> Option<Seen> {
        let words = |bytes: &[u8]| bytes.as_chunks::<4>().0.to_vec();
        let file = words(self.raw.get(..24)?).try_into().ok()?;
        let owner = words(self.raw.get(28..40)?).try_into().ok()?;
        Some(Seen(file, owner))
    }

    /// Writes the entry marked as not checked out.
    fn skip(&self, width: usize, version: u8, into: &mut Vec<u8>) {
        // Where its flags are, after what lstat said and its id.
        let at = 40 + width;
        let flags = u16::from_be_bytes([self.raw[at], self.raw[at + 1]]);
        let (more, path) = match flags & EXTENDED {
            0 => (0, at + 2),
            _ => (
                u16::from_be_bytes([self.raw[at + 2], self.raw[at + 3]]),
                at + 4,
            ),
        };
        let begin = into.len();
        into.extend_from_slice(&self.raw[..at]);
        into.extend((flags | EXTENDED).to_be_bytes());
        into.extend((more | SKIP_WORKTREE).to_be_bytes());
        if version == 4 {
            into.extend_from_slice(&self.raw[path..]);
            return;
        }
        into.extend_from_slice(&self.path);
        // One to eight NULs.
        let length = into.len() - begin;
        into.resize(begin + (length + 1).next_multiple_of(8), 0);
    }
}

/// Reads bytes one after the other.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let end = self
            .at
            .checked_add(length)
            .filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| "it ends too early".to_owned())?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn word(&mut self) -> Result<u32, String> {
        let mut word = [0; 4];
        word.copy_from_slice(self.take(4)?);
        Ok(u32::from_be_bytes(word))
    }

    fn half(&mut self) -> Result<u16, String> {
        let mut half = [0; 2];
        half.copy_from_slice(self.take(2)?);
        Ok(u16::from_be_bytes(half))
    }

    /// Everything before the next NUL, which is skipped.
    fn text(&mut self) -> Result<&'a [u8], String> {
        let rest = &self.bytes[self.at..];
        let length = rest
            .iter()
            .position(|&b| b == 0)
            .ok_or("it ends too early")?;
        self.at += length + 1;
        Ok(&rest[..length])
    }

    /// A number of any length, as git writes offsets in packs.
    fn number(&mut self) -> Result<usize, String> {
        let mut byte = self.take(1)?[0];
        let mut number = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.take(1)?[0];
            let next = number.checked_add(1).and_then(|n| n.checked_mul(128));
            number = next.ok_or("it has a number that is too large")? + usize::from(byte & 0x7f);
        }
        Ok(number)
    }
}

fn read(bytes: &[u8], width: usize) -> Result<Index<'_>, String> {
    let body = &bytes[..bytes.len() - width];
    let mut cursor = Cursor { bytes: body, at: 4 };
    let version = cursor.word()?;
    if !(2..=4).contains(&version) {
        return Err(format!("its version is {version}"));
    }
    let count = cursor.word()? as usize;
    // Paths may be told by what differs from the one before, and so take more room than the file.
    let mut room = body.len().saturating_mul(4);
    let mut entries: Vec<Entry<'_>> = Vec::with_capacity(count.min(body.len() / 62));
    for _ in 0..count {
        let before = entries.last().map_or(&[][..], |entry| &entry.path[..]);
        let entry = read_entry(&mut cursor, version, width, before)?;
        room = room
            .checked_sub(entry.path.len())
            .ok_or("its paths are too long")?;
        entries.push(entry);
    }
    let end = cursor.at;
    let mut extensions = Vec::new();
    while cursor.at < body.len() {
        let mut name = [0; 4];
        name.copy_from_slice(cursor.take(4)?);
        let length = cursor.word()? as usize;
        extensions.push((name, cursor.take(length)?));
    }
    Ok(Index {
        entries,
        end,
        extensions,
        width,
    })
}

fn read_entry<'a>(
    cursor: &mut Cursor<'a>,
    version: u32,
    width: usize,
    before: &[u8],
) -> Result<Entry<'a>, String> {
    let start = cursor.at;
    // Times, device, number, and after the mode owner and size.
    cursor.take(24)?;
    let mode = cursor.word()?;
    cursor.take(12)?;
    let id = cursor.take(width)?;
    let flags = cursor.half()?;
    let more = match flags & EXTENDED {
        0 => 0,
        _ if version < 3 => {
            return Err("an entry has flags that its version does not have".to_owned());
        }
        _ => cursor.half()?,
    };
    if more & !(INTENT_TO_ADD | SKIP_WORKTREE) != 0 {
        return Err("an entry has flags that nobody knows".to_owned());
    }
    let path = if version == 4 {
        let cut = cursor.number()?;
        let kept = before
            .len()
            .checked_sub(cut)
            .ok_or("an entry takes more from the one before than that has")?;
        Cow::Owned([&before[..kept], cursor.text()?].concat())
    } else {
        let path = cursor.text()?;
        // One to eight NULs, of which one was taken.
        let length = cursor.at - start;
        let padding = cursor.take(length.next_multiple_of(8) - length)?;
        if padding.iter().any(|&b| b != 0) {
            return Err("an entry does not end where it should".to_owned());
        }
        Cow::Borrowed(path)
    };
    if path.len() > PATH {
        return Err("an entry's path is too long".to_owned());
    }
    let told = usize::from(flags & 0xfff);
    if told != path.len().min(0xfff) {
        return Err("an entry has another length than it says".to_owned());
    }
    Ok(Entry {
        mode,
        id,
        path,
        stage: (flags >> 12 & 3) as u8,
        intended: more & INTENT_TO_ADD != 0,
        skipped: more & SKIP_WORKTREE != 0,
        raw: &cursor.bytes[start..cursor.at],
    })
}

fn check_entries(
    index: &Index<'_>,
    change: Option<&Change<'_>>,
    site: &Site<'_>,
) -> Result<(), String> {
    let sparse = index.extensions.iter().any(|(name, _)| name == b"sdir");
    let mut before: Option<&Entry<'_>> = None;
    for (number, entry) in index.entries.iter().enumerate() {
        let shown =
            || String::from_utf8_lossy(&entry.path[..entry.path.len().min(200)]).into_owned();
        let known = MODES.contains(&entry.mode);
        if !known || entry.mode == FOLDER && !(sparse && entry.skipped) {
            return Err(format!("{} has the mode {:o}", shown(), entry.mode));
        }
        // What a change replaces has its path in the shared index.
        if change.is_some_and(|change| number < change.replaced.count) {
            if !entry.path.is_empty() || entry.mode == GITLINK {
                return Err("it replaces entries in a way that is not followed".to_owned());
            }
            continue;
        }
        let path = match entry.mode {
            FOLDER => entry.path.strip_suffix(b"/").unwrap_or_default(),
            _ => &entry.path[..],
        };
        if !is_path_of_tree(path, entry.mode == LINK) {
            return Err(format!(
                "it holds a path that git itself would refuse: {}",
                shown()
            ));
        }
        if entry.mode == GITLINK {
            check_gitlink(path, site)?;
        }
        if before.is_some_and(|before| !is_in_order(before, entry)) {
            return Err(format!("its entries are not in order at {}", shown()));
        }
        before = Some(entry);
    }
    Ok(())
}

/// Whether entries are in git's order: a path has one entry, or those of a conflict.
fn is_in_order(before: &Entry<'_>, after: &Entry<'_>) -> bool {
    match before.path.cmp(&after.path) {
        Ordering::Less => true,
        Ordering::Equal => before.stage > 0 && before.stage < after.stage,
        Ordering::Greater => false,
    }
}

/// Whether git asks the repository at this path what it knows: then it is one whose git folder was decided
/// when it was made, and no link to another.
fn check_gitlink(path: &[u8], site: &Site<'_>) -> Result<(), String> {
    let Some(top) = site
        .path
        .ancestors()
        .find(|above| above.file_name().is_some_and(|name| name == ".git"))
    else {
        return Ok(());
    };
    let tree = top
        .parent()
        .unwrap_or(top)
        .join(OsStr::from_bytes(path))
        .join(".git");
    let here = crate::paths::below(site.root, &tree);
    match here.symlink_metadata() {
        Ok(meta) if meta.is_symlink() => Err(format!(
            "{} is a repository whose git folder is a link",
            String::from_utf8_lossy(path)
        )),
        _ => Ok(()),
    }
}

impl Index<'_> {
    /// The same with the extensions that are kept, and a checksum of its own.
    fn without(&self, bytes: &[u8], keep: impl Fn(&([u8; 4], &[u8])) -> bool) -> Vec<u8> {
        let mut written = bytes[..self.end].to_vec();
        for (name, body) in self.extensions.iter().filter(|extension| keep(extension)) {
            written.extend_from_slice(name);
            written.extend_from_slice(&u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes());
            written.extend_from_slice(body);
        }
        let sum = digest(&written, self.width);
        written.extend(sum);
        written
    }
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
