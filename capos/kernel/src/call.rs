//! A call of a program's on an object, and its answer. Whoever cannot answer at once keeps the
//! [`Pending`] part; there is a place for its answer in the program's ring from the beginning, and what is
//! dropped unanswered is answered as disconnected, so that no call is ever lost. It does not keep the
//! process: what a process that has ended waited for, wherever that lies, holds nothing of it.

use crate::hold::{Hold, Object};
use crate::process::Process;
use alloc::string::String;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use bailiwick_capos_core::message::Builder;
use bailiwick_capos_core::ring::{Cqe, TransferResult, cqe_flag, error};
use core::ptr;

/// Kinds of exceptions (schema: `ExceptionType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exception {
    Overloaded = 1,
    Disconnected = 2,
    Unimplemented = 3,
    InvalidArgument = 4,
}

/// What a program gets back.
pub(crate) enum Reply {
    /// A message, with capabilities beside it.
    Done(Vec<u8>, Vec<Hold>),
    /// What the object says went wrong.
    Raised(Exception, String),
    /// A serialized exception of another program's.
    RaisedBy(Vec<u8>),
    /// What the transport says went wrong; a code of the ABI.
    Refused(i32),
}

impl Reply {
    /// A method without results has worked.
    pub(crate) fn nothing() -> Self {
        Self::Done(Vec::new(), Vec::new())
    }

    /// Results that are numbers: one of 64 bits each.
    pub(crate) fn numbers(numbers: &[u64]) -> Self {
        let mut builder = Builder::new(numbers.len() as u16, 0);
        let root = builder.root();
        for (at, number) in numbers.iter().enumerate() {
            builder.set_u64(root, 8 * at, *number);
        }
        Self::Done(builder.finish(), Vec::new())
    }

    /// A result that is bytes.
    pub(crate) fn data(data: &[u8]) -> Self {
        let mut builder = Builder::new(0, 1);
        let root = builder.root();
        builder.set_data(root, 0, data);
        Self::Done(builder.finish(), Vec::new())
    }

    /// Results that are capabilities, and where each stands among them: 16 bits each.
    pub(crate) fn capabilities(holds: Vec<Hold>) -> Self {
        let named = holds.len();
        Self::capabilities_of(holds, named)
    }

    /// The same, where only the first so many are named.
    pub(crate) fn capabilities_of(holds: Vec<Hold>, named: usize) -> Self {
        let mut builder = Builder::new(1, 0);
        let root = builder.root();
        for at in 0..named {
            builder.set_u16(root, 2 * at, at as u16);
        }
        Self::Done(builder.finish(), holds)
    }

    /// An exception.
    pub(crate) fn raised(kind: Exception, why: &str) -> Self {
        Self::Raised(kind, why.into())
    }

    /// There is no such method.
    pub(crate) fn no_method() -> Self {
        Self::raised(Exception::Unimplemented, "the interface has no such method")
    }

    /// The parameters are not what the method takes.
    pub(crate) fn malformed() -> Self {
        Self::Refused(error::PARAMS)
    }
}

/// A call.
pub(crate) struct Call {
    /// Who makes it.
    pub(crate) process: Arc<Process>,
    pub(crate) method: u16,
    pub(crate) params: Vec<u8>,
    pub(crate) badge: u64,
    pub(crate) pending: Pending,
}

impl Call {
    /// Answers it.
    pub(crate) fn answer(self, reply: Reply) {
        self.pending.complete(reply);
    }
}

/// A call that is not answered yet.
pub(crate) struct Pending {
    process: Weak<Process>,
    user_data: u64,
    result: (u64, u32),
    /// Where its process has written down at which object it waits.
    place: Option<usize>,
    is_answered: bool,
}

/// Why capabilities could not be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ungiven {
    /// The process ends.
    Ended,
    /// It holds as much as it may.
    Full,
    /// The place of the answer cannot be written.
    Unwritable,
    /// They were taken away from whoever sends them.
    Gone,
}

impl Pending {
    /// One whose answer has a place in the ring.
    pub(crate) fn new(process: &Arc<Process>, user_data: u64, result: (u64, u32)) -> Self {
        Self {
            process: Arc::downgrade(process),
            user_data,
            result,
            place: None,
            is_answered: false,
        }
    }

    /// It waits at an object from now on, which is asked to forget it should its process end.
    pub(crate) fn waits_at(&mut self, object: &Arc<dyn Object>) {
        // Also of one that ends: it forgets where it waits when its last thread has come by.
        if let Some(process) = self.process.upgrade() {
            self.place = process.ring.waits_at(object);
        }
    }

    /// Whose it is; none where that one ends or has ended, which nobody answers any more.
    pub(crate) fn process(&self) -> Option<Arc<Process>> {
        self.process
            .upgrade()
            .filter(|process| !process.is_ending())
    }

