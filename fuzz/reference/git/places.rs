//! Files that lead git to another folder, as git reads them, and where they may lead: by the letters of the
//! path, because the folders that the target's files lie in hold no links.

/// Folders whose git folders somebody looks after.
const KEPT: [&[u8]; 2] = [b"ws", b"state"];
/// Names that mean something in a git folder, and so are not those of submodules.
const OWN: [&[u8]; 8] = [
    b".git", b"config", b"HEAD", b"hooks", b"info", b"logs", b"objects", b"refs",
];

type Parts = Vec<Vec<u8>>;

/// The parts of a path that begins at a folder, without `.` and `..`.
fn parts(folder: &str, path: &[u8]) -> Parts {
    let joined = match path.starts_with(b"/") {
        true => path.to_vec(),
        false => [folder.as_bytes(), b"/", path].concat(),
    };
    let mut parts = Parts::new();
    for part in joined.split(|&b| b == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()),
            _ => parts.push(part.to_vec()),
        }
    }
    parts
}

fn is_kept(parts: &Parts) -> bool {
    parts
        .first()
        .is_some_and(|first| KEPT.contains(&&first[..]))
}

fn is_git(part: &Vec<u8>) -> bool {
    part.eq_ignore_ascii_case(b".git")
}

/// `read_gitfile_gently`, `get_common_dir_noenv`: everything up to the last ends of lines, and to a NUL.
fn line(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|b| !matches!(b, b'\n' | b'\r'));
    let line = &text[..end.map_or(0, |at| at + 1)];
    line.split(|&b| b == 0).next().unwrap_or_default()
}

/// What an accepted file `.git` of `/ws/sub` is not.
pub fn git_file(text: &[u8]) -> Option<String> {
    let Some(target) = line(text).strip_prefix(b"gitdir: ") else {
        // Git dies where it finds it.
        return Some("git cannot read it".into());
    };
    let parts = parts("/ws/sub", target);
    let shown = String::from_utf8_lossy(target).into_owned();
    let at = parts.iter().position(is_git);
    let below = at.map_or(&[][..], |at| &parts[at + 1..]);
    let is_module = |below: &[Vec<u8>]| match below {
        [kind, names @ ..] if kind == b"modules" => {
            !names.is_empty() && !names.iter().any(|name| OWN.contains(&&name[..]))
        }
        _ => false,
    };
    let well = match below {
        // A linked working tree has submodules of its own.
        [kind, name, below @ ..] if kind == b"worktrees" => {
            !OWN.contains(&&name[..]) && (below.is_empty() || is_module(below))
        }
        below => is_module(below),
    };
    (!well || !is_kept(&parts)).then(|| format!("it leads to {shown}"))
}

pub fn common_dir(text: &[u8]) -> Option<String> {
    let to = parts("/ws/.git/worktrees/one", line(text));
    (to != parts("/", b"ws/.git")).then(|| format!("it leads to {to:?}"))
}

/// What an accepted `gitdir` of `/ws/.git/worktrees/one` is not (`get_linked_worktree`).
pub fn git_dir(text: &[u8]) -> Option<String> {
    let text = text.split(|&b| b == 0).next().unwrap_or_default();
    let end = text.iter().rposition(|b| !b.is_ascii_whitespace());
    let text = &text[..end.map_or(0, |at| at + 1)];
    let shown = String::from_utf8_lossy(text).into_owned();
    let Some(tree) = text.strip_suffix(b"/.git") else {
        return Some(format!("{shown:?} names no file .git"));
    };
    let parts = parts("/ws/.git/worktrees/one", tree);
    (!is_kept(&parts) || parts.iter().any(is_git)).then(|| format!("it leads to {shown}"))
}

/// The folders of `alternates`, as `parse_alt_odb_entry` reads them.
fn entries(text: &[u8]) -> Vec<Vec<u8>> {
    let text = text.split(|&b| b == 0).next().unwrap_or_default();
    let (mut entries, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let rest = &text[at..];
        let end = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        match unquoted(rest) {
            _ if rest[0] == b'#' => at += end + 1,
            Some((path, length)) => {
                entries.push(path);
                at += length + 1;
            }
            None => {
                entries.push(rest[..end].to_vec());
                at += end + 1;
            }
        }
    }
    entries.retain(|entry| !entry.is_empty());
    entries
}

/// `unquote_c_style`: the text, and how long it was.
fn unquoted(quoted: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut path, mut at) = (Vec::new(), 1);
    if quoted.first() != Some(&b'"') {
        return None;
    }
    loop {
        let byte = *quoted.get(at)?;
        at += 1;
        match byte {
            b'"' => return Some((path, at)),
            b'\\' => {}
            byte => {
                path.push(byte);
                continue;
            }
        }
        let byte = *quoted.get(at)?;
        at += 1;
        path.push(match byte {
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'\\' | b'"' => byte,
            b'0'..=b'3' => {
                let digit = |at: usize| Some(quoted.get(at)?.wrapping_sub(b'0')).filter(|d| *d < 8);
                let value = (byte - b'0') << 6 | digit(at)? << 3 | digit(at + 1)?;
                at += 2;
                value
            }
            _ => return None,
        });
    }
}

/// What an accepted change of `/ws/.git/objects/info/alternates` is not.
pub fn alternates(old: &[u8], new: &[u8]) -> Option<String> {
    let before = entries(old);
    let well = |entry: &Vec<u8>| {
        let parts = parts("/ws/.git/objects", entry);
        is_kept(&parts) && parts.last().is_some_and(|last| last == b"objects")
    };
    let mut entries = entries(new).into_iter();
    let bad = entries.find(|entry| !before.contains(entry) && !well(entry))?;
    Some(format!("it leads to {:?}", String::from_utf8_lossy(&bad)))
}
