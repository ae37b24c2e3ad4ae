//! The product's own binary in the machine of a session, whether that runs or has ended.

use crate::cp::{NOT_THERE, run_in};
use crate::keep::{is_suspended, live, machine_of};
use crate::selection::find;
use crate::sessions::policy_of;
use bailiwick_event::Failure;
use bailiwick_vm::DiskMachine;
use rustix::fd::OwnedFd;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where it runs.
pub(crate) enum Inside {
    /// In the session, by its name.
    Runs(String),
    /// In a machine that is there for the session's disk alone; and what helps whoever misses a path there.
    Ended(Box<DiskMachine>, String),
}

impl Inside {
    /// In a session that runs, or else in a machine for its disk; and the folder that relative paths begin at
    /// there. The calling process has one thread.
    ///
    /// # Errors
    /// There is no such session, it has ended and had no disk of its own, or another process uses that.
    pub(crate) fn of(session: &str) -> Result<(Self, PathBuf), Failure> {
        let why = match live(session) {
            Ok(_) => return Ok((Self::Runs(session.to_owned()), PathBuf::new())),
            Err(why) => why,
        };
        let Ok((info, reader)) = find(session) else {
            return Err(why);
        };
        let Ok(folder) = machine_of(&info) else {
            return Err(why);
        };
        let workspace = policy_of(&reader)?.workspace;
        let mut inside = Self::of_ended(&folder, &workspace)?;
        if let Self::Ended(_, help) = &mut inside
            && is_suspended(&info)
        {
            *help += &format!("; `bailiwick resume {session}` brings the rest back");
        }
        Ok((inside, workspace))
    }

    /// In a machine for the disk in the folder of a session that has ended. The calling process has one
    /// thread.
    ///
    /// # Errors
    /// It does not start, or another process uses the disk.
    pub(crate) fn of_ended(folder: &Path, workspace: &Path) -> Result<Self, Failure> {
        let machine = DiskMachine::start(folder, workspace)?;
        let help = "help: of a session that has ended its workspace alone is there".to_owned();
        Ok(Self::Ended(Box::new(machine), help))
    }

    /// Runs it with these words and streams to its end.
    ///
    /// # Errors
    /// It did not do what it was asked for.
    pub(crate) fn run(
        &mut self,
        words: &[OsString],
        stdin: OwnedFd,
        stdout: OwnedFd,
    ) -> Result<(), Failure> {
        match self {
            Self::Runs(session) => run_in(session, words.to_vec(), stdin, stdout),
            Self::Ended(machine, help) => match machine.run(words, stdin, stdout)? {
                0 => Ok(()),
                NOT_THERE => Err(Failure::usage(format!(
                    "that path is not on the session's disk\n{help}"
                ))),
                code => Err(Failure::fault(format!(
                    "the session's files cannot be read in the machine (code {code})"
                ))),
            },
        }
    }
}
