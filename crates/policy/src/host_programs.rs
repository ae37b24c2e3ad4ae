//! Names that programs of the host obey: by whom, when, and what is done about files that a run leaves at them. The
//! table is `policies/host-programs.tsv`; a policy takes names out of it and adds others.

use crate::effective::Words;
use crate::{FilesystemPolicy, PathEntry, PathPattern, Sourced};
use bailiwick_event::{Origin, RuleRef};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::LazyLock;

mod table;

/// What is done about the table's names; the strictest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HostPrograms {
    /// Those that are obeyed without a question are protected, the others reported.
    Protect,
    /// All are reported.
    Report,
    /// Nothing.
    #[default]
    Off,
}

impl Words for HostPrograms {
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::Protect, "protect"),
        (Self::Report, "report"),
        (Self::Off, "off"),
    ];
}

impl HostPrograms {
    /// Its name in a policy.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostProgram {
    /// Whether the file is obeyed without that the user gives a command for it.
    pub unasked: bool,
    /// The name, or several, one below the other.
    pub pattern: &'static str,
    /// Who obeys it.
    pub tool: &'static str,
    /// What the user does then.
    pub when: &'static str,
    /// The version that began to; `-` where that is not known.
    pub since: &'static str,
    /// Where that was read.
    pub source: &'static str,
    /// Its line in the table, from 1.
    line: u32,
}

impl HostProgram {
    /// The key of the rule by which names of the table are decided.
    pub const KEY: &str = "filesystem.host_programs";

    /// The rule by which it is protected or reported: the key, and the line of the table.
    #[must_use]
    pub fn rule(&self) -> RuleRef {
        RuleRef {
            id: Self::KEY.to_owned(),
            origin: Origin::new("table:host-programs", self.line, 1),
        }
    }

    /// Who obeys it and when, in words.
    #[must_use]
    pub fn said(&self) -> String {
        format!("{} obeys it ({})", self.tool, self.when)
    }
}

/// The table, in its order.
#[must_use]
pub fn host_programs() -> &'static [HostProgram] {
    static ROWS: LazyLock<Vec<HostProgram>> = LazyLock::new(|| {
        let lines = (1..).zip(table::TEXT.lines());
        let rows = lines.filter(|(_, line)| !line.starts_with('#'));
        rows.filter_map(|(number, line)| row(number, line))
            .collect()
    });
    &ROWS
}

fn row(number: u32, line: &'static str) -> Option<HostProgram> {
    let mut fields = line.split('\t');
    let mut next = || fields.next();
    Some(HostProgram {
        unasked: next()? == "protected",
        pattern: next()?,
        tool: next()?,
        when: next()?,
        since: next()?,
        source: next()?,
        line: number,
    })
}

/// What a policy says of the names that programs of the host obey, as it travels to whoever decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostNames {
    /// What is done about the table's.
    pub way: HostPrograms,
    /// Names of it that are ordinary files.
    pub ordinary: Vec<String>,
    /// Names that are reported besides.
    pub report: Vec<Sourced<String>>,
}

/// A file at such a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostFile {
    /// The number of the row: that of the table, and after those the policy's own.
    pub row: usize,
    /// Whether it is protected; else it is reported.
    pub protected: bool,
    /// How many components of the path are its name and what lies above.
    pub depth: usize,
}

impl HostNames {
    /// What a policy says.
    #[must_use]
    pub fn of(files: &FilesystemPolicy) -> Self {
        let names = files.ordinary.iter().map(|entry| entry.value.clone());
        Self {
            way: files
                .host_programs
                .as_ref()
                .map_or_else(HostPrograms::default, |way| way.value),
            ordinary: names.collect(),
            report: files.report.clone(),
        }
    }
}

/// Finds files at such names.
#[derive(Clone, Debug, Default)]
pub struct HostMatcher {
    way: HostPrograms,
    /// The rows of the table that are ordinary files.
    ordinary: Vec<usize>,
    /// The names that the policy reports besides.
    own: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
struct Pattern<'a> {
    row: usize,
    protected: bool,
    text: &'a str,
}

/// What names that differ in case alone have in common; others may have it too.
#[must_use]
pub fn name_hash(name: &[u8]) -> u64 {
    table::hash(name, 0, name.len())
}

/// Whether a name begins with one text and ends with another, in folders that ignore case as well.
#[must_use]
pub fn is_around(before: &[u8], after: &[u8], name: &[u8]) -> bool {
    name.len() >= before.len() + after.len()
        && name[..before.len()].eq_ignore_ascii_case(before)
        && name[name.len() - after.len()..].eq_ignore_ascii_case(after)
}

impl HostMatcher {
    /// For what a policy says.
    #[must_use]
    pub fn new(said: &HostNames) -> Self {
        let rows = |name: &String| {
            let all = table::ROWS.iter();
            all.clone().position(move |row| row.pattern() == name)
        };
        Self {
            way: said.way,
            ordinary: said.ordinary.iter().filter_map(rows).collect(),
            own: said.report.iter().map(|own| own.value.clone()).collect(),
        }
    }

