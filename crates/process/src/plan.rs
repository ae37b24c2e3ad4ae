//! Which mounts make the sandbox's root. Made before anything is started, from the policy and
//! the file system as it is, so that what cannot be enforced is refused with its policy line
//! rather than found out half-way.
//!
//! The root is empty and gets what the policy names; what is not named does not exist. That is
//! why there is no list of secrets to hide: forgetting one cannot show it.

mod private;

use self::private::{no_place, without_links};
pub(crate) use self::private::{not_made, private_folder};
use crate::broker::Rules;
use crate::closed;
use crate::copies;
use crate::meant::{denied, existing, literal};
use crate::monitor::Shown;
use crate::paths::{self, Link, below};
use crate::setup::{raw, raw_list};
use crate::walk::Matches;
use crate::wanted::{Behind, Granted, Wanted};
use bailiwick_event::{Failure, Refused, RuleRef, Text};
use bailiwick_policy::{Effective, PathEntry, PathPattern};
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a mounted path may be used for, strongest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Access {
    Read,
    Private,
    Write,
    /// A device of a monitor's.
    Device,
}

/// One mount of the host's files.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bind {
    /// The path on the host, without links.
    #[serde(with = "raw")]
    pub(crate) source: PathBuf,
    /// The path inside, without links.
    #[serde(with = "raw")]
    pub(crate) at: PathBuf,
    pub(crate) access: Access,
    pub(crate) folder: bool,
    /// The owner on disk whose files must appear as the sandboxed program's own, where the host's
    /// root runs the sandbox.
    pub(crate) owner: Option<(u32, u32)>,
}

/// A path that becomes unreadable.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mask {
    #[serde(with = "raw")]
    pub(crate) at: PathBuf,
    pub(crate) folder: bool,
}

/// The whole root, in the order in which it is made.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// Symbolic links of the host outside of every mount (`/bin`), made again.
    pub(crate) links: Vec<Link>,
    /// Parents before children.
    pub(crate) binds: Vec<Bind>,
    /// Control folders that must not be renamed away: mounted on themselves.
    #[serde(with = "raw_list")]
    pub(crate) pinned: Vec<PathBuf>,
    /// Paths that become read-only.
    #[serde(with = "raw_list")]
    pub(crate) protected: Vec<PathBuf>,
    /// Paths that become unreadable.
    pub(crate) masked: Vec<Mask>,
    /// Folders in which a pattern that denies may mean something, and the number of its entry: nobody could look.
    #[serde(skip)]
    pub(crate) closed: Vec<(usize, PathBuf)>,
    /// What a pattern denies because a link that it means leads there, and the number of the pattern's entry.
    #[serde(skip)]
    pub(crate) led: Vec<(usize, PathBuf)>,
    /// What is a monitor's, where one shows all of this.
    pub(crate) shown: Option<Shown>,
    /// What the user should know.
    #[serde(skip)]
    pub(crate) notices: Vec<String>,
}

impl Plan {
    /// What a policy grants, before anything of it is protected or hidden.
    pub(crate) fn granted(policy: &Effective, private: &Path) -> Result<Self, Failure> {
        let mut plan = Self::default();
        plan.plan_binds(policy, private, false)?;
        Ok(plan)
    }

    /// Plans the root for a policy. `root` says whether the host's root starts the sandbox, and
    /// `rules` what the write broker keeps.
    pub(crate) fn new(
        policy: &Effective,
        private: &Path,
        root: bool,
        rules: Option<&Rules>,
    ) -> Result<Self, Failure> {
        let mut plan = Self::default();
        plan.plan_binds(policy, private, root)?;
        for entry in &policy.filesystem.protect {
            for path in existing("filesystem.protect", entry)? {
                plan.protect(&path, entry, rules)?;
            }
        }
        plan.deny(policy)?;
        Ok(plan)
    }

    /// What patterns deny by other paths than they match, with the numbers of their entries.
    pub(crate) fn denied_elsewhere(&self) -> impl Iterator<Item = &(usize, PathBuf)> {
        self.closed.iter().chain(&self.led)
    }

