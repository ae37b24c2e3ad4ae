//! The names of a walk, and which of them are other names of what is protected, denied or reported.

mod above;
mod way;

use super::{Alias, Leads, MOST};
use crate::broker::rules::parts_of_names::Parts;
use crate::broker::rules::{Rules, Verdict};
use crate::closed::{self, Closed, Listing, Why};
use crate::git;
use crate::paths::below;
use rustix::fs::FileType;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use way::Way;

/// So deep is looked into a folder to which a link leads.
const INNER: usize = 16;
/// So far links are followed in all, in parts of their ways; one of a long path counts as more. A run can make many
/// links that lead far, and the next one waits until they are followed.
const FAR: usize = 2_000_000;

/// Looks at the names of a walk.
pub(super) struct Names<'a> {
    rules: &'a Rules,
    parts: Parts<'a>,
    /// Folders that are protected as a whole, and the rule.
    folders: HashMap<PathBuf, (u32, Kind)>,
    /// Those of each [`Kind`].
    pub(super) known: [Vec<Alias>; 3],
    /// Files with several names that are among them.
    files: HashSet<(Kind, u64, u64)>,
    /// What those that are too many would have protected.
    pub(super) unknown: closed::All,
    /// Whether there are more that are reported.
    pub(super) more: bool,
    /// How far links may be followed yet, in all.
    far: usize,
    /// Folders to which links at such names lead.
    led: HashSet<(Kind, PathBuf)>,
    /// Folders with files of commands that programs of the host run.
    pub(super) commands: BTreeSet<PathBuf>,
    listing: Listing,
}

/// What another name is of. A run can make those of the last two kinds, and takes no place from the first.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Protected,
    /// By a pattern: a run may have files and links of its own at such names.
    Denied,
    Reported,
}

impl<'a> Names<'a> {
    pub(super) fn of(rules: &'a Rules) -> Self {
        Self {
            rules,
            parts: Parts::of(rules),
            folders: HashMap::new(),
            known: Default::default(),
            files: HashSet::new(),
            unknown: closed::All::default(),
            more: false,
            far: FAR,
            led: HashSet::new(),
            commands: BTreeSet::new(),
            listing: Listing::new(),
        }
    }

    pub(super) fn entry(&mut self, folder: &Path, name: &OsStr, kind: FileType) {
        let may_be = || kind.is_symlink() || self.parts.may_end(folder, name.as_bytes());
        if self.folders.contains_key(folder) || may_be() {
            let path = folder.join(name);
            self.entry_as(&below(self.rules.root(), &path), folder, path, kind);
        }
    }

    /// Judges an entry of a folder by the name `inside`.
    fn entry_as(&mut self, inside: &Path, folder: &Path, path: PathBuf, kind: FileType) {
        let above = self.folders.get(folder).copied();
        let pattern = || self.rules.denied_by_pattern(inside);
        let found = above.or_else(|| match self.rules.decide(inside) {
            Verdict::Refuse(rule) if Some(rule) == pattern() => Some((rule, Kind::Denied)),
            Verdict::Refuse(rule) | Verdict::Git(rule) => Some((rule, Kind::Protected)),
            // What lies in such a folder mounts hide.
            Verdict::Allow if kind.is_symlink() => pattern().map(|rule| (rule, Kind::Denied)),
            Verdict::Allow => None,
        });
        if let Some(of) = found {
            return match kind.is_dir() {
                true => drop(self.folders.insert(path, of)),
                false => {
                    self.commanded(&path, kind);
                    self.named(of, path, kind);
                }
            };
        }
        if !kind.is_symlink() {
            return self.reported(inside, path, kind);
        }
        // A folder that holds such names, as far as these go on below it.
        let protected = self.rules.entering(Path::new(""), inside).into_iter();
        let reported = self.rules.reported_below(inside).into_iter();
        let denied = self.rules.denied_below(inside).into_iter();
        let protected = protected.map(|(rule, tail)| ((rule, Kind::Protected), tail));
        let denied = denied.map(|(rule, tail)| ((rule, Kind::Denied), tail));
        let reported = reported.map(|(row, tail)| ((row, Kind::Reported), tail));
        for (of, tail) in protected.chain(denied).chain(reported) {
            let plain = |part: &std::path::Component<'_>| part.as_os_str() != "*";
            let tail: PathBuf = tail.components().take_while(plain).collect();
            self.led_to(of, path.clone(), &tail);
        }
        self.reported(inside, path, kind);
    }

    /// The same for a name that is reported. Of a folder all is meant, and there may be much in it.
    fn reported(&mut self, inside: &Path, path: PathBuf, kind: FileType) {
        if let Some(row) = self.rules.reported_as(inside).filter(|_| !kind.is_dir()) {
            self.named((row, Kind::Reported), path, kind);
        }
    }

