//! How a part lay on the disk when it was last hashed.
//!
//! Decision: a start must not read half a gigabyte to know that it is what it was. The kernel sets a
//! file's ctime whenever its content or its attributes change, and no program can set it to a value
//! of its choice; a part with the device, inode, size, ctime and mtime that it had when its hash was
//! right is taken to be right. Everything else (a copied cache, a touched file) costs one hash.

use super::cache::{Cache, fault};
use super::hash;
use super::manifest::{Manifest, Part, Role, remedy};
use bailiwick_event::{Failure, Text};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The kernel's clock for files may stand still for so long; a change within it could not be seen.
const TICK: Duration = Duration::from_millis(20);

/// What a file was like, and what was in it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    /// Seconds and nanoseconds.
    changed: (i64, i64),
    modified: (i64, i64),
    blake3: String,
}

impl Stamp {
    fn of(metadata: &Metadata, blake3: &str) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            blake3: blake3.to_owned(),
        }
    }
}

fn stamp_path(part: &Path) -> PathBuf {
    let mut path = part.to_owned().into_os_string();
    path.push(".stamp");
    path.into()
}

/// The file of a part of an image, if what is in it is what the manifest names.
pub(super) fn checked(cache: &Cache, of: &Manifest, role: Role) -> Result<PathBuf, Failure> {
    let part = of.part(role).ok_or_else(|| {
        Failure::fault(format!(
            "the image \"{}\" has no {}\n  remedy: {}",
            of.name,
            role.name(),
            remedy(&of.name)
        ))
    })?;
    let path = cache.parts().join(part.file_name());
    let metadata = fs::symlink_metadata(&path).map_err(|e| unusable(&of.name, role, &path, &e))?;
    if metadata.is_file() && metadata.len() == part.size {
        let stamp = fs::read(stamp_path(&path)).ok();
        let stamp = stamp.and_then(|bytes| serde_json::from_slice::<Stamp>(&bytes).ok());
        if stamp == Some(Stamp::of(&metadata, &part.blake3)) {
            return Ok(path);
        }
    }
    hashed(cache, &of.name, part)
}

/// The same, whatever the stamp says. A stamp that does not fit is replaced.
pub(super) fn hashed(cache: &Cache, image: &str, part: &Part) -> Result<PathBuf, Failure> {
    let path = cache.parts().join(part.file_name());
    let (found, metadata) =
        settled_hash(&path).map_err(|e| unusable(image, part.role, &path, &e))?;
    if found != part.blake3 || metadata.len() != part.size {
        // What is wrong stays wrong, also if somebody gives it the old attributes.
        let _ = fs::remove_file(stamp_path(&path));
        return Err(Failure::fault(format!(
            "the {} of the image \"{image}\" is not what was built: {} has the hash {found} and {} \
             bytes, the manifest names {} and {}\n  remedy: {}",
            part.role.name(),
            Text::from(path.as_os_str()),
            metadata.len(),
            part.blake3,
            part.size,
            remedy(image)
        )));
    }
    let stamp = serde_json::to_string(&Stamp::of(&metadata, &part.blake3));
    if let Ok(stamp) = stamp {
        // A cache that cannot be written costs a hash at each start, and no more.
        let _ = cache.install_text(&stamp, &stamp_path(&path));
    }
    Ok(path)
}

/// The hash of a file that did not change meanwhile, and what the file was like.
pub(super) fn settled_hash(path: &Path) -> io::Result<(String, Metadata)> {
    let mut file = File::open(path)?;
    let before = file.metadata()?;
    if !before.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a file"));
    }
    let changed = Duration::new(
        u64::try_from(before.ctime()).unwrap_or(0),
        u32::try_from(before.ctime_nsec()).unwrap_or(0),
    );
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    if now.is_ok_and(|now| now < changed + TICK) {
        std::thread::sleep(TICK);
    }
    let found = hash::reader(&mut file)?;
    let after = file.metadata()?;
    if Stamp::of(&before, "") != Stamp::of(&after, "") {
        return Err(io::Error::new(ErrorKind::ResourceBusy, "it changes"));
    }
    Ok((found, after))
}

fn unusable(image: &str, role: Role, path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound => Failure::fault(format!(
            "the {} of the image \"{image}\" is missing: {}\n  remedy: {}",
            role.name(),
            Text::from(path.as_os_str()),
            remedy(image)
        )),
        _ => fault("read", path, error),
    }
}

#[cfg(test)]
#[path = "stamp_tests.rs"]
mod tests;