    /// Hides what is denied, and the folders that may hold what a pattern denies.
    fn deny(&mut self, policy: &Effective) -> Result<(), Failure> {
        let mut told = Vec::new();
        for (number, entry) in policy.filesystem.deny.iter().enumerate() {
            let Matches { paths, led, closed } = denied("filesystem.deny", entry)?;
            for path in paths.iter().chain(&led) {
                self.mask(path, entry);
            }
            if let PathPattern::Glob { .. } = entry.pattern {
                let links = paths.into_iter().filter(|path| path.is_symlink());
                let ends = links.filter_map(|path| Some(paths::resolve(&path)?.real));
                self.led.extend(ends.chain(led).map(|path| (number, path)));
            }
            for closed in closed {
                // Elsewhere the rights that are missing stay missing.
                let above = self.mounted(&closed.path);
                if above.is_some_and(|bind| bind.access == Access::Write) {
                    self.mask(&closed.path, entry);
                    self.closed.push((number, closed.path.clone()));
                    told.push(closed);
                }
            }
        }
        told.sort_by(|one, other| one.path.cmp(&other.path));
        told.dedup();
        let so =
            "all of it is denied, because a pattern of [filesystem] deny may mean what it holds";
        self.notices.extend(closed::told(&told, so));
        Ok(())
    }

    /// Puts everything below a folder.
    pub(crate) fn move_below(&mut self, share: &Path) {
        let places = (self.links.iter_mut().map(|link| &mut link.at))
            .chain(self.binds.iter_mut().map(|bind| &mut bind.at))
            .chain(&mut self.pinned)
            .chain(&mut self.protected)
            .chain(self.masked.iter_mut().map(|mask| &mut mask.at));
        for at in places {
            *at = below(share, at);
        }
    }

    /// Where on the host a path of this root is.
    pub(crate) fn on_host(&self, at: &Path) -> PathBuf {
        let share = self.shown.as_ref().map(|shown| shown.share.as_path());
        let below = share.and_then(|share| at.strip_prefix(share).ok());
        below.map_or_else(|| at.to_path_buf(), |below| Path::new("/").join(below))
    }

    /// Every mount of the host's files.
    pub(crate) fn mounts(&self) -> impl Iterator<Item = &Bind> {
        let own = self.shown.iter().flat_map(|shown| &shown.own);
        own.chain(&self.binds)
    }

    /// Paths that a program may write, for Landlock.
    pub(crate) fn writable(&self) -> impl Iterator<Item = &Path> {
        self.mounts()
            .filter(|b| b.access > Access::Read)
            .map(|b| b.at.as_path())
    }

    /// The paths of the host that a policy lets a program write.
    pub(crate) fn writable_on_host(policy: &Effective) -> impl Iterator<Item = PathBuf> {
        policy
            .filesystem
            .write
            .iter()
            .map(|entry| match &entry.pattern {
                PathPattern::Path(path) => {
                    paths::resolve(path).map_or_else(|| path.clone(), |resolved| resolved.real)
                }
                PathPattern::Glob { root, .. } => root.clone(),
            })
    }

    /// Folders of the policy's that a program may write, where they are inside.
    pub(crate) fn writable_folders(&self) -> impl Iterator<Item = PathBuf> {
        self.written().map(|b| b.at.clone())
    }

    /// The same, where they are on the host.
    pub(crate) fn written_folders(&self) -> impl Iterator<Item = PathBuf> {
        self.written().map(|b| b.source.clone())
    }

    fn written(&self) -> impl Iterator<Item = &Bind> {
        let folders = self.binds.iter().filter(|b| b.folder);
        folders.filter(|b| b.access == Access::Write)
    }

    /// Folders of the host that are inside where they are outside, as the policy writes them.
    pub(crate) fn seen(&self) -> impl Iterator<Item = PathBuf> {
        let shown = self
            .binds
            .iter()
            .filter(|b| b.folder && b.access != Access::Private);
        shown.map(|b| b.source.clone())
    }

    /// Folders of the product that stand behind private paths.
    pub(crate) fn private_folders(&self) -> impl Iterator<Item = PathBuf> {
        self.binds
            .iter()
            .filter(|b| b.access == Access::Private)
            .map(|b| b.source.clone())
    }

    /// The access that the mounts give to a path, if any.
    fn mounted(&self, path: &Path) -> Option<&Bind> {
        self.binds
            .iter()
            .rev()
            .find(|bind| path.starts_with(&bind.at))
    }

