//! What a glob of a policy matches. Decision: this is the only place where one is compiled, so that
//! what a policy is checked and explained by is what it is enforced by; and nothing in a pattern
//! but `**` and a written slash matches a slash, where `globset` lets a class (`[!b]`, `[+-9]`) do. A part `!(a|b*)`
//! stands for every name but these, as in a shell with `extglob`.

use bailiwick_event::Text;
use globset::{Glob, GlobBuilder, GlobMatcher};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::OnceLock;

/// The matcher of a glob.
#[derive(Clone, Debug)]
pub struct PathGlob {
    whole: Matcher,
    /// Parts, by their place, and what none of these may be.
    others: Vec<(usize, Vec<Matcher>)>,
}

/// A glob that is right. Its automaton is made for the first path that is asked about: most patterns of a policy
/// speak of folders where a run does nothing, and it takes longer than all else that is done of them.
#[derive(Clone, Debug)]
struct Matcher {
    glob: Glob,
    made: OnceLock<GlobMatcher>,
}

impl Matcher {
    fn is_match(&self, path: &Path) -> bool {
        let made = self.made.get_or_init(|| self.glob.compile_matcher());
        made.is_match(path)
    }
}

impl PathGlob {
    /// The matcher of a text; the error says what is wrong with it.
    pub fn new(text: &str) -> Result<Self, String> {
        let mut others = Vec::new();
        let mut parts = Vec::new();
        for (at, part) in text.split('/').enumerate() {
            if !Self::names_others(part) {
                parts.push(part);
                continue;
            }
            let inner = part
                .strip_prefix("!(")
                .and_then(|part| part.strip_suffix(')'));
            let inner = inner.filter(|inner| !inner.contains(['(', ')']));
            let inner = inner.ok_or_else(|| {
                let part = Text::from(part);
                format!("{part} is no `!(NAME|NAME)`: it stands for one name, all that are not among these")
            })?;
            if parts.contains(&"**") {
                return Err("behind `**` no `!(…)` can stand".to_owned());
            }
            let names = inner.split('|').map(compiled).collect::<Result<_, _>>()?;
            others.push((at, names));
            parts.push("*");
        }
        let whole = compiled(&parts.join("/"))?;
        Ok(Self { whole, others })
    }

    /// Whether a part of a pattern stands for every name but some.
    #[must_use]
    pub fn names_others(part: &str) -> bool {
        part.starts_with("!(")
    }

    /// Whether a part of a pattern stands for itself alone.
    #[must_use]
    pub fn is_plain(part: &str) -> bool {
        !part.contains(['*', '?', '[', '{', '\\']) && !Self::names_others(part)
    }

    /// Whether the whole of a path that has no slash at its begin is matched.
    #[must_use]
    pub fn is_match(&self, path: impl AsRef<Path>) -> bool {
        let path = path.as_ref();
        self.whole.is_match(path)
            && self.others.iter().all(|(at, names)| {
                let part = path.iter().nth(*at);
                part.is_some_and(|part| !names.iter().any(|name| name.is_match(Path::new(part))))
            })
    }
}

fn compiled(text: &str) -> Result<Matcher, String> {
    let text = without_slashes_in_classes(text)?;
    let built = GlobBuilder::new(&text)
        .literal_separator(true)
        .empty_alternates(true)
        .build();
    let made = OnceLock::new();
    built
        .map(|glob| Matcher { glob, made })
        .map_err(|e| Text::from(e.kind().to_string()).to_string())
}

/// The glob with each class written so that it matches no slash.
fn without_slashes_in_classes(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['[', '\\']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with('\\') {
            let escaped = rest.chars().take(2).map(char::len_utf8).sum();
            out.push_str(&rest[..escaped]);
            rest = &rest[escaped..];
            continue;
        }
        let Some(class) = Class::at(rest) else {
            // Not a class, as `globset` says better.
            break;
        };
        if class.members().contains('/') {
            return Err(format!(
                "a class stands for one character of a name, never for `/`: {}",
                Text::from(class.text)
            ));
        }
        class.write(&mut out);
        rest = &rest[class.text.len()..];
    }
    out.push_str(rest);
    Ok(out)
}

/// A class as it stands in a glob.
struct Class<'a> {
    /// With its brackets.
    text: &'a str,
    negated: bool,
}

impl<'a> Class<'a> {
    /// The class that a text begins with; none where its end is missing.
    fn at(text: &'a str) -> Option<Self> {
        let negated = text[1..].starts_with(['!', '^']);
        let first = 1 + usize::from(negated);
        // What stands first is a member, also a `]`.
        let second = first + text[first..].chars().next()?.len_utf8();
        let end = second + text[second..].find(']')?;
        let text = &text[..=end];
        Some(Self { text, negated })
    }

    fn members(&self) -> &'a str {
        &self.text[1 + usize::from(self.negated)..self.text.len() - 1]
    }

    /// The ranges of the class as `globset` reads them: a `-` that is first or last is itself.
    fn ranges(&self) -> Vec<(char, char)> {
        let mut ranges: Vec<(char, char)> = Vec::new();
        let mut in_range = false;
        for member in self.members().chars() {
            match ranges.last_mut() {
                Some(last) if in_range => {
                    last.1 = member;
                    in_range = false;
                }
                Some(_) if member == '-' => in_range = true,
                _ => ranges.push((member, member)),
            }
        }
        if in_range {
            ranges.push(('-', '-'));
        }
        ranges
    }

    fn write(&self, out: &mut String) {
        let ranges = self.ranges();
        let holds = |c: char| ranges.iter().any(|(a, b)| *a <= c && c <= *b);
        // One that is written the wrong way round is an error, which `globset` tells.
        if ranges.iter().any(|(a, b)| a > b) || (!self.negated && !holds('/')) {
            out.push_str(self.text);
            return;
        }
        // What means something by its place stands where it means itself.
        out.push_str(if self.negated { "[!" } else { "[" });
        out.extend(holds(']').then_some(']'));
        for (a, b) in split_at(&ranges, &['!', '-', '/', ']', '^']) {
            let _ = match a == b {
                true => write!(out, "{a}"),
                false => write!(out, "{a}-{b}"),
            };
        }
        // Never the first of a class that is not negated: a range that holds the slash holds `.`.
        out.extend(['!', '^'].into_iter().filter(|c| holds(*c)));
        out.extend(self.negated.then_some('/'));
        out.extend(holds('-').then_some('-'));
        out.push(']');
    }
}

/// What is left of ranges without these characters, which are in their order.
fn split_at(ranges: &[(char, char)], without: &[char]) -> Vec<(char, char)> {
    let mut left = ranges.to_vec();
    for cut in without {
        let (below, above) = (char::from(*cut as u8 - 1), char::from(*cut as u8 + 1));
        let parts = |(a, b): (char, char)| match a <= *cut && *cut <= b {
            true => vec![(a, below), (above, b)],
            false => vec![(a, b)],
        };
        left = left.into_iter().flat_map(parts).collect();
        left.retain(|(a, b)| a <= b);
    }
    left
}

#[cfg(test)]
#[path = "path_glob_tests.rs"]
mod tests;
