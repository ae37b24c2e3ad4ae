//! Names as git checks them, written anew function by function (`read-cache.c`, `path.c`, `utf8.c`, `refs.c`
//! of 2.39), with the rules of every file system switched on (`core.protectNTFS`, `core.protectHFS`).

/// The byte at a place; zero behind the end, as in a text of C.
fn at(text: &[u8], place: usize) -> u8 {
    text.get(place).copied().unwrap_or(0)
}

/// `verify_path`: whether git would take an entry of this path and mode into an index.
pub fn verify_path(path: &[u8], mode: u32) -> bool {
    if path.contains(&0) {
        return false;
    }
    let is_link = mode & 0o170_000 == 0o120_000;
    let is_folder = mode & 0o170_000 == 0o040_000;
    let (mut place, mut c, mut inside) = (0, 0, true);
    loop {
        if !inside && c == 0 {
            return true;
        }
        if inside || c == b'/' {
            inside = false;
            let rest = &path[place.min(path.len())..];
            if is_hfs_dot(rest, b"git") || is_link && is_hfs_dot(rest, b"gitmodules") {
                return false;
            }
            if is_ntfs_dotgit(rest) || is_link && is_ntfs_dotgitmodules(rest) {
                return false;
            }
            c = at(path, place);
            place += 1;
            if c == b'.' && !verify_dotfile(&path[place.min(path.len())..], is_link) || c == b'/' {
                return false;
            }
            if c == 0 {
                return is_folder && path.len() > 1;
            }
        } else if c == b'\\' {
            let rest = &path[place.min(path.len())..];
            if is_ntfs_dotgit(rest) || is_link && is_ntfs_dotgitmodules(rest) {
                return false;
            }
        }
        c = at(path, place);
        place += 1;
    }
}

fn verify_dotfile(rest: &[u8], is_link: bool) -> bool {
    let ends = |place: usize| matches!(at(rest, place), 0 | b'/');
    match at(rest, 0) {
        0 | b'/' => false,
        b'.' => !ends(1),
        b'g' | b'G' => {
            let git = rest.len() >= 3 && rest[..3].eq_ignore_ascii_case(b"git");
            if git && ends(3) {
                return false;
            }
            let modules = rest.len() >= 10 && rest[..10].eq_ignore_ascii_case(b"gitmodules");
            !(is_link && modules && ends(10))
        }
        _ => true,
    }
}

fn is_ntfs_dotgit(name: &[u8]) -> bool {
    let begins =
        |short: &[u8]| name.len() >= short.len() && name[..short.len()].eq_ignore_ascii_case(short);
    let mut place = match () {
        () if begins(b".git") => 4,
        () if begins(b"git~1") => 5,
        () => return false,
    };
    loop {
        match at(name, place) {
            0 | b'\\' | b'/' | b':' => return true,
            b'.' | b' ' => place += 1,
            _ => return false,
        }
    }
}

/// `is_ntfs_dot_generic` for `.gitmodules`.
fn is_ntfs_dotgitmodules(name: &[u8]) -> bool {
    let begins =
        |short: &[u8]| name.len() >= short.len() && name[..short.len()].eq_ignore_ascii_case(short);
    let spaces_and_dots = |mut place: usize| loop {
        match at(name, place) {
            0 | b':' => return true,
            b' ' | b'.' => place += 1,
            _ => return false,
        }
    };
    if begins(b".gitmodules") {
        return spaces_and_dots(11);
    }
    if begins(b"gitmod~") && matches!(at(name, 7), b'1'..=b'4') {
        return spaces_and_dots(8);
    }
    let (prefix, mut tilde, mut place) = (b"gi7eba", false, 0);
    while place < 8 {
        let c = at(name, place);
        if c == 0 {
            return false;
        } else if tilde {
            if !c.is_ascii_digit() {
                return false;
            }
        } else if c == b'~' {
            place += 1;
            if !matches!(at(name, place), b'1'..=b'9') {
                return false;
            }
            tilde = true;
        } else if place >= 6 || c.to_ascii_lowercase() != prefix[place] {
            return false;
        }
        place += 1;
    }
    spaces_and_dots(place)
}

/// `is_hfs_dot_generic`: a dot, the needle, and the end of a part, where HFS+ leaves out what is not seen.
fn is_hfs_dot(name: &[u8], needle: &[u8]) -> bool {
    let mut rest = name;
    if next_hfs(&mut rest) != u32::from(b'.') {
        return false;
    }
    for byte in needle {
        let c = next_hfs(&mut rest);
        if c > 127 || (c as u8).to_ascii_lowercase() != *byte {
            return false;
        }
    }
    matches!(next_hfs(&mut rest), 0 | 0x2f)
}

/// `next_hfs_char`: zero at the end and where the bytes are no UTF-8.
fn next_hfs(rest: &mut &[u8]) -> u32 {
    loop {
        let first = at(rest, 0);
        let length = match first {
            0 => return 0,
            ..0x80 => 1,
            0xc0..0xe0 => 2,
            0xe0..0xf0 => 3,
            _ => 4,
        };
        let Some(c) = rest
            .get(..length)
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .and_then(|text| text.chars().next())
        else {
            *rest = &[];
            return 0;
        };
        *rest = &rest[length..];
        let c = u32::from(c);
        if matches!(c, 0xfffe | 0xffff) {
            *rest = &[];
            return 0;
        }
        if !matches!(c, 0x200c..=0x200f | 0x202a..=0x202e | 0x206a..=0x206f | 0xfeff) {
            return c;
        }
    }
}

/// `check_refname_format`; one part is enough where `one_level` is said.
pub fn is_refname(name: &[u8], one_level: bool) -> bool {
    let parts: Vec<&[u8]> = name.split(|&b| b == b'/').collect();
    let part = |part: &&[u8]| {
        let bad = |b: &u8| *b <= 0x20 || *b == 0x7f || b"~^:?*[\\".contains(b);
        !part.is_empty()
            && !part.starts_with(b".")
            && !part.ends_with(b".lock")
            && !part.iter().any(bad)
            && !part.windows(2).any(|two| two == b".." || two == b"@{")
    };
    parts.iter().all(part)
        && !name.ends_with(b".")
        && name != b"@"
        && (one_level || parts.len() > 1)
}
