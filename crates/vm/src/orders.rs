//! What passes between the supervisor and the thread that serves a machine's channel: orders one way,
//! what became of them the other. Each way has a descriptor that is readable when there is something.

use bailiwick_channel::Ends;
use bailiwick_channel::schema::{Exec, Executed, Stage, ToGuest};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// So many words wait at most for the supervisor before the guest has to wait.
const MOST: usize = 4096;

/// What the supervisor wants.
pub(crate) enum Order {
    /// Start a command with these files as its streams; none is `/dev/null`.
    Exec {
        exec: Box<Exec>,
        streams: [Option<Ends>; 3],
        /// The command's terminal outside, and which of the streams it is.
        terminal: Option<(Ends, [bool; 3])>,
    },
    /// Tell the guest.
    Send(ToGuest),
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
    /// A program was executed.
    Executed(Box<Executed>),
    /// So many executions were not told.
    Lost(u64),
    /// The guest's kernel has ended a command because memory ran out.
    OutOfMemory,
    /// The channel is over.
    Over(String),
}

/// The supervisor's side.
pub(crate) struct Desk {
    orders: Sender<Order>,
    wake: Arc<OwnedFd>,
    told: Receiver<Told>,
    pub(crate) bell: Arc<OwnedFd>,
    waiting: Arc<AtomicUsize>,
}

/// The thread's side.
pub(crate) struct Counter {
    pub(crate) orders: Receiver<Order>,
    pub(crate) wake: Arc<OwnedFd>,
    told: Sender<Told>,
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
        let told = self.told.try_recv().ok()?;
        if self.waiting.fetch_sub(1, Ordering::Relaxed) == MOST {
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
        if self.told.send(told).is_ok() {
            self.waiting.fetch_add(1, Ordering::Relaxed);
        }
        ring(&self.bell);
    }

    /// Whether the supervisor has not taken what it was told.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) >= MOST
    }
}
