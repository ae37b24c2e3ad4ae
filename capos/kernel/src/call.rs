//! A call of a program's on an object, and its answer. Whoever cannot answer at once keeps the
//! [`Pending`] part; there is a place for its answer in the program's ring from the beginning, and what is
//! dropped unanswered is answered as disconnected, so that no call is ever lost. It does not keep the
//! process: what a process that has ended waited for, wherever that lies, holds nothing of it.

use crate::hold::Hold;
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
    is_answered: bool,
}

impl Pending {
    /// One whose answer has a place in the ring.
    pub(crate) fn new(process: &Arc<Process>, user_data: u64, result: (u64, u32)) -> Self {
        Self {
            process: Arc::downgrade(process),
            user_data,
            result,
            is_answered: false,
        }
    }

    /// Whose it is; none where that one ends or has ended, which nobody answers any more.
    pub(crate) fn process(&self) -> Option<Arc<Process>> {
        self.process
            .upgrade()
            .filter(|process| !process.is_ending())
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
        self.complete_if_fit(reply);
    }

    /// Answers it; whether the answer could be given as it is.
    pub(crate) fn complete_if_fit(self, reply: Reply) -> bool {
        let cqe = self.written(reply);
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

    /// The entry that tells of a reply, whose payload is written.
    fn written(&self, reply: Reply) -> Cqe {
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
                let process = self.process();
                let Some((process, records)) =
                    process.and_then(|process| process.install(holds).map(|r| (process, r)))
                else {
                    return entry(error::ABORTED);
                };
                for (number, (id, interface)) in records.iter().enumerate() {
                    let at = bytes.len() + number * TransferResult::SIZE;
                    let record = TransferResult {
                        cap_id: *id,
                        interface_id: *interface,
                    };
                    if !put(at, &record.to_bytes()) {
                        process.release_all(&records);
                        return entry(error::RESULT);
                    }
                }
                Cqe {
                    flags: cqe_flag::CAPS,
                    cap_count: count,
                    ..entry(bytes.len() as i32)
                }
            }
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.is_answered {
            let why = "nobody is there to answer";
            let cqe = self.written(Reply::raised(Exception::Disconnected, why));
            self.tell(cqe);
        }
    }
}
