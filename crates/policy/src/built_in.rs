//! What no policy can give away: the files that say what a sandbox may do, and the record of what it
//! did, and what machines are started from. They are denied or protected here and nowhere else, whatever the policy says, and also where
//! nothing seems to grant them: a link may lead there. Otherwise one run could write what the next
//! run obeys.

use crate::PathPattern;
use crate::keys::KeyId;
use crate::merge::Merge;
use crate::request::Request;
use crate::secrets::SecretSource;
use crate::source_text::{SourceText, read_regular};
use crate::stack::{Layer, Unit};
use crate::used::{Use, Used, UsedFile};
use crate::written::Written;
use bailiwick_event::{Origin, Text};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The most bytes of a program of a secret that are looked at; a larger one counts as changed each time.
const LARGEST_PROGRAM: u64 = 64 << 20;

/// The folders of the product's own files. One that holds the home directory is not the product's
/// alone; then it is the file.
pub(crate) fn own_places(request: &Request) -> impl Iterator<Item = &Path> {
    let files = [
        &request.user_file,
        &request.system_file,
        &request.trust_file,
    ];
    let places = files.into_iter().map(|file| match file.parent() {
        Some(folder) if !request.home.starts_with(folder) => folder,
        _ => file,
    });
    // Beside the trust store, with which it is hidden where that has a folder.
    let written = Some(request.written_file.as_path());
    let bare = written.filter(|file| file.parent().is_none_or(|f| request.home.starts_with(f)));
    places.chain([request.cache.as_path()]).chain(bare)
}

/// Denies the product's own files and protects every policy file that was read, by this run or by an earlier one.
/// Returns what the user should know.
///
/// # Errors
/// The lists of folders and files cannot be read.
pub(crate) fn guard_own_files(
    request: &Request,
    units: &[Unit],
    merge: &mut Merge,
) -> Result<Vec<String>, String> {
    let origin = Origin::built_in();
    for path in own_places(request) {
        merge.insert_path(KeyId::Deny, PathPattern::Path(path.to_path_buf()), &origin);
    }
    let named = |unit: &&Unit| unit.layer == Layer::Base;
    let given = units.iter().filter(named);
    let given: Vec<UsedFile> = given.filter_map(|u| file_of(&u.document.source)).collect();
    let used = Used::beside(&request.written_file)?;
    let mut notices = Vec::new();
    let programs = programs_outside(merge, &request.home);
    let roots: Vec<PathBuf> = merge
        .effective
        .network
        .roots
        .iter()
        .map(|root| root.value.clone())
        .collect();
    if !given.is_empty() || !programs.is_empty() || !roots.is_empty() {
        let written = Written::read(&request.written_file)?;
        let reached = |path: &Path| writable(merge, path) || written.line_over(path).is_some();
        let mut reached_files = given;
        reached_files.retain(|file| reached(&file.path));
        let read = |path: &PathBuf| {
            let bytes = read_regular(path, LARGEST_PROGRAM).ok();
            UsedFile::new(path.clone(), bytes.as_deref())
        };
        let reached_programs = programs
            .iter()
            .chain(&roots)
            .filter(|path| reached(path))
            .map(read);
        reached_files.extend(reached_programs);
        let earlier = reached_files
            .iter()
            .filter(|file| written.line_over(&file.path).is_some());
        notices.extend(earlier.filter_map(|file| {
            let how = match used.of(file) {
                Use::Same => return None,
                Use::Never => "was not used before",
                Use::Changed => "has changed since it was used last",
            };
            let look = match &file.path {
                path if programs.contains(path) => {
                    "it runs outside of the sandbox for a secret, so read it first"
                }
                path if roots.contains(path) => {
                    "it says whom programs and the gate trust, so look at it first"
                }
                _ => "`bailiwick policy show --policy FILE` says what it grants",
            };
            Some(format!(
                "{} lies where an earlier sandbox could write, and {how}: {look}; no later sandbox changes it",
                Text::from(request.shown(&file.path))
            ))
        }));
        merge.effective.used = reached_files;
    }
    let read = units.iter().filter_map(|u| u.document.source.path.clone());
    let kept = read.chain(used.paths()).chain(programs).chain(roots);
    for path in kept.collect::<BTreeSet<_>>() {
        if writable(merge, &path) {
            merge.insert_path(KeyId::Protect, PathPattern::Path(path), &origin);
        }
    }
    Ok(notices)
}

/// The file of a policy, as it was read.
fn file_of(source: &SourceText) -> Option<UsedFile> {
    let path = source.path.clone()?;
    Some(UsedFile::new(path, Some(source.text.as_bytes())))
}

/// Files that commands of secrets name, which run outside of the sandbox, in the home directory.
fn programs_outside(merge: &Merge, home: &Path) -> Vec<PathBuf> {
    let secrets = merge.effective.secrets.iter();
    let words = secrets.flat_map(|secret| match &secret.value.from {
        SecretSource::Command(words) => words.as_slice(),
        _ => &[],
    });
    let files = words.map(|word| home.join(word));
    files.filter(|file| file.is_file()).collect()
}

fn writable(merge: &Merge, path: &Path) -> bool {
    let mut write = merge.effective.filesystem.write.iter();
    write.any(|entry| entry.pattern.covers(path).is_some())
}
