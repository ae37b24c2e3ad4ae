//! Names that programs of the host obey: those that are protected, and those that are reported.

use super::asked::Asked;
use super::{Name, Rules};
use crate::paths::below;
use bailiwick_event::{Act, Decision, RuleRef, Text};
use bailiwick_policy::{HostFile, HostMatcher, HostProgram, host_programs};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The number of the table's first row: those below are entries of the policy.
const FIRST: u32 = 1 << 24;

/// So many entries of folders that were moved are looked at.
const ENTRIES: usize = 100_000;
/// A folder that was moved: what it holds got new names.
const MOVED: u32 = u32::MAX;

/// The table, as the policy has it; each part is made when it is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    matcher: OnceCell<HostMatcher>,
    /// Its protected names of several components.
    several: OnceCell<Vec<(u32, Name)>>,
}

/// A file at a name that is reported.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Left {
    /// The file, or the folder that it is in where that as a whole is meant.
    pub(crate) path: PathBuf,
    /// The number of the row.
    pub(crate) row: u32,
}

/// The row of the table that a rule of this number is; none where it is an entry of the policy.
pub(crate) fn host_program(rule: u32) -> Option<&'static HostProgram> {
    host_programs().get(rule.checked_sub(FIRST)? as usize)
}

fn number(row: usize) -> u32 {
    FIRST.saturating_add(u32::try_from(row).unwrap_or(u32::MAX))
}

impl Rules {
    fn matcher(&self) -> &HostMatcher {
        let made = || HostMatcher::new(&self.host_names);
        self.table.matcher.get_or_init(made)
    }

    /// The names of the policy, and of the table those of several components: what a folder that is moved may hold.
    pub(super) fn every(&self) -> impl Iterator<Item = (&u32, &Name)> {
        let several = self.table.several.get_or_init(|| {
            let several = self.matcher().protected_below();
            let named = several.flat_map(|(row, text)| {
                self.host.iter().map(move |root| {
                    let components = text.split('/').map(str::to_owned).collect();
                    let root = root.clone();
                    (number(row), Name::Anywhere { root, components })
                })
            });
            named.collect()
        });
        let all = self.names.iter().chain(several);
        all.map(|(number, name)| (number, name))
    }

    /// The file that a path is for a program of the host, and the folder that may be written in which it lies.
    fn host_file(&self, path: &Path) -> Option<(HostFile, &Path)> {
        let asked = Asked::new(path);
        if self.exempt.iter().any(|folder| asked.is_in(folder)) {
            return None;
        }
        let above = self.host.iter().filter(|folder| asked.is_in(folder));
        let root = above.max_by_key(|folder| folder.as_os_str().len())?;
        let found = self.matcher().find(path.strip_prefix(root).ok()?)?;
        Some((found, root))
    }

    /// The rule that protects a path because a program of the host obeys it.
    pub(super) fn obeyed_by_host(&self, path: &Path) -> Option<u32> {
        let (found, _) = self.host_file(path)?;
        found.protected.then(|| number(found.row))
    }

    /// What is to be looked at when a folder gets a name, as far as anything is reported.
    pub(crate) fn left_below(&self, path: &Path) -> Option<Left> {
        let asked = Asked::new(path);
        let kept = self.host.iter().any(|folder| asked.is_in(folder));
        (kept && !self.matcher().is_empty()).then(|| Left {
            path: path.to_path_buf(),
            row: MOVED,
        })
    }

    /// What is reported of a file that was made or changed.
    pub(crate) fn left(&self, path: &Path) -> Option<Left> {
        let (found, root) = self.host_file(path).filter(|(found, _)| !found.protected)?;
        let below = path.strip_prefix(root).ok()?;
        let name: PathBuf = below.iter().take(found.depth).collect();
        Some(Left {
            path: root.join(name),
            row: number(found.row),
        })
    }

    /// What of that is there, by name: the row of each, and the rule by which it is told.
    pub(crate) fn still_left(&self, left: BTreeSet<Left>) -> Vec<(Act, Decision)> {
        let mut found = BTreeMap::new();
        let mut entries = 0;
        for Left { path, row } in left {
            match row {
                MOVED => self.look_below(path, &mut entries, &mut found),
                _ if path.symlink_metadata().is_ok() => drop(found.insert(path, row)),
                _ => {}
            }
        }
        found
            .iter()
            .filter_map(|(path, row)| self.handed_over(path, *row))
            .collect()
    }

    /// Looks through a folder that got its name in the run.
    fn look_below(&self, top: PathBuf, entries: &mut usize, found: &mut BTreeMap<PathBuf, u32>) {
        let mut folders = vec![top];
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                *entries += 1;
                if *entries > ENTRIES {
                    return;
                }
                let path = entry.path();
                match self.left(&below(self.root(), &path)) {
                    Some(left) => drop(found.insert(self.of_policy(&left.path), left.row)),
                    None if entry.file_type().is_ok_and(|kind| kind.is_dir()) => folders.push(path),
                    None => {}
                }
            }
        }
    }

    fn handed_over(&self, path: &Path, row: u32) -> Option<(Act, Decision)> {
        let path = Text::from(path.as_os_str());
        let (tool, when, rule) = match host_program(row) {
            Some(program) => (program.tool, program.when, program.rule()),
            None => {
                let own = row.checked_sub(FIRST)? as usize - host_programs().len();
                let pattern = self.host_names.report.get(own)?;
                let rule = RuleRef {
                    id: "filesystem.report".to_owned(),
                    origin: pattern.origin.clone(),
                };
                (pattern.value.as_str(), "the policy says so", rule)
            }
        };
        let (tool, when) = (tool.to_owned(), when.to_owned());
        Some((Act::Left { path, tool, when }, Decision::allow(rule)))
    }
}
