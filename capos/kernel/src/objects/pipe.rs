//! Pipes: bytes from whoever writes to whoever reads, as many as the buffer has at one time. Each end is an
//! object of its own, so that who may only read cannot write.

use crate::call::{Call, Exception, Pending, Reply};
use crate::hold::{Facet, Hold, Object};
use crate::process::Process;
use crate::quota::{Charge, Kept};
use crate::sync::SpinLock;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use bailiwick_capos_core::interfaces;
use bailiwick_capos_core::message::{Builder, Message};

/// The largest buffer, in bytes.
pub(crate) const MOST: u32 = 64 * 1024;

struct State {
    bytes: VecDeque<u8>,
    size: usize,
    /// Whether each end, the reader's and the writer's, is closed.
    is_closed: [bool; 2],
    /// How often each is held.
    held: [usize; 2],
    /// Who waits to read, and how much.
    readers: VecDeque<(Pending, usize)>,
    /// Who waits to write, what, and what that costs.
    writers: VecDeque<(Pending, Vec<u8>, Charge)>,
    /// The buffer is its maker's.
    _kept: Kept,
}

/// A write that is answered, and what it has cost until then; it ends with no lock held.
type Due = (Pending, Reply, Option<Charge>);

/// One end.
pub(crate) struct Pipe {
    state: Arc<SpinLock<State>>,
    writes: bool,
}

/// The two ends of a new pipe, to read and to write; none where its maker has as many as it may have.
pub(crate) fn pair(maker: &Arc<Process>, size: u32) -> Option<[Hold; 2]> {
    let kept = Kept::for_pipe(maker, size as usize)?;
    // All of it at once: what was counted is what is used.
    let mut bytes = VecDeque::new();
    bytes.try_reserve_exact(size as usize).ok()?;
    let state = Arc::new(SpinLock::new(State {
        bytes,
        size: size as usize,
        is_closed: [false; 2],
        held: [0; 2],
        readers: VecDeque::new(),
        writers: VecDeque::new(),
        _kept: kept,
    }));
    Some([false, true].map(|writes| {
        Hold::open(Arc::new(Pipe {
            state: state.clone(),
            writes,
        }))
    }))
}

fn read_reply(data: &[u8], is_end: bool) -> Reply {
    let mut builder = Builder::new(1, 1);
    let root = builder.root();
    builder.set_data(root, 0, data);
    builder.set_bool(root, 0, is_end);
    Reply::Done(builder.finish(), Vec::new())
}

fn written_reply(count: usize) -> Reply {
    let mut builder = Builder::new(1, 0);
    let root = builder.root();
    builder.set_u32(root, 0, count as u32);
    Reply::Done(builder.finish(), Vec::new())
}

impl State {
    /// What can be answered now.
    fn due(&mut self) -> Vec<Due> {
        let mut due = Vec::new();
        loop {
            let room = self.size - self.bytes.len();
            let before = due.len();
            if (room > 0 || self.is_closed[0])
                && let Some((pending, bytes, charge)) = self.writers.pop_front()
            {
                let taken = bytes.len().min(room);
                let reply = match self.is_closed[0] {
                    true => Reply::raised(Exception::Disconnected, "nobody reads the pipe"),
                    false => {
                        self.bytes.extend(bytes.iter().take(taken));
                        written_reply(taken)
                    }
                };
                due.push((pending, reply, Some(charge)));
            }
            if self.is_closed[0]
                && let Some((pending, _)) = self.readers.pop_front()
            {
                let reply = Reply::raised(Exception::Disconnected, "this end is closed");
                due.push((pending, reply, None));
            }
            let ends = self.is_closed[1] && self.writers.is_empty();
            if (!self.bytes.is_empty() || ends)
                && let Some((pending, most)) = self.readers.pop_front()
            {
                let count = most.min(self.bytes.len());
                let data: Vec<u8> = self.bytes.drain(..count).collect();
                let reply = read_reply(&data, ends && self.bytes.is_empty());
                due.push((pending, reply, None));
            }
            if due.len() == before {
                return due;
            }
        }
    }

    /// Keeps nothing for those who do not wait.
    fn shrink(&mut self) {
        if self.readers.is_empty() {
            self.readers = VecDeque::new();
        }
        if self.writers.is_empty() {
            self.writers = VecDeque::new();
        }
    }

