//! Where a link may be, and where it may lead.

use super::{Name, Rules, Verdict};
use crate::{git, paths};
use bailiwick_policy::resolve_existing;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// What the kernel shows. A folder of `/proc` leads on to the files of whoever looks: of that only names are meant that
/// lead to no folder.
const OF_SYSTEM: [&str; 4] = ["/sys", "/proc/mounts", "/proc/self/mounts", "/proc/self/fd"];
/// Devices that are the same for everybody.
const DEVICES: [&str; 10] = [
    "null", "zero", "full", "random", "urandom", "tty", "ptmx", "stdin", "stdout", "stderr",
];
/// Where files of users lie, or can be reached.
const OF_USERS: [&str; 8] = [
    "/home", "/root", "/mnt", "/media", "/srv", "/run", "/var", "/proc",
];
/// Where programs keep in the home directory what they have fetched, and obey nothing; they link to it, and each
/// sandbox has its own.
pub(super) const CACHES: [&str; 14] = [
    ".cache",
    ".cargo/registry",
    ".cargo/git",
    ".rustup/toolchains",
    ".npm/_cacache",
    ".nvm/versions",
    ".pyenv/versions",
    ".bun/install/cache",
    ".gradle/caches",
    ".m2/repository",
    "go/pkg",
    ".local/share/uv",
    ".local/share/pnpm",
    ".local/share/mise/installs",
];

impl Rules {
    /// With the product's own folder, where nobody looks after what a sandbox keeps in private.
    pub(crate) fn beside(&mut self, own: &Path) {
        self.own = own.to_path_buf();
    }

    /// Whether a link would lead to the product's own folder, or to one that holds it.
    pub(crate) fn leads_to_own(&self, link: &Path, target: &OsStr) -> bool {
        let link = self.of_policy(link);
        let plain = git::plain(&link.parent().unwrap_or(&link).join(target));
        let known = !self.own.as_os_str().is_empty();
        let reaches = |at: &Path| at.starts_with(&self.own) || self.own.starts_with(at);
        known && (reaches(&plain) || reaches(&resolve_existing(&plain)))
    }

    /// The places to which a link would lead, as the policy writes paths: by its text, and through other links.
    fn targets(&self, link: &Path, target: &OsStr) -> [PathBuf; 2] {
        let link = self.of_policy(link);
        let plain = git::plain(&link.parent().unwrap_or(&link).join(target));
        let real = resolve_existing(&plain);
        [plain, real]
    }

    /// The rule that denies what a link would lead to, by its path.
    pub(crate) fn denies_target(&self, link: &Path, target: &OsStr) -> Option<u32> {
        if !self.is_kept(link) {
            return None;
        }
        let targets = self.targets(link, target);
        let found = self.names.iter().find(|(number, name)| {
            let Name::Whole(whole) = name else {
                return false;
            };
            let whole = self.of_policy(whole);
            *number >= self.denied_from && targets.iter().any(|target| target.starts_with(&whole))
        });
        found.map(|(number, _)| *number)
    }

    /// The places to which a link would lead and where the sandbox sees nothing: who follows it outside reads or
    /// writes there.
    fn outside(&self, [plain, real]: &[PathBuf; 2]) -> Vec<PathBuf> {
        if is_of_system(plain) {
            return Vec::new();
        }
        let seen = |at: &&PathBuf| {
            let mut folders = self.kept.iter().chain(&self.seen);
            folders.any(|folder| at.starts_with(folder))
        };
        [plain, real]
            .into_iter()
            .filter(|at| !seen(at))
            .cloned()
            .collect()
    }

    /// Whether a link's text goes up from a name that a program could replace by another link: from where that would
    /// lead, it goes up to anywhere.
    fn goes_up_from_a_name(&self, link: &Path, target: &Path) -> bool {
        let mut at = self.of_policy(link.parent().unwrap_or(link));
        let mut named = false;
        for part in target.components() {
            match part {
                Component::ParentDir => {
                    let inner = |top: &PathBuf| at.starts_with(top) && at != *top;
                    if named && self.kept.iter().any(inner) {
                        return true;
                    }
                    at.pop();
                }
                Component::RootDir => at = PathBuf::from("/"),
                part => {
                    named |= matches!(part, Component::Normal(_));
                    at.push(part);
                }
            }
        }
        false
    }

