//! What passes between the supervisor and the thread that serves a machine's channel: orders one way,
//! what became of them the other. Each way has a descriptor that is readable when there is something.

use crate::stdio::Streams;
use bailiwick_channel::Ends;
use bailiwick_channel::schema::{Exec, Executed, Program, Setting, Size, Stage, ToGuest};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use std::io;
use std::net::SocketAddrV4;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// So much waits at most for the supervisor before the guest has to wait, in parts of [`PART`] bytes. One
/// word more can be under way, which is as long as a guest's message may be.
pub(crate) const MOST: usize = 4096;
/// What counts as one; a short word does as well.
const PART: usize = 256;

/// What the supervisor wants.
pub(crate) enum Order {
    /// Start a command with these files as its streams; none is `/dev/null`.
    Exec {
        exec: Box<Exec>,
        streams: Streams,
        /// The command's terminal outside, and which of the streams it is.
        terminal: Option<(Ends, [bool; 3])>,
    },
    /// Give a guest that waits its session; once.
    Begin(Box<Setting>),
    /// Tell the guest.
    Send(ToGuest),
    /// Have the streams of the session's own command, which runs, lead here.
    Attach {
        streams: Streams,
        /// Its terminal, the size of that, and which of the streams it is.
        terminal: Option<(Ends, Size, [bool; 3])>,
    },
    /// Have the guest fall silent, with everything on disk before if that is wanted, and say nothing to
    /// it.
    Hold { sync: bool },
    /// Go on with both.
    GoOn,
    /// Have the guest end every process and write back what they wrote.
    Close,
    /// Have the guest answer, which is told.
    Ask,
    /// Connect to a port of the guest's loopback.
    Inward { port: u16, end: OwnedFd },
}

/// What became of a machine.
#[derive(Debug)]
pub(crate) enum Told {
    /// It waits for its session.
    Waiting(Vec<Stage>),
    /// It stands still.
    Quiet,
    /// It says nothing more.
    Held(Result<(), i32>),
    /// It is complete.
    Ready(Vec<Stage>),
    /// It cannot be completed.
    Failed {
        what: String,
        errno: i32,
    },
    NoFolder {
        job: u32,
        errno: i32,
    },
    ExecFailed {
        job: u32,
        errno: i32,
    },
    Stopped {
        job: u32,
        signal: i32,
    },
    /// A command ended, and everything that it said has been passed on.
    Ended {
        job: u32,
        code: u8,
    },
    /// Not all that was written to the host's files arrived there.
    Unwritten(i32),
    /// What was written up to so long ago is on the machine's own disk.
    Synced(Duration),
    /// It answers.
    Answered,
    /// Every process has ended, and what they wrote was written back, or could not be (`errno`).
    Closed(Result<(), i32>),
    /// A program was executed.
    Executed(Box<Executed>),
    /// A program opened a connection.
    Called(Program, SocketAddrV4),
    /// So many executions were not told.
    Lost(u64),
    /// The guest's kernel has ended a command because memory ran out.
    OutOfMemory,
    /// There are as many processes in the guest as there may be.
    TooManyProcesses,
    /// Whether a command reads single keys is another than before.
    Keys,
    /// The channel is over.
    Over(String),
}

impl Told {
    /// How much of what may wait it is. A guest chooses how long its words are, and how many.
    pub(crate) fn weight(&self) -> usize {
        let all = |parts: &[Vec<u8>]| {
            let bytes: usize = parts.iter().map(Vec::len).sum();
            bytes + std::mem::size_of_val(parts)
        };
        let bytes = match self {
            Self::Executed(executed) => {
                all(&executed.argv) + executed.path.len() + executed.cwd.len()
            }
            Self::Waiting(stages) | Self::Ready(stages) => {
                let names: usize = stages.iter().map(|stage| stage.name.len()).sum();
                names + std::mem::size_of_val(stages.as_slice())
            }
            Self::Failed { what, .. } | Self::Over(what) => what.len(),
            _ => 0,
        };
        1 + bytes / PART
    }
}

/// The supervisor's side.
pub(crate) struct Desk {
    orders: Sender<Order>,
    wake: Arc<OwnedFd>,
    told: Receiver<(Told, usize)>,
    pub(crate) bell: Arc<OwnedFd>,
    waiting: Arc<AtomicUsize>,
}

/// The thread's side.
pub(crate) struct Counter {
    pub(crate) orders: Receiver<Order>,
    pub(crate) wake: Arc<OwnedFd>,
    told: Sender<(Told, usize)>,
    bell: Arc<OwnedFd>,
    waiting: Arc<AtomicUsize>,
}

/// Whoever gives orders without hearing what becomes of them.
#[derive(Clone)]
pub(crate) struct Messenger {
    orders: Sender<Order>,
    wake: Arc<OwnedFd>,
}

/// Both sides.
pub(crate) fn desk() -> io::Result<(Desk, Counter)> {
    let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
    let (wake, bell) = (Arc::new(eventfd(0, flags)?), Arc::new(eventfd(0, flags)?));
    let (orders, ordered) = channel();
    let (tell, told) = channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let desk = Desk {
        orders,
        wake: Arc::clone(&wake),
        told,
        bell: Arc::clone(&bell),
        waiting: Arc::clone(&waiting),
    };
    let counter = Counter {
        orders: ordered,
        wake,
        told: tell,
        bell,
        waiting,
    };
    Ok((desk, counter))
}

fn ring(fd: &OwnedFd) {
    // That it is full already says the same.
    let _ = rustix::io::write(fd, &1_u64.to_ne_bytes());
}

pub(crate) fn hear(fd: &OwnedFd) {
    let _ = rustix::io::read(fd, &mut [0; 8]);
}

impl Messenger {
    /// Gives an order.
    pub(crate) fn order(&self, order: Order) -> io::Result<()> {
        self.orders
            .send(order)
            .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        ring(&self.wake);
        Ok(())
    }
}

impl Desk {
    /// Somebody who gives orders here.
    pub(crate) fn messenger(&self) -> Messenger {
        Messenger {
            orders: self.orders.clone(),
            wake: Arc::clone(&self.wake),
        }
    }

    /// Gives an order.
    pub(crate) fn order(&self, order: Order) -> io::Result<()> {
        self.messenger().order(order)
    }

    /// What was told, if anything.
    pub(crate) fn told(&self) -> Option<Told> {
        let (told, weight) = self.told.try_recv().ok()?;
        let before = self.waiting.fetch_sub(weight, Ordering::Relaxed);
        if before >= MOST && before - weight < MOST {
            // The guest waits for this.
            ring(&self.wake);
        }
        Some(told)
    }

    /// Rings the bell: something may have been told that was not taken.
    pub(crate) fn ring(&self) {
        ring(&self.bell);
    }

    /// Takes the ring of the bell; what was told before it is there.
    pub(crate) fn hear(&self) {
        hear(&self.bell);
    }
}

impl Counter {
    /// Tells the supervisor.
    pub(crate) fn tell(&self, told: Told) {
        // Before it can be taken, or it would be subtracted before it was added.
        let weight = told.weight();
        self.waiting.fetch_add(weight, Ordering::Relaxed);
        let _ = self.told.send((told, weight));
        ring(&self.bell);
    }

    /// Whether the supervisor has not taken what it was told.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) >= MOST
    }
}

#[cfg(test)]
#[path = "orders_tests.rs"]
mod tests;
