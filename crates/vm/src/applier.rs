//! Brings files of a machine's disk to the host: the guest's binary unpacks them there, in a sandbox that
//! has the session's policy.
//!
//! Decision: what a sandboxed command could not write is not written, by the same enforcement, whatever the
//! guest has made of its disk.

use crate::jail;
use crate::packer::{Boxed, Words, wait};
use bailiwick_event::Failure;
use bailiwick_policy::Effective;
use bailiwick_sandbox::Running;
use bailiwick_transfer::{Entry, Outcome, Reader, Writer};
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io::{self, BufReader, BufWriter};
use std::path::Path;

/// The unpacking, which waits for its entries.
pub struct Applier {
    boxed: Boxed,
    entries: OwnedFd,
    outcomes: OwnedFd,
}

/// The unpacking, which goes on.
pub struct Unpacking {
    running: Box<dyn Running>,
    outcomes: OwnedFd,
}

fn fault(error: io::Error) -> Failure {
    Failure::fault(format!("the files cannot be unpacked: {error}"))
}

impl Applier {
    /// Begins one for a policy's workspace; `private` is the folder behind its private paths. The calling
    /// process has one thread.
    ///
    /// # Errors
    /// A [`Failure`] where the policy cannot be enforced here.
    pub fn begin(policy: &Effective, private: &Path) -> Result<Self, Failure> {
        let (read, entries) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| fault(e.into()))?;
        let outcomes =
            memfd_create("outcomes", MemfdFlags::CLOEXEC).map_err(|e| fault(e.into()))?;
        let null = File::options()
            .write(true)
            .open("/dev/null")
            .map_err(fault)?;
        let words = Words {
            policy: &jail::policy(policy),
            private,
            best_effort: false,
            what: "unpack",
            path: &policy.workspace,
            flag: "--checked",
        };
        let boxed = Boxed::start(&words, [&read, &outcomes, &null.into()])?;
        Ok(Self {
            boxed,
            entries,
            outcomes,
        })
    }

    /// Where a listing of what was there before goes, and the entries behind it.
    ///
    /// # Errors
    /// A [`Failure`] that names the layer that could not be had.
    pub fn ready(self) -> Result<(File, Unpacking), Failure> {
        let unpacking = Unpacking {
            running: self.boxed.ready()?,
            outcomes: self.outcomes,
        };
        Ok((self.entries.into(), unpacking))
    }
}

/// Packs what a workspace has at certain paths, in a sandbox that has the session's policy.
pub struct Keeper {
    boxed: Boxed,
    wanted: OwnedFd,
}

impl Keeper {
    /// Begins one, which waits for its paths; the entries go to a file. The calling process has one thread.
    ///
    /// # Errors
    /// A [`Failure`] where the policy cannot be enforced here.
    pub fn begin(policy: &Effective, private: &Path, to: &File) -> Result<Self, Failure> {
        let (read, wanted) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| fault(e.into()))?;
        let to = to.try_clone().map_err(fault)?;
        let null = File::options().write(true).open("/dev/null");
        let words = Words {
            policy: &jail::policy(policy),
            private,
            best_effort: false,
            what: "pack",
            path: &policy.workspace,
            flag: "--only",
        };
        let streams = [&read, &to.into(), &null.map_err(fault)?.into()];
        let boxed = Boxed::start(&words, streams)?;
        Ok(Self { boxed, wanted })
    }

    /// Packs what is at these paths, as far as something is.
    ///
    /// # Errors
    /// A [`Failure`] where it could not go on to the end.
    pub fn keep<'a>(self, paths: impl Iterator<Item = &'a Vec<u8>>) -> Result<(), Failure> {
        let mut running = self.boxed.ready()?;
        let mut writer = Writer::new(BufWriter::new(File::from(self.wanted)));
        let named = paths.map(|path| Entry::gone(path));
        writer.listing(named).map_err(fault)?;
        drop(writer);
        match wait(&mut *running)? {
            0 => Ok(()),
            code => Err(Failure::fault(format!(
                "what the workspace has cannot be kept (code {code}), so nothing of it is changed\n  remedy: \
                 see that there is room beside the records of sessions, and that the workspace can be read"
            ))),
        }
    }
}

impl Unpacking {
    /// Waits until all was unpacked; what became of each entry.
    ///
    /// # Errors
    /// A [`Failure`] where it could not go on to the end.
    pub fn outcomes(mut self) -> Result<Vec<Outcome>, Failure> {
        let code = wait(&mut *self.running)?;
        seek(&self.outcomes, SeekFrom::Start(0)).map_err(|e| fault(e.into()))?;
        let mut reader = Reader::listing(BufReader::new(File::from(self.outcomes)));
        let mut all = Vec::new();
        while let Some(outcome) = reader.outcome().map_err(fault)? {
            all.push(outcome);
        }
        match code {
            0 => Ok(all),
            code => Err(Failure::fault(format!(
                "the files were not all unpacked (code {code}); {} entries were",
                all.len()
            ))),
        }
    }
}