    /// Whether its process is no more.
    pub(crate) fn is_nobodys(&self) -> bool {
        self.process.strong_count() == 0
    }

    /// Whether it is this process's.
    pub(crate) fn is_of(&self, process: &Arc<Process>) -> bool {
        ptr::eq(self.process.as_ptr(), Arc::as_ptr(process))
    }

    /// What the program calls it.
    pub(crate) fn user_data(&self) -> u64 {
        self.user_data
    }

    /// How many bytes its answer may have.
    pub(crate) fn room(&self) -> usize {
        self.result.1 as usize
    }

    /// Answers it.
    pub(crate) fn complete(self, reply: Reply) {
        self.complete_if(reply, || true);
    }

    /// Answers it, by what comes from another process if it `leaves` that; whether the answer could be given
    /// as it is.
    pub(crate) fn complete_if(self, reply: Reply, leaves: impl FnOnce() -> bool) -> bool {
        let cqe = self.written(reply, leaves);
        self.post(cqe);
        cqe.result >= 0
    }

    /// Answers it by an entry that is complete, whose payload is written.
    pub(crate) fn post(mut self, cqe: Cqe) {
        self.tell(cqe);
    }

    fn tell(&mut self, cqe: Cqe) {
        self.is_answered = true;
        if let Some(process) = self.process() {
            if let Some(place) = self.place.take() {
                process.ring.waits_no_longer(place);
            }
            process.ring.post(&Cqe {
                user_data: self.user_data,
                ..cqe
            });
        }
    }

    /// Writes bytes into the place of the answer; whether they fit and could be written.
    pub(crate) fn write(&self, at: usize, bytes: &[u8]) -> bool {
        let fits = at
            .checked_add(bytes.len())
            .is_some_and(|end| end <= self.room());
        let process = self.process().filter(|_| fits);
        process.is_some_and(|process| process.space.write(self.result.0 + at as u64, bytes))
    }

    /// Gives capabilities, whose records are written at an offset. They can be used when all of that is done
    /// and `leaves` has said that whoever sends them has them no longer: at any time one of the two.
    pub(crate) fn give(
        &self,
        at: usize,
        holds: Vec<Hold>,
        leaves: impl FnOnce() -> bool,
    ) -> Result<(), Ungiven> {
        let process = self.process().ok_or(Ungiven::Ended)?;
        let records = process
            .install(holds)
            .ok_or_else(|| match process.is_ending() {
                true => Ungiven::Ended,
                false => Ungiven::Full,
            })?;
        let is_written = records.iter().enumerate().all(|(number, record)| {
            let (cap_id, interface_id) = *record;
            let record = TransferResult {
                cap_id,
                interface_id,
            };
            self.write(at + number * TransferResult::SIZE, &record.to_bytes())
        });
        if !is_written || !leaves() {
            process.release_all(&records);
            return Err(match is_written {
                true => Ungiven::Gone,
                false => Ungiven::Unwritable,
            });
        }
        process.reveal(&records);
        Ok(())
    }

    /// The entry that tells of a reply, whose payload is written; what comes with it is given when it
    /// `leaves` its sender.
    pub(crate) fn written(&self, reply: Reply, leaves: impl FnOnce() -> bool) -> Cqe {
        let put = |at: usize, bytes: &[u8]| self.write(at, bytes);
        let entry = |result| Cqe {
            result,
            ..Cqe::default()
        };
        let raised = |bytes: &[u8]| match put(0, bytes) {
            true => entry(error::EXCEPTION),
            false => entry(error::EXCEPTION_CUT),
        };
        match reply {
            Reply::Refused(code) => entry(code),
            Reply::RaisedBy(bytes) => raised(&bytes),
            Reply::Raised(kind, why) => {
                let mut builder = Builder::new(1, 1);
                let root = builder.root();
                builder.set_u16(root, 0, kind as u16);
                builder.set_text(root, 0, &why);
                raised(&builder.finish())
            }
            Reply::Done(bytes, holds) if holds.is_empty() => match put(0, &bytes) {
                true => entry(bytes.len() as i32),
                false => entry(error::RESULT),
            },
            Reply::Done(bytes, holds) => {
                let needed = bytes.len() + holds.len() * TransferResult::SIZE;
                if needed > self.room() || !put(0, &bytes) {
                    return entry(error::RESULT);
                }
                let count = holds.len() as u16;
                match self.give(bytes.len(), holds, leaves) {
                    Err(Ungiven::Unwritable) => entry(error::RESULT),
                    Err(_) => entry(error::ABORTED),
                    Ok(()) => Cqe {
                        flags: cqe_flag::CAPS,
                        cap_count: count,
                        ..entry(bytes.len() as i32)
                    },
                }
            }
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.is_answered {
            let why = "nobody is there to answer";
            let cqe = self.written(Reply::raised(Exception::Disconnected, why), || true);
            self.tell(cqe);
        }
    }
}
