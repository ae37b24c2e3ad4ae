//! What git brings into a working tree at the user's next command, from a commit or an index of the run's: of what no
//! program could make there the user is told.

use super::host::{BROUGHT, CUT, INDEX, UNCOMPARED};
use super::parts_of_names::Parts;
use super::{Left, Rules};
use crate::git::{
    self, Brought, Budget, ByPath, Changed, Content, Indexed, Meaning, Objects, Site,
};
use crate::paths::below;
use rustix::fs::{AtFlags, CWD, FileType, statat};
use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// So many bytes of objects are unpacked to know what links and folders of an index say.
const BYTES: u64 = 16 << 20;
/// So many bytes of the working tree are compared with an index.
const COMPARED: u64 = 256 << 20;
/// So many files of an index are told.
const TOLD: usize = 1000;
/// What one store of objects brings is looked at in so many working trees.
const TREES: usize = 1024;
/// What lies in more folders is not looked at, and told.
const DEPTH: usize = 64;

impl Rules {
    /// Whether what git brings is what no program may make: its name is protected, it makes a repository of its folder or
    /// steers one, or it is a link that leads around what is protected. In a repository of which git has not all objects
    /// (`partial`) a link that is not there yet counts as harmless.
    fn refuses_brought(&self, file: &Path, brought: Brought<'_>, partial: bool) -> bool {
        let inside = below(self.root(), file);
        if inside.iter().count() > DEPTH {
            return true;
        }
        let steers = || match git::meaning(file) {
            Meaning::Plain | Meaning::Obeyed(Content::Modules) => false,
            Meaning::Obeyed(_) | Meaning::Completes | Meaning::Never(_) => true,
        };
        let leads = match brought {
            Brought::File => false,
            Brought::Absent => !partial,
            Brought::Odd => true,
            Brought::Link(target) => {
                let target = OsStr::from_bytes(target);
                self.above(&inside).is_some()
                    || self.is_on_a_way(&inside)
                    || self.denies_target(&inside, target).is_some()
                    || self.objects_to_link(&inside, target).is_some()
            }
        };
        leads || self.is_refused(&inside) || steers()
    }

    /// What is reported of a file that a commit brings.
    pub(crate) fn left_commit(&self, file: &Path) -> Option<Left> {
        self.left_as(file, BROUGHT)
    }

    /// What is reported of an index that cannot be read any more.
    pub(crate) fn left_unread(&self, index: &Path) -> Option<Left> {
        self.left_as(index, INDEX)
    }

