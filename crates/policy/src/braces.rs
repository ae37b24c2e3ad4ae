//! Alternatives in the braces of a pattern (`{a,b}`), one way after the other.

/// The patterns that a pattern with alternatives stands for; those of braces that hold no slash stay together where only
/// `with_slash` ones are taken apart. None where there are more than `most`.
#[must_use]
pub fn ways(glob: &str, with_slash: bool, most: usize) -> Option<Vec<String>> {
    let (mut open, mut found) = (vec![glob.to_owned()], Vec::new());
    while let Some(glob) = open.pop() {
        match alternatives(&glob, with_slash) {
            None => found.push(glob),
            Some((before, alternatives, behind)) => {
                open.extend(
                    alternatives
                        .iter()
                        .map(|one| [before, one, behind].concat()),
                );
            }
        }
        if open.len() + found.len() > most {
            return None;
        }
    }
    Some(found)
}

/// The first braces that hold a comma, and a slash if one is asked for: what is before them, their alternatives, and
/// what is behind.
pub(crate) fn alternatives(glob: &str, with_slash: bool) -> Option<(&str, Vec<&str>, &str)> {
    let (mut depth, mut escaped, mut begin, mut commas) = (0_usize, false, 0, Vec::new());
    for (at, byte) in glob.bytes().enumerate() {
        match byte {
            _ if escaped => {}
            b'{' => {
                depth += 1;
                if depth == 1 {
                    begin = at;
                    commas.clear();
                }
            }
            b',' if depth == 1 => commas.push(at),
            b'}' if depth == 1 => {
                depth = 0;
                let inner = &glob[begin + 1..at];
                if inner.contains(',') && (!with_slash || inner.contains('/')) {
                    let ends = commas.iter().copied().chain([at]);
                    let starts = [begin].into_iter().chain(commas.iter().copied());
                    let inner = starts.zip(ends).map(|(start, end)| &glob[start + 1..end]);
                    return Some((&glob[..begin], inner.collect(), &glob[at + 1..]));
                }
            }
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        escaped = byte == b'\\' && !escaped;
    }
    None
}

/// Why alternatives of a pattern mean nothing, where some do.
pub(crate) fn objection(pattern: &str) -> Option<String> {
    const MOST: usize = 4096;
    let Some(ways) = ways(pattern, false, MOST) else {
        return Some(format!("it stands for more than {MOST} patterns"));
    };
    if ways.len() == 1 {
        return None;
    }
    let ends = pattern.ends_with('/');
    ways.iter().find_map(|way| {
        let inner = way.strip_suffix('/').filter(|_| ends).unwrap_or(way);
        let odd = |part: &str| ["", ".", ".."].contains(&part);
        if inner.split('/').any(odd) || inner.starts_with('~') {
            return Some(format!(
                "one alternative makes it \"{way}\", which is no path"
            ));
        }
        // What these mean is found out before braces are.
        let whole = |part: &&str| *part == "**" || part.starts_with("!(");
        let own = |part: &str| pattern.split('/').any(|known| known == part);
        let apart = inner.split('/').find(|part| whole(part) && !own(part));
        apart.map(|part| format!("`{part}` cannot be an alternative"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_with_slashes_are_patterns_of_their_own() {
        let sorted = |glob: &str| {
            ways(glob, true, 64).map(|mut ways| {
                ways.sort();
                ways
            })
        };
        for (glob, expected) in [
            ("{a/b,c}/k", &["a/b/k", "c/k"] as &[_]),
            ("{a,b}/k", &["{a,b}/k"]),
            ("x{a,{b/c,d}}y", &["xay", "xb/cy", "xdy"]),
            ("\\{a/b,c}", &["\\{a/b,c}"]),
            ("{a/b", &["{a/b"]),
        ] {
            assert_eq!(sorted(glob).unwrap(), expected, "{glob}");
        }
        assert_eq!(sorted(&"{a/b,c}/".repeat(7)), None);
    }
}
