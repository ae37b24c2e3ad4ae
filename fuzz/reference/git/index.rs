//! An index as git reads it (`read-cache.c`, `cache-tree.c`, `ewah/` of 2.39), without the checks that git
//! leaves out, and what then has to hold of one that is accepted.

use super::names::verify_path;
use sha1::{Digest, Sha1};
use sha2::Sha256;

pub struct Entry {
    pub mode: u32,
    pub id: Vec<u8>,
    pub stage: u16,
    pub more: u16,
    pub path: Vec<u8>,
}

pub struct Index {
    pub entries: Vec<Entry>,
    pub extensions: Vec<([u8; 4], Vec<u8>)>,
}

const FOLDER: u32 = 0o040_000;
const INTENT: u16 = 0x2000;
const SKIPPED: u16 = 0x4000;

/// Entries and extensions; none where git would read beyond the end or die.
pub fn read(bytes: &[u8], width: usize) -> Option<Index> {
    let body = &bytes[..bytes.len().checked_sub(width)?];
    let word = |at: usize| Some(u32::from_be_bytes(body.get(at..at + 4)?.try_into().ok()?));
    let half = |at: usize| Some(u16::from_be_bytes(body.get(at..at + 2)?.try_into().ok()?));
    let version = word(4)?;
    let mut entries: Vec<Entry> = Vec::new();
    let mut at = 12;
    for _ in 0..word(8)? {
        let flags = half(at + 40 + width)?;
        let mut name = at + 42 + width;
        let mut more = 0;
        if flags & 0x4000 != 0 {
            more = half(name)?;
            name += 2;
        }
        let mut path = Vec::new();
        if version == 4 {
            let before = entries.last().map_or(&[][..], |entry| &entry.path);
            let cut = offset(body, &mut name)?;
            path.extend_from_slice(&before[..before.len().checked_sub(cut)?]);
        }
        let copied = path.len();
        let mut length = usize::from(flags & 0xfff);
        if length == 0xfff {
            length = copied + body.get(name..)?.iter().position(|&b| b == 0)?;
        }
        path.extend_from_slice(body.get(name..name + length.checked_sub(copied)?)?);
        let next = match version {
            4 => name + length - copied + 1,
            _ => at + (name - at + length + 8 & !7),
        };
        entries.push(Entry {
            mode: word(at + 24)?,
            id: body.get(at + 40..at + 40 + width)?.to_vec(),
            stage: flags >> 12 & 3,
            more,
            path,
        });
        at = next;
    }
    let mut extensions = Vec::new();
    while at + 8 <= body.len() {
        let length = word(at + 4)? as usize;
        let name = body[at..at + 4].try_into().ok()?;
        extensions.push((name, body.get(at + 8..at + 8 + length)?.to_vec()));
        at += 8 + length;
    }
    Some(Index {
        entries,
        extensions,
    })
}

/// `decode_varint`
fn offset(body: &[u8], at: &mut usize) -> Option<usize> {
    let mut byte = *body.get(*at)?;
    let mut value = usize::from(byte & 127);
    *at += 1;
    while byte & 128 != 0 {
        byte = *body.get(*at)?;
        *at += 1;
        value = value.checked_add(1)?.checked_mul(128)? + usize::from(byte & 127);
    }
    Some(value)
}

/// What an accepted index is not.
pub fn fault(index: &Index, width: usize, shared: bool) -> Option<String> {
    let known: [&[u8; 4]; 4] = [b"TREE", b"REUC", b"link", b"sdir"];
    if let Some((name, _)) = index.extensions.iter().find(|(n, _)| !known.contains(&n)) {
        return Some(format!("it has the extension {name:?}"));
    }
    let bodies = |name: &[u8; 4]| -> Vec<&[u8]> {
        let all = index.extensions.iter().filter(|(n, _)| n == name);
        all.map(|(_, body)| body.as_slice()).collect()
    };
    // Git keeps what it read last of each kind.
    let link = bodies(b"link").last().copied();
    let mut replaced = 0;
    if let Some(link) = link {
        if shared {
            return Some("a shared index is a change of another".into());
        }
        let (base, bitmaps) = link.split_at_checked(width)?;
        if base.iter().any(|&b| b != 0) {
            let mut rest = bitmaps;
            let read = bitmap(&mut rest).and_then(|_| bitmap(&mut rest));
            let Some(count) = read.filter(|_| rest.is_empty()) else {
                return Some("its bitmaps cannot be read".into());
            };
            replaced = count;
        }
    }
    let sparse = !bodies(b"sdir").is_empty();
    if let Some(fault) = entries_fault(&index.entries, replaced, sparse) {
        return Some(fault);
    }
    for tree in bodies(b"TREE") {
        if link.is_some() {
            return Some("a part of an index has trees".into());
        }
        if let Some(fault) = tree_fault(tree, &index.entries, width) {
            return Some(format!("TREE: {fault}"));
        }
    }
    None
}