    /// Whether a link would lead to where the sandbox sees nothing.
    pub(crate) fn leads_out(&self, link: &Path, target: &OsStr) -> bool {
        let outside = || self.outside(&self.targets(link, target));
        self.is_kept(link) && !outside().is_empty()
    }

    /// Why a link may not lead where it says.
    pub(crate) fn objects_to_link(&self, link: &Path, target: &OsStr) -> Option<&'static str> {
        if self.leads_to_own(link, target) {
            return Some("the link would lead to folders of the product's own");
        }
        if self.is_kept(link) && self.goes_up_from_a_name(link, Path::new(target)) {
            return Some(
                "the link goes up (`..`) from a name that could be replaced by another link",
            );
        }
        let targets = self.targets(link, target);
        let outside = match self.is_kept(link) {
            true => self.outside(&targets),
            false => Vec::new(),
        };
        if self.is_beside_workspace(link) {
            let top = self.host.iter().filter(|top| link.starts_with(top));
            let top = top.max_by_key(|top| top.as_os_str().len())?;
            let elsewhere = targets.iter().any(|at| {
                let kept = self.kept.iter().any(|top| at.starts_with(top));
                kept && !at.starts_with(self.of_policy(top))
            });
            if elsewhere {
                return Some("what the link would lead to can be replaced by another link");
            }
            if !outside.is_empty() {
                return Some("the link would lead out of what the sandbox sees");
            }
        }
        if outside.iter().any(|at| self.is_users(at)) {
            return Some("the link would lead to files of yours that the sandbox does not see");
        }
        let guarded = targets.iter().any(|at| {
            let inside = paths::below(self.root(), at);
            let kept = self.kept.iter().any(|top| at.starts_with(top));
            kept && (git::below_git(at).is_some() || self.is_refused(&inside))
        });
        guarded.then_some("the link would lead to what is protected by its name")
    }

    pub(super) fn is_refused(&self, path: &Path) -> bool {
        matches!(self.decide(path), Verdict::Refuse(_))
    }

    /// Whether a place where the sandbox sees nothing is likely to hold files of the user's: it is in a folder of
    /// users', or lies at the top where a folder that may be written or the home directory does. What lies there is
    /// not looked at, because the answer would tell a program of it.
    fn is_users(&self, place: &Path) -> bool {
        let caches = CACHES
            .iter()
            .any(|cache| place.starts_with(self.home.join(cache)));
        let depth = if paths::is_temporary(place) { 3 } else { 2 };
        let top: PathBuf = place.components().take(depth).collect();
        let near = self.kept.iter().chain([&self.home, &self.own]);
        let mut near = near.filter(|folder| !folder.as_os_str().is_empty());
        let of_users =
            !paths::is_temporary(place) && OF_USERS.iter().any(|name| place.starts_with(name));
        !caches && (of_users || near.any(|folder| folder.starts_with(&top)))
    }

    /// Whether a path lies in a folder of the host's that may be written.
    pub(crate) fn is_kept(&self, path: &Path) -> bool {
        self.host.iter().any(|folder| path.starts_with(folder))
    }

    /// Whether a link lies in a folder that may be written and is not the workspace: other programs keep there what
    /// they write without a look.
    pub(crate) fn is_beside_workspace(&self, link: &Path) -> bool {
        !link.starts_with(&self.workspace)
    }

    /// Whether git's files lead through a name, where a link would lead them elsewhere.
    pub(crate) fn is_on_a_way(&self, path: &Path) -> bool {
        self.git(path).is_some() && self.nested.ways.has(&self.of_policy(path))
    }

    /// The names below a folder, from there on, through which git's files lead.
    pub(crate) fn ways_below(&self, folder: &Path) -> Vec<PathBuf> {
        self.nested.ways.below(&self.of_policy(folder))
    }
}

/// Whether a place is one of the kernel's that shows nobody's files.
fn is_of_system(place: &Path) -> bool {
    let device = place
        .strip_prefix("/dev")
        .is_ok_and(|name| DEVICES.iter().any(|device| name == Path::new(device)));
    let mut known = OF_SYSTEM.iter();
    device || known.any(|known| place.starts_with(known))
}
