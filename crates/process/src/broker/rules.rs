//! Which names a sandboxed program may not create or write, as the broker decides them: by the
//! whole path, whatever exists. Pure, so that it can be tested with any path there is.

mod aliases;
mod asked;
mod baselines;
mod brought;
mod denied;
mod globs;
mod honest;
mod host;
mod lefts;
mod links;
mod moves;
mod nested;
mod open_patterns;
mod parts_of_names;
mod settings;
mod shared;
mod stored;

pub(crate) use self::aliases::Found;
use self::asked::{Asked, parts};
use self::denied::Denied;
use self::globs::Glob;
use self::host::Table;
pub(crate) use self::host::{Left, host_program, of_closed, of_table};
pub(crate) use self::lefts::Lefts;
use self::nested::Known;
pub(super) use self::nested::Unknown;
use self::shared::Shared;
use crate::git::{self, Meaning, Site};
use crate::paths;
use crate::setup::{raw, raw_list};
use crate::walk::Heads;
use bailiwick_event::{RuleRef, Text};
use bailiwick_policy::{
    Effective, HostNames, PathEntry, PathPattern, Way, ends, ordinary_name, resolve_existing,
};
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use std::path::{Path, PathBuf};

/// One protected name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum Name {
    /// This path and everything below it.
    Whole(#[serde(with = "raw")] PathBuf),
    /// These components, one below the other, anywhere below `root`, and everything below them.
    /// `*` stands for any names, at least one.
    Anywhere {
        #[serde(with = "raw")]
        root: PathBuf,
        components: Vec<String>,
    },
    /// What the glob matches below `root`, and everything below it.
    Glob {
        #[serde(with = "raw")]
        root: PathBuf,
        glob: String,
    },
}

/// A rule and the names that it protects, as they travel to pid 1.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Rules {
    /// With the number under which the supervisor knows the rule.
    names: Vec<(u32, Name)>,
    /// The number of the first rule that denies.
    denied_from: u32,
    /// The rule that protects git's configuration; none where the policy leaves git alone.
    git: Option<u32>,
    /// The folders of the host that may be written: elsewhere git's files are nobody's concern.
    #[serde(with = "raw_list")]
    host: Vec<PathBuf>,
    /// The workspace, which is one of them.
    #[serde(with = "raw")]
    workspace: PathBuf,
    /// Folders of the product that this sandbox uses.
    #[serde(with = "raw_list")]
    exempt: Vec<PathBuf>,
    /// Folders above what is protected, which no mount keeps from being moved.
    #[serde(with = "raw_list")]
    pinned: Vec<PathBuf>,
    /// The number of the first rule that forbids reading as well, where the broker keeps those: without mounts,
    /// and where somebody could put another file in the place of one that a mount hides.
    unreadable: Option<u32>,
    /// Whether no mount keeps anything.
    unmounted: bool,
    /// Git's own files as they were at the start: what was taken away meanwhile is not forgotten.
    #[serde(skip)]
    baselines: Vec<(PathBuf, Vec<u8>)>,
    #[serde(skip)]
    globs: Vec<(u32, PathBuf, Glob)>,
    /// Patterns that deny.
    denied: Vec<Denied>,
    /// Where they go on below links, made when it is asked for.
    #[serde(skip)]
    denied_heads: OnceCell<Vec<Heads>>,
    /// Where all of these paths stand, where a monitor shows them.
    shared: Option<Shared>,
    /// What git's configuration led to at the start, for a person.
    #[serde(skip)]
    followed: Vec<git::Followed>,
    /// Where the user's own configuration is.
    #[serde(with = "raw")]
    home: PathBuf,
    /// What the policy says of names that programs of the host obey.
    host_names: HostNames,
    /// Those names.
    #[serde(skip)]
    table: Table,
    /// Relative paths that git obeys in every repository.
    #[serde(with = "raw_list")]
    everywhere: Vec<PathBuf>,
    /// What is known of repositories in folders, and the folders that were looked at.
    #[serde(skip)]
    nested: Known,
    /// The folders that may be written, as the policy writes them.
    #[serde(skip)]
    kept: Vec<PathBuf>,
    /// With those that may be read.
    #[serde(with = "raw_list")]
    seen: Vec<PathBuf>,
    /// The product's own folder; empty where it is not known.
    #[serde(with = "raw")]
    own: PathBuf,
}

