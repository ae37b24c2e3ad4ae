//! What an image is to consist of, as data. What is shipped stands in `images/` and is part of the
//! binary; anyone may give a file of his own.
//!
//! Decision: the words of a spec end up in the command lines of tools, so each kind has an alphabet
//! in which nothing but a name can be written.

use super::hash;
use bailiwick_event::{Failure, Text};
use serde::Deserialize;
use std::path::Path;
use toml::Spanned;

/// What is shipped: name and text.
const SHIPPED: [(&str, &str); 2] = [
    ("code", include_str!("../../../../images/code.toml")),
    ("agents", include_str!("../../../../images/agents.toml")),
];

/// The names of the images that are shipped.
pub fn shipped() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, _)| *name)
}

/// What an image is to consist of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The image's name.
    pub name: String,
    /// The release of Debian that packages are from.
    pub suite: String,
    /// The time of every file, in seconds since 1970.
    pub epoch: u64,
    /// The package that holds the kernel's source.
    pub kernel: String,
    /// The packages of the root file system.
    pub packages: Vec<String>,
    /// What pip installs into `/opt/venv`, if it can be had.
    pub pip: Vec<String>,
    /// What npm installs into `/opt/ai-clis`.
    pub npm: Vec<String>,
}

/// The same as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: Spanned<String>,
    extends: Option<Spanned<String>>,
    suite: Option<Spanned<String>>,
    epoch: Option<u64>,
    kernel: Option<Spanned<String>>,
    #[serde(default)]
    packages: Vec<Spanned<String>>,
    #[serde(default)]
    pip: Vec<Spanned<String>>,
    #[serde(default)]
    npm: Vec<Spanned<String>>,
}

impl Spec {
    /// A shipped image by its name, or a file: whatever has a `/` in it or ends in `.toml`.
    ///
    /// # Errors
    /// A mistake in usage with file, line and column, and how to mend it.
    pub fn find(name_or_file: &str) -> Result<Self, Failure> {
        if name_or_file.contains('/') || name_or_file.ends_with(".toml") {
            let path = Path::new(name_or_file);
            let shown = Text::from(path.as_os_str());
            let text = std::fs::read_to_string(path)
                .map_err(|e| Failure::usage(format!("{shown} cannot be read: {e}")))?;
            return Self::parse(&shown.to_string(), &text);
        }
        let found = SHIPPED.iter().find(|(name, _)| *name == name_or_file);
        let Some((name, text)) = found else {
            let known: Vec<_> = shipped().collect();
            return Err(Failure::usage(format!(
                "there is no image \"{}\"; there are {}, and files of your own (`bailiwick image build \
                 ./NAME.toml`)",
                Text::from(name_or_file.as_bytes().to_vec()),
                known.join(" and ")
            )));
        };
        Self::parse(&format!("images/{name}.toml"), text)
    }

    /// Reads a spec; `file` is what mistakes are reported in.
    pub(super) fn parse(file: &str, text: &str) -> Result<Self, Failure> {
        let source = Source { file, text };
        let written: Written = toml::from_str(text).map_err(|e| {
            let at = e.span().map_or(0, |span| span.start);
            source.mistake(at, e.message())
        })?;
        let base = match &written.extends {
            None => None,
            Some(name) => {
                let found = SHIPPED
                    .iter()
                    .find(|(shipped, _)| shipped == name.get_ref());
                let known = shipped().collect::<Vec<_>>().join(", ");
                let (base, text) = found.ok_or_else(|| {
                    source.mistake(
                        name.span().start,
                        &format!("no image of this name is shipped; write one of {known}"),
                    )
                })?;
                Some(Self::parse(&format!("images/{base}.toml"), text)?)
            }
        };
        source.check(&written.name, check_name)?;
        let given =
            |own: Option<&Spanned<String>>, base: Option<&String>, key: &str| match (own, base) {
                (Some(own), _) => source.check(own, check_package),
                (None, Some(base)) => Ok(base.clone()),
                (None, None) => Err(source.mistake(
                    0,
                    &format!("`{key}` is missing; write it, or `extends = \"code\"`"),
                )),
            };
        let suite = given(
            written.suite.as_ref(),
            base.as_ref().map(|b| &b.suite),
            "suite",
        )?;
        let kernel = given(
            written.kernel.as_ref(),
            base.as_ref().map(|b| &b.kernel),
            "kernel",
        )?;
        let epoch = written
            .epoch
            .or(base.as_ref().map(|b| b.epoch))
            .unwrap_or(0);
        let words = |own: &[Spanned<String>], base: Option<&Vec<String>>, rule: Rule| {
            let mut all = base.cloned().unwrap_or_default();
            for word in own {
                all.push(source.check(word, rule)?);
            }
            all.sort();
            all.dedup();
            Ok::<_, Failure>(all)
        };
        Ok(Self {
            name: written.name.into_inner(),
            suite,
            epoch,
            kernel,
            packages: words(
                &written.packages,
                base.as_ref().map(|b| &b.packages),
                check_package,
            )?,
            pip: words(&written.pip, base.as_ref().map(|b| &b.pip), check_pinned)?,
            npm: words(&written.npm, base.as_ref().map(|b| &b.npm), check_pinned)?,
        })
    }

    /// One hash of all of it.
    pub(super) fn hash(&self) -> String {
        let epoch = self.epoch.to_string();
        let lists = [&self.packages, &self.pip, &self.npm].map(|list| list.join(" "));
        let words = [&self.name, &self.suite, &epoch, &self.kernel];
        hash::all(words.into_iter().chain(&lists).map(String::as_str))
    }
}

/// What a word must be; the reason and the remedy, if it is not.
type Rule = fn(&str) -> Result<(), String>;

/// The name of an image, which becomes the name of a file.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let alphabet = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-');
    if !name.is_empty() && name.len() <= 63 && name.bytes().all(alphabet) && !name.starts_with('-')
    {
        return Ok(());
    }
    Err(format!(
        "{:?} cannot be the name of an image; use at most 63 of a-z, 0-9 and -, the first no -",
        name
    ))
}

fn check_package(name: &str) -> Result<(), String> {
    let alphabet = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'+' | b'-' | b'.');
    if name.bytes().all(alphabet) && name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return Ok(());
    }
    Err(format!(
        "{name:?} cannot be a name of Debian's; use a-z, 0-9, +, - and ., and no version"
    ))
}

fn check_pinned(word: &str) -> Result<(), String> {
    let alphabet = |b: u8| b.is_ascii_alphanumeric() || b"@/._=+~-".contains(&b);
    let version = word.rsplit_once("==").or_else(|| word.rsplit_once('@'));
    let pinned = version.is_some_and(|(name, version)| !name.is_empty() && !version.is_empty());
    if pinned && word.bytes().all(alphabet) && !word.starts_with('-') {
        return Ok(());
    }
    Err(format!(
        "{word:?} has no fixed version, so that two builds could differ; write NAME==VERSION for pip \
         and NAME@VERSION for npm"
    ))
}

/// A text and where it is from.
struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn check(&self, word: &Spanned<String>, rule: Rule) -> Result<String, Failure> {
        match rule(word.get_ref()) {
            Ok(()) => Ok(word.get_ref().clone()),
            Err(why) => Err(self.mistake(word.span().start, &why)),
        }
    }

    fn mistake(&self, at: usize, message: &str) -> Failure {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .chars()
            .count()
            + 1;
        Failure::usage(format!(
            "{}:{line}:{column}: {}",
            self.file,
            message.trim_end()
        ))
    }
}

#[cfg(test)]
#[path = "spec_tests.rs"]
mod tests;
