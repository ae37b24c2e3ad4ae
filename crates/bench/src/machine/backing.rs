//! The host's side of a file that a workload has written: that it is there, whole and without a hole, and
//! that the host's own cache has forgotten it where it should have.

use super::known::{Known, PAGE, times};
use super::resident::resident;
use crate::verdict::Verdict;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Whether each of its bytes is as it should be on the host after that work (`count` random writes).
///
/// # Errors
/// A fail that says what is another.
pub(super) fn check(path: &Path, bytes: u64, count: u64, seed: u64) -> Result<(), Verdict> {
    let fail = |why: String| Verdict::Fail(format!("{} on the host: {why}", path.display()));
    let pages = bytes / PAGE as u64;
    let compare = || -> io::Result<Option<String>> {
        let mut file = io::BufReader::with_capacity(1 << 20, File::open(path)?);
        let metadata = file.get_ref().metadata()?;
        if metadata.len() != bytes {
            return Ok(Some(format!("{} bytes instead of {bytes}", metadata.len())));
        }
        // Some file systems store what stands in an inode; none of them this much.
        if metadata.blocks() * 512 < bytes {
            return Ok(Some("it has holes".to_owned()));
        }
        let mut known = Known::new();
        let mut page = vec![0; PAGE];
        for (number, times) in (0..).zip(times(pages, count, seed)) {
            file.read_exact(&mut page)?;
            if page != known.page(number, times) {
                return Ok(Some(format!("page {number} is another")));
            }
        }
        Ok(None)
    };
    match compare() {
        Ok(None) => Ok(()),
        Ok(Some(why)) => Err(fail(why)),
        Err(error) => Err(fail(error.to_string())),
    }
}

/// Has the host's cache forget it, and makes sure of that.
///
/// # Errors
/// Inconclusive, where it does not.
pub(super) fn forget(path: &Path) -> Result<(), Verdict> {
    let cannot = |why: String| {
        Verdict::Inconclusive(format!("the host's cache of {}: {why}", path.display()))
    };
    let emptied = || -> io::Result<u64> {
        let file = File::open(path)?;
        file.sync_all()?;
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
        resident(&file)
    };
    match emptied() {
        Ok(0) => Ok(()),
        Ok(pages) => Err(cannot(format!("{pages} pages stay in it"))),
        Err(error) => Err(cannot(error.to_string())),
    }
}

#[cfg(test)]
#[path = "backing_tests.rs"]
mod tests;
