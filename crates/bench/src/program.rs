//! Which file a program's name stands for. A version manager's shim is a shell script that starts
//! the real program; a row that timed the shim would measure a shell, so a real program further
//! along PATH is preferred and called by its path.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// What a command line begins with: the name where PATH leads to the right file, else its path.
    pub word: OsString,
    /// The file.
    pub path: PathBuf,
}

/// The program that `name` stands for on this process's PATH.
pub(crate) fn find(name: &str) -> Option<Program> {
    find_in(name, &std::env::var_os("PATH")?)
}

fn find_in(name: &str, path: &OsStr) -> Option<Program> {
    let found: Vec<PathBuf> = std::env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .filter(|file| is_executable(file))
        .collect();
    let real = found.iter().position(|file| !is_script(file)).unwrap_or(0);
    let path = found.get(real)?.clone();
    let word = match real {
        0 => name.into(),
        _ => path.clone().into(),
    };
    Some(Program { word, path })
}

/// Copies a program, by another process: what this one starts in the moment in which it writes would
/// hold the copy open, and to execute it would fail with `ETXTBSY`.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut install = Command::new("install");
    let output = install.args(["-m", "755"]).args([from, to]).output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(
            String::from_utf8_lossy(&output.stderr)
                .trim_end()
                .to_owned(),
        )),
    }
}

fn is_executable(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

fn is_script(file: &Path) -> bool {
    let mut start = [0; 2];
    std::fs::File::open(file)
        .and_then(|mut f| f.read_exact(&mut start))
        .is_ok_and(|()| start == *b"#!")
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
