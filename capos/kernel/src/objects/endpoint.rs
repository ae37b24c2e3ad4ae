//! Endpoints: programs call one another. A call waits for whoever receives, or whoever receives for a call;
//! what was received is answered by its number, once.
//!
//! Decision: parameters and capabilities are taken from the caller when it calls, so that a caller that
//! goes meanwhile leaves nothing half done; moved capabilities are in the caller's table, where nothing can
//! be done with them, until they are in the receiver's.

use crate::call::{Call, Exception, Pending, Reply};
use crate::hold::{Facet, Object};
use crate::process::Process;
use crate::quota::Charge;
use crate::submit::Sent;
use crate::sync::SpinLock;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use bailiwick_capos_core::interfaces;
use bailiwick_capos_core::ring::{Cqe, MessageHeader, TransferResult, cqe_flag, error};
use core::sync::atomic::{AtomicU64, Ordering};

static NEXT: AtomicU64 = AtomicU64::new(1);

struct Waiting {
    caller: Pending,
    method: u16,
    params: Vec<u8>,
    badge: u64,
    sent: Sent,
    left: Charge,
}

/// A call that was received and not answered.
pub(crate) struct Received {
    caller: Pending,
    endpoint: u64,
    _left: Charge,
}

#[derive(Default)]
struct Queues {
    calls: VecDeque<Waiting>,
    receives: VecDeque<Pending>,
    /// How many hold the side that serves.
    servers: usize,
    had_servers: bool,
}

/// An endpoint.
pub(crate) struct Endpoint {
    number: u64,
    queues: SpinLock<Queues>,
}

/// What became of a delivery.
enum Delivery {
    Done,
    /// The receive failed, or its process is gone; the call waits on.
    Receive(Waiting),
    /// The caller is gone; the receive waits on.
    Call(Pending),
}

impl Endpoint {
    /// A new one.
    pub(crate) fn new() -> Self {
        Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            queues: SpinLock::new(Queues::default()),
        }
    }

    /// Calls whoever receives.
    pub(crate) fn call(&self, call: Call, sent: Sent) {
        let Some(left) = Charge::take(&call.process, call.params.len()) else {
            let why = "the process has as many calls under way as it may have";
            return call.answer(Reply::raised(Exception::Overloaded, why));
        };
        let waiting = Waiting {
            caller: call.pending,
            method: call.method,
            params: call.params,
            badge: call.badge,
            sent,
            left,
        };
        let mut queues = self.queues.lock();
        if queues.had_servers && queues.servers == 0 {
            drop(queues);
            return drop(waiting);
        }
        queues.calls.push_back(waiting);
        drop(queues);
        self.meet();
    }

    /// Receives a call.
    pub(crate) fn receive(&self, receive: Pending) {
        self.queues.lock().receives.push_back(receive);
        self.meet();
    }

    /// Brings calls and receives together as long as there are both.
    fn meet(&self) {
        loop {
            let mut queues = self.queues.lock();
            if queues.calls.is_empty() || queues.receives.is_empty() {
                return;
            }
            let both = queues.calls.pop_front().zip(queues.receives.pop_front());
            drop(queues);
            let Some((waiting, receive)) = both else {
                return;
            };
            match self.deliver(waiting, receive) {
                Delivery::Done => {}
                Delivery::Receive(waiting) => self.queues.lock().calls.push_front(waiting),
                Delivery::Call(receive) => self.queues.lock().receives.push_front(receive),
            }
        }
    }

    fn deliver(&self, waiting: Waiting, receive: Pending) -> Delivery {
        let refuse = |receive: Pending, code| receive.complete(Reply::Refused(code));
        if waiting.caller.process().is_none() {
            return Delivery::Call(receive);
        }
        let Some(process) = receive.process() else {
            return Delivery::Receive(waiting);
        };
        let params = &waiting.params;
        let holds = waiting.sent.holds();
        let length = MessageHeader::SIZE + params.len();
        let whole = length + holds.len() * TransferResult::SIZE;
        let header = MessageHeader {
            interface_id: interfaces::ENDPOINT.id,
            method_id: waiting.method,
            flags: 0,
            params_len: params.len() as u32,
        };
        let fits = whole <= receive.room()
            && receive.write(0, &header.to_bytes())
            && receive.write(MessageHeader::SIZE, params);
        if !fits {
            refuse(receive, error::RESULT);
            return Delivery::Receive(waiting);
        }
        let Some(records) = process.install(holds.to_vec()) else {
            refuse(receive, error::ABORTED);
            refuse(waiting.caller, error::ABORTED);
            return Delivery::Done;
        };
        for (number, (cap_id, interface_id)) in records.iter().enumerate() {
            let record = TransferResult {
                cap_id: *cap_id,
                interface_id: *interface_id,
            };
            if !receive.write(length + number * TransferResult::SIZE, &record.to_bytes()) {
                process.release_all(&records);
                refuse(receive, error::RESULT);
                return Delivery::Receive(waiting);
            }
        }
        let Waiting {
            caller,
            badge,
            sent,
            left,
            ..
        } = waiting;
        let number = loop {
            match process.next_call.fetch_add(1, Ordering::Relaxed) {
                0 => {}
                number => break number,
            }
        };
        let received = Received {
            caller,
            endpoint: self.number,
            _left: left,
        };
        process.received.lock().insert(number, received);
        sent.commit();
        receive.post(Cqe {
            result: length as i32,
            flags: if records.is_empty() {
                0
            } else {
                cqe_flag::CAPS
            },
            cap_count: records.len() as u16,
            badge,
            call_id: number,
            ..Cqe::default()
        });
        Delivery::Done
    }

    /// Takes a receive of a process back; whether there was one.
    pub(crate) fn cancel(&self, process: &Arc<Process>, user_data: u64) -> bool {
        let mut queues = self.queues.lock();
        let is_it = |receive: &Pending| receive.user_data() == user_data && receive.is_of(process);
        let at = queues.receives.iter().position(is_it);
        let receive = at.and_then(|at| queues.receives.remove(at));
        drop(queues);
        let is_there = receive.is_some();
        if let Some(receive) = receive {
            let why = "the receive was taken back";
            receive.complete(Reply::raised(Exception::Disconnected, why));
        }
        is_there
    }
}

