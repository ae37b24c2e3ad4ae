//! A program that is to be executed, laid out as the kernel wants it. To execute it takes no memory:
//! whoever does so may share that of pid 1.

use crate::raw;
use crate::setup::Command;
use rustix::fs::{Access, Mode, OFlags, access, open};
use rustix::io::Errno;
use std::cell::Cell;
use std::ffi::{CStr, CString, OsStr, OsString, c_char};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// A program, its words and its variables.
pub(crate) struct Image {
    cwd: CString,
    /// Where it may lie, in the order in which it is looked for.
    files: Vec<CString>,
    argv: Words,
    environment: Words,
    /// The words by which a shell runs it; the second is a hole for one of the files.
    shell: Vec<Cell<*const c_char>>,
}

/// Strings, and a pointer to each of them, with a null pointer behind the last.
struct Words {
    pointers: Vec<*const c_char>,
    /// Those that are pointed to.
    _strings: Vec<CString>,
}

impl Words {
    fn new(words: impl Iterator<Item = Vec<u8>>) -> io::Result<Self> {
        let strings = words.map(c_string).collect::<io::Result<Vec<_>>>()?;
        let pointers = strings.iter().map(|word| word.as_ptr());
        Ok(Self {
            pointers: pointers.chain([std::ptr::null()]).collect(),
            _strings: strings,
        })
    }
}

fn c_string(bytes: Vec<u8>) -> io::Result<CString> {
    CString::new(bytes).map_err(|_| Errno::INVAL.into())
}

impl Image {
    /// Lays out a command.
    pub(crate) fn new(command: &Command) -> io::Result<Self> {
        let path = command.environment.iter().find(|(key, _)| key == "PATH");
        let files = candidates(&command.argv[0], path.map(|(_, value)| value));
        let argv = Words::new(command.argv.iter().map(|word| word.as_bytes().to_vec()))?;
        // Its end comes along.
        let rest = argv.pointers[1..].iter().copied();
        let shell = [c"sh".as_ptr(), std::ptr::null()].into_iter().chain(rest);
        let variables = command.environment.iter();
        Ok(Self {
            cwd: c_string(command.cwd.as_os_str().as_bytes().to_vec())?,
            files: files
                .into_iter()
                .map(|file| c_string(file.into_vec()))
                .collect::<io::Result<_>>()?,
            shell: shell.map(Cell::new).collect(),
            argv,
            environment: Words::new(
                variables.map(|(key, value)| [key.as_bytes(), b"=", value.as_bytes()].concat()),
            )?,
        })
    }

    /// The folder in which it starts.
    pub(crate) fn folder(&self) -> &CStr {
        &self.cwd
    }

    /// Executes it, found as a shell finds it: by the sandbox's own PATH. Returns only where that
    /// failed.
    pub(crate) fn execute(&self) -> Errno {
        let mut worst = Errno::NOENT;
        for file in &self.files {
            // The kernel makes half of a new process before it finds that there is no such file.
            if let Err(Errno::NOENT | Errno::NOTDIR) = access(file.as_c_str(), Access::EXISTS) {
                continue;
            }
            match self.execute_as(file, self.argv.pointers.as_ptr()) {
                Errno::NOENT | Errno::NOTDIR => {}
                Errno::NOEXEC => {
                    // A script without an interpreter line is the shell's, as with execvp(3).
                    self.shell[1].set(file.as_ptr());
                    return self.execute_as(c"/bin/sh", self.shell.as_ptr().cast());
                }
                Errno::ACCESS => worst = Errno::ACCESS,
                other => return other,
            }
        }
        worst
    }

    fn execute_as(&self, file: &CStr, argv: *const *const c_char) -> Errno {
        // SAFETY: the lists end in a null pointer by construction, a `Cell` is laid out as what it
        // holds, and everything that they point to is this image's own or static. The shell's list has
        // no hole any more where it is passed.
        unsafe { raw::exec(file, argv, self.environment.pointers.as_ptr()) }
    }

    /// Whether executing it waits for another program, which has leased its file (fcntl(2)).
    pub(crate) fn waits(&self) -> bool {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let folder = Path::new(OsStr::from_bytes(self.cwd.to_bytes()));
        for file in &self.files {
            let file = folder.join(OsStr::from_bytes(file.to_bytes()));
            match open(file, flags, Mode::empty()) {
                Ok(_) => return false,
                Err(Errno::AGAIN) => return true,
                Err(_) => {}
            }
        }
        false
    }
}

/// Where a command of this name may lie.
fn candidates(name: &OsStr, path: Option<&OsString>) -> Vec<OsString> {
    if name.as_bytes().contains(&b'/') {
        return vec![name.to_owned()];
    }
    if name.is_empty() {
        return vec![];
    }
    let default = OsString::from("/usr/local/bin:/usr/bin:/bin");
    std::env::split_paths(path.unwrap_or(&default))
        .map(|folder| {
            if folder.as_os_str().is_empty() {
                Path::new(".").join(name)
            } else {
                folder.join(name)
            }
        })
        .map(OsString::from)
        .collect()
}

#[cfg(test)]
#[path = "image_tests.rs"]
mod tests;
