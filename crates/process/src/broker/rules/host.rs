//! Names that programs of the host obey: those that are protected, and those that are reported.

use super::asked::Asked;
use super::moves::open_tails;
use super::parts_of_names::is_wild;
use super::{Name, Rules};
use crate::closed;
use crate::git;
use crate::paths::{below, is_absent};
use bailiwick_event::{Act, Decision, Origin, RuleRef, Text};
use bailiwick_policy::{HostFile, HostMatcher, HostProgram, host_programs};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{DirEntry, FileType};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A name that no policy lists.
const OTHER: &str = "a name that no policy lists";

/// The number of the table's first row: those below are entries of the policy.
pub(super) const FIRST: u32 = 1 << 24;

/// So many entries of folders that were moved are looked at.
const ENTRIES: usize = 100_000;
/// A folder that was moved: what it holds got new names.
pub(super) const MOVED: u32 = u32::MAX;
/// What has more files than are looked at, or the first of those that are not listed.
pub(super) const CUT: u32 = u32::MAX - 1;
/// A link that leads to where the sandbox sees nothing.
pub(super) const LINK: u32 = u32::MAX - 2;
/// A configuration of git in which the address of a remote, or the branch that is merged, is another.
pub(super) const ADDRESS: u32 = u32::MAX - 5;
/// The rule that protects folders of which nothing is known, where git is left alone.
pub(super) const CLOSED: u32 = u32::MAX - 3;
/// A folder that got its name in the run and cannot be looked through.
const UNREAD: u32 = u32::MAX - 4;
/// A configuration of git with a remote in a temporary folder.
pub(super) const TEMPORARY: u32 = u32::MAX - 7;
/// A configuration of git by which it signs otherwise, has another author or hides files.
pub(super) const SETTINGS: u32 = u32::MAX - 9;
/// A file that no program could make and that an index of git brings.
pub(super) const INDEX: u32 = u32::MAX - 8;
/// A folder of git's objects in which something was stored; a file that no program could make and that a commit of
/// them brings; and such a
/// folder in which not all is known.
pub(super) const STORED: u32 = u32::MAX - 10;
pub(super) const BROUGHT: u32 = u32::MAX - 11;
pub(super) const UNCOMPARED: u32 = u32::MAX - 12;
/// A link in the home directory that leads to what was changed.
pub(super) const AT_HOME: u32 = u32::MAX - 6;
/// What users do often and think nothing of comes first; what else is told stands before what they do on purpose.
const ORDER: [&str; 7] = [
    "enter a folder",
    "status",
    "start an agent",
    "open an editor",
    "commit",
    "push",
    "command",
];
/// Folders in which package managers put the packages that a project depends on.
const DEPENDENCIES: [&str; 3] = ["node_modules", "site-packages", "vendor"];
/// The table, as the policy has it; each part is made when it is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    matcher: OnceCell<HostMatcher>,
    /// Its protected names of several components.
    several: OnceCell<Vec<(u32, Name)>>,
    /// And its reported ones.
    reported: OnceCell<Vec<(u32, Name)>>,
    /// The path that was asked about last, and what it is: every act asks twice.
    last: RefCell<Option<Last>>,
}

/// A path that was asked about, and what it is: the file, and the number of the folder that may be written.
#[derive(Clone, Debug)]
struct Last {
    path: PathBuf,
    found: Option<(HostFile, usize)>,
}

impl Table {
    /// Without what is known of paths: the folders that they lie in are others now.
    pub(super) fn forget(&self) {
        self.last.take();
    }
}

/// A file at a name that is reported.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Left {
    /// The file, or the folder that it is in where that as a whole is meant.
    pub(crate) path: PathBuf,
    /// The number of the row.
    pub(crate) row: u32,
}

impl Left {
    fn new(path: PathBuf, row: u32) -> Self {
        Self { path, row }
    }

    /// Makes it the first of those that are not listed.
    pub(crate) fn stands_for_more(&mut self) {
        self.row = CUT;
    }
}

/// The sooner a file is obeyed, the sooner it is told.
fn urgency(act: &Act) -> usize {
    let Act::Left { when, .. } = act else {
        return ORDER.len();
    };
    let known = ORDER.iter().position(|known| known == when);
    known.unwrap_or(ORDER.len() - 2)
}

