//! The loop that moves bytes between the channel and the files that its streams lead to; one thread,
//! one epoll, nothing that waits for one stream alone.
//!
//! Decision: the same loop at both ends. A source is read only while its stream has credit and what
//! waits to be sent is little, each in its turn; a sink that is slow holds at most a window, and while
//! the guest does not read what it makes the host answer, the host does not take what it sends. Epoll
//! tells of a stream's file once for each change, so that one whose other side is gone cannot keep the
//! loop awake.

mod joint;
mod line;
mod tap;

pub use joint::Ends;
pub use line::Line;

use crate::frame::Violation;
use crate::mux::Event;
use line::Class;
use rustix::event::epoll;
use std::fmt;
use std::io;

/// Bytes that are read from the channel at once.
const READ: usize = 256 * 1024;

/// Why a loop ended.
#[derive(Debug)]
pub enum Fault {
    /// The peer did what no honest peer does.
    Violation(Violation),
    /// The channel, or the kernel.
    Io(io::Error),
}

impl From<Violation> for Fault {
    fn from(violation: Violation) -> Self {
        Self::Violation(violation)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<rustix::io::Errno> for Fault {
    fn from(error: rustix::io::Errno) -> Self {
        Self::Io(error.into())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Violation(violation) => write!(f, "the other side sent {violation}"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

/// What becomes of a stream that the peer has opened.
#[derive(Debug)]
pub enum Opening {
    /// It leads to these files.
    Leads(Ends),
    /// [`Line::attach`] gives it files later; until then its bytes wait, as many as its window has.
    Later,
    /// It is refused.
    Refused,
}

/// What one end does with what comes.
pub trait Handler {
    /// The peer is there and knows of no stream.
    ///
    /// # Errors
    /// Those that end the loop.
    fn hello(&mut self, line: &mut Line) -> Result<(), Fault>;

    /// A message.
    ///
    /// # Errors
    /// Those that end the loop.
    fn message(&mut self, bytes: &[u8], line: &mut Line) -> Result<(), Fault>;

    /// The peer has opened a stream.
    ///
    /// # Errors
    /// Those that end the loop.
    fn opened(&mut self, id: u32, open: &[u8], line: &mut Line) -> Result<Opening, Fault>;

    /// A stream is over in both directions, whether it had files or not.
    fn over(&mut self, _id: u32, _line: &mut Line) {}

    /// A descriptor that [`Line::watch`] was told of is readable, or its other side is gone.
    ///
    /// # Errors
    /// Those that end the loop.
    fn ready(&mut self, token: u32, line: &mut Line) -> Result<(), Fault>;

    /// What the streams' files have to say is about to be read.
    fn reading(&mut self, _line: &mut Line) {}

    /// What the streams' files said was read. It stands behind the first `ahead` of the waiting bytes;
    /// [`Line::send_ahead`] puts a message before it.
    fn was_read(&mut self, _ahead: usize, _line: &mut Line) {}

    /// Something may have happened: called once in each turn of the loop.
    fn turn(&mut self, _line: &mut Line) {}

    /// Whether so much waits for whoever takes it that the peer has to wait. When it is over something
    /// that is [watched](Line::watch) tells, or the loop sleeps on. It must not need what the peer says.
    fn is_full(&self) -> bool {
        false
    }

    /// Whether the loop is to end.
    fn is_done(&self) -> bool {
        false
    }
}

/// The loop of one end.
pub struct Pump<H> {
    line: Line,
    handler: H,
    input: Vec<u8>,
    /// The bytes of it that were read and not taken: from, to.
    held: (usize, usize),
    /// Whether there may be a whole frame in it, which was not taken because the peer has to wait.
    whole: bool,
    /// How often the loop went round.
    #[cfg(test)]
    turns: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

impl<H: Handler> Pump<H> {
    /// A loop over this channel.
    pub fn new(line: Line, handler: H) -> Self {
        Self {
            line,
            handler,
            input: vec![0; READ],
            held: (0, 0),
            whole: false,
            #[cfg(test)]
            turns: std::sync::Arc::default(),
        }
    }

    /// The line, before the loop runs.
    pub fn line(&mut self) -> &mut Line {
        &mut self.line
    }

    /// The handler, before and after the loop runs.
    pub fn handler(&mut self) -> &mut H {
        &mut self.handler
    }

    /// Runs until the handler is done.
    ///
    /// # Errors
    /// The channel is over: closed, broken, or the peer is not honest.
    pub fn run(&mut self) -> Result<(), Fault> {
        let mut events = Vec::with_capacity(64);
        loop {
            #[cfg(test)]
            self.turns
                .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if self.whole {
                self.take_frames()?;
            }
            if self.line.has_to_pull() {
                self.handler.reading(&mut self.line);
                let ahead = self.line.backlog();
                self.line.pull_in_turn();
                self.handler.was_read(ahead, &mut self.line);
            }
            self.tell_of_the_dead();
            self.handler.turn(&mut self.line);
            // After the last thing that can have made it so, or the loop would sleep on it.
            if self.handler.is_done() {
                break;
            }
            self.line.flush()?;
            let stalled = self.is_stalled();
            self.line.settle(stalled)?;
            let now = self.line.has_to_pull() || self.whole && !stalled;
            self.line.wait(&mut events, now)?;
            for event in &events {
                self.dispatch(*event)?;
            }
        }
        // What was said last is sent as far as the peer takes it.
        self.line.flush()
    }

    /// Whether the peer has to wait.
    fn is_stalled(&self) -> bool {
        self.handler.is_full() || self.line.is_stuck()
    }

    fn dispatch(&mut self, event: epoll::Event) -> Result<(), Fault> {
        let (class, number) = Class::of(event.data.u64());
        let flags = event.flags;
        match class {
            Class::Channel => {
                let reads = epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
                if flags.intersects(reads) && !self.whole && !self.is_stalled() {
                    self.read()?;
                }
            }
            Class::Source => self.line.wake(number),
            Class::Sink => self.line.push(number),
            Class::Handler => self.handler.ready(number, &mut self.line)?,
        }
        Ok(())
    }

    /// Reads what the peer has sent, once, and takes the whole frames of it.
    fn read(&mut self) -> Result<(), Fault> {
        // A frame is far shorter than the buffer, so there is always room for the rest of one.
        let space = self.input.get_mut(self.held.1..).unwrap_or_default();
        match self.line.read(space) {
            Ok(0) => return Err(Fault::Io(io::ErrorKind::UnexpectedEof.into())),
            Ok(read) => self.held.1 += read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        self.take_frames()
    }

    /// Takes whole frames until there is none, or the peer has to wait.
    fn take_frames(&mut self) -> Result<(), Fault> {
        loop {
            self.whole = self.is_stalled();
            if self.whole {
                return Ok(());
            }
            let (from, to) = self.held;
            let rest = self.input.get(from..to).unwrap_or_default();
            let Some((used, event)) = self.line.mux.parse(rest)? else {
                break;
            };
            self.held.0 += used;
            if let Some(event) = event {
                Self::take(&mut self.handler, &mut self.line, event)?;
            }
        }
        self.held = match self.held {
            (from, to) if from == to => (0, 0),
            (from, to) if to > READ / 2 => {
                self.input.copy_within(from..to, 0);
                (0, to - from)
            }
            held => held,
        };
        Ok(())
    }

    fn take(handler: &mut H, line: &mut Line, event: Event<'_>) -> Result<(), Fault> {
        match event {
            Event::Hello => {
                line.greeted();
                handler.hello(line)?;
            }
            Event::Message(bytes) => handler.message(&bytes, line)?,
            Event::Opened(id, open) => match handler.opened(id, open, line)? {
                Opening::Leads(ends) => line.attach(id, ends),
                Opening::Later => line.expect(id),
                Opening::Refused => line.reset(id),
            },
            Event::Data(id, bytes) => line.deliver(id, bytes),
            Event::Credit(id) => line.queue(id),
            Event::End(id) => line.ended(id),
            Event::Reset(id) => line.was_reset(id),
        }
        Ok(())
    }

    fn tell_of_the_dead(&mut self) {
        while let Some(id) = self.line.next_over() {
            self.handler.over(id, &mut self.line);
        }
    }
}

#[cfg(test)]
#[path = "pump_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "pump_hostile_tests.rs"]
mod hostile_tests;
