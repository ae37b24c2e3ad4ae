//! What a submission asks for, once its form was found right.

use crate::call::{Call, Exception, Pending, Reply};
use crate::hold::{Hold, Passing};
use crate::memory::heap;
use crate::objects::endpoint::{self, Endpoint};
use crate::park::{self, Parks};
use crate::process::Process;
use crate::quota::Copied;
use crate::thread::Thread;
use alloc::sync::{Arc, Weak};
use alloc::vec;
use alloc::vec::Vec;
use bailiwick_capos_core::layout;
use bailiwick_capos_core::ring::{
    Cqe, MAX_TRANSFERS, Mode, Sqe, Transfer, error, flag, op, transfers_at,
};
use bailiwick_capos_core::table::CapId;

/// What becomes of the thread.
pub(crate) enum Next {
    /// It goes on.
    Goes,
    /// It parks.
    Parks(Parks),
}

/// Does what one entry asks for that is not empty.
pub(crate) fn one(thread: &Arc<Thread>, sqe: &Sqe, answer: Pending) -> Next {
    let process = &thread.process;
    let refuse = |answer: Pending, code| answer.complete(Reply::Refused(code));
    match sqe.opcode {
        op::CALL => call(process, sqe, answer),
        op::RELEASE => match process.release(sqe.cap_id) {
            true => answer.complete(Reply::nothing()),
            false => refuse(answer, error::INVALID),
        },
        op::RECV | op::RETURN | op::CANCEL => {
            let mut answer = answer;
            let Some(hold) = process.hold(sqe.cap_id) else {
                refuse(answer, error::INVOKE);
                return Next::Goes;
            };
            let Some(endpoint) = hold.object.as_endpoint().filter(|_| hold.serves()) else {
                refuse(answer, error::INVOKE);
                return Next::Goes;
            };
            match sqe.opcode {
                op::RECV => {
                    answer.waits_at(&hold.object);
                    endpoint.receive(answer);
                    // It may have been taken away after it was looked at.
                    if process.table.lock().get(sqe.cap_id).is_err() {
                        endpoint.withdraw(process);
                    }
                }
                op::CANCEL => match endpoint.cancel(process, sqe.pipeline_dep) {
                    true => answer.complete(Reply::nothing()),
                    false => refuse(answer, error::INVALID),
                },
                _ => returned(process, endpoint, sqe, answer),
            }
        }
        op::PARK | op::UNPARK => return park::submitted(thread, sqe, answer),
        _ => refuse(answer, error::UNSUPPORTED),
    }
    Next::Goes
}

/// The parameters, where the program may read them; else what that is answered by.
fn params(process: &Process, sqe: &Sqe) -> Result<(Vec<u8>, Copied), Reply> {
    let length = sqe.len as usize;
    if length > layout::SCRATCH {
        return Err(Reply::Refused(error::PARAMS));
    }
    let copied = Copied::take(length);
    let mut params = Vec::new();
    params.try_reserve_exact(length).map_err(|_| no_room())?;
    params.resize(length, 0);
    match process.space.read(sqe.addr, &mut params) {
        true => Ok((params, copied)),
        false => Err(Reply::Refused(error::PARAMS)),
    }
}

fn no_room() -> Reply {
    Reply::raised(Exception::Overloaded, "the kernel has no room for it now")
}

/// Which capabilities come with it, and how.
fn transfers(process: &Process, sqe: &Sqe) -> Result<Vec<Transfer>, i32> {
    let count = usize::from(sqe.xfer_cap_count);
    if count == 0 {
        return Ok(Vec::new());
    }
    if count > MAX_TRANSFERS {
        return Err(error::DESCRIPTOR);
    }
    let at = transfers_at(sqe.addr, sqe.len).ok_or(error::DESCRIPTOR)?;
    let mut bytes = vec![0; count * Transfer::SIZE];
    if !process.space.read(at, &mut bytes) {
        return Err(error::PARAMS);
    }
    let (descriptors, _) = bytes.as_chunks::<{ Transfer::SIZE }>();
    descriptors.iter().map(Transfer::parse).collect()
}

/// Takes capabilities out of a table to send them. What is moved is taken at once and put back where the
/// transfer fails, so that at any time it is in one place: either here or there.
pub(crate) struct Sent {
    from: Weak<Process>,
    /// Moved ones, by the ids that are reserved for their return.
    moved: Vec<CapId>,
    holds: Vec<Hold>,
}

