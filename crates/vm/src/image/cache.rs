//! Where images lie. One folder, which may be thrown away as a whole at any time: everything in it
//! can be made again.
//!
//! Decision: a file gets its name only when it is complete and on the disk. Readers therefore need
//! no lock, and a build that was interrupted is a scratch folder that nobody holds.
//!
//! ```text
//! images/NAME.json      a manifest: what the image consists of
//! parts/HASH.KIND       a part; read-only, never changed
//! parts/HASH.KIND.stamp how it lay on the disk when it was last hashed
//! scratch/NUMBER/       a build that goes on, as long as its `lock` is held
//! logs/NAME.log         what the tools of the last build said
//! lock                  held by what changes anything of this
//! ```

use bailiwick_event::{Failure, Text};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// `$XDG_CACHE_HOME/bailiwick`, or `$HOME/.cache/bailiwick`.
///
/// # Errors
/// A mistake in usage, if neither variable holds an absolute path.
pub fn cache_folder() -> Result<PathBuf, Failure> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    absolute("XDG_CACHE_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".cache")))
        .map(|folder| folder.join("bailiwick"))
        .ok_or_else(|| {
            Failure::usage(
                "there is no place for images: neither XDG_CACHE_HOME nor HOME is an absolute path; set one",
            )
        })
}

/// The folder and the names in it.
pub(super) struct Cache {
    folder: PathBuf,
}

impl Cache {
    pub(super) fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    pub(super) fn images(&self) -> PathBuf {
        self.folder.join("images")
    }

    pub(super) fn manifest(&self, name: &str) -> PathBuf {
        self.images().join(format!("{name}.json"))
    }

    pub(super) fn parts(&self) -> PathBuf {
        self.folder.join("parts")
    }

    pub(super) fn scratch(&self) -> PathBuf {
        self.folder.join("scratch")
    }

    pub(super) fn log(&self, name: &str) -> PathBuf {
        self.folder.join("logs").join(format!("{name}.log"))
    }

    /// Makes the folders that are missing.
    pub(super) fn prepare(&self) -> Result<(), Failure> {
        for folder in [
            self.images(),
            self.parts(),
            self.scratch(),
            self.folder.join("logs"),
        ] {
            fs::create_dir_all(&folder).map_err(|e| fault("made", &folder, &e))?;
        }
        Ok(())
    }

    /// The right to change anything here. Waits, after `waits` was called with who has it, for
    /// whoever has it.
    pub(super) fn lock(&self, waits: &mut dyn FnMut(&str)) -> Result<Lock, Failure> {
        self.prepare()?;
        let path = self.folder.join("lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|e| fault("opened", &path, &e))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            waits(holder.trim());
            while let Err(e) = flock(&file, FlockOperation::LockExclusive) {
                if e != rustix::io::Errno::INTR {
                    return Err(fault("locked", &path, &e.into()));
                }
            }
        }
        // Only a hint for whoever waits.
        let _ = file.set_len(0);
        let _ = write!(&file, "process {}", std::process::id());
        Ok(Lock { _file: file })
    }

    /// A folder of this build's own.
    pub(super) fn begin(&self) -> Result<Scratch, Failure> {
        let path = self.scratch().join(std::process::id().to_string());
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).map_err(|e| fault("made", &path, &e))?;
        let lock = path.join("lock");
        let file = File::create(&lock).map_err(|e| fault("made", &lock, &e))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|e| fault("locked", &lock, &e.into()))?;
        Ok(Scratch { path, _lock: file })
    }

    /// Gives a complete file its name, when what is in it is on the disk.
    pub(super) fn install(&self, from: &Path, to: &Path) -> Result<(), Failure> {
        let durable = || -> io::Result<()> {
            fs::set_permissions(from, Permissions::from_mode(0o444))?;
            File::open(from)?.sync_all()?;
            fs::rename(from, to)?;
            match to.parent() {
                Some(folder) => File::open(folder)?.sync_all(),
                None => Ok(()),
            }
        };
        durable().map_err(|e| fault("written", to, &e))
    }

    /// The same for a text.
    pub(super) fn install_text(&self, text: &str, to: &Path) -> Result<(), Failure> {
        let mut from = to.to_owned().into_os_string();
        from.push(format!(".{}.new", std::process::id()));
        let from = PathBuf::from(from);
        let _ = fs::remove_file(&from);
        fs::write(&from, text).map_err(|e| fault("written", &from, &e))?;
        self.install(&from, to)
    }
}

/// The right to change the cache, until it is dropped.
pub(super) struct Lock {
    _file: File,
}

/// A folder that is removed when it is dropped, and by `collect` if it never was.
pub(super) struct Scratch {
    pub(super) path: PathBuf,
    _lock: File,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A file of the cache with which something cannot be done.
pub(super) fn fault(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::fault(format!(
        "{} cannot be {what}: {error}",
        Text::from(path.as_os_str())
    ))
}
