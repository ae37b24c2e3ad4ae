//! What a machine comes from: its kernel's start, a template, or what was saved of it.

use crate::control::Control;
use crate::kept::Kept;
use crate::machine::Ram;
use crate::pages::Memory;
use crate::saved::{Saved, read_end};
use crate::start::Behind;
use crate::warm::{Warm, restore};
use bailiwick_event::Failure;
use bailiwick_sandbox::Running;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::path::PathBuf;

/// What is said of a machine that does not go on where it was.
pub(crate) const STARTED_ANEW: &str = "it was started anew with its disk; what was only in its memory is lost, and the command begins again";

/// What a machine comes from.
pub(crate) enum Source {
    /// Its kernel is started.
    Nothing,
    /// It is a copy of a template.
    Template(Warm),
    /// It goes on as it was saved.
    Saved(Files),
}

/// What was saved of a machine.
pub(crate) struct Files {
    state: PathBuf,
    /// What its memory began as; none where that was nothing.
    began: Option<Began>,
}

/// A file that a machine's memory began as, and the memory's bytes.
struct Began {
    ram: PathBuf,
    bytes: u64,
}

impl Files {
    /// Those in a folder; none where what the memory began as is not there any more.
    pub(crate) fn of(kept: &Kept, saved: &Saved) -> Option<Self> {
        let began = saved.copied.then(|| Began {
            ram: kept.ram(),
            bytes: saved.memory,
        });
        let is_there = began.as_ref().is_none_or(|began| began.ram.is_file());
        is_there.then(|| Self {
            state: kept.state(),
            began,
        })
    }

    /// The same in the folder's other place.
    fn moved(&mut self, kept: &Kept) {
        self.state = kept.state();
        if let Some(began) = &mut self.began {
            began.ram = kept.ram();
        }
    }

    /// Has the monitor go on as it was, and lets the machine run.
    fn restore(&self, monitor: &dyn Running, control: &mut Control) -> Result<(), Failure> {
        let fault = |error: io::Error| Failure::fault(format!("{}: {error}", self.state.display()));
        let mut state = File::open(&self.state).map_err(fault)?;
        if let Some(Began { ram, bytes }) = &self.began
            && let Some(at) = read_end(&mut state).map_err(fault)?
        {
            // Its memory is there when it greets.
            control.open()?;
            let monitor = monitor.process().ok_or(io::ErrorKind::NotFound.into());
            let memory = monitor.and_then(|monitor| Memory::of_child(monitor, ram, *bytes));
            let memory = memory.map_err(|error| {
                Failure::fault(format!("the monitor's memory cannot be reached: {error}"))
            })?;
            state.seek(SeekFrom::Start(at)).map_err(fault)?;
            memory.load(&mut state).map_err(fault)?;
            state.rewind().map_err(fault)?;
        }
        restore(&state, control)
    }
}

impl Source {
    /// The files behind it, but for a disk.
    pub(crate) fn behind(&self) -> Behind<'_> {
        match self {
            Self::Nothing => Behind::NOTHING,
            Self::Template(warm) => warm.behind(),
            Self::Saved(Files { began: None, .. }) => Behind {
                ram: Ram::Loaded,
                ..Behind::NOTHING
            },
            Self::Saved(Files {
                began: Some(Began { ram, .. }),
                ..
            }) => Behind {
                ram: Ram::Copied,
                memory: Some(ram),
                ..Behind::NOTHING
            },
        }
    }

    /// What was saved lies where this is now.
    pub(crate) fn moved(&mut self, kept: &Kept) {
        if let Self::Saved(files) = self {
            files.moved(kept);
        }
    }

    /// Has the monitor become it.
    pub(crate) fn restore(
        &self,
        monitor: &dyn Running,
        control: &mut Control,
    ) -> Result<(), Failure> {
        match self {
            Self::Nothing => Ok(()),
            Self::Template(warm) => warm.restore(control),
            Self::Saved(files) => files.restore(monitor, control),
        }
    }

    /// Remembers that a machine could become it.
    pub(crate) fn served(&self) {
        if let Self::Template(warm) = self {
            warm.served();
        }
    }

    /// Remembers that none could; what is said of that.
    pub(crate) fn failed(&self, why: &Failure) -> String {
        match self {
            Self::Nothing => why.to_string(),
            Self::Template(warm) => {
                let next = match warm.failed() {
                    true => "it had failed before, and the next run makes another",
                    false => "the next run tries it again",
                };
                format!(
                    "the template of this machine could not be used, so it was started from its kernel ({next}): {why}"
                )
            }
            Self::Saved(_) => {
                format!("the machine cannot go on as it was saved ({why}), so {STARTED_ANEW}")
            }
        }
    }
}
