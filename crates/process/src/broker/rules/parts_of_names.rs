//! Whether a name can be a part of one that is protected or reported, which most names are not: it is asked of all
//! names of a folder or an index.

use super::{Name, Rules};
use bailiwick_policy::{HostMatcher, name_hash};
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
    /// Names below which any name is a part, by their hashes.
    above_any: Vec<u64>,
    /// Whether any name is a part, wherever it is.
    everywhere: bool,
    /// Whether the parts of a pattern are not known: its braces hold slashes.
    unknown: bool,
}

impl<'a> Parts<'a> {
    pub(super) fn of(rules: &'a Rules) -> Self {
        let mut parts = Self {
            table: rules.matcher(),
            plain: Vec::new(),
            wild: Vec::new(),
            protects_any: false,
            above_any: Vec::new(),
            everywhere: false,
            unknown: false,
        };
        for (_, name) in &rules.names {
            match name {
                Name::Whole(path) => {
                    let last = path.file_name().unwrap_or_default();
                    parts.add(None, last.as_bytes());
                }
                Name::Anywhere { components, .. } => {
                    parts.add_all(components.iter().map(String::as_str));
                }
                Name::Glob { glob, .. } => parts.add_last(glob),
            }
        }
        for denied in &rules.denied {
            // A link may stand at each of them.
            let glob = denied.glob.text();
            let glob = glob.strip_prefix("**/").unwrap_or(glob);
            parts.add_all(glob.split('/'));
        }
        for pattern in rules.matcher().of_policy() {
            parts.add_all(pattern.split('/'));
        }
        parts.plain.sort_unstable();
        parts
    }

    fn add_all<'b>(&mut self, parts: impl Iterator<Item = &'b str>) {
        let mut above = None;
        for part in parts.map(str::as_bytes) {
            self.add(above, part);
            above = Some(part);
        }
    }

    fn add_last(&mut self, glob: &str) {
        let mut parts = glob.rsplit('/').map(str::as_bytes);
        let last = parts.next().unwrap_or_default();
        self.protects_any |= last.iter().all(|byte| *byte == b'*');
        self.add(parts.next(), last);
    }

    /// Adds a part of a pattern that stands below `above`.
    fn add(&mut self, above: Option<&[u8]>, part: &[u8]) {
        let count = |brace| part.iter().filter(|byte| **byte == brace).count();
        self.unknown |= count(b'{') != count(b'}');
        let Some(first) = part.iter().position(is_wild) else {
            self.plain.push(name_hash(part));
            return;
        };
        let last = part.iter().rposition(is_wild).unwrap_or(first);
        let around = [part[..first].to_vec(), part[last + 1..].to_vec()];
        if around.iter().all(Vec::is_empty) {
            match above.filter(|above| part != b"**" && !above.iter().any(is_wild)) {
                Some(above) => self.above_any.push(name_hash(above)),
                None => self.everywhere = true,
            }
        } else if !self.wild.contains(&around) {
            self.wild.push(around);
        }
    }

    /// Whether an entry of a folder may be such a part.
    pub(super) fn may_be(&self, folder: &Path, name: &[u8]) -> bool {
        let any_below = |folder: &OsStr| {
            let folder = folder.as_bytes();
            self.above_any.contains(&name_hash(folder)) || self.table.may_mean_any_below(folder)
        };
        self.everywhere || self.may_be_named(name) || folder.file_name().is_some_and(any_below)
    }

    /// Whether a path may have a part that is protected.
    pub(super) fn may_be_in(&self, path: &[u8]) -> bool {
        let mut parts = path.split(|&b| b == b'/');
        self.protects_any || parts.any(|part| self.may_be_named(part))
    }

    /// The same without parts that stand for every name.
    pub(super) fn may_be_named(&self, name: &[u8]) -> bool {
        let is_around = |[before, after]: &[Vec<u8>; 2]| {
            name.len() >= before.len() + after.len()
                && name[..before.len()].eq_ignore_ascii_case(before)
                && name[name.len() - after.len()..].eq_ignore_ascii_case(after)
        };
        self.unknown
            || self.plain.binary_search(&name_hash(name)).is_ok()
            || self.wild.iter().any(is_around)
            || self.table.may_be_of_table(name)
    }
}

fn is_wild(byte: &u8) -> bool {
    b"*?[]{}\\!(|)".contains(byte)
}