    /// Where git would put what it brings into the working tree of a repository of which this is a file, at its site on
    /// the host. Where the repository names no working tree, `tree` is the one that leads to it, if that is known.
    pub(crate) fn checkout(&self, site: &Site<'_>, tree: Option<&PathBuf>) -> Checkout<'_> {
        let named = git::tree_of_index(site);
        Checkout {
            rules: self,
            tops: match named.or_else(|| tree.cloned()) {
                Some(tree) => vec![tree],
                // Whoever runs git says where its working tree is.
                None => self.kept.clone(),
            },
            partial: git::is_partial(site),
        }
    }

    /// What is reported of an index, at its site on the host, that had the files `old` and has `new` now, and to which the
    /// working tree `tree` leads: what it brings at the next checkout and no program could make; for a folder that would
    /// be a repository its `HEAD`. What the working tree has so already is none, nor are files of the commit that is
    /// checked out of which it was told that they were `withheld`.
    pub(crate) fn left_index(
        &self,
        site: &Site<'_>,
        tree: Option<&PathBuf>,
        [old, new]: [&[Indexed<'_>]; 2],
        withheld: &BTreeSet<PathBuf>,
    ) -> Vec<Left> {
        let budget = Budget::new(BYTES);
        let objects = site.shared_folder().join("objects");
        let look = Look {
            checkout: self.checkout(site, tree),
            objects: &Objects::at(&objects, Path::new("/"), &budget),
            known: ByPath::of(old),
            withheld,
            head: (!withheld.is_empty()).then(|| git::head(site)).flatten(),
            compared: Cell::new(COMPARED),
        };
        let mut found = look.repositories(new);
        let mut links = BTreeSet::new();
        let mut all = true;
        let parts = Parts::of(self);
        for file in new.iter().filter(|file| look.is_new(file)) {
            if file.is_folder() {
                all &= look.folder(file, &mut found);
            } else if file.is_link()
                || may_be_of_repository(&file.path)
                || parts.may_be_in(&file.path)
            {
                let into = if file.is_link() {
                    &mut links
                } else {
                    &mut found
                };
                into.extend(look.file(file));
            }
        }
        let cut = found.len() + links.len() > TOLD;
        let files = found.iter().chain(&links).take(TOLD);
        let files = files.filter_map(|file| self.left_as(file, INDEX));
        let cut = cut.then(|| self.left_as(site.path, CUT)).flatten();
        let unknown = (!all).then(|| self.left_as(&objects, UNCOMPARED)).flatten();
        files.chain(cut).chain(unknown).collect()
    }
}

/// Where git would put what it brings.
pub(crate) struct Checkout<'a> {
    rules: &'a Rules,
    /// Where the working tree is, or may be.
    tops: Vec<PathBuf>,
    /// Whether git has not all objects.
    partial: bool,
}

impl Checkout<'_> {
    /// Adds working trees, each of which comes once. Whether there is room for all of them.
    pub(crate) fn reaches<'t>(&mut self, trees: impl Iterator<Item = &'t PathBuf>) -> bool {
        let own = self.tops.len();
        for tree in trees {
            if self.tops[..own].contains(tree) {
                continue;
            }
            if self.tops.len() >= TREES {
                return false;
            }
            self.tops.push(tree.clone());
        }
        true
    }

    /// Where a path may be, as paths of the policy.
    fn places<'b>(&'b self, path: &'b [u8]) -> impl Iterator<Item = PathBuf> + 'b {
        let path = OsStr::from_bytes(path);
        self.tops.iter().map(move |top| top.join(path))
    }

    /// The first place of what no program could make.
    pub(crate) fn refused(&self, path: &[u8], brought: Brought<'_>) -> Option<PathBuf> {
        self.all_refused(path, brought).next()
    }

    fn all_refused<'b>(
        &'b self,
        path: &'b [u8],
        brought: Brought<'b>,
    ) -> impl Iterator<Item = PathBuf> + 'b {
        let places = self.places(path);
        places.filter(move |place| self.rules.refuses_brought(place, brought, self.partial))
    }

    /// The places of such files, of which it is not known any more what they are.
    pub(crate) fn places_of(&self, files: &Changed) -> impl Iterator<Item = PathBuf> {
        files.iter().flat_map(|path| {
            let mut places: Vec<PathBuf> = self.all_refused(path, Brought::File).collect();
            if places.is_empty() {
                places.extend(self.places(path).next());
            }
            places
        })
    }
}

/// A look at what an index brings.
struct Look<'a> {
    checkout: Checkout<'a>,
    objects: &'a Objects<'a>,
    /// What it had before.
    known: ByPath<'a>,
    withheld: &'a BTreeSet<PathBuf>,
    /// The commit that is checked out, where anything was withheld.
    head: Option<Vec<u8>>,
    /// How many bytes of files may be compared yet.
    compared: Cell<u64>,
}

