//! Templates: a machine of one image and shape that has started and waits for its session, as memory and
//! device state. A run copies it, page by page as it writes, instead of starting a kernel.
//!
//! Decision: it is made by a process of its own, in a monitor's sandbox that shows nothing of the
//! user's, before any session: what is in it is the image's and nobody's. A run's monitor can read it
//! and not write it.

use crate::accelerator::{Accelerator, processor};
use crate::disk;
use crate::image::Image;
use crate::machine::Machine;
use bailiwick_event::Failure;
use rustix::fs::{FlockOperation, flock, statvfs};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Templates that are kept; each has as much memory as its machine used until it waited.
const MOST: usize = 8;

/// A template that is there.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    /// The memory.
    pub(crate) ram: PathBuf,
    /// The devices' state.
    pub(crate) state: PathBuf,
    /// The empty disk, where such machines have one.
    pub(crate) disk: Option<PathBuf>,
}

/// Inode, and seconds and nanoseconds of the modification.
pub(crate) type Identity = (u64, i64, i64);

/// Where a template is or would be.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    folder: PathBuf,
    /// Bytes of the machine's own disk.
    disk: Option<u64>,
}

fn fault(path: &Path) -> impl Fn(io::Error) -> Failure {
    let path = path.display().to_string();
    move |error| Failure::fault(format!("{path}: {error}"))
}

impl Place {
    /// The place for machines of this shape: whatever else the machine is made of changes the name.
    pub(crate) fn of(
        cache: &Path,
        image: &Image,
        initrd: &Path,
        machine: &Machine,
        qemu: &Path,
    ) -> Result<Self, Failure> {
        let name = mark(image, initrd, machine, qemu)?;
        Ok(Self {
            folder: cache.join("templates").join(&name[..32]),
            disk: machine.disk,
        })
    }

    /// The template, where it is there.
    pub(crate) fn find(&self) -> Option<Template> {
        let template = Template {
            ram: self.folder.join("ram"),
            state: self.folder.join("state"),
            disk: self.disk.map(|_| self.folder.join("disk")),
        };
        let parts = [&template.ram, &template.state];
        let is_there = parts
            .into_iter()
            .chain(&template.disk)
            .all(|part| part.is_file());
        is_there.then_some(template)
    }

    /// Remembers that it was used now.
    pub(crate) fn touch(&self) {
        // One that seems unused is made again when it is missed.
        if let Ok(folder) = File::open(&self.folder) {
            let _ = folder.set_modified(SystemTime::now());
        }
    }

    /// Remembers that a machine could become a copy of it.
    pub(crate) fn served(&self) {
        // It is not there, most often.
        let _ = fs::remove_file(self.doubt());
    }

    /// Whether the last machine that was to become a copy of it could not.
    pub(crate) fn is_doubted(&self) -> bool {
        self.doubt().exists()
    }

    /// What tells it from another that is made in its place: its state's file, and when that was written.
    pub(crate) fn identity(&self) -> Option<Identity> {
        let meta = fs::metadata(self.folder.join("state")).ok()?;
        Some((meta.ino(), meta.mtime(), meta.mtime_nsec()))
    }

    /// Remembers that a machine could not. That may have been the machine's fault (a host without memory, a
    /// monitor that was ended), and others use the template: it is taken away where it was doubted when the
    /// machine began, and is still the one that had this identity. Whether it was.
    pub(crate) fn failed(&self, doubted: bool, identity: Option<Identity>) -> bool {
        if !doubted {
            let _ = File::create(self.doubt());
            return false;
        }
        // While one is made, which takes long, it stays in doubt.
        let held = self.lock(FlockOperation::NonBlockingLockExclusive);
        held.is_ok() && self.identity() == identity && self.take_away().is_ok()
    }

    /// Takes it away at once: who finds it finds all of it.
    fn take_away(&self) -> io::Result<()> {
        let aside = self.folder.with_extension("old");
        let _ = fs::remove_dir_all(&aside);
        fs::rename(&self.folder, &aside)?;
        fs::remove_dir_all(&aside)
    }

    /// Nobody else makes one or takes one away meanwhile.
    fn lock(&self, how: FlockOperation) -> Result<File, Failure> {
        let above = self.folder.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(above).map_err(fault(above))?;
        let lock = above.join(".lock");
        let held = File::create(&lock).map_err(fault(&lock))?;
        flock(&held, how).map_err(|e| fault(&lock)(e.into()))?;
        Ok(held)
    }

