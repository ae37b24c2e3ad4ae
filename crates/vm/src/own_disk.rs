//! A session's own disk, on the way to its machine.

use crate::backend::Keep;
use crate::disk;
use crate::disk_state::DiskState;
use crate::jail;
use crate::kept::Kept;
use crate::packer::Packer;
use crate::running::Vm;
use crate::save::Savable;
use crate::saved::Saved;
use crate::source::Source;
use crate::start::Start;
use bailiwick_event::Failure;
use bailiwick_sandbox::Launch;
use rustix::fd::OwnedFd;
use rustix::io::{read, retry_on_intr};
use std::sync::Arc;

/// The disk.
pub(crate) struct OwnDisk {
    pub(crate) kept: Kept,
    /// The workspace on its way; none where it is on the disk already.
    packer: Option<Packer>,
    /// Which streams were the command's terminal when it was saved.
    pub(crate) saved_terminal: Option<[bool; 3]>,
    /// Whether the disk that was there was not whole.
    not_whole: bool,
    /// Hears a byte when the folder is complete; none where it is.
    complete: Option<Arc<OwnedFd>>,
}

impl OwnDisk {
    /// Its folder, and, where that is new, the workspace that begins to be packed. The calling process has
    /// one thread.
    pub(crate) fn prepare(
        keep: &Keep,
        launch: &Launch<'_>,
        notices: &mut Vec<String>,
    ) -> Result<Self, Failure> {
        match keep {
            Keep::Below(above) => {
                let kept = Kept::make(above)?;
                let policy = jail::policy(launch.policy);
                let packer = Packer::begin(launch, &policy, kept.new_base()?)?;
                notices.extend(left_out(launch, &policy));
                Ok(Self {
                    kept,
                    packer: Some(packer),
                    saved_terminal: None,
                    not_whole: false,
                    complete: None,
                })
            }
            Keep::Saved {
                folder,
                saved,
                complete,
            } => Ok(Self {
                kept: Kept::open(folder.clone()),
                packer: None,
                saved_terminal: saved.terminal,
                not_whole: false,
                complete: complete.clone(),
            }),
        }
    }

    /// Whether the disk was there before: a session goes on with it.
    pub(crate) fn was_there(&self) -> bool {
        self.packer.is_none()
    }

    /// Waits until the folder is complete.
    ///
    /// # Errors
    /// It will not be, and goes: whoever saves the machine has given up or is gone.
    pub(crate) fn wait(&mut self) -> Result<(), Failure> {
        let Some(complete) = &self.complete else {
            return Ok(());
        };
        match retry_on_intr(|| read(&**complete, &mut [0; 1])) {
            Ok(1) => Ok(()),
            _ => {
                self.kept.abandon();
                Err(Failure::fault(
                    "the session that this one is a copy of was not saved",
                ))
            }
        }
    }

    /// Has the file be there: a copy of the template's, or one of so many bytes.
    pub(crate) fn fill(&mut self, source: &Source, bytes: u64) -> Result<(), Failure> {
        if self.packer.is_some() {
            self.make(source, bytes)?;
        }
        if let Source::Template(warm) = source {
            self.kept.keep_ram(warm.ram());
        }
        self.kept.lock()?;
        let folder = self.kept.folder();
        self.not_whole = self.packer.is_none() && DiskState::of(folder) != DiskState::Closed;
        let state = DiskState::Open { synced: None }.keep(folder);
        state.map_err(|error| Failure::fault(format!("{}: {error}", folder.display())))
    }

    fn make(&self, source: &Source, bytes: u64) -> Result<(), Failure> {
        let template = match source {
            Source::Template(warm) => warm.disk(),
            Source::Nothing | Source::Saved(_) => None,
        };
        match template {
            Some(template) => disk::copy_path(template, &self.kept.disk()),
            None => disk::format(&self.kept.disk(), bytes),
        }
    }

    /// A machine starts on the disk without the memory that goes with it.
    ///
    /// # Errors
    /// It cannot be kept that what was missing on the disk is missing for good.
    pub(crate) fn begins_anew(&self) -> Result<(), Failure> {
        let folder = self.kept.folder();
        let torn = match self.not_whole {
            true => DiskState::tear(folder),
            false => Ok(()),
        };
        torn.map_err(|error| Failure::fault(format!("{}: {error}", folder.display())))
    }

    /// Puts the workspace on it, unless it is there; what the session can be saved with.
    pub(crate) fn deliver(
        self,
        vm: &mut Vm,
        start: &Start,
        terminal: Option<[bool; 3]>,
    ) -> Result<Savable, Failure> {
        if let Some(packer) = self.packer {
            packer.deliver(vm)?;
        }
        let machine = &start.machine;
        let saved = Saved {
            mark: start.mark()?,
            image: start.image.name.clone(),
            memory: machine.memory,
            cpus: machine.cpus,
            disk: machine.disk.unwrap_or_default(),
            terminal,
            copied: false,
            accelerator: Some(machine.accelerator),
        };
        self.kept.keep_shape(&saved)?;
        Ok(Savable {
            saved,
            kept: self.kept,
        })
    }
}

/// What the policy grants beside the workspace does not appear; that is said.
fn left_out(launch: &Launch<'_>, policy: &bailiwick_policy::Effective) -> Option<String> {
    let files = &policy.filesystem;
    let granted = files.read.iter().chain(&files.write);
    // What every session is granted nobody has asked for.
    let usual = ["template:", "toolchain:"];
    let asked = granted.filter(|entry| !usual.iter().any(|of| entry.origin.file.starts_with(of)));
    let outside = asked.filter(|entry| entry.pattern.covers(&launch.policy.workspace).is_none());
    let mut paths: Vec<String> = outside
        .filter_map(|entry| match &entry.pattern {
            bailiwick_policy::PathPattern::Path(path) => Some(path),
            bailiwick_policy::PathPattern::Glob { .. } => None,
        })
        .filter(|path| !path.starts_with(&launch.policy.workspace) && path.exists())
        .map(|path| path.display().to_string())
        .collect();
    paths.sort();
    paths.dedup();
    (!paths.is_empty()).then(|| {
        format!(
            "a session with --disk is shown its workspace alone, and not {}",
            paths.join(", ")
        )
    })
}