impl Look<'_> {
    fn is_new(&self, file: &Indexed<'_>) -> bool {
        let mut known = self.known.at(&file.path).iter();
        !known.any(|known| file.adds_nothing_to(known))
    }

    /// Whether the working tree has the file so. What is more than may be compared counts as other.
    fn has(&self, file: &Indexed<'_>) -> bool {
        self.checkout.places(&file.path).any(|place| {
            let Ok(stat) = statat(CWD, &place, AtFlags::SYMLINK_NOFOLLOW) else {
                return false;
            };
            let left = self
                .compared
                .get()
                .checked_sub(stat.st_size.cast_unsigned());
            self.compared.set(left.unwrap_or(0));
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => file.is_repository(),
                FileType::Symlink => {
                    let target = place.read_link().unwrap_or_default();
                    file.is_link() && file.says(target.as_os_str().as_bytes())
                }
                _ if file.is_link() || file.is_repository() || left.is_none() => false,
                _ if file.has_other_mode(&stat) => false,
                _ => {
                    let content = super::super::content_of(&place, super::honest::LARGEST);
                    content.is_ok_and(|content| file.says(&content))
                }
            }
        })
    }

    /// The place of a file that no program could make.
    fn file(&self, file: &Indexed<'_>) -> Option<PathBuf> {
        let target = file.is_link().then(|| self.objects.target(file.id));
        let brought = target.as_ref().map_or(Brought::File, Brought::from);
        let place = self.checkout.refused(&file.path, brought)?;
        // Git leaves out what it was kept from checking out; the user reads what the commit has.
        let of_commit = || {
            let head = self.head.as_deref();
            head.is_some_and(|head| git::commit_has(self.objects, head, &file.path, file.entry()))
        };
        let withheld = !file.is_checked_out && self.withheld.contains(&place) && of_commit();
        (!withheld && !self.has(file)).then_some(place)
    }

    /// Adds what a folder of a sparse index brings. Whether that is all.
    fn folder(&self, file: &Indexed<'_>, found: &mut BTreeSet<PathBuf>) -> bool {
        let known = self.known.at(&file.path).iter();
        let known = known.filter(|known| known.is_folder());
        let olds: Vec<Vec<u8>> = known.map(|known| known.id.to_vec()).collect();
        let is_meant =
            |path: &[u8], brought: Brought<'_>| self.checkout.refused(path, brought).is_some();
        let mut files = Changed::new();
        let tree = (&*file.path, file.id);
        let changed = git::changed_tree(self.objects, tree, &olds, &is_meant, &mut files);
        found.extend(self.checkout.places_of(&files));
        changed.is_ok()
    }

    /// The `HEAD` of each folder that has one in the index, and of which the index has something new that git would read
    /// of a repository, unless the working tree has all of that so: then it was decided as a whole.
    fn repositories(&self, files: &[Indexed<'_>]) -> BTreeSet<PathBuf> {
        let mut heads: HashMap<&[u8], Repository<'_>> = HashMap::new();
        for file in files {
            let (folder, name) = split_last(&file.path);
            if name.eq_ignore_ascii_case(b"HEAD") && !folder.is_empty() && depth(folder) < DEPTH {
                heads.insert(
                    folder,
                    Repository {
                        head: &file.path,
                        parts: Vec::new(),
                    },
                );
            }
        }
        if heads.is_empty() {
            return BTreeSet::new();
        }
        for file in files {
            let slashes = (0..file.path.len()).filter(|at| file.path[*at] == b'/');
            for at in slashes.take(DEPTH) {
                let mut names = file.path[at + 1..].split(|&b| b == b'/');
                if names.next().is_some_and(git::is_part)
                    && let Some(repository) = heads.get_mut(&file.path[..at])
                {
                    repository.parts.push(file);
                }
            }
        }
        let brought = heads.into_values().filter(|repository| {
            let mut parts = repository.parts.iter();
            parts.any(|part| self.is_new(part))
                && !repository.parts.iter().all(|part| self.has(part))
        });
        brought
            .filter_map(|one| self.checkout.places(one.head).next())
            .collect()
    }
}

/// A folder of an index with a `HEAD`.
struct Repository<'a> {
    head: &'a [u8],
    /// What git would read of it.
    parts: Vec<&'a Indexed<'a>>,
}

/// The folder of a path, and the name there.
fn split_last(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|&b| b == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&[], path),
    }
}

fn depth(path: &[u8]) -> usize {
    path.split(|&b| b == b'/').count()
}

/// Whether a path of an index may be a part of a repository that is not called `.git`.
fn may_be_of_repository(path: &[u8]) -> bool {
    path.split(|&b| b == b'/').any(git::is_part)
}