    fn plan_binds(
        &mut self,
        policy: &Effective,
        private: &Path,
        root: bool,
    ) -> Result<(), Failure> {
        let filesystem = &policy.filesystem;
        let groups = [
            ("filesystem.read", &filesystem.read, Access::Read),
            ("filesystem.private", &filesystem.private, Access::Private),
            ("filesystem.write", &filesystem.write, Access::Write),
        ];
        let mut wanted = Wanted::default();
        let mut granted = Vec::new();
        let mut lost = Vec::new();
        for (rule, entries, access) in groups {
            for entry in entries {
                if access == Access::Private {
                    let path = literal(rule, entry)?;
                    wanted.private(path, private_folder(private, path)?);
                    continue;
                }
                for path in existing(rule, entry)? {
                    let Some(way) = paths::resolve(&path) else {
                        if access == Access::Write && path.starts_with(&policy.home) {
                            lost.push(shown(&path).to_string());
                        } else {
                            self.note_missing(&path, entry);
                        }
                        continue;
                    };
                    not_whole(rule, entry, &way.real)?;
                    granted.push(Granted {
                        rule,
                        entry,
                        access,
                        way,
                    });
                }
            }
        }
        let copies = copies::wanted(&filesystem.copy, &mut lost)?;
        self.note_lost(&lost);
        wanted.grant(policy, granted)?;
        for copy in copies {
            wanted.copy(copy, private)?;
        }
        let Wanted {
            mut paths,
            links,
            foreign,
        } = wanted;
        for behind in paths.values_mut().filter(|b| b.access == Access::Private) {
            behind.source = without_links(&behind.source, &foreign)?;
        }
        for (at, behind) in paths {
            let Behind {
                access,
                source,
                folder,
            } = behind;
            let above = self.mounted(&at);
            if access != Access::Private && above.is_some_and(|bind| bind.access == access) {
                continue;
            }
            if above.is_some() && !at.exists() {
                let written = above.is_some_and(|bind| bind.access == Access::Write);
                let notice = no_place(&shown(&at).to_string(), written);
                self.notices.push(notice);
                continue;
            }
            let own = access > Access::Read
                || at.starts_with(&policy.home)
                || at.starts_with(&policy.workspace);
            let owner = match root && own {
                true => Some(owner(&source)?),
                false => None,
            };
            self.binds.push(Bind {
                source,
                at,
                access,
                folder,
                owner,
            });
        }
        let mut links: Vec<Link> = links.into_iter().map(Link::from).collect();
        links.retain(|link| self.mounted(&link.at).is_none());
        links.sort();
        links.dedup();
        self.links = links;
        Ok(())
    }

    /// A path that may be written but is not there would be made in the scratch home directory,
    /// and lost with it.
    fn note_lost(&mut self, lost: &[String]) {
        if !lost.is_empty() {
            self.notices.push(format!(
                "{} may be written but {} not exist: what is written there is lost at the end; \
                 make {} first to keep it",
                lost.join(", "),
                if lost.len() == 1 { "does" } else { "do" },
                if lost.len() == 1 { "it" } else { "them" },
            ));
        }
    }

    fn note_missing(&mut self, path: &Path, entry: &PathEntry) {
        let written = !entry.origin.file.starts_with("template:") && entry.origin.line != 0;
        if written && path.symlink_metadata().is_err() {
            self.notices
                .push(format!("{}: {} does not exist", entry.origin, shown(path)));
        }
    }

    /// Makes an existing path below a writable mount read-only, and keeps the control folders
    /// above it where they are; what the write broker filters stays writable.
    fn protect(
        &mut self,
        path: &Path,
        entry: &PathEntry,
        rules: Option<&Rules>,
    ) -> Result<(), Failure> {
        let Some(bind) = self.mounted(path) else {
            return Ok(());
        };
        if bind.access != Access::Write {
            return Ok(());
        }
        let mut link = None;
        let mut above = Vec::new();
        let mut current = bind.at.clone();
        for part in path.strip_prefix(&bind.at).unwrap_or(path).components() {
            current.push(part);
            // Most of what is protected is not there.
            let Ok(kind) = current.symlink_metadata() else {
                return Ok(());
            };
            above.push(current.clone());
            if kind.is_symlink() {
                link = Some(current);
                break;
            }
            if !kind.is_dir() {
                // A file; or a file where a folder was meant (`.git` of a worktree), which
                // decides what the folder is and so is protected in its place.
                break;
            }
        }
        if rules.is_some_and(|rules| rules.is_gits(path)) {
            return Ok(());
        }
        // A link, and what it leads to, the write broker keeps.
        let is_git = |link: &PathBuf| link.file_name().is_some_and(|name| name == ".git");
        if let Some(link) = &link
            && (rules.is_none() || is_git(link))
        {
            return Err(refused(
                "filesystem.protect",
                entry,
                format!(
                    "{} is a symbolic link, which cannot be kept from being replaced",
                    shown(link)
                ),
                "put a file or folder in the place of the link, or leave the entry out",
            ));
        }
        let Some(target) = above.pop() else {
            return Ok(());
        };
        let control = |p: &&PathBuf| {
            p.file_name()
                .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
        };
        for folder in above.iter().filter(control) {
            if !self.pinned.contains(folder) {
                self.pinned.push(folder.clone());
            }
        }
        if link.is_none() && !self.protected.contains(&target) {
            self.protected.push(target);
        }
        Ok(())
    }

