//! A detection as a rule, and a file of them as a pack.
//!
//! Decision: a rule is named after its title, because people read the names; two of one title are
//! counted. Its author stays with it, in the reason of every finding: the licence of most rules
//! asks for that. What was skipped stands in the pack as a comment, so that nobody takes the pack
//! for the whole.

use super::rule::read_placed;
use super::yaml::At;
use super::{Detection, Skipped};
use crate::rule::{Compiled, Confidence, Effect, Rule, RuleError, Severity};
use bailiwick_event::Origin;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

/// A name in small letters, digits and `-`.
fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().take(100) {
        match c.to_ascii_lowercase() {
            c @ ('a'..='z' | '0'..='9') => out.push(c),
            _ if out.ends_with('-') || out.is_empty() => {}
            _ => out.push('-'),
        }
    }
    match out.trim_end_matches('-') {
        "" => "sigma".to_owned(),
        name => name.to_owned(),
    }
}

/// A text in one line.
fn line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

impl Detection {
    /// The rule of that name that reports what the detection says.
    #[must_use]
    pub fn to_rule(&self, id: &str) -> Rule {
        let severity = self.level.unwrap_or(Severity::Medium);
        let mut rule = Rule::detection(id, self.on, &self.to_cel(), severity);
        rule.reason = match &self.author {
            Some(author) => line(&format!("{} (author: {author})", self.title)),
            None => line(&self.title),
        };
        rule.tags.clone_from(&self.tags);
        rule
    }
}

/// A rule that was carried over.
#[derive(Clone, Debug)]
pub struct Carried {
    /// Its name here.
    pub id: String,
    /// The line at which it begins, from 1.
    pub line: usize,
    /// The column at which it begins, from 1.
    pub column: usize,
    /// What it says.
    pub detection: Detection,
}

/// What a file of Sigma rules becomes.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The pack's name, from the file's.
    pub pack: Arc<str>,
    /// Each rule of the file, or why it was skipped.
    pub rules: Vec<Result<Carried, Skipped>>,
}

impl Imported {
    /// Reads a file of rules; `name` is the file's, without folder and ending.
    #[must_use]
    pub fn read(name: &str, text: &str) -> Self {
        let mut taken = BTreeSet::new();
        let mut named = |(at, detection): (At, Detection)| {
            let first = slug(&detection.title);
            let mut id = first.clone();
            for n in 2.. {
                if taken.insert(id.clone()) {
                    break;
                }
                id = format!("{first}-{n}");
            }
            Carried {
                id,
                line: at.line,
                column: at.column,
                detection,
            }
        };
        let rules = read_placed(text)
            .into_iter()
            .map(|rule| rule.map(&mut named));
        Self {
            pack: slug(name).into(),
            rules: rules.collect(),
        }
    }

    /// The rules, compiled; `file` is what messages call it.
    ///
    /// # Errors
    /// [`RuleError`] for the first that does not compile.
    pub fn compile(&self, file: &str) -> Result<Vec<Arc<Compiled>>, RuleError> {
        let carried = self.rules.iter().filter_map(|rule| rule.as_ref().ok());
        let compiled = carried.map(|carried| {
            let mut rule = carried.detection.to_rule(&carried.id);
            let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
            rule.origin = Origin::new(file, number(carried.line), number(carried.column));
            rule.pack = Some(Arc::clone(&self.pack));
            Compiled::new(rule).map(Arc::new)
        });
        compiled.collect()
    }

    /// The pack as a file.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let text = |text: &str| toml::Value::from(line(text)).to_string();
        let mut out = format!(
            "schema = 1\nid = {}\nversion = \"1.0.0\"\nstatus = \"experimental\"\nowner = \"Sigma\"\n",
            text(&self.pack)
        );
        for rule in &self.rules {
            out.push('\n');
            match rule {
                Ok(Carried { id, detection, .. }) => {
                    let rule = detection.to_rule(id);
                    let about = [
                        ("id", detection.id.as_deref()),
                        ("author", detection.author.as_deref()),
                        ("date", detection.date.as_deref()),
                        ("description", Some(&*detection.description)),
                    ];
                    let about = about.into_iter().filter_map(|(k, v)| Some((k, v?)));
                    let others = detection.references.iter().map(|v| ("reference", &**v));
                    let positives = detection.falsepositives.iter();
                    let others = others.chain(positives.map(|v| ("false positive", &**v)));
                    for (key, value) in about.chain(others).filter(|(_, v)| !v.is_empty()) {
                        let _ = writeln!(out, "# {key}: {}", line(value).trim());
                    }
                    let _ = writeln!(
                        out,
                        "[[detections]]\nid = {}\non = {}\nwhen = {}",
                        text(id),
                        text(rule.on.name()),
                        text(&rule.when)
                    );
                    if let Effect::Detect { severity, .. } = rule.effect {
                        let confidence = Confidence::Medium.name();
                        let severity = severity.name();
                        let _ = writeln!(
                            out,
                            "severity = \"{severity}\"\nconfidence = \"{confidence}\""
                        );
                    }
                    let _ = writeln!(out, "reason = {}", text(&rule.reason));
                    if !rule.tags.is_empty() {
                        let tags: Vec<_> = rule.tags.iter().map(|tag| text(tag)).collect();
                        let _ = writeln!(out, "tags = [{}]", tags.join(", "));
                    }
                }
                Err(skipped) => {
                    let _ = writeln!(out, "# skipped: {}", line(&skipped.to_string()));
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::Pack;

    #[test]
    fn a_file_becomes_a_pack_that_says_the_same() {
        let text = include_str!("../../tests-data/sigma/path_traversal.yml");
        let imported = Imported::read("Path Traversal!", &format!("{text}\n---\n{text}"));
        let toml = imported.to_toml();
        let pack = Pack::read("p.toml", &toml).unwrap_or_else(|e| panic!("{e}\n{toml}"));
        assert_eq!(&*pack.id, "path-traversal");
        let compiled = imported.compile("p.yml").unwrap();
        assert_eq!(pack.rules.len(), 2);
        for (read, made) in pack.rules.iter().zip(&compiled) {
            let (read, made) = (read.rule(), made.rule());
            assert_eq!((&read.id, &read.when), (&made.id, &made.when));
            assert_eq!((&read.effect, read.on), (&made.effect, made.on));
            assert_eq!((&read.reason, &read.tags), (&made.reason, &made.tags));
        }
        assert!(compiled[1].rule().id.ends_with("-2"));
        let lines = [0, 1].map(|n| compiled[n].rule().origin.to_string());
        let second = text.lines().count() + 3;
        assert_ne!(lines[0], lines[1]);
        assert!(
            lines[1].starts_with(&format!("p.yml:{second}:")),
            "{lines:?}"
        );
    }

    #[test]
    fn nothing_that_a_rule_says_becomes_toml() {
        let text = "title: \"a\\\"]\\n[[rules]]\"\nauthor: \"x\\n[[rules]]\"\nlogsource: {category: dns}\n\
             detection: {s: {query: \"'''\\\"\\\"\\\"\\n\"}, condition: s}\n---\ntitle: \"b\\n[[rules]]\"\nlogsource: {category: \"x\\n[[rules]]\"}\n";
        let imported = Imported::read("a", text);
        let toml = imported.to_toml();
        let pack = Pack::read("p.toml", &toml).unwrap_or_else(|e| panic!("{e}\n{toml}"));
        assert_eq!(pack.rules.len(), 1, "{toml}");
        assert_eq!(
            pack.rules[0].rule().when,
            imported.compile("f").unwrap()[0].rule().when
        );
        assert!(toml.contains("# skipped: "), "{toml}");
    }
}