/// A rule as a person knows it.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) rule: RuleRef,
    /// The name by which a policy takes the rule back.
    pub(crate) ordinary: Option<String>,
}

/// What happens to an act on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allow,
    /// The rule of this number protects it.
    Refuse(u32),
    /// One of git's own files, which [`crate::git`] decides; the rule that would protect it otherwise.
    Git(u32),
}

impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        let all = |r: &Self| {
            let lists = (r.names.clone(), r.host.clone(), r.exempt.clone());
            (
                lists,
                r.pinned.clone(),
                r.git,
                (r.unreadable, r.unmounted),
                r.shared.clone(),
                r.host_names.clone(),
            )
        };
        all(self) == all(other)
    }
}
impl Eq for Rules {}

impl Rules {
    /// The rules of a policy: each `protect` and each literal `deny`, numbered in that order.
    pub(crate) fn of(policy: &Effective, host: &[PathBuf]) -> Self {
        let files = &policy.filesystem;
        let mut names = Vec::new();
        let mut number = 0;
        for entry in &files.protect {
            names.extend(protected(entry, &policy.workspace, host).map(|name| (number, name)));
            names.extend(linked(entry, &policy.workspace).map(|name| (number, name)));
            number += 1;
        }
        for entry in &files.deny {
            match &entry.pattern {
                PathPattern::Path(path) => names.push((number, Name::Whole(path.clone()))),
                // What a pattern denies and the sandbox makes itself is its own, but not where it is looked for.
                PathPattern::Glob { root, .. } => {
                    let links = Way::of(root).map(|way| way.links).unwrap_or_default();
                    let mut links: Vec<PathBuf> = links.into_iter().map(|step| step.at).collect();
                    links.retain(|link| host.iter().any(|top| link.starts_with(top)));
                    names.extend(links.into_iter().map(|link| (number, Name::Whole(link))));
                }
            }
            names.extend(linked(entry, Path::new("/")).map(|name| (number, name)));
            number += 1;
        }
        let configuration = policy.workspace.join(".git/config");
        let mut rules = Self {
            names,
            denied: Denied::of(policy),
            denied_from: first_denied(policy),
            workspace: policy.workspace.clone(),
            host: host.to_vec(),
            host_names: HostNames::of(files),
            ..Self::default()
        }
        .compiled();
        let asked = Asked::new(&configuration);
        let found = rules
            .names
            .iter()
            .find(|(number, name)| rules.covers(*number, name, asked));
        rules.git = found.map(|(number, _)| *number);
        if let Some(number) = rules.git {
            rules.home = policy.home.clone();
            rules.follow(number, git::followed(host, &policy.home));
        }
        rules
    }

    /// What the user's configuration of git leads to where a sandboxed program could write, for a person.
    pub(crate) fn told(&self) -> Option<String> {
        let shown = |led: &git::Followed| {
            format!(
                "{} ({})",
                Text::from(led.path.as_os_str()),
                Text::from(led.by.as_str())
            )
        };
        // A word with a slash may have been no path.
        let is_path = |led: &&git::Followed| led.path.parent().is_some_and(Path::is_dir);
        let open = self.followed.iter().filter(|led| !led.closed);
        let mut followed: Vec<_> = open.filter(is_path).collect();
        followed.sort_by(|one, other| one.path.cmp(&other.path));
        followed.dedup_by(|one, other| one.path == other.path);
        let (there, absent): (Vec<_>, Vec<_>) =
            followed.into_iter().partition(|led| led.path.exists());
        let (listed, rest) = match there.is_empty() {
            true => (absent, 0),
            false => (there, absent.len()),
        };
        let mut shown: Vec<String> = listed.into_iter().map(shown).collect();
        let more = shown.len().saturating_sub(3);
        shown.truncate(3);
        let more = match (more, rest) {
            (0, 0) => String::new(),
            (more, 0) => format!(" and {more} more"),
            (0, rest) => format!(" and {rest} names that are not there"),
            (more, rest) => format!(", {more} more and {rest} names that are not there"),
        };
        (!shown.is_empty()).then(|| {
            format!("programs outside run or obey files in folders that may be written; they are protected as git's hooks are: {}{more}", shown.join(", "))
        })
    }

