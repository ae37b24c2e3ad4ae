//! Endpoints: programs call one another. A call waits for whoever receives, or whoever receives for a call;
//! what was received is answered by its number, once.
//!
//! Decision: parameters and capabilities are taken from the caller when it calls, so that a caller that
//! goes meanwhile leaves nothing half done; moved capabilities are in the caller's table, where nothing can
//! be done with them, until they are in the receiver's.

use crate::call::{Call, Exception, Pending, Reply, Ungiven};
use crate::hold::{Facet, Hold, Object};
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

/// A call that waits to be received. What it sends is back before its caller is told that it was not.
struct Waiting {
    sent: Sent,
    left: Charge,
    caller: Pending,
    method: u16,
    params: Vec<u8>,
    badge: u64,
}

/// A call that was received and not answered.
pub(crate) struct Received {
    endpoint: u64,
    left: Charge,
    /// Told when what the call has cost is given back, and so the last field.
    caller: Pending,
}

#[derive(Default)]
struct Queues {
    calls: VecDeque<Waiting>,
    receives: VecDeque<Pending>,
    /// How many hold the side that serves.
    servers: usize,
    had_servers: bool,
    /// How often one has let go of it.
    released: u64,
}

impl Queues {
    /// Keeps little for those who do not wait.
    fn shrink(&mut self) {
        if self.calls.is_empty() && self.calls.capacity() > 4 {
            self.calls = VecDeque::new();
        }
        if self.receives.is_empty() && self.receives.capacity() > 4 {
            self.receives = VecDeque::new();
        }
    }
}

/// An endpoint.
pub(crate) struct Endpoint {
    number: u64,
    queues: SpinLock<Queues>,
}

/// What became of a delivery.
enum Delivery {
    /// It was delivered to this process.
    Done(Arc<Process>),
    /// It failed, and both know.
    Over,
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
        let Some(left) = Charge::take(&call.process, call.params.len() + sent.size()) else {
            let why = "the process has as many calls under way as it may have";
            drop(sent);
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
        self.queue(waiting, VecDeque::push_back);
        self.meet();
    }

    /// Has a call wait, if there is somebody who can receive it, and somebody to tell the answer to. Both are
    /// looked at under the lock under which those who end are forgotten.
    fn queue(&self, waiting: Waiting, put: fn(&mut VecDeque<Waiting>, Waiting)) {
        // Nobody's last reference is dropped under the lock.
        let caller = waiting.caller.process();
        let mut queues = self.queues.lock();
        let has_server = !queues.had_servers || queues.servers > 0;
        if has_server && caller.as_ref().is_some_and(|caller| !caller.is_ending()) {
            put(&mut queues.calls, waiting);
            return;
        }
        drop(queues);
        drop(waiting);
    }

    /// Has a receive wait on, if there is still somebody to tell.
    fn queue_again(&self, receive: Pending, released: u64) {
        let Some(receiver) = receive.process() else {
            return drop(receive);
        };
        let mut queues = self.queues.lock();
        if receiver.is_ending() {
            drop(queues);
            return drop(receive);
        }
        queues.receives.push_front(receive);
        drop(queues);
        self.withdraw_since(&receiver, released);
    }