/// Whether nothing has a name any more. What cannot be looked at may be there.
pub(super) fn is_gone(path: &Path) -> bool {
    path.symlink_metadata()
        .is_err_and(|error| is_absent(&error))
}

/// An entry of a folder, as far as it can be looked at.
fn seen(entry: io::Result<DirEntry>) -> Option<(PathBuf, FileType)> {
    let entry = entry.ok()?;
    Some((entry.path(), entry.file_type().ok()?))
}

/// The row of the table that a rule of this number is; none where it is an entry of the policy.
pub(crate) fn host_program(rule: u32) -> Option<&'static HostProgram> {
    host_programs().get(rule.checked_sub(FIRST)? as usize)
}

/// Whether a rule protects folders of which nothing is known.
pub(crate) fn of_closed(rule: u32) -> bool {
    rule == CLOSED
}

/// The rule of what no row of the table names.
pub(crate) fn of_table() -> RuleRef {
    RuleRef {
        id: HostProgram::KEY.to_owned(),
        origin: Origin::built_in(),
    }
}

fn number(row: usize) -> u32 {
    FIRST.saturating_add(u32::try_from(row).unwrap_or(u32::MAX))
}

impl Rules {
    pub(super) fn matcher(&self) -> &HostMatcher {
        let made = || HostMatcher::new(&self.host_names);
        self.table.matcher.get_or_init(made)
    }

    /// The names of the policy, and of the table those of several components: what a folder that is moved may hold.
    pub(super) fn every(&self) -> impl Iterator<Item = (&u32, &Name)> {
        let several = self.table.several.get_or_init(|| self.of_several(true));
        let all = self.names.iter().chain(several);
        all.map(|(number, name)| (number, name))
    }

    /// Names of the table of several components that are protected, or those that are reported.
    fn of_several(&self, protected: bool) -> Vec<(u32, Name)> {
        let several = self.matcher().of_several(protected);
        let named = several.flat_map(|(row, text)| {
            self.host.iter().map(move |root| {
                let components = text.split('/').map(str::to_owned).collect();
                let root = root.clone();
                (number(row), Name::Anywhere { root, components })
            })
        });
        named.collect()
    }

    /// The rows of reported names that go on below a path, each with what is left of it.
    pub(super) fn reported_below(&self, path: &Path) -> Vec<(u32, PathBuf)> {
        let reported = self.table.reported.get_or_init(|| self.of_several(false));
        let tails = |(row, name): &(u32, Name)| match name {
            Name::Anywhere { root, components } => {
                let tails = open_tails(path, root, components).into_iter();
                tails.map(|tail| (*row, tail)).collect()
            }
            _ => Vec::new(),
        };
        reported.iter().flat_map(tails).collect()
    }

    /// The file that a path is for a program of the host, and the folder that may be written in which it lies.
    fn host_file(&self, path: &Path) -> Option<(HostFile, &Path)> {
        let mut last = self.table.last.borrow_mut();
        let found = match &*last {
            Some(last) if last.path.as_os_str() == path.as_os_str() => last.found,
            _ => {
                let (path, found) = (path.to_path_buf(), self.find_host_file(path));
                *last = Some(Last { path, found });
                found
            }
        };
        found.map(|(file, root)| (file, self.host[root].as_path()))
    }

    /// The same, with the number of the folder.
    fn find_host_file(&self, path: &Path) -> Option<(HostFile, usize)> {
        let asked = Asked::new(path);
        if self.exempt.iter().any(|folder| asked.is_in(folder)) {
            return None;
        }
        let host = self.host.iter().enumerate();
        let above = host.filter(|(_, folder)| asked.is_in(folder));
        let (number, root) = above.max_by_key(|(_, folder)| folder.as_os_str().len())?;
        let found = self.matcher().find(path.strip_prefix(root).ok()?)?;
        Some((found, number))
    }

    /// The row of the table for a name, whatever else protects it.
    pub(super) fn table_row(&self, name: &Path) -> Option<u32> {
        Some(number(self.matcher().find(name)?.row))
    }