    /// Whether a file that is denied by its path may appear later, or be another one than the mount hides: the
    /// user's programs write where it is. What the templates name is the system's, and only its
    /// administrator's to write.
    pub(crate) fn may_be_replaced(&self, policy: &Effective) -> bool {
        let denied = policy.filesystem.deny.iter();
        let mut own = denied.filter(|entry| !entry.origin.file.starts_with("template:"));
        own.any(|entry| {
            let PathPattern::Path(path) = &entry.pattern else {
                return false;
            };
            let real = bailiwick_policy::resolve_existing(path);
            let shown = self.mounted(&real);
            shown.is_some_and(|bind| bind.access != Access::Private)
        })
    }

    /// Makes what a path leads to unreadable, where it is visible at all.
    fn mask(&mut self, path: &Path, entry: &PathEntry) {
        let Some(resolved) = paths::resolve(path) else {
            return;
        };
        let Some(bind) = self.mounted(&resolved.real) else {
            return;
        };
        // Below a private path there is nothing of the host to hide. The system's own secrets
        // (`/etc/shadow`), which the templates name, are closed by their modes already.
        let template = entry.origin.file.starts_with("template:");
        if bind.access == Access::Private || template && closed_by_mode(&resolved.real, bind) {
            return;
        }
        let mask = Mask {
            at: resolved.real,
            folder: resolved.folder,
        };
        if !self.masked.contains(&mask) {
            self.masked.push(mask);
        }
    }
}

/// Whether the file belongs to the system and its mode shows it to nobody but its owner and
/// group, neither of which the sandboxed program is.
fn closed_by_mode(path: &Path, bind: &Bind) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    bind.access == Access::Read
        && bind.owner.is_none()
        && fs::metadata(path).is_ok_and(|meta| {
            let others = meta.mode() & 0o007 == 0;
            let stranger = meta.uid() == 0 && (own == 0 || meta.gid() != group);
            others && stranger && !in_supplementary_group(meta.gid())
        })
}

/// Whether the caller, and so a user's sandbox, is in this group besides its own.
fn in_supplementary_group(gid: u32) -> bool {
    let root = rustix::process::geteuid().is_root();
    !root
        && rustix::process::getgroups().map_or(true, |groups| {
            groups.iter().any(|group| group.as_raw() == gid)
        })
}

/// A path as it may be shown: a workspace can hold names with escape sequences.
pub(crate) fn shown(path: &Path) -> Text {
    Text::from(path.as_os_str())
}

pub(crate) fn refused(rule: &str, entry: &PathEntry, resource: String, remedy: &str) -> Failure {
    Failure::Refused(Refused {
        rule: RuleRef {
            id: rule.to_owned(),
            origin: entry.origin.clone(),
        },
        resource,
        remedy: remedy.to_owned(),
    })
}

/// Refuses what every sandbox has of its own.
fn not_whole(rule: &str, entry: &PathEntry, path: &Path) -> Result<(), Failure> {
    let own = path.starts_with("/proc") || path == Path::new("/dev");
    if !own && path != Path::new("/") {
        return Ok(());
    }
    let remedy = match own {
        true => "leave the entry out: every sandbox has one of its own",
        false => "name the folders that are needed: [\"/usr\", \"/etc\", \"/srv\"]",
    };
    Err(refused(
        rule,
        entry,
        format!("{} of the host cannot be shown", shown(path)),
        remedy,
    ))
}

/// The owner of a path on the host.
fn owner(path: &Path) -> Result<(u32, u32), Failure> {
    let meta = fs::metadata(path)
        .map_err(|e| Failure::fault(format!("{} cannot be read: {e}", shown(path))))?;
    Ok((meta.uid(), meta.gid()))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