    /// Receives a call. Whoever may have lost the side that serves meanwhile [withdraws](Self::withdraw).
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
            let released = queues.released;
            queues.shrink();
            drop(queues);
            let Some((waiting, receive)) = both else {
                return;
            };
            match self.deliver(waiting, receive) {
                Delivery::Done(to) => self.withdraw_since(&to, released),
                Delivery::Over => {}
                Delivery::Receive(waiting) => self.queue(waiting, VecDeque::push_front),
                Delivery::Call(receive) => self.queue_again(receive, released),
            }
        }
    }

    fn deliver(&self, mut waiting: Waiting, receive: Pending) -> Delivery {
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
        let (count, holds) = (holds.len(), holds.to_vec());
        match receive.give(length, holds, || waiting.sent.leave()) {
            Ok(()) => {}
            Err(Ungiven::Ended) => return Delivery::Receive(waiting),
            Err(Ungiven::Unwritable) => {
                refuse(receive, error::RESULT);
                return Delivery::Receive(waiting);
            }
            Err(Ungiven::Full) => {
                refuse(receive, error::ABORTED);
                drop((waiting.sent, waiting.left));
                refuse(waiting.caller, error::ABORTED);
                return Delivery::Over;
            }
            Err(Ungiven::Gone) => {
                drop((waiting.sent, waiting.left));
                refuse(waiting.caller, error::ABORTED);
                return Delivery::Call(receive);
            }
        }
        let Waiting {
            caller,
            badge,
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
            left,
        };
        let gone = {
            let mut all = process.received.lock();
            // Those whose callers have ended wait for no answer.
            let is_gone = |_: &u32, one: &mut Received| one.caller.is_nobodys();
            let gone: Vec<_> = all.extract_if(.., is_gone).collect();
            all.insert(number, received);
            gone
        };
        drop(gone);
        receive.post(Cqe {
            result: length as i32,
            flags: match count {
                0 => 0,
                _ => cqe_flag::CAPS,
            },
            cap_count: count as u16,
            badge,
            call_id: number,
            ..Cqe::default()
        });
        Delivery::Done(process)
    }

    /// What came to a process, or was queued for it, while somebody let go of the side that serves.
    fn withdraw_since(&self, process: &Arc<Process>, released: u64) {
        if self.queues.lock().released != released {
            self.withdraw(process);
        }
    }

    /// A process that does not serve any more receives nothing, and answers nothing of what it has received:
    /// both are disconnected.
    pub(crate) fn withdraw(&self, process: &Arc<Process>) {
        let serves = |hold: &Hold| {
            let endpoint = hold.object.as_endpoint();
            hold.serves() && endpoint.is_some_and(|endpoint| endpoint.number == self.number)
        };
        let still_serves = process.table.lock().iter().any(|(_, hold)| serves(hold));
        if still_serves {
            return;
        }
        let mut queues = self.queues.lock();
        let (gone, rest) = core::mem::take(&mut queues.receives)
            .into_iter()
            .partition::<VecDeque<_>, _>(|receive| receive.is_of(process));
        queues.receives = rest;
        drop(queues);
        drop(gone);
        let mut received = process.received.lock();
        let own = |_: &u32, one: &mut Received| one.endpoint == self.number;
        let out: Vec<_> = received.extract_if(.., own).collect();
        drop(received);
        drop(out);
    }

    /// Takes a call that a process has received, to answer it.
    pub(crate) fn take_received(&self, process: &Process, number: u32) -> Option<Received> {
        let mut received = process.received.lock();
        let is_own = received
            .get(&number)
            .is_some_and(|one| one.endpoint == self.number);
        is_own.then(|| received.remove(&number)).flatten()
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
pub(crate) fn answer(received: Received, bytes: Vec<u8>, is_raised: bool, mut sent: Sent) -> bool {
    let Received { caller, left, .. } = received;
    // What the call has cost is given back before its caller is told.
    drop(left);
    if is_raised {
        caller.complete(Reply::RaisedBy(bytes));
        return true;
    }
    let holds = sent.holds().to_vec();
    let has_arrived = holds.is_empty() || caller.process().is_none();
    let reply = Reply::Done(bytes, holds);
    caller.complete_if(reply, || sent.leave()) || has_arrived
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

    fn forget(&self, process: &Arc<Process>) {
        let mut queues = self.queues.lock();
        let calls = core::mem::take(&mut queues.calls);
        let (gone, stay) = calls
            .into_iter()
            .partition(|waiting| waiting.caller.is_of(process));
        queues.calls = stay;
        let receives = core::mem::take(&mut queues.receives);
        let (unmet, stay) = receives
            .into_iter()
            .partition(|receive| receive.is_of(process));
        queues.receives = stay;
        drop(queues);
        let _: (VecDeque<_>, VecDeque<_>) = (gone, unmet);
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
        queues.released += 1;
        let is_last = queues.servers == 0;
        let calls = match is_last {
            true => core::mem::take(&mut queues.calls),
            false => VecDeque::new(),
        };
        drop(queues);
        drop(calls);
        self.withdraw(by);
    }
}