    /// Whether a path is protected for nothing but its name, and lies in a package that the project depends on: a
    /// package manager removes what its author has left there.
    pub(crate) fn is_of_dependency(&self, path: &Path) -> bool {
        let of_packages = path
            .iter()
            .any(|part| DEPENDENCIES.iter().any(|name| part == *name));
        of_packages && self.obeyed_by_host(path).is_some() && self.is_protected_by_name_alone(path)
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
        self.left_as(path, MOVED).filter(|_| kept)
    }

    /// The row by which the file or folder of this very name is reported.
    pub(super) fn reported_as(&self, path: &Path) -> Option<u32> {
        let (found, left) = self.named_at(path)?;
        (left.path == path && !found.protected).then_some(left.row)
    }

    /// What is reported of a file that was made or changed.
    pub(crate) fn left(&self, path: &Path) -> Option<Left> {
        let named = self.named_at(path).filter(|(found, _)| !found.protected);
        match named {
            Some((_, left)) => Some(left),
            None => {
                let by_link = self.left_by_link(path);
                by_link
                    .or_else(|| self.stored(path))
                    .or_else(|| self.hides(path))
            }
        }
    }

    /// The name in the table, or in the policy's additions, that a path has or lies below.
    fn named_at(&self, path: &Path) -> Option<(HostFile, Left)> {
        let (found, root) = self.host_file(path)?;
        let below = path.strip_prefix(root).ok()?;
        let name: PathBuf = below.iter().take(found.depth).collect();
        let left = Left {
            path: root.join(name),
            row: number(found.row),
        };
        Some((found, left))
    }

    /// What programs of the host obey that a folder which may be written lies in, for a person: what is written there
    /// is theirs, and no name below says so.
    pub(crate) fn told_of_place(&self) -> Option<String> {
        let of_control = |folder: &&PathBuf| {
            let mut parts = folder.iter().map(OsStrExt::as_bytes);
            parts.any(|part| part.starts_with(b"."))
        };
        let mut folders = self.host.iter().filter(of_control);
        folders.find_map(|folder| {
            // Where the policy keeps all names but those that it lists, nothing else is obeyed.
            let other = below(self.root(), &folder.join(OTHER));
            if self.is_refused(&other) {
                return None;
            }
            let below = folder.strip_prefix("/").ok()?;
            let found = self.matcher().find(below).filter(|found| found.protected)?;
            let obeyed: PathBuf = below.iter().take(found.depth).collect();
            let (shown, obeyed) = (Text::from(folder.as_os_str()), Text::from(obeyed.as_os_str()));
            let program = host_programs().get(found.row)?.said();
            Some(match found.depth < below.iter().count() {
                true => format!(
                    "{shown} may be written and lies in /{obeyed}: {program}, whatever the names in it are"
                ),
                false => format!("{shown} may be written: {program}, whatever the names in it are"),
            })
        })
    }

    /// What is reported of a link that is made: that it leads out, or what reported names mean behind it, where that is
    /// there when the run has ended.
    pub(crate) fn left_link(&self, link: &Path, target: &OsStr) -> Vec<Left> {
        let leads_out = || self.leads_out(link, target);
        let own = self.left_as(link, LINK).filter(|_| leads_out());
        let behind = self.reported_below(link).into_iter().map(|(row, tail)| {
            // Of a name with wildcards the folder is told.
            let named = tail
                .iter()
                .take_while(|part| !part.as_bytes().iter().any(is_wild));
            Left::new(link.join(named.collect::<PathBuf>()), row)
        });
        own.into_iter().chain(behind).collect()
    }

    /// A path and why it is reported, as far as anything is.
    pub(super) fn left_as(&self, path: &Path, row: u32) -> Option<Left> {
        let path = path.to_path_buf();
        (!self.matcher().is_empty()).then_some(Left { path, row })
    }

    /// What of that is there, by name: each reason why a file is reported, and the rule by which it is told.
    pub(crate) fn still_left(&self, left: BTreeSet<Left>) -> Vec<(Act, Decision)> {
        let mut found = BTreeSet::new();
        let mut entries = 0;
        for Left { path, mut row } in left {
            match row {
                MOVED if self.look_below(&path, &mut entries, &mut found) => continue,
                MOVED => row = CUT,
                // Something else has the name.
                LINK if path.symlink_metadata().is_ok_and(|meta| !meta.is_symlink()) => continue,
                INDEX | BROUGHT => {}
                STORED => continue,
                _ if is_gone(&path) => continue,
                SETTINGS if self.is_idle_list(&path) => continue,
                TEMPORARY if !git::reaches_temporary(&path) => continue,
                TEMPORARY => row = ADDRESS,
                _ => {}
            }
            found.insert(Left { path, row });
        }
        let told = found.iter();
        let mut told: Vec<_> = told
            .filter_map(|Left { path, row }| self.handed_over(path, *row))
            .collect();
        told.sort_by_key(|(act, _)| urgency(act));
        told
    }