    /// The rules of a policy where there are no mounts to keep what exists: patterns that deny, the
    /// files that links lead to, and reading.
    pub(crate) fn without_mounts(
        policy: &Effective,
        host: &[PathBuf],
        exempt: Vec<PathBuf>,
        pinned: &[PathBuf],
    ) -> Self {
        let files = &policy.filesystem;
        let mut rules = Self::of(policy, host);
        rules.exempt = exempt;
        rules.pinned = pinned.to_vec();
        let first = first_denied(policy);
        rules.unreadable = Some(first);
        rules.unmounted = true;
        for (number, entry) in (0..).zip(files.protect.iter().chain(&files.deny)) {
            match &entry.pattern {
                PathPattern::Path(path) => {
                    let real = paths::resolve(path).map(|resolved| resolved.real);
                    if let Some(real) = real.filter(|real| real != path) {
                        rules.names.push((number, Name::Whole(real)));
                    }
                }
                PathPattern::Glob { root, glob } if number >= first => {
                    let (root, glob) = (root.clone(), glob.clone());
                    rules.names.push((number, Name::Glob { root, glob }));
                }
                PathPattern::Glob { .. } => {}
            }
        }
        rules.compiled()
    }

    /// With the folders that are seen inside as they are outside.
    pub(crate) fn seeing(&mut self, folders: Vec<PathBuf>) {
        self.seen = folders;
    }

    /// Keeps what is denied from being read as well, whatever file has the name by then.
    pub(crate) fn keep_from_reading(&mut self, policy: &Effective) {
        self.unreadable = Some(first_denied(policy));
    }

    /// Whether calls that read come to the broker.
    pub(crate) fn reads(&self) -> bool {
        self.unreadable.is_some()
    }

    /// What happens to an act that reads `path`, which has no links in it.
    pub(crate) fn decide_read(&self, path: &Path) -> Verdict {
        let Some(first) = self.unreadable else {
            return Verdict::Allow;
        };
        let asked = Asked::new(path);
        let found = self
            .names
            .iter()
            .find(|(number, name)| *number >= first && self.covers(*number, name, asked));
        found.map_or(Verdict::Allow, |(number, _)| Verdict::Refuse(*number))
    }

    /// Whether what belongs to the file at `path` may be changed, as far as mounts do not decide it: without
    /// them it may be where the policy lets a program write.
    pub(crate) fn may_change(&self, path: &Path) -> bool {
        let mut folders = self.host.iter().chain(&self.exempt);
        !self.unmounted || folders.any(|folder| path.starts_with(folder))
    }

    /// Whether a folder must stay where it is, because of what is protected in it.
    pub(crate) fn is_pinned(&self, path: &Path) -> bool {
        self.pinned.iter().any(|pinned| pinned == path)
    }

