//! What no policy can give away: the files that say what a sandbox may do. If a granted path
//! holds one of them it is denied or protected here, whatever the policy says; otherwise one run
//! could write what the next run obeys.

use crate::keys::KeyId;
use crate::merge::Merge;
use crate::request::Request;
use crate::stack::Unit;
use crate::{PathEntry, PathPattern};
use bailiwick_event::Origin;
use std::path::Path;

/// Denies the product's own files and protects every policy file that was read.
pub(crate) fn guard_own_files(request: &Request, units: &[Unit], merge: &mut Merge) {
    let origin = Origin::built_in();
    for file in [
        &request.user_file,
        &request.system_file,
        &request.trust_file,
    ] {
        let folder = file.parent().unwrap_or(file);
        let whole =
            !merge.effective.workspace.starts_with(folder) && !request.home.starts_with(folder);
        let path = if whole { folder } else { file.as_path() };
        if granted(merge, path) {
            merge.insert_path(KeyId::Deny, PathPattern::Path(path.to_path_buf()), &origin);
        }
    }
    for path in units.iter().filter_map(|u| u.document.source.path.clone()) {
        if writable(merge, &path) {
            merge.insert_path(KeyId::Protect, PathPattern::Path(path), &origin);
        }
    }
}

fn below(entries: &[PathEntry], path: &Path) -> bool {
    entries.iter().any(|e| e.pattern.covers(path).is_some())
}

fn writable(merge: &Merge, path: &Path) -> bool {
    below(&merge.effective.filesystem.write, path)
}

fn granted(merge: &Merge, path: &Path) -> bool {
    let files = &merge.effective.filesystem;
    below(&files.read, path) || below(&files.write, path)
}
