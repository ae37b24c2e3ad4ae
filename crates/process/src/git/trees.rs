//! The extension `TREE` of an index: for each folder the id of the tree that a commit would hold. Git believes
//! it, so it has to follow from the entries: the trees are made again, in memory, and their ids compared.

use super::index::Entry;
use sha1::{Digest, Sha1};
use sha2::Sha256;
use std::collections::HashMap;

/// Folders may lie so deep in each other.
const DEPTH: usize = 256;

/// Whether every id in the extension is that of the tree which the entries make.
pub(super) fn follow(body: &[u8], entries: &[Entry<'_>], width: usize) -> bool {
    let mut walk = Walk { body, width };
    // An entry with a stage is a conflict; no tree has it.
    walk.folder(entries, 0, true, 0).is_some() && walk.body.is_empty()
}

struct Walk<'a> {
    body: &'a [u8],
    width: usize,
}

/// What the extension says of a folder.
struct Said<'a> {
    name: &'a [u8],
    /// How many entries lie in it; none where it is not known.
    entries: Option<usize>,
    folders: usize,
    id: &'a [u8],
}

impl<'a> Walk<'a> {
    /// Goes through a folder of `entries`, whose paths have `skip` bytes in front; its id where that is known.
    /// None where what is said is wrong.
    fn folder(
        &mut self,
        entries: &[Entry<'_>],
        skip: usize,
        is_top: bool,
        depth: usize,
    ) -> Option<Option<&'a [u8]>> {
        let said = self.said()?;
        if depth > DEPTH || is_top != said.name.is_empty() {
            return None;
        }
        if said.entries.is_some_and(|count| count != entries.len()) {
            return None;
        }
        let mut known = HashMap::new();
        for _ in 0..said.folders {
            let ahead = self.peek_name()?;
            let inside = of_folder(entries, skip, ahead);
            // Git dies of a folder that comes twice.
            if inside.is_empty() || known.contains_key(ahead) {
                return None;
            }
            let id = self.folder(inside, skip + ahead.len() + 1, false, depth + 1)?;
            known.insert(ahead, id);
        }
        if said.entries.is_none() {
            return Some(None);
        }
        // A folder of a sparse index is one entry, with the id of its tree.
        if let [only] = entries
            && only.path.len() == skip
            && !is_top
        {
            return (only.id == said.id).then_some(Some(said.id));
        }
        let tree = tree(entries, skip, &known)?;
        let id = id_of(&tree, self.width);
        (id == said.id).then_some(Some(said.id))
    }

    fn peek_name(&self) -> Option<&'a [u8]> {
        let end = self.body.iter().position(|&b| b == 0)?;
        Some(&self.body[..end]).filter(|name| !name.is_empty() && !name.contains(&b'/'))
    }

    fn said(&mut self) -> Option<Said<'a>> {
        let until = |body: &mut &'a [u8], end: u8| {
            let at = body.iter().position(|&b| b == end)?;
            let (text, rest) = body.split_at(at);
            *body = &rest[1..];
            Some(text)
        };
        // As git writes them: git itself would read more digits as another number.
        let number = |text: &[u8]| match text {
            [b'0'..=b'9', ..] => std::str::from_utf8(text).ok()?.parse::<i32>().ok(),
            _ => None,
        };
        let name = until(&mut self.body, 0)?;
        let entries = match until(&mut self.body, b' ')? {
            b"-1" => None,
            count => Some(usize::try_from(number(count)?).ok()?),
        };
        let folders = number(until(&mut self.body, b'\n')?)?;
        let mut id = &[][..];
        if entries.is_some() {
            let (taken, rest) = self.body.split_at_checked(self.width)?;
            (id, self.body) = (taken, rest);
        }
        Some(Said {
            name,
            entries,
            folders: usize::try_from(folders).ok()?,
            id,
        })
    }
}

/// The entries in a folder of these, which lie side by side.
fn of_folder<'a, 'b>(entries: &'a [Entry<'b>], skip: usize, name: &[u8]) -> &'a [Entry<'b>] {
    let begin = [name, b"/"].concat();
    let key = |entry: &Entry<'_>| {
        let rest = entry.path.get(skip..).unwrap_or_default();
        rest[..rest.len().min(begin.len())].cmp(&begin)
    };
    let from = entries.partition_point(|entry| key(entry).is_lt());
    let to = entries.partition_point(|entry| key(entry).is_le());
    &entries[from..to.max(from)]
}

/// The tree of a folder, as git writes it. None where a folder in it is not known.
fn tree(
    entries: &[Entry<'_>],
    skip: usize,
    known: &HashMap<&[u8], Option<&[u8]>>,
) -> Option<Vec<u8>> {
    let mut tree = Vec::new();
    let mut at = 0;
    while let Some(entry) = entries.get(at) {
        let rest = entry.path.get(skip..)?;
        let name_ends = rest.iter().position(|&b| b == b'/');
        let (mode, name, id) = match name_ends {
            // A folder of a sparse index stands for itself.
            Some(end) if end + 1 == rest.len() => {
                at += 1;
                (0o40_000, &rest[..end], entry.id)
            }
            Some(end) => {
                let name = &rest[..end];
                let inside = of_folder(&entries[at..], skip, name);
                at += inside.len().max(1);
                (0o40_000, name, (*known.get(name)?)?)
            }
            None => {
                at += 1;
                if entry.stage != 0 || entry.intended {
                    return None;
                }
                (entry.mode, rest, entry.id)
            }
        };
        tree.extend(format!("{mode:o} ").bytes());
        tree.extend_from_slice(name);
        tree.push(0);
        tree.extend_from_slice(id);
    }
    Some(tree)
}

fn id_of(tree: &[u8], width: usize) -> Vec<u8> {
    let head = format!("tree {}\0", tree.len());
    match width {
        20 => Sha1::new()
            .chain_update(head)
            .chain_update(tree)
            .finalize()
            .to_vec(),
        _ => Sha256::new()
            .chain_update(head)
            .chain_update(tree)
            .finalize()
            .to_vec(),
    }
}