fn entries_fault(entries: &[Entry], replaced: usize, sparse: bool) -> Option<String> {
    let mut before: Option<&Entry> = None;
    for (number, entry) in entries.iter().enumerate() {
        let shown = String::from_utf8_lossy(&entry.path);
        let known = matches!(entry.mode, 0o100_644 | 0o100_755 | 0o120_000 | 0o160_000);
        let folder = entry.mode == FOLDER && sparse && entry.more & SKIPPED != 0;
        if !known && !folder {
            return Some(format!("{shown} has the mode {:o}", entry.mode));
        }
        if entry.more & !(INTENT | SKIPPED) != 0 {
            return Some(format!("{shown} has the flags {:x}", entry.more));
        }
        if number < replaced {
            if !entry.path.is_empty() {
                return Some(format!("{shown} replaces another and has a path"));
            }
            continue;
        }
        let ends = entry.path.ends_with(b"/");
        if !verify_path(&entry.path, entry.mode) || ends != (entry.mode == FOLDER) {
            return Some(format!("git would refuse {shown:?}"));
        }
        if let Some(before) = before {
            let order = before.path.cmp(&entry.path);
            let stages = before.stage > 0 && before.stage < entry.stage;
            if order.is_gt() || order.is_eq() && !stages {
                return Some(format!("{shown} is out of order"));
            }
        }
        before = Some(entry);
    }
    None
}

/// Reads a bitmap, and how many of its bits are set (`ewah_read_mmap`, `ewah_each_bit`).
fn bitmap(rest: &mut &[u8]) -> Option<usize> {
    let words = u32::from_be_bytes(rest.get(4..8)?.try_into().ok()?) as usize;
    let body = rest.get(8..8 + words * 8)?;
    let word = |at: usize| -> Option<u64> {
        Some(u64::from_be_bytes(
            body.get(at * 8..at * 8 + 8)?.try_into().ok()?,
        ))
    };
    rest.get(8 + words * 8..12 + words * 8)?;
    *rest = &rest[12 + words * 8..];
    let (mut at, mut count) = (0, 0_usize);
    while at < words {
        let run = word(at)?;
        at += 1;
        if run & 1 == 1 {
            count += (run >> 1 & 0xffff_ffff) as usize * 64;
        }
        for _ in 0..run >> 33 {
            count += word(at)?.count_ones() as usize;
            at += 1;
        }
    }
    Some(count)
}

/// `strtol` into an `int`: white space, a sign, digits; what follows is left.
fn int(text: &[u8], at: &mut usize) -> Option<i32> {
    let get = |at: usize| text.get(at).copied().unwrap_or(0);
    while matches!(get(*at), b' ' | b'\t'..=b'\r') {
        *at += 1;
    }
    let negative = get(*at) == b'-';
    *at += usize::from(matches!(get(*at), b'-' | b'+'));
    let (mut value, from) = (0_i64, *at);
    while get(*at).is_ascii_digit() {
        let digit = i64::from(get(*at) - b'0');
        value = value.saturating_mul(10).saturating_add(digit);
        *at += 1;
    }
    let value = if negative {
        value.saturating_neg()
    } else {
        value
    };
    (*at > from).then_some(value as i32)
}

/// What is wrong with the extension as `read_one` of `cache-tree.c` reads it.
fn tree_fault(body: &[u8], entries: &[Entry], width: usize) -> Option<String> {
    let mut at = 0;
    let all: Vec<Leaf<'_>> = entries
        .iter()
        .map(|entry| Leaf {
            rest: &entry.path,
            entry,
        })
        .collect();
    let fault = node_fault(body, &mut at, &all, width, true).err();
    fault.or_else(|| (at < body.len()).then(|| "something follows it".into()))
}

#[derive(Clone, Copy)]
struct Leaf<'a> {
    rest: &'a [u8],
    entry: &'a Entry,
}

