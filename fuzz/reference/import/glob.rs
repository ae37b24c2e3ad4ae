//! What a tool means by a path: `~`, relative paths and wildcards, matched name by name without a
//! library. A text that the tools do not agree about is *unsure*: it grants everything and denies
//! nothing, so that no complaint rests on it.

pub const HOME: &str = "/nonexistent/home";
pub const WORKSPACE: &str = "/nonexistent/home/project";

/// A path of a configuration, from the root. None: unsure.
pub struct Glob(Option<Vec<String>>);

impl Glob {
    /// Reads a path that begins at `folder` where it is relative; `literal`: `*` is a name.
    pub fn new(text: &str, folder: &str, literal: bool) -> Self {
        Self(parts(text, folder, literal))
    }

    pub fn is_unsure(&self) -> bool {
        self.0.is_none()
    }

    /// Whether a path is what is meant, or lies below it; `unsure` is the answer where that is not
    /// known.
    pub fn covers(&self, path: &str, unsure: bool) -> bool {
        let Some(pattern) = &self.0 else {
            return unsure;
        };
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        begins(pattern, &names)
    }

    /// Paths at, below, above and beside what is meant.
    pub fn probes(&self) -> Vec<String> {
        let Some(pattern) = &self.0 else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for (between, star) in [(&[][..], "*"), (&["m", "n"], "k")] {
            let mut names = Vec::new();
            for part in pattern {
                match part.as_str() {
                    "**" => names.extend(between.iter().map(ToString::to_string)),
                    part => names.push(example(part).replace('\0', star)),
                }
            }
            let at = format!("/{}", names.join("/"));
            found.extend([format!("{at}/q/r"), format!("{at}z")]);
            for kept in [".git", ".codex", ".agents"] {
                found.push(format!("{at}/{kept}/q"));
            }
            let above = at.rsplit_once('/').map_or("", |(above, _)| above);
            found.push(format!("{above}/s"));
            found.push(at);
        }
        found
    }
}

fn parts(text: &str, folder: &str, literal: bool) -> Option<Vec<String>> {
    if text.is_empty() || text.contains(['$', '\\']) || text.chars().any(char::is_control) {
        return None;
    }
    let whole = match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{HOME}/{rest}"),
        Some(_) => return None,
        None if text.starts_with('/') => text.to_owned(),
        None => format!("{folder}/{text}"),
    };
    let mut parts: Vec<String> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part if literal => parts.push(part.replace(['*', '?', '['], "\0")),
            part => {
                // In the tools a brace means itself; with a class beside it nobody knows.
                if part.contains('[') && !is_class(part) || part.matches('*').count() > 4 {
                    return None;
                }
                parts.push(part.to_owned());
            }
        }
    }
    let deep = parts.iter().filter(|part| *part == "**").count() > 4;
    if deep || !literal && whole.contains('[') && whole.contains(['{', '}']) {
        return None;
    }
    Some(parts)
}

/// Whether every bracket of a name opens or closes a plain class.
fn is_class(part: &str) -> bool {
    let mut rest = part;
    while let Some((_, class)) = rest.split_once('[') {
        let Some((inner, after)) = class.split_once(']') else {
            return false;
        };
        let inner = inner.strip_prefix(['!', '^']).unwrap_or(inner);
        let plain = |c: char| c.is_ascii_alphanumeric() || "._*?".contains(c);
        if inner.is_empty() || !inner.chars().all(plain) {
            return false;
        }
        rest = after;
    }
    true
}

/// Whether names begin with what a pattern means.
fn begins(pattern: &[String], names: &[&str]) -> bool {
    let Some((first, rest)) = pattern.split_first() else {
        return true;
    };
    if first == "**" {
        return (0..=names.len()).any(|n| begins(rest, &names[n..]));
    }
    names.split_first().is_some_and(|(name, names)| {
        let (first, name): (Vec<char>, Vec<char>) =
            (first.chars().collect(), name.chars().collect());
        is_one(&first, &name) && begins(rest, names)
    })
}

fn is_one(pattern: &[char], name: &[char]) -> bool {
    let Some((first, rest)) = pattern.split_first() else {
        return name.is_empty();
    };
    if *first == '*' {
        return (0..=name.len()).any(|n| is_one(rest, &name[n..]));
    }
    let Some((c, after)) = name.split_first() else {
        return false;
    };
    match first {
        '?' => is_one(rest, after),
        '\0' => ['*', '?', '['].contains(c) && is_one(rest, after),
        '[' => {
            let end = rest.iter().position(|c| *c == ']').unwrap_or(0);
            let (mut inner, negated) = (&rest[..end], matches!(rest.first(), Some('!' | '^')));
            if negated {
                inner = &inner[1..];
            }
            inner.contains(c) != negated && is_one(&rest[end + 1..], after)
        }
        first => first == c && is_one(rest, after),
    }
}

/// A name that a pattern means.
fn example(part: &str) -> String {
    let (mut name, mut rest) = (String::new(), part.chars());
    while let Some(c) = rest.next() {
        match c {
            '*' | '?' => name.push('k'),
            '[' => {
                let inner: String = rest.by_ref().take_while(|c| *c != ']').collect();
                name.push(if inner.starts_with(['!', '^']) {
                    'k'
                } else {
                    inner.chars().next().unwrap_or('k')
                });
            }
            c => name.push(c),
        }
    }
    name
}