    fn close(&mut self, end: usize) {
        self.is_closed[end] = true;
    }
}

impl Pipe {
    fn write(&self, call: Call, data: Vec<u8>) {
        let Some(charge) = Charge::take(&call.process, data.len()) else {
            let why = "the process has as many calls under way as it may have";
            return call.answer(Reply::raised(Exception::Overloaded, why));
        };
        let mut refused = None;
        self.settle(|state| match state.is_closed[1] {
            true => refused = Some((call.pending, charge)),
            false => state.writers.push_back((call.pending, data, charge)),
        });
        if let Some((pending, charge)) = refused {
            drop(charge);
            pending.complete(Reply::raised(Exception::Disconnected, "this end is closed"));
        }
    }

    fn settle(&self, change: impl FnOnce(&mut State)) {
        let due = {
            let mut state = self.state.lock();
            change(&mut state);
            let due = state.due();
            state.shrink();
            due
        };
        for (pending, reply, charge) in due {
            drop(charge);
            pending.complete(reply);
        }
    }
}

impl Object for Pipe {
    fn interface(&self) -> u64 {
        interfaces::PIPE.id
    }

    fn label(&self) -> &'static str {
        if self.writes {
            "pipe to write"
        } else {
            "pipe to read"
        }
    }

    fn takes_back(&self, method: u16) -> bool {
        matches!(method, 2)
    }

    fn call(&self, call: Call) {
        match (call.method, self.writes) {
            (0, false) => {
                let most = Message::parse(&call.params).and_then(|m| Ok(m.root()?.u32(0)));
                // What is told beside the bytes has to fit as well.
                let room = call.pending.room().saturating_sub(48);
                match most {
                    Ok(most) => self.settle(|state| {
                        state
                            .readers
                            .push_back((call.pending, (most as usize).min(room)));
                    }),
                    Err(_) => call.answer(Reply::malformed()),
                }
            }
            (1, true) => {
                let size = self.state.lock().size;
                // More than the buffer holds is never taken at once.
                let data = Message::parse(&call.params).and_then(|message| {
                    let root = message.root()?;
                    let data = root.data(0)?;
                    Ok(data.get(..size).unwrap_or(data).to_vec())
                });
                match data {
                    Ok(data) if data.is_empty() => call.answer(written_reply(0)),
                    Ok(data) => self.write(call, data),
                    Err(_) => call.answer(Reply::malformed()),
                }
            }
            (2, writes) => {
                self.settle(|state| state.close(usize::from(writes)));
                call.answer(Reply::nothing());
            }
            (3, writes) => {
                let is_closed = self.state.lock().is_closed[usize::from(!writes)];
                let mut builder = Builder::new(1, 0);
                let root = builder.root();
                builder.set_bool(root, 0, is_closed);
                call.answer(Reply::Done(builder.finish(), Vec::new()));
            }
            (0 | 1, _) => {
                let why = "this end of the pipe does the other";
                call.answer(Reply::raised(Exception::Unimplemented, why));
            }
            _ => call.answer(Reply::no_method()),
        }
    }

    fn held(&self, _: Facet) {
        self.state.lock().held[usize::from(self.writes)] += 1;
    }

    fn forget(&self, process: &Arc<Process>) {
        let mut state = self.state.lock();
        let is_its = |pending: &Pending| pending.is_of(process);
        let readers = core::mem::take(&mut state.readers);
        let (gone, stay) = readers.into_iter().partition(|(reader, _)| is_its(reader));
        state.readers = stay;
        let writers = core::mem::take(&mut state.writers);
        let (unwritten, stay) = writers.into_iter().partition(|(writer, ..)| is_its(writer));
        state.writers = stay;
        drop(state);
        let _: (VecDeque<_>, VecDeque<_>) = (gone, unwritten);
    }

    fn released(&self, _: Facet, by: &Arc<Process>) {
        let end = usize::from(self.writes);
        if by.is_ending() {
            self.forget(by);
        }
        self.settle(|state| {
            state.held[end] -= 1;
            if state.held[end] == 0 {
                state.close(end);
            }
        });
    }
}