    /// Notes a file of commands that programs of the host run, and the folders in which a shell looks for programs
    /// because of it.
    fn commanded(&mut self, path: &Path, kind: FileType) {
        let Some(folder) = git::folder_of_commands(path).filter(|_| kind.is_file()) else {
            return;
        };
        self.commands.insert(folder.to_path_buf());
        let name = path.strip_prefix(folder).unwrap_or(path);
        let Some(row) = self.rules.table_row(name) else {
            return;
        };
        for named in git::named_at(path, folder, &self.rules.home) {
            let inner = |top: &PathBuf| named.starts_with(top) && named != *top;
            if self.rules.kept.iter().any(inner) {
                let leads = Leads::To(vec![named.clone()]);
                self.know((row, Kind::Reported), named, leads);
            }
        }
    }

    fn named(&mut self, of: (u32, Kind), path: PathBuf, kind: FileType) {
        if kind.is_symlink() {
            return self.led_to(of, path, Path::new(""));
        }
        let meta = path.symlink_metadata().ok();
        let Some(meta) = meta.filter(|meta| kind.is_file() && meta.nlink() > 1) else {
            return;
        };
        // One of its names says it.
        if self.files.insert((of.1, meta.dev(), meta.ino())) {
            self.know(of, path, Leads::File(meta.dev(), meta.ino()));
        }
    }

    /// Adds one. Of those that are too many, what protects closes the folders that it is about.
    fn know(&mut self, (rule, kind): (u32, Kind), name: PathBuf, leads: Leads) {
        let known = &mut self.known[kind as usize];
        if known.len() < MOST {
            let protects = kind != Kind::Reported;
            return known.push(Alias {
                rule,
                protects,
                name,
                leads,
            });
        }
        if kind == Kind::Reported {
            self.more = true;
            return;
        }
        let places = match leads {
            Leads::To(places) => places,
            Leads::File(..) => Vec::new(),
        };
        for place in places.iter().chain([&name]) {
            let top = self.rules.kept.iter().any(|top| top == place);
            let path = place.parent().filter(|_| !top).unwrap_or(place);
            let (path, why) = (path.to_path_buf(), Why::TooMuch);
            self.unknown.add(Closed { path, why });
        }
    }

    /// Notes where a link leads in the folders that may be written, and there to `tail`; where that is a folder, also
    /// the other names of what is in it.
    fn led_to(&mut self, of: (u32, Kind), link: PathBuf, tail: &Path) {
        // Joined with nothing a path would end in a slash.
        let whole = match tail.as_os_str().is_empty() {
            true => link.clone(),
            false => link.join(tail),
        };
        let Some((mut places, folder)) = self.places_of(&link, &whole, tail) else {
            return self.leads_too_far(of, &link);
        };
        let kept = |place: &PathBuf| self.rules.kept.iter().any(|top| place.starts_with(top));
        places.retain(|place| *place != link && kept(place));
        if !places.is_empty() {
            self.know(of, link, Leads::To(places));
        }
        // Of what is reported all of the folder is named.
        let folder = folder.filter(|_| of.1 != Kind::Reported);
        if let Some(folder) = folder.filter(|folder| self.led.insert((of.1, folder.clone()))) {
            self.below(of, &folder, INNER);
        }
    }

    /// Where a path through a link leads, by every link on its way, and the folder at its end; none where that is too
    /// far. What is not there could be made: where the link's text alone leads counts then as well.
    fn places_of(
        &mut self,
        link: &Path,
        whole: &Path,
        tail: &Path,
    ) -> Option<(Vec<PathBuf>, Option<PathBuf>)> {
        let way = Way::of(whole, &mut self.far)?;
        let folder = way.is_folder.then(|| way.end.clone());
        let mut places = way.places;
        places.push(way.end);
        if !way.is_there {
            let target = fs::read_link(link).unwrap_or_default().join(tail);
            let plain = git::plain(&link.parent().unwrap_or(link).join(target));
            places.push(Way::of(&plain, &mut self.far)?.end);
            places.push(plain);
        }
        Some((places, folder))
    }

    /// Notes a link of which nobody knows where it leads.
    fn leads_too_far(&mut self, (_, kind): (u32, Kind), link: &Path) {
        match kind {
            Kind::Reported => self.more = true,
            Kind::Protected | Kind::Denied => {
                let path = link.parent().unwrap_or(link).to_path_buf();
                let why = Why::TooMuch;
                self.unknown.add(Closed { path, why });
            }
        }
    }

    /// Notes what lies in a folder to which a link at such a name leads.
    fn below(&mut self, of: (u32, Kind), folder: &Path, depth: usize) {
        if depth == 0 || self.led.len() > MOST {
            let (path, why) = (folder.to_path_buf(), Why::TooMuch);
            return self.unknown.add(Closed { path, why });
        }
        // What cannot be listed cannot be reached by the link either.
        let _ = Listing::new().each(folder, &mut |name, kind| {
            let path = folder.join(name);
            if !kind.is_dir() {
                self.named(of, path, kind);
            } else if self.led.insert((of.1, path.clone())) {
                self.below(of, &path, depth - 1);
            }
            ControlFlow::Continue(())
        });
    }
}