    /// Looks through a folder that got its name in the run. Whether that was all of it.
    fn look_below(&self, top: &Path, entries: &mut usize, found: &mut BTreeSet<Left>) -> bool {
        let mut folders = vec![top.to_path_buf()];
        while let Some(folder) = folders.pop() {
            let Ok(listed) = closed::open(&folder) else {
                found.insert(Left::new(folder, UNREAD));
                continue;
            };
            for entry in listed.into_iter().flatten() {
                *entries += 1;
                if *entries > ENTRIES {
                    return false;
                }
                let Some((path, kind)) = seen(entry) else {
                    found.insert(Left::new(folder.clone(), UNREAD));
                    continue;
                };
                let inside = below(self.root(), &path);
                let link = path.read_link().ok();
                let led = link.map(|to| self.left_link(&inside, to.as_os_str()));
                // A protected name that was there has moved with its folder.
                let named = self.named_at(&inside).map(|(_, left)| left);
                let named = named.or_else(|| self.left_by_link(&inside));
                let all = named.map_or_else(|| led.unwrap_or_default(), |left| vec![left]);
                if all.is_empty() && kind.is_dir() {
                    folders.push(path);
                }
                let there = all
                    .into_iter()
                    .map(|Left { path, row }| Left::new(self.of_policy(&path), row));
                found.extend(there.filter(|left| !is_gone(&left.path)));
            }
        }
        true
    }

    fn handed_over(&self, path: &Path, row: u32) -> Option<(Act, Decision)> {
        let said = |(tool, when): (&str, &str)| (tool.to_owned(), when.to_owned(), of_table());
        let (tool, when, rule) = match host_program(row) {
            Some(program) => (
                program.tool.to_owned(),
                program.when.to_owned(),
                program.rule(),
            ),
            None if row == LINK => {
                let (tool, when) = ("whoever follows the link", "read or write");
                let tool = match path.read_link() {
                    Ok(to) => format!("{tool} to {}", Text::from(to.into_os_string())),
                    Err(_) => tool.to_owned(),
                };
                (tool, when.to_owned(), of_table())
            }
            None => match of_no_program(row) {
                Some(known) => said(known),
                None => {
                    let own = row.checked_sub(FIRST)? as usize - host_programs().len();
                    let pattern = self.host_names.report.get(own)?;
                    let rule = RuleRef {
                        id: "filesystem.report".to_owned(),
                        origin: pattern.origin.clone(),
                    };
                    let when = "the policy says so".to_owned();
                    (pattern.value.clone(), when, rule)
                }
            },
        };
        let path = Text::from(path.as_os_str());
        Some((Act::Left { path, tool, when }, Decision::allow(rule)))
    }
}

/// Who obeys what is reported under a number that is no row of the table, and when.
fn of_no_program(row: u32) -> Option<(&'static str, &'static str)> {
    Some(match row {
        ADDRESS => (
            "git, whose remotes or branches lead elsewhere now",
            "fetch, pull or push",
        ),
        AT_HOME => (
            "whoever reads this link of yours, which leads to what was changed",
            "any time",
        ),
        INDEX => (
            "git, whose index has another version of it now",
            "restore, checkout or commit",
        ),
        BROUGHT => (
            "git, of which a commit of the run has another version or none",
            "switch, merge, rebase or stash",
        ),
        UNCOMPARED => (
            "git, which does not compare objects with their names (`git fsck` does)",
            "restore, switch or merge",
        ),
        SETTINGS => (
            "git, which signs otherwise, has another author or hides files now",
            "commit, status or checkout",
        ),
        CUT => ("several programs", "more files than are listed"),
        UNREAD => (
            "several programs",
            "it cannot be looked through, so nobody knows which files are in it",
        ),
        _ => return None,
    })
}