fn node_fault(
    body: &[u8],
    at: &mut usize,
    all: &[Leaf<'_>],
    width: usize,
    top: bool,
) -> Result<(), String> {
    let short = || "git cannot read it".to_owned();
    let end = body[(*at).min(body.len())..].iter().position(|&b| b == 0);
    let name = &body[*at..*at + end.ok_or_else(short)?];
    *at += name.len() + 1;
    let inside: Vec<Leaf<'_>> = match top {
        true if name.is_empty() => all.to_vec(),
        true => return Err("the top has a name".into()),
        false => below(all, name),
    };
    let count = int(body, at).ok_or_else(short)?;
    let folders = int(body, at).ok_or_else(short)?;
    let line = body[*at..].iter().position(|&b| b == b'\n' || b == 0);
    *at += line.ok_or_else(short)? + 1;
    if let Ok(count) = usize::try_from(count) {
        let id = body.get(*at..*at + width).ok_or_else(short)?;
        *at += width;
        let shown = String::from_utf8_lossy(name);
        if count != inside.len() {
            return Err(format!(
                "{shown:?} has {} entries and not {count}",
                inside.len()
            ));
        }
        if tree_of(&inside, width, top).as_deref() != Some(id) {
            return Err(format!("{shown:?} has another id"));
        }
    }
    let mut names = Vec::new();
    for _ in 0..folders {
        let end = body[(*at).min(body.len())..].iter().position(|&b| b == 0);
        let name = &body[*at..*at + end.ok_or_else(short)?];
        if names.contains(&name) {
            return Err("git dies, because a folder comes twice".into());
        }
        names.push(name);
        node_fault(body, at, &inside, width, false)?;
    }
    Ok(())
}

/// What lies in the folder of this name.
fn below<'a>(all: &[Leaf<'a>], name: &[u8]) -> Vec<Leaf<'a>> {
    let inside = |leaf: &Leaf<'a>| {
        let rest = leaf.rest.strip_prefix(name)?.strip_prefix(b"/")?;
        Some(Leaf { rest, ..*leaf })
    };
    all.iter().filter_map(inside).collect()
}

/// The id of the tree that a commit of these would make; none where it would make none.
fn tree_of(all: &[Leaf<'_>], width: usize, top: bool) -> Option<Vec<u8>> {
    if let [only] = all
        && only.rest.is_empty()
        && !top
    {
        return Some(only.entry.id.clone());
    }
    let mut lines: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let mut done: Vec<&[u8]> = Vec::new();
    for leaf in all {
        let slash = leaf.rest.iter().position(|&b| b == b'/');
        let name = &leaf.rest[..slash.unwrap_or(leaf.rest.len())];
        let (mode, id) = match slash {
            Some(_) if done.last() == Some(&name) => continue,
            Some(_) => {
                done.push(name);
                (FOLDER, tree_of(&below(all, name), width, false)?)
            }
            None if leaf.entry.stage != 0 || leaf.entry.more & INTENT != 0 => return None,
            None => (leaf.entry.mode, leaf.entry.id.clone()),
        };
        let key = if slash.is_some() {
            [name, b"/"].concat()
        } else {
            name.to_vec()
        };
        let head = format!("{mode:o} ");
        lines.push((key, [head.as_bytes(), name, b"\0", &id].concat()));
    }
    lines.sort();
    let tree: Vec<u8> = lines.into_iter().flat_map(|(_, line)| line).collect();
    let tree = [format!("tree {}\0", tree.len()).as_bytes(), &tree].concat();
    Some(digest(&tree, width))
}

pub fn digest(bytes: &[u8], width: usize) -> Vec<u8> {
    match width {
        20 => Sha1::digest(bytes).to_vec(),
        _ => Sha256::digest(bytes).to_vec(),
    }
}

/// The extension as git would write it for these entries.
pub fn tree_extension(entries: &[Entry], width: usize) -> Option<Vec<u8>> {
    let all: Vec<Leaf<'_>> = entries
        .iter()
        .map(|entry| Leaf {
            rest: &entry.path,
            entry,
        })
        .collect();
    let mut body = Vec::new();
    write_node(b"", &all, width, true, &mut body)?;
    let length = u32::try_from(body.len()).ok()?.to_be_bytes();
    Some([b"TREE".as_slice(), &length, &body].concat())
}

fn write_node(
    name: &[u8],
    all: &[Leaf<'_>],
    width: usize,
    top: bool,
    body: &mut Vec<u8>,
) -> Option<()> {
    let mut folders: Vec<&[u8]> = Vec::new();
    for leaf in all {
        if let Some(slash) = leaf.rest.iter().position(|&b| b == b'/') {
            let name = &leaf.rest[..slash];
            if folders.last() != Some(&name) {
                folders.push(name);
            }
        }
    }
    body.extend_from_slice(name);
    body.extend_from_slice(format!("\0{} {}\n", all.len(), folders.len()).as_bytes());
    body.extend(tree_of(all, width, top)?);
    for name in folders {
        write_node(name, &below(all, name), width, false, body)?;
    }
    Some(())
}
