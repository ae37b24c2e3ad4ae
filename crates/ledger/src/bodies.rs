//! Bodies that the policy has kept, each once, under the hash of what it holds. What is read back may
//! have been changed: it counts only where the hash still fits.

use crate::error::LedgerError;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Bytes that a session keeps, compressed.
const MOST: u64 = 256 * 1024 * 1024;
/// Bytes of one body.
const LARGEST: u64 = 64 * 1024 * 1024;

/// The folder in a session's.
pub(crate) fn folder(session: &Path) -> PathBuf {
    session.join("bodies")
}

/// The name of a body: BLAKE3, in hex.
fn name(body: &[u8]) -> String {
    blake3::hash(body).to_hex().to_string()
}

/// Keeps a body; gives its name, none where the session has kept as much as it may. `used` is what it
/// has kept so far.
pub(crate) fn keep(
    session: &Path,
    body: &[u8],
    used: &mut u64,
) -> Result<Option<String>, LedgerError> {
    let folder = folder(session);
    let name = name(body);
    let path = folder.join(format!("{name}.gz"));
    let io = LedgerError::io("write", &path);
    if path.exists() {
        return Ok(Some(name));
    }
    // What is kept is looked at and seldom: quick counts more than small.
    let mut coder = GzEncoder::new(Vec::new(), Compression::fast());
    let coded = coder.write_all(body).and_then(|()| coder.finish());
    let coded = match coded {
        Ok(coded) => coded,
        Err(error) => return Err(io(error)),
    };
    if *used + coded.len() as u64 > MOST {
        return Ok(None);
    }
    let made = DirBuilder::new().mode(0o700).create(&folder);
    let written = made
        .or_else(|e| match e.kind() {
            ErrorKind::AlreadyExists => Ok(()),
            _ => Err(e),
        })
        .and_then(|()| write(&folder, &path, &coded));
    match written {
        Ok(()) => {
            *used += coded.len() as u64;
            Ok(Some(name))
        }
        Err(error) => Err(io(error)),
    }
}

/// Writes a file that is there whole or not at all.
fn write(folder: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let draft = folder.join(".draft");
    let _ = fs::remove_file(&draft);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)?;
    file.write_all(bytes)?;
    fs::rename(&draft, path)
}

/// A body that was kept; none where there is none of that name, or what is there is another.
pub(crate) fn read(session: &Path, wanted: &str) -> Option<Vec<u8>> {
    let plain = wanted.len() == 64 && wanted.bytes().all(|b| b.is_ascii_hexdigit());
    if !plain {
        return None;
    }
    let file = File::open(folder(session).join(format!("{wanted}.gz"))).ok()?;
    let mut body = Vec::new();
    GzDecoder::new(file)
        .take(LARGEST)
        .read_to_end(&mut body)
        .ok()?;
    (name(&body) == wanted).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_kept_once_and_read_only_as_it_was() {
        let session = tempfile::tempdir().unwrap();
        let mut used = 0;
        let one = keep(session.path(), b"some text", &mut used)
            .unwrap()
            .unwrap();
        let size = used;
        assert_eq!(
            keep(session.path(), b"some text", &mut used).unwrap(),
            Some(one.clone())
        );
        assert_eq!(used, size);
        assert_eq!(read(session.path(), &one).unwrap(), b"some text");
        let two = keep(session.path(), b"other", &mut used).unwrap().unwrap();
        let folder = folder(session.path());
        fs::copy(
            folder.join(format!("{two}.gz")),
            folder.join(format!("{one}.gz")),
        )
        .unwrap();
        assert_eq!(read(session.path(), &one), None);
        assert_eq!(read(session.path(), "../../etc/passwd"), None);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    }

    #[test]
    fn a_session_keeps_no_more_than_it_may() {
        let session = tempfile::tempdir().unwrap();
        let mut used = MOST;
        assert_eq!(keep(session.path(), b"more", &mut used).unwrap(), None);
    }
}
