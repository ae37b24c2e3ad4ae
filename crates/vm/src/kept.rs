//! The folder of a session whose workspace is a disk: the disk, a listing of what was put on it, and,
//! where the session was saved, its machine.

use crate::disk;
use crate::saved::Saved;
use crate::setting::random_name;
use bailiwick_event::Failure;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The name of the folder in that of its session's record.
pub const MACHINE: &str = "machine";

/// What has to be known of a session that was saved, in that folder.
pub const SESSION: &str = "session";
/// Its memory and devices, in that folder.
pub const STATE: &str = "state";
/// What its memory began as, in that folder.
pub const RAM: &str = "ram";
/// Its disk, in that folder.
pub const DISK: &str = "disk";
/// What the machine looks like, in that folder.
const SHAPE: &str = "shape";
/// The listing of what was put on the disk, in that folder.
pub const BASE: &str = "base";

/// Longer than a start takes, however large the workspace is.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// Longer than the processes of a session that was killed take to end.
const DYING: Duration = Duration::from_secs(1);

/// The folder. One that was made for a session that does not begin is taken away.
#[derive(Debug)]
pub(crate) struct Kept {
    folder: PathBuf,
    /// Where it is to lie.
    place: Option<PathBuf>,
    /// Whether it goes with this.
    passing: bool,
    /// Keeps others from the disk.
    lock: Option<File>,
}

fn fault(path: &Path) -> impl Fn(io::Error) -> Failure {
    let path = path.display().to_string();
    move |error| Failure::fault(format!("{path}: {error}"))
}

impl Kept {
    /// A new folder below another.
    pub(crate) fn make(above: &Path) -> Result<Self, Failure> {
        let folder = above.join(random_name()?);
        clear(above);
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(&folder).map_err(fault(&folder))?;
        Ok(Self {
            folder,
            place: None,
            passing: true,
            lock: None,
        })
    }

    /// One that is there.
    pub(crate) fn open(folder: PathBuf) -> Self {
        Self {
            folder,
            place: None,
            passing: false,
            lock: None,
        }
    }

    /// Where it is now.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The disk.
    pub(crate) fn disk(&self) -> PathBuf {
        self.folder.join(DISK)
    }

    /// The listing of what was put on it.
    pub(crate) fn base(&self) -> PathBuf {
        self.folder.join(BASE)
    }

    /// The machine, where it was saved.
    pub(crate) fn state(&self) -> PathBuf {
        self.folder.join(STATE)
    }

    /// What its memory began as, where it is a copy.
    pub(crate) fn ram(&self) -> PathBuf {
        self.folder.join(RAM)
    }

    /// Keeps what its memory begins as, also where nobody else does. Without it a copy of the session has
    /// all of its memory with it.
    pub(crate) fn keep_ram(&self, template: &Path) {
        let _ = fs::hard_link(template, self.ram());
    }

    /// Takes the disk, which is there, for this process alone. Where its session's process was killed just
    /// now, that one's children have it for a moment.
    pub(crate) fn lock(&mut self) -> Result<(), Failure> {
        let path = self.disk();
        let disk = File::open(&path).map_err(fault(&path))?;
        let until = Instant::now() + DYING;
        while flock(&disk, FlockOperation::NonBlockingLockExclusive).is_err() {
            if Instant::now() > until {
                return Err(Failure::usage(format!(
                    "another process uses the disk {}\nhelp: wait until that has ended",
                    path.display()
                )));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.lock = Some(disk);
        Ok(())
    }

    /// What its machine looks like.
    pub(crate) fn shape(&self) -> Result<Saved, Failure> {
        let path = self.folder.join(SHAPE);
        Saved::from_bytes(&fs::read(&path).map_err(fault(&path))?)
    }

    /// Keeps what its machine looks like.
    pub(crate) fn keep_shape(&self, saved: &Saved) -> Result<(), Failure> {
        let path = self.folder.join(SHAPE);
        fs::write(&path, saved.to_bytes()).map_err(fault(&path))
    }

    /// A file for the listing.
    pub(crate) fn new_base(&self) -> Result<File, Failure> {
        disk::create(&self.base())
    }

    /// Nothing becomes of it: it goes with this.
    pub(crate) fn abandon(&mut self) {
        self.passing = true;
    }

    /// The session has a record, in which the folder is to lie.
    pub(crate) fn belong_to(&mut self, record: &Path) {
        self.place = Some(record.join(MACHINE));
    }

    /// Moves it there.
    pub(crate) fn move_in(&mut self) -> Result<(), Failure> {
        let Some(place) = self.place.take() else {
            return Ok(());
        };
        fs::rename(&self.folder, &place).map_err(fault(&place))?;
        self.folder = place;
        self.passing = false;
        Ok(())
    }

    /// The machine goes on: what was saved of it would not fit its disk any more.
    pub(crate) fn forget_saved(&self) -> Result<(), Failure> {
        for saved in [self.state(), self.folder.join(SESSION)] {
            match fs::remove_file(&saved) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(fault(&saved)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Takes away what sessions have left that were killed before they had a record: nobody uses it.
fn clear(above: &Path) {
    let Ok(all) = fs::read_dir(above) else { return };
    for folder in all.flatten().map(|entry| entry.path()) {
        let old = folder.metadata().and_then(|meta| meta.modified());
        let old = old.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > ABANDONED));
        let used = File::open(folder.join(DISK))
            .is_ok_and(|disk| flock(&disk, FlockOperation::NonBlockingLockExclusive).is_err());
        if old && !used {
            let _ = fs::remove_dir_all(&folder);
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if self.passing {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
