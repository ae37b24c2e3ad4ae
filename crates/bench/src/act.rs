//! One act, many times: what a sandbox costs per act is far below what a start costs, so the acts
//! are made in one process, whose start is the same everywhere and a small part of its time.

use bailiwick_event::Failure;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// Opens a file, reads it and closes it.
pub(crate) const READ: &str = "read";
/// Creates an empty file of a new name and closes it.
pub(crate) const CREATE: &str = "create";

/// `bench act KIND COUNT PATH`: the command line of a helper that does it.
pub(crate) fn command(helper: &Path, kind: &str, count: usize, path: &Path) -> Vec<OsString> {
    let mut argv: Vec<OsString> = vec![helper.into()];
    argv.extend(["bench", "act", kind, &count.to_string()].map(OsString::from));
    argv.push(path.into());
    argv
}

/// Does one act `count` times and prints how many bytes were read.
///
/// # Errors
/// [`Failure::Usage`] for an unknown act, [`Failure::Fault`] when one of them fails.
pub fn act(kind: &str, count: usize, path: &OsStr) -> Result<(), Failure> {
    let path = Path::new(path);
    let bytes = match kind {
        READ => read(count, path),
        CREATE => create(count, path),
        _ => return Err(Failure::usage("bench act: read or create")),
    }
    .map_err(|error| Failure::fault(format!("bench act: {}: {error}", path.display())))?;
    writeln!(io::stdout().lock(), "{bytes}")
        .map_err(|error| Failure::fault(format!("bench act: write standard output: {error}")))
}

fn read(count: usize, path: &Path) -> io::Result<usize> {
    let mut buffer = [0; 4096];
    let mut bytes = 0;
    for _ in 0..count {
        bytes += File::open(path)?.read(&mut buffer)?;
    }
    Ok(bytes)
}

fn create(count: usize, path: &Path) -> io::Result<usize> {
    for i in 0..count {
        File::create_new(path.join(file_name(i)))?;
    }
    Ok(0)
}

/// The name of a created file.
pub(crate) fn file_name(i: usize) -> String {
    format!("f{i}")
}