/// Answers a call that was received; whether what was sent along could be given, where there is still
/// somebody to give it to.
pub(crate) fn answer(received: Received, bytes: Vec<u8>, is_raised: bool, sent: Sent) -> bool {
    if is_raised {
        received.caller.complete(Reply::RaisedBy(bytes));
        return true;
    }
    let holds = sent.holds().to_vec();
    let has_arrived = holds.is_empty() || received.caller.process().is_none();
    let is_delivered = received.caller.complete_if_fit(Reply::Done(bytes, holds));
    if is_delivered {
        sent.commit();
    }
    is_delivered || has_arrived
}

impl Object for Endpoint {
    fn interface(&self) -> u64 {
        interfaces::ENDPOINT.id
    }

    fn label(&self) -> &'static str {
        "endpoint"
    }

    /// Reached through [`Endpoint::call`] alone.
    fn call(&self, call: Call) {
        call.answer(Reply::no_method());
    }

    fn as_endpoint(&self) -> Option<&Endpoint> {
        Some(self)
    }

    fn held(&self, facet: Facet) {
        if facet == Facet::Whole {
            let mut queues = self.queues.lock();
            queues.servers += 1;
            queues.had_servers = true;
        }
    }

    fn released(&self, facet: Facet, by: &Arc<Process>) {
        if facet != Facet::Whole {
            return;
        }
        let mut queues = self.queues.lock();
        queues.servers -= 1;
        let is_last = queues.servers == 0;
        let calls = match is_last {
            true => core::mem::take(&mut queues.calls),
            false => VecDeque::new(),
        };
        let (gone, rest) = core::mem::take(&mut queues.receives)
            .into_iter()
            .partition::<VecDeque<_>, _>(|receive| receive.is_of(by));
        queues.receives = rest;
        drop(queues);
        drop((calls, gone));
        let mut received = by.received.lock();
        let own = |_: &u32, one: &mut Received| one.endpoint == self.number;
        let out: Vec<_> = received.extract_if(.., own).collect();
        drop(received);
        drop(out);
    }
}
