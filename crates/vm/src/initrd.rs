//! The first file system of a guest: one file, the guest's own binary, as an archive that the kernel
//! unpacks (the `newc` format of Documentation/driver-api/early-userspace/buffer-format.rst).
//!
//! Decision: it is made from the binary that belongs to this program and kept by the hash of its
//! contents, so that host and guest are always of one build, and no image has to be built again for a
//! new version.

use crate::again;
use bailiwick_event::Failure;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The guest's binary.
const NAME: &str = "bailiwick-guest";

fn entry(into: &mut Vec<u8>, name: &str, mode: u32, contents: &[u8]) {
    let fields = [
        0,
        mode,
        0,
        0,
        1,
        0,
        u32::try_from(contents.len()).unwrap_or(u32::MAX),
        0,
        0,
        0,
        0,
        u32::try_from(name.len() + 1).unwrap_or(u32::MAX),
        0,
    ];
    into.extend_from_slice(b"070701");
    for field in fields {
        into.extend_from_slice(format!("{field:08x}").as_bytes());
    }
    let pad = |into: &mut Vec<u8>| into.resize(into.len().next_multiple_of(4), 0);
    into.extend_from_slice(name.as_bytes());
    into.push(0);
    pad(into);
    into.extend_from_slice(contents);
    pad(into);
}

/// The archive of a first program.
pub(crate) fn archive(binary: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(binary.len() + 1024);
    entry(&mut bytes, "init", 0o100_755, binary);
    entry(&mut bytes, "TRAILER!!!", 0, &[]);
    bytes
}

/// Where the guest's binary is: beside this program's, or in its folder for helpers.
///
/// # Errors
/// A [`Failure`] where it is nowhere.
pub fn guest_binary() -> Result<PathBuf, Failure> {
    if let Some(given) = std::env::var_os("BAILIWICK_GUEST") {
        return Ok(given.into());
    }
    beside(NAME)?.ok_or_else(|| {
        Failure::fault(format!(
            "{NAME}, which runs inside of virtual machines, is not beside this program\n  remedy: copy \
             it there from where bailiwick was built (`target/release`; `make image` builds it), or name it \
             in BAILIWICK_GUEST"
        ))
    })
}

/// A file that belongs to this program, by its name: beside it, or in its folder for helpers.
///
/// # Errors
/// A [`Failure`] where this program's own file cannot be found.
pub fn beside(name: &str) -> Result<Option<PathBuf>, Failure> {
    let own = again::file()?;
    let folder = own.parent().unwrap_or(Path::new("/"));
    let candidates = ["", "../libexec/bailiwick", "../release"];
    let paths = candidates.map(|candidate| folder.join(candidate).join(name));
    Ok(paths.into_iter().find(|path| path.is_file()))
}

/// Whether a program asks for a loader of shared libraries (`PT_INTERP` of the ELF specification): in a
/// first file system that holds nothing else, the kernel could not start it, and would say little.
fn asks_for_a_loader(program: &[u8]) -> bool {
    /// Type of the program header that names the loader.
    const PT_INTERP: [u8; 4] = 3_u32.to_le_bytes();
    let at = |from: usize, len: usize| program.get(from..from.checked_add(len)?);
    let number = |from: usize, len: usize| {
        let bytes = at(from, len)?.iter().rev();
        usize::try_from(bytes.fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte))).ok()
    };
    let (Some(table), Some(size), Some(count)) = (number(32, 8), number(54, 2), number(56, 2))
    else {
        return false;
    };
    (0..count).any(|header| at(table.saturating_add(header * size), 4) == Some(&PT_INTERP))
}

/// The archive, made where it is not there yet.
///
/// # Errors
/// A [`Failure`] where the guest's binary is missing or not static, or the archive cannot be kept.
pub(crate) fn made(cache: &Path) -> Result<PathBuf, Failure> {
    let binary = guest_binary()?;
    let failed = |what: &Path| {
        let what = what.display().to_string();
        move |error: io::Error| Failure::fault(format!("{what}: {error}"))
    };
    let contents = fs::read(&binary).map_err(failed(&binary))?;
    let name = blake3::hash(&contents).to_hex();
    let folder = cache.join("guest");
    let path = folder.join(&name[..32]);
    if path.is_file() {
        return Ok(path);
    }
    if asks_for_a_loader(&contents) {
        return Err(Failure::fault(format!(
            "{}: a guest's binary has to be static, and this one asks for shared libraries\n  remedy: \
             build it with `scripts/build`",
            binary.display()
        )));
    }
    fs::create_dir_all(&folder).map_err(|error| {
        Failure::fault(format!(
            "{}: {error}\n  remedy: set XDG_CACHE_HOME to a folder that you can write; images can be copied \
             there (docs/vm-images.md)",
            folder.display()
        ))
    })?;
    let unfinished = folder.join(format!(".{}.{}", &name[..32], std::process::id()));
    let written = fs::File::create(&unfinished).and_then(|mut file| {
        file.write_all(&archive(&contents))?;
        file.sync_all()
    });
    written
        .and_then(|()| fs::rename(&unfinished, &path))
        .map_err(failed(&path))?;
    Ok(path)
}

#[cfg(test)]
#[path = "initrd_tests.rs"]
mod tests;
