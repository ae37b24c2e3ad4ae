//! Names as git checks them: paths that it takes into an index, and names of references.

/// Whether git would take a path into an index (git's `verify_path`): relative, without empty parts, `.`, `..`
/// and whatever some file system takes for `.git`; for a link, also for `.gitmodules`.
pub(super) fn is_path_of_tree(path: &[u8], is_link: bool) -> bool {
    let is_own = |name: &[u8], windows: &[u8]| {
        name.eq_ignore_ascii_case(b".git")
            || is_link && name.eq_ignore_ascii_case(b".gitmodules")
            || is_short_of_git(windows)
            || is_link && is_short_of_gitmodules(windows)
    };
    let is_part = |part: &[u8]| {
        // Windows takes a backslash for a slash.
        let mut pieces = part.split(|&b| b == b'\\').map(as_windows_reads);
        !matches!(part, b"" | b"." | b"..")
            && !pieces.any(|piece| is_own(piece, piece))
            && !is_own(as_macos_reads(part).as_bytes(), b"")
    };
    !path.contains(&0) && path.split(|&b| b == b'/').all(is_part)
}

/// A name without the stream of NTFS, and what that leaves out at the end.
fn as_windows_reads(name: &[u8]) -> &[u8] {
    let end = name.iter().position(|&b| b == b':').unwrap_or(name.len());
    let last = name[..end].iter().rposition(|b| !matches!(b, b' ' | b'.'));
    &name[..last.map_or(0, |last| last + 1)]
}

/// The short name that NTFS gives to the first `.git` of a folder.
fn is_short_of_git(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"git~1")
}

/// A short name that NTFS may give to `.gitmodules`, by its beginning or by its hash.
fn is_short_of_gitmodules(name: &[u8]) -> bool {
    let Some(at) = name.iter().position(|&b| b == b'~') else {
        return false;
    };
    let (begin, number) = (&name[..at], &name[at + 1..]);
    let hashed = b"gi7eba"
        .get(..at)
        .is_some_and(|hash| begin.eq_ignore_ascii_case(hash));
    match number {
        [b'1'..=b'4'] if begin.eq_ignore_ascii_case(b"gitmod") => true,
        [b'1'..=b'9', rest @ ..] => {
            hashed && name.len() == 8 && rest.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    }
}

/// A name without the characters that HFS+ leaves out, up to the first byte that is no text (git's
/// `next_hfs_char`).
fn as_macos_reads(name: &[u8]) -> String {
    let text = name.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    text.chars()
        .take_while(|c| !matches!(c, '\u{fffe}' | '\u{ffff}'))
        .filter(|c| {
            !matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
        })
        .collect()
}

/// Whether it can be the name of a reference, or of a branch (git-check-ref-format(1)).
pub(super) fn is_reference(name: &[u8]) -> bool {
    let bad = |b: &u8| b.is_ascii_control() || b" ~^:?*[\\".contains(b);
    let is_part = |part: &[u8]| {
        !part.is_empty()
            && !part.starts_with(b".")
            && !part.ends_with(b".lock")
            && !part.iter().any(bad)
            && !part.windows(2).any(|two| two == b".." || two == b"@{")
    };
    name != b"@" && !name.ends_with(b".") && name.split(|&b| b == b'/').all(is_part)
}
