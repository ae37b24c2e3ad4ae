//! Other names of files that are protected or reported: symbolic links of the user's that lie at such names, and what
//! they lead to; hard links. The supervisor finds them in the same walk as repositories, before the first act of a run
//! that names a file is decided.

mod names;

use self::names::Names;
use super::{Left, Name, Rules};
use crate::closed::{self, Closed, Why};
use crate::git;
use crate::paths::below;
use crate::setup::{raw, raw_list};
use bailiwick_event::Text;
use rustix::fs::Stat;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// So many of each kind are known.
const MOST: usize = 10_000;
/// So many entries of folders outside of those that may be written are looked at, in all.
const ENTRIES: usize = 100_000;
/// So many folders, and entries outside, are looked at before it is asked for them.
const SOON: usize = 500;

/// What else leads to a name that is protected or reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Alias {
    /// The rule that protects the name, or the row by which it is reported.
    rule: u32,
    protects: bool,
    #[serde(with = "raw")]
    name: PathBuf,
    leads: Leads,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Leads {
    /// It is a link: the other links on the way, and its end.
    To(#[serde(with = "raw_list")] Vec<PathBuf>),
    /// It is a file with several names: device and number there.
    File(u64, u64),
}

/// What the supervisor finds in the folders that may be written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Found {
    pub(super) repositories: Vec<git::Nested>,
    /// The git folders of all repositories, which the supervisor alone is told.
    #[serde(skip)]
    pub(crate) git_folders: Vec<git::GitFolder>,
    /// Those that protect come first.
    pub(super) aliases: Vec<Alias>,
    /// Folders of which nothing is known.
    pub(super) closed: Vec<Closed>,
    /// Whether there are more that are reported.
    more: bool,
    /// Beginnings of addresses that the user's own configuration has git take for folders.
    pub(super) rewritten: Vec<Vec<u8>>,
}

impl Found {
    /// What a person should know of it, but what was `told` already.
    pub(crate) fn told(&self, told: &[PathBuf]) -> Vec<String> {
        let new = |closed: &&Closed| !told.iter().any(|known| closed.path.starts_with(known));
        let closed: Vec<Closed> = self.closed.iter().filter(new).cloned().collect();
        let so = "the run could change nothing in it, and what links and repositories in it lead to was not protected";
        let more = self.more.then(|| {
            format!(
                "there are more than {MOST} links at names that are reported, or some lead too far; what was changed by those is not told"
            )
        });
        closed::told(&closed, so).into_iter().chain(more).collect()
    }
}

impl Rules {
    /// What is there below the folders of a policy, by its paths.
    pub(crate) fn find(&self) -> Found {
        self.find_within(git::FOLDERS, ENTRIES)
    }

    /// The same before it is asked for, where that takes some milliseconds at the most and leaves nothing to be told.
    pub(crate) fn find_soon(&self) -> Option<Found> {
        let found = self.find_within(SOON, SOON);
        (found.closed.is_empty() && !found.more).then_some(found)
    }

    /// The same, looking through so many folders, and at so many entries of those above.
    fn find_within(&self, folders: usize, entries: usize) -> Found {
        let mut names = Names::of(self);
        names.outside(entries);
        let visit = &mut |folder: &Path, name: &OsStr, kind| names.entry(folder, name, kind);
        let mut closed = closed::All::default();
        let read = git::Configurations::default();
        let (kept, home) = (&self.kept, &self.home);
        let git::Walked {
            leading: mut repositories,
            mut git_folders,
        } = git::nested(kept, home, &read, visit, &mut closed, folders);
        let Names {
            known,
            more,
            unknown,
            commands,
            ..
        } = names;
        repositories.extend(commands.into_iter().filter_map(|tree| {
            let followed = git::called_at(&tree, &self.kept, &self.home);
            let led = Vec::new();
            (!followed.is_empty()).then_some(git::Nested {
                tree,
                followed,
                led,
            })
        }));
        if self.git.is_none() {
            repositories.clear();
            git_folders.clear();
        }
        unknown.take().into_iter().for_each(|one| closed.add(one));
        let led = repositories.iter().flat_map(|one| &one.followed);
        for led in led.chain(&self.followed).filter(|led| led.closed) {
            let (path, why) = (led.path.clone(), Why::TooMuch);
            closed.add(Closed { path, why });
        }
        let mut closed = match self.rule_of_closed() {
            Some(_) => closed.take(),
            None => Vec::new(),
        };
        closed.retain(|closed| !self.exempt.iter().any(|own| closed.path.starts_with(own)));
        Found {
            repositories,
            git_folders,
            aliases: known.into_iter().flatten().collect(),
            closed,
            more,
            rewritten: match self.git {
                Some(_) => git::rewritten(&self.home, &read),
                None => Vec::new(),
            },
        }
    }

