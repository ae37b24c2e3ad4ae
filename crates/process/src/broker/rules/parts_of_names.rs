//! Whether a name can be a part of one that is protected or reported, which most names are not: it is asked of all
//! names of a folder or an index.

use super::{Name, Rules};
use bailiwick_policy::name_hash;
use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;

/// The parts of all such names.
pub(super) struct Parts {
    /// By their hashes.
    plain: HashSet<u64>,
    /// Those with wildcards: the bytes that each begins and ends with, zero for any.
    wild: HashSet<[u8; 2]>,
    /// Whether a pattern protects files of any name.
    protects_any: bool,
}

impl Parts {
    pub(super) fn of(rules: &Rules) -> Self {
        let mut parts = Self {
            plain: HashSet::new(),
            wild: HashSet::new(),
            protects_any: false,
        };
        for (_, name) in &rules.names {
            match name {
                Name::Whole(path) => parts.add(path.file_name().unwrap_or_default().as_bytes()),
                Name::Anywhere { components, .. } => {
                    components
                        .iter()
                        .for_each(|part| parts.add(part.as_bytes()));
                }
                Name::Glob { glob, .. } => parts.add_last(glob),
            }
        }
        for denied in &rules.denied {
            // A link may stand at each of them.
            let glob = denied.glob.strip_prefix("**/").unwrap_or(&denied.glob);
            let all = glob.split('/').map(str::as_bytes);
            all.for_each(|part| parts.add(part));
        }
        for pattern in rules.matcher().patterns() {
            let all = pattern.split('/').map(str::as_bytes);
            all.for_each(|part| parts.add(part));
        }
        parts
    }

    fn add_last(&mut self, glob: &str) {
        let last = glob.rsplit('/').next().unwrap_or_default();
        self.protects_any |= last.bytes().all(|byte| byte == b'*');
        self.add(last.as_bytes());
    }

    fn add(&mut self, part: &[u8]) {
        let wild = |byte: &u8| b"*?[]{}\\!(|)".contains(byte);
        match part.iter().any(wild) {
            false => drop(self.plain.insert(name_hash(part))),
            true => {
                let end = |byte: Option<&u8>| match byte {
                    Some(byte) if !wild(byte) => byte.to_ascii_lowercase(),
                    _ => 0,
                };
                self.wild.insert([end(part.first()), end(part.last())]);
            }
        }
    }

    pub(super) fn may_be(&self, name: &[u8]) -> bool {
        self.wild.contains(&[0, 0]) || self.may_be_named(name)
    }

    /// Whether a path may have a part that is protected.
    pub(super) fn may_be_in(&self, path: &[u8]) -> bool {
        let mut parts = path.split(|&b| b == b'/');
        self.protects_any || parts.any(|part| self.may_be_named(part))
    }

    /// The same without parts that stand for every name.
    pub(super) fn may_be_named(&self, name: &[u8]) -> bool {
        let end = |byte: Option<&u8>| byte.map_or(0, u8::to_ascii_lowercase);
        let (first, last) = (end(name.first()), end(name.last()));
        let mut wild = [[first, last], [first, 0], [0, last]].into_iter();
        self.plain.contains(&name_hash(name))
            || wild.any(|ends| ends != [0, 0] && self.wild.contains(&ends))
    }
}
