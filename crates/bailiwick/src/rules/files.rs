//! Files of rules: which kind each is, and what is in it.

use bailiwick_event::{Failure, Text, closest};
use bailiwick_policy::{read_regular, rules_of};
use bailiwick_rules::Compiled;
use bailiwick_rules::pack::{Pack, PackError, shipped, shipped_names};
use bailiwick_rules::sigma::{Imported, Reason};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of the largest file that is read.
const LARGEST: u64 = 16 << 20;

/// A file of rules.
pub(super) struct RuleFile {
    /// As the user knows it.
    pub(super) name: String,
    /// Its rules and detections.
    pub(super) rules: Vec<Arc<Compiled>>,
    /// Rules that were not carried over, each in a line.
    pub(super) skipped: Vec<String>,
    /// What is allowed and hardly meant, each in a line.
    pub(super) warnings: Vec<String>,
}

/// The text of a file that somebody wrote.
pub(super) fn text(path: &Path) -> Result<(String, String), Failure> {
    let name = Text::from(path.as_os_str()).to_string();
    let failed = |why: &str| Failure::usage(format!("{name} cannot be read: {why}"));
    let bytes = read_regular(path, LARGEST).map_err(|why| failed(&why.to_string()))?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok((name, text)),
        Err(error) => {
            let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + before.iter().filter(|b| **b == b'\n').count();
            let start = before
                .iter()
                .rposition(|b| *b == b'\n')
                .map_or(0, |n| n + 1);
            let column = 1 + String::from_utf8_lossy(&before[start..]).chars().count();
            Err(Failure::usage(format!(
                "{name}:{line}:{column}: this is no UTF-8; save the file as UTF-8"
            )))
        }
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it is passed to map_err")]
fn mistakes(error: PackError) -> Failure {
    Failure::usage(error.to_string())
}

/// The shipped pack of that name, and its text.
fn shipped_pack(name: &str) -> Option<(&'static str, &'static str)> {
    shipped().iter().find(|(id, _)| *id == name).copied()
}

/// A file of Sigma rules.
pub(super) fn sigma(path: &Path) -> Result<(String, Imported), Failure> {
    let (name, text) = text(path)?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    Ok((name, Imported::read(&stem, &text)))
}

impl RuleFile {
    /// Reads a file; what is wrong with it is told in one line for each mistake.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let named = path.to_str().and_then(shipped_pack);
        match path.extension().and_then(|ending| ending.to_str()) {
            None if named.is_some() => {
                let (name, text) = named.unwrap_or_default();
                let name = format!("pack:{name}");
                let pack = Pack::read(&name, text).map_err(mistakes)?;
                Ok(Self::pack(name, pack))
            }
            Some("toml") => {
                let (name, text) = text(path)?;
                match Pack::of_file(&name, &text).map_err(mistakes)? {
                    Some(pack) => Ok(Self::pack(name, pack)),
                    None => Self::policy(name, path),
                }
            }
            Some("yml" | "yaml") => Self::sigma(path),
            None if !path.exists() => Err(Failure::usage(format!(
                "there is no pack or file {}{}",
                Text::from(path.as_os_str()),
                match closest(&path.to_string_lossy(), shipped().iter().map(|(id, _)| *id)) {
                    Some(near) => format!("; did you mean \"{near}\"?"),
                    None => format!("; the shipped packs are {}", shipped_names()),
                }
            ))),
            _ => Err(Failure::usage(format!(
                "{}: the name does not say what it is; a pack or a policy ends in .toml, a file \
                 of Sigma rules in .yml; the shipped packs are {}",
                Text::from(path.as_os_str()),
                shipped_names()
            ))),
        }
    }

    fn pack(name: String, pack: Pack) -> Self {
        let warnings = pack.warnings.iter().map(|(line, column, warning)| {
            let help = match &*warning.help {
                "" => String::new(),
                help => format!("; {help}"),
            };
            format!("{name}:{line}:{column}: warning: {}{help}", warning.message)
        });
        Self {
            warnings: warnings.collect(),
            rules: pack.rules,
            skipped: Vec::new(),
            name,
        }
    }

    /// The rules of a policy, and of the packs and policies that it names.
    fn policy(name: String, path: &Path) -> Result<Self, Failure> {
        let read = rules_of(path)?;
        let compile = |rule| Compiled::new(rule).map(Arc::new);
        let rules: Result<_, _> = read.rules.into_iter().map(compile).collect();
        Ok(Self {
            rules: rules.map_err(|error| Failure::fault(format!("{name}: {error}")))?,
            warnings: read.warnings,
            skipped: Vec::new(),
            name,
        })
    }

    fn sigma(path: &Path) -> Result<Self, Failure> {
        let (name, imported) = sigma(path)?;
        let mut skipped = Vec::new();
        for rule in imported.rules.iter().filter_map(|rule| rule.as_ref().err()) {
            let (line, column) = (rule.line, rule.column);
            let title = match &*rule.title {
                "" => String::new(),
                title => format!("{title:?}: "),
            };
            if matches!(rule.reason, Reason::Yaml(_)) {
                return Err(Failure::usage(format!(
                    "{name}:{line}:{column}: {title}{}",
                    rule.reason
                )));
            }
            skipped.push(format!(
                "{name}:{line}:{column}: skipped: {title}{}",
                rule.reason
            ));
        }
        let rules = imported
            .compile(&name)
            .map_err(|error| Failure::fault(format!("{name}: {error}")))?;
        Ok(Self {
            name,
            rules,
            skipped,
            warnings: Vec::new(),
        })
    }

    /// `FILE: 2 rules, 1 detection`.
    pub(super) fn summary(&self) -> String {
        let decide = |rule: &&Arc<Compiled>| rule.rule().effect.action().is_some();
        let rules = self.rules.iter().filter(decide).count();
        let detections = self.rules.len() - rules;
        let skipped = match self.skipped.len() {
            0 => String::new(),
            skipped => format!(", {skipped} skipped"),
        };
        format!(
            "{}: {}, {}{skipped}",
            self.name,
            count(rules as u64, "rule"),
            count(detections as u64, "detection")
        )
    }
}

/// All rules of some files, to be asked together; what was skipped is told on stderr.
pub(super) fn all(paths: &[PathBuf]) -> Result<Vec<Arc<Compiled>>, Failure> {
    read(paths, |file| &file.skipped)
}

/// The same for rules that come into force: what is hardly meant is told instead.
pub(super) fn all_told(paths: &[PathBuf]) -> Result<Vec<Arc<Compiled>>, Failure> {
    read(paths, |file| &file.warnings)
}

fn read(
    paths: &[PathBuf],
    told: fn(&RuleFile) -> &[String],
) -> Result<Vec<Arc<Compiled>>, Failure> {
    let mut by_name: BTreeMap<String, Arc<Compiled>> = BTreeMap::new();
    let mut all = Vec::new();
    for path in paths {
        let file = RuleFile::read(path)?;
        for line in told(&file) {
            crate::output::note(line);
        }
        for rule in file.rules {
            if let Some(first) = by_name.insert(rule.rule().id.clone(), Arc::clone(&rule)) {
                return Err(Failure::usage(format!(
                    "{}: {:?} is the name of the rule at {} too; give one of them another name",
                    rule.rule().origin,
                    rule.rule().id,
                    first.rule().origin
                )));
            }
            all.push(rule);
        }
    }
    Ok(all)
}

/// `1 rule`, `2 rules`.
pub(super) fn count(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}