impl Sent {
    pub(crate) fn take(from: &Arc<Process>, transfers: &[Transfer]) -> Result<Self, i32> {
        let mut sent = Self {
            from: Arc::downgrade(from),
            moved: Vec::new(),
            holds: Vec::new(),
        };
        let mut table = from.table.lock();
        for transfer in transfers {
            let hold = table.get(transfer.cap_id).map_err(|_| error::INVOKE);
            let hold = hold.and_then(|hold| match hold.passing {
                Passing::Copy => Ok(hold.clone()),
                Passing::Never => Err(error::TRANSFER),
            });
            let reserved = match (hold, transfer.mode) {
                (Ok(hold), Mode::Move) => {
                    let reserved = table.reserve(transfer.cap_id);
                    reserved.map(|()| hold).map_err(|_| error::INVOKE)
                }
                (hold, Mode::Copy) => hold,
                (Err(code), _) => Err(code),
            };
            match reserved {
                Ok(hold) => {
                    if transfer.mode == Mode::Move {
                        sent.moved.push(transfer.cap_id);
                    }
                    sent.holds.push(hold);
                }
                Err(code) => {
                    for id in sent.moved.drain(..) {
                        table.cancel(id);
                    }
                    return Err(code);
                }
            }
        }
        drop(table);
        Ok(sent)
    }

    /// Nothing is sent.
    pub(crate) fn nothing(from: &Arc<Process>) -> Self {
        Self {
            from: Arc::downgrade(from),
            moved: Vec::new(),
            holds: Vec::new(),
        }
    }

    /// Bytes that the kernel keeps for it.
    pub(crate) fn size(&self) -> usize {
        self.holds.len() * (size_of::<Hold>() + size_of::<CapId>())
    }

    pub(crate) fn holds(&self) -> &[Hold] {
        &self.holds
    }

    /// What is moved leaves its table; all of it or nothing, where some was taken away meanwhile.
    pub(crate) fn leave(&mut self) -> bool {
        if self.moved.is_empty() {
            return true;
        }
        let Some(from) = self.from.upgrade() else {
            return false;
        };
        let mut table = from.table.lock();
        if !self.moved.iter().all(|id| table.reserved(*id).is_some()) {
            return false;
        }
        let gone: Vec<_> = self
            .moved
            .drain(..)
            .filter_map(|id| table.take_reserved(id))
            .collect();
        drop(table);
        gone.into_iter()
            .for_each(|hold| hold.object.released(hold.facet, &from));
        true
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        if let Some(from) = self.from.upgrade().filter(|_| !self.moved.is_empty()) {
            let mut table = from.table.lock();
            for id in self.moved.drain(..) {
                table.cancel(id);
            }
        }
    }
}

fn call(process: &Arc<Process>, sqe: &Sqe, answer: Pending) {
    let refuse = |answer: Pending, code| answer.complete(Reply::Refused(code));
    let Some(hold) = process.hold(sqe.cap_id) else {
        return refuse(answer, error::INVOKE);
    };
    if heap::is_low() && !hold.object.takes_back(sqe.method_id) {
        return answer.complete(no_room());
    }
    let (params, _copied) = match params(process, sqe) {
        Ok(params) => params,
        Err(reply) => return answer.complete(reply),
    };
    if !process
        .space
        .is_writable(sqe.result_addr, sqe.result_len as usize)
    {
        return refuse(answer, error::RESULT);
    }
    let sent = transfers(process, sqe).and_then(|transfers| match transfers.is_empty() {
        true => Ok(Sent::nothing(process)),
        false => Sent::take(process, &transfers),
    });
    let sent = match sent {
        Ok(sent) => sent,
        Err(code) => return refuse(answer, code),
    };
    let mut answer = answer;
    answer.waits_at(&hold.object);
    let call = Call {
        process: process.clone(),
        method: sqe.method_id,
        params,
        badge: hold.badge,
        pending: answer,
    };
    match hold.object.as_endpoint() {
        Some(endpoint) => endpoint.call(call, sent),
        None if sent.holds().is_empty() => hold.object.call(call),
        None => {
            // What was to be moved is back before the caller is told.
            drop(sent);
            call.answer(Reply::Refused(error::TRANSFER));
        }
    }
}

fn returned(process: &Arc<Process>, endpoint: &Endpoint, sqe: &Sqe, answer: Pending) {
    let refuse = |answer: Pending, code| answer.complete(Reply::Refused(code));
    let (bytes, _copied) = match params(process, sqe) {
        Ok(bytes) => bytes,
        Err(reply) => return answer.complete(reply),
    };
    let sent = match transfers(process, sqe).and_then(|t| Sent::take(process, &t)) {
        Ok(sent) => sent,
        Err(code) => return refuse(answer, code),
    };
    let Some(received) = endpoint.take_received(process, sqe.call_id) else {
        drop(sent);
        return refuse(answer, error::INVALID);
    };
    let is_raised = sqe.flags & flag::EXCEPTION != 0;
    match endpoint::answer(received, bytes, is_raised, sent) {
        true => answer.post(Cqe::default()),
        false => refuse(answer, error::ABORTED),
    }
}
