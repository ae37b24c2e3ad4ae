//! What unpacking makes of a tree, slowly: a map of paths, without a file system.

use bailiwick_transfer::{Entry, Kind, Part, Reader, What};
use std::collections::BTreeMap;

/// An entry, and the contents behind it.
pub struct Piece {
    pub entry: Entry,
    pub contents: Contents,
}

/// What came behind a file.
#[derive(Clone)]
pub enum Contents {
    Whole(Vec<u8>),
    TakenBack(i32),
    /// The stream ended or broke in the middle.
    Cut,
}

/// All that a stream says, and whether it says its end.
pub fn pieces(bytes: &[u8]) -> (Vec<Piece>, bool) {
    let (mut reader, mut all) = (Reader::new(bytes), Vec::new());
    loop {
        let entry = match reader.entry() {
            Ok(Some(entry)) => entry,
            ended => return (all, ended.is_ok()),
        };
        let mut whole = Vec::new();
        let contents = loop {
            match reader.next_part() {
                Ok(Part::Bytes(part)) => whole.extend_from_slice(part),
                Ok(Part::Whole) => break Contents::Whole(whole),
                Ok(Part::TakenBack(errno)) => break Contents::TakenBack(errno),
                Err(_) => break Contents::Cut,
            }
        };
        let cut = matches!(contents, Contents::Cut);
        all.push(Piece { entry, contents });
        if cut {
            return (all, false);
        }
    }
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    Folder {
        mode: u32,
    },
    File {
        mode: u32,
        modified: (i64, u32),
        contents: Vec<u8>,
    },
    Link(Vec<u8>),
}

pub type Tree = BTreeMap<Vec<u8>, Node>;

/// What became of an entry, as far as it is said here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Done,
    Conflict,
    Refused,
    Unread(i32),
}

impl From<What> for Fate {
    fn from(what: What) -> Self {
        match what {
            What::Done => Self::Done,
            What::Conflict => Self::Conflict,
            What::Refused(_) => Self::Refused,
            What::Unread(errno) => Self::Unread(errno),
        }
    }
}

/// Applies one entry; none where the stream breaks in it.
pub fn apply(tree: &mut Tree, before: Option<&Tree>, piece: &Piece) -> Option<Fate> {
    let Piece { entry, contents } = piece;
    let path = &entry.path;
    if let Kind::Skipped { errno } = entry.kind {
        return Some(Fate::Unread(errno));
    }
    let is_folder = |path: &[u8]| matches!(tree.get(path), Some(Node::Folder { .. }));
    let slashes = (0..path.len()).filter(|at| path[*at] == b'/');
    let lies =
        path.is_empty() || is_folder(b"") && slashes.into_iter().all(|at| is_folder(&path[..at]));
    if !lies {
        let gone = entry.kind == Kind::Gone;
        return Some(if gone { Fate::Done } else { Fate::Refused });
    }
    let now = tree.get(path);
    if let Some(before) = before
        && !is_as(now, before.get(path))
    {
        let sent = match (&entry.kind, now) {
            (Kind::Gone, None) => true,
            (Kind::Folder, Some(Node::Folder { mode })) => *mode == entry.mode,
            (Kind::Link { target }, Some(Node::Link(now))) => target == now,
            (
                Kind::File { size },
                Some(Node::File {
                    mode,
                    modified,
                    contents,
                }),
            ) => {
                *size == contents.len() as u64 && *mode == entry.mode && *modified == entry.modified
            }
            _ => false,
        };
        return Some(if sent { Fate::Done } else { Fate::Conflict });
    }
    let mut below = path.clone();
    if !below.is_empty() {
        below.push(b'/');
    }
    let filled = tree
        .keys()
        .any(|other| other.len() > below.len() && other.starts_with(&below));
    let new = match (&entry.kind, contents) {
        (Kind::File { .. }, Contents::Cut) => return None,
        (Kind::File { .. }, Contents::TakenBack(errno)) => return Some(Fate::Unread(*errno)),
        (Kind::Gone, _) if before.is_none() => return Some(Fate::Refused),
        (Kind::Folder, _) if matches!(now, Some(Node::Folder { .. })) => return Some(Fate::Done),
        (Kind::Link { target }, _)
            if target.is_empty() || target.len() > 4095 || target.contains(&0) =>
        {
            return Some(Fate::Refused);
        }
        _ if filled => return Some(Fate::Refused),
        (Kind::File { .. }, Contents::Whole(contents)) => Node::File {
            mode: entry.mode & 0o777,
            modified: (entry.modified.0, entry.modified.1.min(999_999_999)),
            contents: contents.clone(),
        },
        (Kind::Link { target }, _) => Node::Link(target.clone()),
        (Kind::Folder, _) => Node::Folder { mode: 0o700 },
        _ => {
            tree.remove(path);
            return Some(Fate::Done);
        }
    };
    tree.insert(path.clone(), new);
    Some(Fate::Done)
}

/// Whether what is there is as it was; contents count by their size and time.
fn is_as(now: Option<&Node>, then: Option<&Node>) -> bool {
    match (now, then) {
        (
            Some(Node::File {
                mode,
                modified,
                contents,
            }),
            Some(Node::File {
                mode: m,
                modified: t,
                contents: c,
            }),
        ) => (mode, modified, contents.len()) == (m, t, c.len()),
        _ => now == then,
    }
}