    /// The rules as the record names them, by number.
    pub(crate) fn named(policy: &Effective) -> Vec<Named> {
        let files = &policy.filesystem;
        let named = |id: &'static str| {
            move |entry: &PathEntry| Named {
                rule: RuleRef {
                    id: id.to_owned(),
                    origin: entry.origin.clone(),
                },
                ordinary: ordinary_name(entry, &policy.workspace),
            }
        };
        let protect = files.protect.iter().map(named("filesystem.protect"));
        protect
            .chain(files.deny.iter().map(named("filesystem.deny")))
            .collect()
    }

    /// With what does not travel, and every path as the kernel would write it.
    pub(crate) fn compiled(mut self) -> Self {
        for path in self.paths() {
            *path = path.components().collect();
        }
        self.kept = self
            .host
            .iter()
            .map(|folder| self.of_policy(folder))
            .collect();
        let globs = self.names.iter().filter_map(|(number, name)| match name {
            Name::Glob { root, glob } => Some((*number, root.clone(), Glob::of(glob))),
            _ => None,
        });
        self.globs = globs.collect();
        self.table.forget();
        self
    }

    /// The path of the policy's files that a path inside is.
    pub(crate) fn of_policy(&self, path: &Path) -> PathBuf {
        super::of_policy(self.root(), path)
    }

    /// The folders that may be written, as the policy writes them.
    pub(crate) fn kept(&self) -> &[PathBuf] {
        &self.kept
    }

    /// Where a file is, for whoever decides what git obeys; the path is one of the policy's.
    pub(crate) fn site<'a>(&'a self, path: &'a Path) -> Site<'a> {
        Site {
            path,
            root: self.root(),
            kept: &self.kept,
            seen: &self.seen,
            rewritten: &self.nested.rewritten,
            ways: &self.nested.ways,
            own: &self.own,
        }
    }

    /// The same for whoever is outside of the sandbox.
    pub(crate) fn site_on_host<'a>(&'a self, path: &'a Path) -> Site<'a> {
        let root = Path::new("/");
        Site {
            root,
            ..self.site(path)
        }
    }

    /// What happens to an act that creates or writes `path`, which has no links in it.
    pub(crate) fn decide(&self, path: &Path) -> Verdict {
        if let Some(rule) = self.closed_around(path).and_then(|_| self.rule_of_closed()) {
            return Verdict::Refuse(rule);
        }
        let git = self.git(path).filter(|_| is_configuration(path));
        let refused = self.entry_of(path, git.is_some());
        if let Some(number) = refused.or_else(|| self.obeyed_by_host(path)) {
            return Verdict::Refuse(number);
        }
        git.map_or(Verdict::Allow, Verdict::Git)
    }

    /// The first entry that means `path`. The one for git's configuration is the one that a closer look stands for.
    fn entry_of(&self, path: &Path, looked_at: bool) -> Option<u32> {
        let asked = Asked::new(path);
        let mut names = self.names.iter();
        let found = names.find(|(number, name)| {
            self.covers(*number, name, asked) && !(looked_at && names_exactly(name, path))
        });
        found.map(|(number, _)| *number)
    }

    /// Whether what is written to `path` is decided by what git makes of it, as far as entries of the policy say.
    pub(crate) fn is_gits(&self, path: &Path) -> bool {
        let open = self.git(path).is_some() && self.closed_around(path).is_none();
        open && is_configuration(path) && self.entry_of(path, true).is_none()
    }

    /// Whether no entry of the policy means this very path: what protects it protects the name everywhere.
    fn is_protected_by_name_alone(&self, path: &Path) -> bool {
        let asked = Asked::new(path);
        let mut covering = self.names.iter();
        let own = |(number, name): &(u32, Name)| {
            let anywhere = matches!(name, Name::Anywhere { .. }) && *number < self.denied_from;
            !anywhere && self.covers(*number, name, asked)
        };
        self.closed_around(path).is_none() && !covering.any(own)
    }

    /// The rule by which a file of git at `path` is decided; none where git is left alone.
    pub(crate) fn git(&self, path: &Path) -> Option<u32> {
        let asked = Asked::new(path);
        self.git
            .filter(|_| self.host.iter().any(|folder| asked.is_in(folder)))
    }

    /// What happens to an act that creates the folder `path`. Every new repository has a folder for
    /// hooks.
    pub(crate) fn decide_folder(&self, path: &Path) -> Verdict {
        match path.file_name().is_some_and(|name| name == "hooks") && self.is_of_free_git(path) {
            true => Verdict::Allow,
            false => self.decide(path),
        }
    }

    /// What happens to an act that creates or writes the file `path` by opening it. Every new
    /// repository has sample hooks, whose names git does not run.
    pub(crate) fn decide_file(&self, path: &Path) -> Verdict {
        let sample = path.extension().is_some_and(|e| e == "sample");
        let hooks = path.parent().filter(|_| sample);
        let hooks = hooks.filter(|hooks| hooks.file_name().is_some_and(|name| name == "hooks"));
        match hooks.is_some_and(|hooks| self.is_of_free_git(hooks)) {
            true => Verdict::Allow,
            false => self.decide(path),
        }
    }

    /// Whether a folder for hooks is git's, and nothing above it is protected.
    fn is_of_free_git(&self, hooks: &Path) -> bool {
        let above = hooks.parent().map(|above| self.decide(above));
        git::below_git(hooks).is_some() && above == Some(Verdict::Allow)
    }

    fn covers(&self, number: u32, name: &Name, asked: Asked<'_>) -> bool {
        if self.exempt.iter().any(|folder| asked.is_in(folder)) {
            return false;
        }
        let below = |root| asked.path.strip_prefix(root);
        match name {
            Name::Whole(whole) => asked.is_in(whole),
            Name::Anywhere { root, components } => {
                asked.may_contain(components)
                    && below(root).is_ok_and(|below| !ends(below, components).is_empty())
            }
            Name::Glob { root, .. } => below(root)
                .is_ok_and(|below| self.globs_of(number, root).any(|glob| glob.means(below))),
        }
    }

    /// The patterns of a rule that look below a folder.
    fn globs_of(&self, number: u32, root: &Path) -> impl Iterator<Item = &Glob> {
        let globs = self.globs.iter();
        let own = globs.filter(move |(n, r, _)| *n == number && r == root);
        own.map(|(.., glob)| glob)
    }
}

