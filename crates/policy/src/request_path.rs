//! Paths of HTTP requests against the patterns of `[[network.http]]`. A path that two servers
//! could read in two ways (`/v1/../admin`, `/v1/%2e%2e/admin`, a backslash, an escaped slash)
//! fits no pattern: the gate must not guess which of the two it is.

/// Whether `path` fits `pattern`: `*` stands for any characters but `/`, `**` for any.
pub(crate) fn fits(pattern: &str, path: &str) -> bool {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    is_plain(path) && glob(pattern.as_bytes(), path.as_bytes())
}

/// Whether every server reads the path in the same way.
fn is_plain(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let ambiguous = ["%2e", "%2f", "%5c", "%25", "%00", "\\", "//", ";"];
    path.starts_with('/')
        && path.bytes().all(|b| b.is_ascii_graphic())
        && !ambiguous.iter().any(|a| lower.contains(a))
        && !path.split('/').any(|part| part == "." || part == "..")
}

/// A wildcard match in time proportional to pattern times path, whatever the pattern.
fn glob(pattern: &[u8], path: &[u8]) -> bool {
    let mut reachable = vec![false; path.len() + 1];
    reachable[0] = true;
    let mut rest = pattern;
    while let Some((&first, tail)) = rest.split_first() {
        if first == b'*' {
            let deep = tail.first() == Some(&b'*');
            rest = if deep { &tail[1..] } else { tail };
            for i in 0..path.len() {
                reachable[i + 1] |= reachable[i] && (deep || path[i] != b'/');
            }
        } else {
            rest = tail;
            for i in (0..path.len()).rev() {
                reachable[i + 1] = reachable[i] && path[i] == first;
            }
            reachable[0] = false;
        }
    }
    reachable[path.len()]
}

#[cfg(test)]
#[path = "request_path_tests.rs"]
mod tests;