    /// What a row of the table looks for; none where the policy takes it out.
    fn pattern(&self, row: usize) -> Option<Pattern<'_>> {
        let meant = self.way != HostPrograms::Off && !self.ordinary.contains(&row);
        let of = table::ROWS.get(row).filter(|_| meant)?;
        Some(Pattern {
            row,
            protected: of.unasked && self.way == HostPrograms::Protect,
            text: of.pattern(),
        })
    }

    fn own(&self) -> impl Iterator<Item = Pattern<'_>> {
        let rows = table::ROWS.len()..;
        rows.zip(&self.own).map(|(row, text)| Pattern {
            row,
            protected: false,
            text,
        })
    }

    fn all(&self) -> impl Iterator<Item = Pattern<'_>> {
        let of_table = (0..table::ROWS.len()).filter_map(|row| self.pattern(row));
        of_table.chain(self.own())
    }

    /// The patterns that may begin with a name.
    fn beginning<'a>(&'a self, name: &'a [u8]) -> impl Iterator<Item = Pattern<'a>> {
        let hash = name_hash(name);
        let from = table::PLAIN.partition_point(|(known, _)| *known < hash);
        let plain = table::PLAIN[from..].iter();
        let plain = plain.take_while(move |(known, _)| *known == hash);
        let wild = table::WILD.iter();
        let wild = wild.filter(|first| first.may_be(name));
        let wild = wild.map(|first| &first.row);
        let of_table = plain.map(|(_, row)| row).chain(wild);
        let of_table = of_table.filter_map(|row| self.pattern(usize::from(*row)));
        of_table.chain(self.own())
    }

    /// Whether nothing is looked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// The patterns that are looked for.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.all().map(|pattern| pattern.text)
    }

    /// Whether a name may be one of the table's patterns, or a part of one that does not stand for any name. Some are
    /// said to be that a policy takes out, and none are that the policy reports besides.
    #[must_use]
    pub fn may_be_of_table(&self, name: &[u8]) -> bool {
        let hash = name_hash(name);
        let names = &table::NAMES;
        let known = || names.binary_search_by_key(&hash, |(hash, _)| *hash).is_ok();
        let wild = || table::WILD_NAMES.iter().any(|wild| wild.may_be(name));
        self.way != HostPrograms::Off && (known() || wild())
    }

    /// Whether below a folder of this name a pattern of the table may mean any name.
    #[must_use]
    pub fn may_mean_any_below(&self, name: &[u8]) -> bool {
        self.way != HostPrograms::Off && table::ABOVE_ANY.contains(&name_hash(name))
    }

    /// The patterns of the policy's own.
    pub fn of_policy(&self) -> impl Iterator<Item = &str> {
        self.own.iter().map(String::as_str)
    }

    /// Names of several components that are protected, or those that are reported.
    pub fn of_several(&self, protected: bool) -> impl Iterator<Item = (usize, &str)> {
        let meant = self
            .all()
            .filter(move |pattern| pattern.protected == protected);
        let of_several = meant.filter(|pattern| pattern.text.contains('/'));
        of_several.map(|pattern| (pattern.row, pattern.text))
    }

    /// What lies at `below`, a path in a folder that may be written; the first name that is protected, else the first
    /// that is reported. What is in a git folder is git's.
    #[must_use]
    pub fn find(&self, below: &Path) -> Option<HostFile> {
        let names: Vec<&OsStr> = below.iter().collect();
        let mut reported = None;
        for at in 0..names.len() {
            if names[at].eq_ignore_ascii_case(".git") {
                return None;
            }
            for pattern in self.beginning(names[at].as_bytes()) {
                let Some(length) = pattern.is_at(&names[at..]) else {
                    continue;
                };
                let found = HostFile {
                    row: pattern.row,
                    protected: pattern.protected,
                    depth: at + length,
                };
                if found.protected {
                    return Some(found);
                }
                reported.get_or_insert(found);
            }
        }
        reported
    }
}

impl Pattern<'_> {
    /// For how many of the first of these names it stands; none where it does not.
    fn is_at(&self, names: &[&OsStr]) -> Option<usize> {
        let own = || self.text.split('/');
        let length = own().count();
        let names = names.get(..length)?.iter();
        let all = own()
            .zip(names)
            .all(|(own, name)| self.is_name(own, name.as_bytes()));
        all.then_some(length)
    }

    /// What is protected is so in folders that ignore case as well; of what is reported `build` is not `BUILD`.
    fn is_name(&self, own: &str, name: &[u8]) -> bool {
        let same = |own: &str, part: &[u8]| match self.protected {
            true => own.as_bytes().eq_ignore_ascii_case(part),
            false => own.as_bytes() == part,
        };
        match own.split_once('*') {
            None => same(own, name),
            Some((before, after)) => {
                name.len() >= before.len() + after.len()
                    && same(before, &name[..before.len()])
                    && same(after, &name[name.len() - after.len()..])
            }
        }
    }
}

/// Why a text is no name of the table's kind.
pub(crate) fn objection(text: &str) -> Option<&'static str> {
    let names = || text.split('/');
    if text.starts_with(['/', '~']) || names().any(|name| matches!(name, "" | "." | "..")) {
        return Some(
            "write a name, or several with slashes between them, as they lie below any folder",
        );
    }
    if names().any(|name| name.matches('*').count() > 1 || name.contains(['?', '[', '{', '\\'])) {
        return Some("a name has at most one `*`, and no other wildcard");
    }
    None
}

/// Why a name cannot be taken out of what is protected.
pub(crate) fn stays(text: &str) -> Option<&'static str> {
    let first = text.split('/').next().unwrap_or_default();
    let own = [".git", ".gitmodules", "bailiwick.toml"];
    own.contains(&first)
        .then_some("what git and this product obey stays protected")
}

/// The name by which a policy takes an entry of a template for an ordinary file; none where it cannot.
#[must_use]
pub fn ordinary_name(entry: &PathEntry, workspace: &Path) -> Option<String> {
    let PathPattern::Path(path) = &entry.pattern else {
        return None;
    };
    let below = path.strip_prefix(workspace).ok()?.to_str()?;
    let of_template = entry.origin.file.starts_with("template:");
    let may = of_template && objection(below).is_none() && stays(below).is_none();
    may.then(|| below.to_owned())
}

#[cfg(test)]
#[path = "host_programs_tests.rs"]
mod tests;