    fn doubt(&self) -> PathBuf {
        self.folder.join("failed-once")
    }

    /// Makes it by `make`, which is given its files and that of the state; one process at a time, and
    /// whoever waits finds it made.
    pub(crate) fn make(
        &self,
        memory: u64,
        make: impl FnOnce(&Template, &File) -> Result<(), Failure>,
    ) -> Result<Template, Failure> {
        let above = self.folder.parent().unwrap_or(Path::new("/"));
        let _held = self.lock(FlockOperation::LockExclusive)?;
        if let Some(made) = self.find() {
            return Ok(made);
        }
        if self.folder.exists() {
            // Whoever took it away was ended meanwhile.
            self.take_away().map_err(fault(&self.folder))?;
        }
        let unfinished = self.folder.with_extension("unfinished");
        let _ = fs::remove_dir_all(&unfinished);
        let made = self
            .fill(&unfinished, memory, make)
            .and_then(|()| fs::rename(&unfinished, &self.folder).map_err(fault(&self.folder)));
        if let Err(failure) = made {
            // A monitor whose memory's file cannot grow is ended by a signal, which says nothing of the reason.
            let room = room(above);
            let _ = fs::remove_dir_all(&unfinished);
            return Err(match room {
                Some(left) if left < memory => Failure::fault(format!(
                    "{failure}\n  note: {} has {} MiB left, and a template of this machine may need {}",
                    above.display(),
                    left >> 20,
                    memory >> 20
                )),
                _ => failure,
            });
        }
        let _ = collect(above, MOST);
        self.find()
            .ok_or_else(|| Failure::fault("a template was made and is not there"))
    }

    fn fill(
        &self,
        folder: &Path,
        memory: u64,
        make: impl FnOnce(&Template, &File) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        fs::create_dir_all(folder).map_err(fault(folder))?;
        let template = Template {
            ram: folder.join("ram"),
            state: folder.join("state"),
            disk: self.disk.map(|_| folder.join("disk")),
        };
        let (ram, state) = (&template.ram, &template.state);
        let file = File::create(ram).map_err(fault(ram))?;
        file.set_len(memory).map_err(fault(ram))?;
        let written = File::create(state).map_err(fault(state))?;
        if let (Some(path), Some(bytes)) = (&template.disk, self.disk) {
            disk::format(path, bytes)?;
        }
        make(&template, &written)?;
        for (path, file) in [(ram, &file), (state, &written)] {
            file.sync_all().map_err(fault(path))?;
            let only_read = fs::Permissions::from_mode(0o400);
            file.set_permissions(only_read).map_err(fault(path))?;
        }
        Ok(())
    }
}

/// Bytes that are free for the caller where this folder is.
fn room(folder: &Path) -> Option<u64> {
    let of = statvfs(folder).ok()?;
    Some(of.f_bavail.saturating_mul(of.f_frsize))
}

/// What tells machines apart whose memory and devices would not fit each other.
pub(crate) fn mark(
    image: &Image,
    initrd: &Path,
    machine: &Machine,
    qemu: &Path,
) -> Result<String, Failure> {
    let monitor = fs::metadata(qemu).map_err(fault(qemu))?;
    let mut hash = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        hash.update(&u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(bytes);
    };
    part(image.id.as_bytes());
    part(initrd.as_os_str().as_encoded_bytes());
    for word in machine.words(qemu) {
        part(word.as_encoded_bytes());
    }
    part(&machine.disk.unwrap_or_default().to_le_bytes());
    part(&monitor.size().to_le_bytes());
    part(&monitor.mtime().to_le_bytes());
    if machine.accelerator == Accelerator::Kvm {
        // What the processor can do is in the devices' state.
        part(&processor());
    }
    Ok(hash.finalize().to_hex().to_string())
}

/// Takes templates away but those that were used last; how many, and their bytes on disk. A machine that
/// is a copy of one keeps what it needs of it.
///
/// # Errors
/// The folder cannot be read.
pub(crate) fn collect(templates: &Path, most: usize) -> io::Result<(usize, u64)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(templates)? {
        let path = entry?.path();
        if path.is_dir() && path.extension().is_none() {
            all.push((path.metadata()?.modified()?, path));
        }
    }
    all.sort();
    let over = all.len().saturating_sub(most);
    let mut freed = 0;
    for (_, path) in all.iter().take(over) {
        for part in fs::read_dir(path)? {
            freed += part?.metadata()?.blocks() * 512;
        }
        fs::remove_dir_all(path)?;
    }
    Ok((over, freed))
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