/// The number of the first rule of those that deny.
fn first_denied(policy: &Effective) -> u32 {
    u32::try_from(policy.filesystem.protect.len()).unwrap_or(u32::MAX)
}

/// The names that an entry protects. Control folders and files of the workspace (`.git/hooks`, `.mcp.json`) are
/// obeyed in every folder that holds them, and so protected in every folder of the workspace and of all that
/// may be written besides (`host`).
fn protected(entry: &PathEntry, workspace: &Path, host: &[PathBuf]) -> impl Iterator<Item = Name> {
    let anywhere = |components: Vec<String>| {
        let others = host.iter().filter(|folder| !folder.starts_with(workspace));
        std::iter::once(workspace)
            .chain(others.map(PathBuf::as_path))
            .map(move |root| Name::Anywhere {
                root: root.to_path_buf(),
                components: components.clone(),
            })
    };
    let mut names = Vec::new();
    let control_name = entry.control_name(workspace);
    match &entry.pattern {
        PathPattern::Path(path) => names.push(Name::Whole(path.clone())),
        PathPattern::Glob { root, glob } if control_name.is_none() => names.push(Name::Glob {
            root: root.clone(),
            glob: glob.clone(),
        }),
        PathPattern::Glob { .. } => {}
    }
    names.extend(control_name.into_iter().flat_map(anywhere));
    names.into_iter()
}

/// The name that an entry has where a link leads there, whether it exists or not. Of what templates
/// name below `usual` nothing is looked up at each start: that is hidden, or protected at any depth.
fn linked(entry: &PathEntry, usual: &Path) -> Option<Name> {
    let PathPattern::Path(path) = &entry.pattern else {
        return None;
    };
    if entry.origin.file.starts_with("template:") && path.starts_with(usual) {
        return None;
    }
    let real = resolve_existing(path);
    (real != *path).then_some(Name::Whole(real))
}

/// Whether git reads this file as configuration, whatever else is in its folder.
fn is_configuration(path: &Path) -> bool {
    let named = path.file_name().is_some_and(|name| {
        [".gitmodules", "config", "config.worktree"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
    });
    named && matches!(git::meaning(path), Meaning::Obeyed(content) if content.is_configuration())
}

/// Whether the name is this file's and not that of a folder above it.
fn names_exactly(name: &Name, path: &Path) -> bool {
    match name {
        Name::Whole(whole) => whole == path,
        Name::Anywhere { root, components } => path
            .strip_prefix(root)
            .is_ok_and(|below| ends(below, components).contains(&parts(below).len())),
        Name::Glob { .. } => false,
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