    /// Protects what leads to a protected name as well; paths are those inside.
    pub(super) fn know_aliases(&mut self, aliases: Vec<Alias>) {
        let mut names = Vec::new();
        for alias in &aliases {
            if let (true, Leads::To(places)) = (alias.protects, &alias.leads) {
                // A link at a denied name is protected by nothing else.
                let places = places.iter().chain([&alias.name]);
                names.extend(places.map(|place| (alias.rule, Name::Whole(place.clone()))));
            }
        }
        self.protect_all(names);
        self.nested.aliases = aliases;
    }

    /// The rule for whose sake the next run has to find what lies in a folder: another name of what is protected.
    pub(crate) fn holds_alias(&self, folder: &Path) -> Option<u32> {
        let holds = |alias: &&Alias| match &alias.leads {
            _ if alias.name.starts_with(folder) => true,
            Leads::To(places) => places.iter().any(|place| place.starts_with(folder)),
            Leads::File(..) => false,
        };
        self.protecting().find(holds).map(|alias| alias.rule)
    }

    /// The rule by which a folder keeps its name, because a link at a protected name leads through it.
    pub(crate) fn is_led_through_by_link(&self, folder: &Path) -> Option<u32> {
        let through = |place: &PathBuf| place.starts_with(folder);
        let mut aliases = self.protecting();
        let found = aliases.find(|alias| match &alias.leads {
            Leads::To(places) => through(&alias.name) || places.iter().any(through),
            Leads::File(..) => false,
        });
        found.map(|alias| alias.rule)
    }

    /// Why a path is protected that has no protected name.
    pub(crate) fn why_protected(&self, path: &Path) -> Option<String> {
        if let Some(folder) = self.closed_around(path) {
            let folder = Text::from(self.of_policy(folder).into_os_string());
            return Some(format!("the sandbox could not look through {folder}"));
        }
        let alias = self.protecting().find(|alias| alias.leads_to(path))?;
        let name = Text::from(self.of_policy(&alias.name).into_os_string());
        Some(format!("the link {name} leads here"))
    }

    fn protecting(&self) -> impl Iterator<Item = &Alias> {
        self.nested.aliases.iter().filter(|alias| alias.protects)
    }

    /// What is reported of a path because a link at a reported name leads there.
    pub(super) fn left_by_link(&self, path: &Path) -> Option<Left> {
        let mut aliases = self.nested.aliases.iter();
        let alias = aliases.find(|alias| !alias.protects && alias.leads_to(path))?;
        Some(alias.left())
    }

    /// What is reported of a file because another of its names is.
    pub(crate) fn left_by_name(&self, stat: &Stat) -> Option<Left> {
        let found = self.named_twice(stat)?;
        (!found.protects).then(|| found.left())
    }

    fn named_twice(&self, stat: &Stat) -> Option<&Alias> {
        let own = (stat.st_nlink > 1).then_some(Leads::File(stat.st_dev, stat.st_ino))?;
        let mut aliases = self.nested.aliases.iter();
        aliases.find(|alias| alias.leads == own)
    }

    /// Whether anything has another name than its own.
    pub(crate) fn has_aliases(&self) -> bool {
        !self.nested.aliases.is_empty()
    }

    /// The rule that protects a file by another of its names, and that name.
    pub(crate) fn protected_file(&self, stat: &Stat) -> Option<(u32, &Path)> {
        let alias = self.named_twice(stat).filter(|alias| alias.protects)?;
        Some((alias.rule, &alias.name))
    }
}

impl Alias {
    fn leads_to(&self, path: &Path) -> bool {
        match &self.leads {
            Leads::To(places) => places.iter().any(|place| path.starts_with(place)),
            Leads::File(..) => false,
        }
    }

    fn left(&self) -> Left {
        Left {
            path: self.name.clone(),
            row: self.rule,
        }
    }

    /// The same with paths as they are below a root.
    pub(super) fn below(mut self, root: &Path) -> Self {
        self.name = below(root, &self.name);
        if let Leads::To(places) = &mut self.leads {
            for place in places {
                *place = below(root, place);
            }
        }
        self
    }
}
