//! Whether a name can be a part of one that is protected or reported, which most names are not: it is asked of all
//! names of a folder or an index. What is said to be no part is never decided, so a doubt is a yes.

use super::{Name, Rules};
use bailiwick_policy::{HostMatcher, is_around, name_hash};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The parts of all such names.
pub(super) struct Parts<'a> {
    /// Of the names that programs of the host obey.
    table: &'a HostMatcher,
    /// Those of the policy, by their hashes and in order.
    plain: Vec<u64>,
    /// Those with wildcards: what stands before the first one, and behind the last.
    wild: Vec<[Vec<u8>; 2]>,
    /// Whether a pattern protects files of any name.
    protects_any: bool,
    /// Whether some name of any kind is protected, denied or reported.
    ends_any: bool,
    /// Whether the parts of a pattern are not known: braces may hold slashes.
    unknown: bool,
}

impl<'a> Parts<'a> {
    pub(super) fn of(rules: &'a Rules) -> Self {
        let mut parts = Self {
            table: rules.matcher(),
            plain: Vec::new(),
            wild: Vec::new(),
            protects_any: false,
            ends_any: false,
            unknown: false,
        };
        // Git obeys them wherever they are.
        for name in [".gitmodules", "config", "config.worktree"] {
            parts.add(name);
        }
        for (_, name) in &rules.names {
            match name {
                Name::Whole(path) => {
                    let last = path.file_name().unwrap_or_default();
                    parts.plain.push(name_hash(last.as_bytes()));
                }
                Name::Anywhere { components, .. } => {
                    parts.add_all(components.iter().map(String::as_str));
                }
                Name::Glob { glob, .. } => {
                    parts.look_for_braces(glob);
                    let any = parts.add(glob.rsplit('/').next().unwrap_or_default());
                    parts.protects_any |= any;
                    parts.ends_any |= any;
                }
            }
        }
        for denied in &rules.denied {
            // A link may stand at each of them.
            let glob = denied.glob.text();
            parts.look_for_braces(glob);
            parts.add_all(glob.strip_prefix("**/").unwrap_or(glob).split('/'));
        }
        for pattern in rules.matcher().of_policy() {
            parts.add_all(pattern.split('/'));
        }
        parts.plain.sort_unstable();
        parts
    }

    fn look_for_braces(&mut self, glob: &str) {
        self.unknown |= glob.contains('/') && glob.contains(['{', '}']);
    }

    fn add_all<'b>(&mut self, parts: impl Iterator<Item = &'b str>) {
        let last = parts.fold(false, |_, part| self.add(part));
        self.ends_any |= last;
    }

    /// Adds a part of a pattern. Whether it stands for names of any kind.
    fn add(&mut self, part: &str) -> bool {
        let part = part.as_bytes();
        let Some(first) = part.iter().position(is_wild) else {
            self.plain.push(name_hash(part));
            return false;
        };
        let last = part.iter().rposition(is_wild).unwrap_or(first);
        let around = [part[..first].to_vec(), part[last + 1..].to_vec()];
        if around.iter().all(Vec::is_empty) {
            return true;
        }
        if !self.wild.contains(&around) {
            self.wild.push(around);
        }
        false
    }

    /// Whether an entry of a folder, which is no link, may be at a name that ends with its own. A link counts as each
    /// part of what lies below it.
    pub(super) fn may_end(&self, folder: &Path, name: &[u8]) -> bool {
        let any_below = |folder: &OsStr| self.table.may_mean_any_below(folder.as_bytes());
        self.ends_any || self.may_be_named(name) || folder.file_name().is_some_and(any_below)
    }

    /// Whether a path may have a part that is protected.
    pub(super) fn may_be_in(&self, path: &[u8]) -> bool {
        let mut parts = path.split(|&b| b == b'/');
        self.protects_any || parts.any(|part| self.may_be_named(part))
    }

    /// The same without parts that stand for every name.
    pub(super) fn may_be_named(&self, name: &[u8]) -> bool {
        let mut wild = self.wild.iter();
        self.unknown
            || self.plain.binary_search(&name_hash(name)).is_ok()
            || wild.any(|[before, after]| is_around(before, after, name))
            || self.table.may_be_of_table(name)
    }
}

/// Whether a byte of a name stands for others.
pub(super) fn is_wild(byte: &u8) -> bool {
    b"*?[]{}\\!(|)".contains(byte)
}
