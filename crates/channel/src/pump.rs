//! The loop that moves bytes between the channel and the files that its streams lead to; one thread,
//! one epoll, nothing that waits for one stream alone.
//!
//! Decision: the same loop at both ends. A source is read only while its stream has credit and what
//! waits to be sent is little, a sink that is slow holds at most a window, and while the peer does not
//! read what it makes this side answer, this side does not read what the peer sends.

mod joint;
mod line;

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
    /// [`Line::attach`] gives it files before its first byte comes.
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

    /// A stream is over in both directions.
    fn over(&mut self, _id: u32, _line: &mut Line) {}

    /// A descriptor that [`Line::watch`] was told of is readable, or its other side is gone.
    ///
    /// # Errors
    /// Those that end the loop.
    fn ready(&mut self, token: u32, line: &mut Line) -> Result<(), Fault>;

    /// Something may have happened: called once in each turn of the loop.
    fn turn(&mut self, _line: &mut Line) {}

    /// Whether so much waits for whoever takes it that the peer has to wait.
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
}

impl<H: Handler> Pump<H> {
    /// A loop over this channel.
    pub fn new(line: Line, handler: H) -> Self {
        Self {
            line,
            handler,
            input: vec![0; READ],
            held: (0, 0),
        }
    }

    /// What serves the channel.
    pub fn handler(&self) -> &H {
        &self.handler
    }

    /// The line, before the loop runs.
    pub fn line(&mut self) -> &mut Line {
        &mut self.line
    }

    /// Runs until the handler is done.
    ///
    /// # Errors
    /// The channel is over: closed, broken, or the peer is not honest.
    pub fn run(&mut self) -> Result<(), Fault> {
        let mut events = Vec::with_capacity(64);
        while !self.handler.is_done() {
            self.line.read_files();
            self.line.flush()?;
            self.tell_of_the_dead();
            self.handler.turn(&mut self.line);
            self.line.flush()?;
            let stalled = self.handler.is_full() || self.line.is_stuck();
            self.line.settle(stalled)?;
            let now = self.line.has_files_to_read();
            self.line.wait(&mut events, now)?;
            for event in &events {
                self.dispatch(*event, stalled)?;
            }
        }
        // What was said last is sent as far as the peer takes it.
        self.line.flush()
    }

    fn dispatch(&mut self, event: epoll::Event, stalled: bool) -> Result<(), Fault> {
        let (class, number) = Class::of(event.data.u64());
        let flags = event.flags;
        match class {
            Class::Channel => {
                let reads = epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
                if flags.intersects(reads) && !stalled {
                    self.read()?;
                }
            }
            Class::Source => self.line.pull(number),
            Class::Sink => self.line.push(number),
            Class::Handler => self.handler.ready(number, &mut self.line)?,
        }
        Ok(())
    }

    /// Reads what the peer has sent, once, and takes every whole frame of it.
    fn read(&mut self) -> Result<(), Fault> {
        let (from, to) = self.held;
        let space = self.input.get_mut(to..).unwrap_or_default();
        let read = match self.line.read(space) {
            Ok(0) => return Err(Fault::Io(io::ErrorKind::UnexpectedEof.into())),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let (mut from, to) = (from, to + read);
        loop {
            let rest = self.input.get(from..to).unwrap_or_default();
            let Some((used, event)) = self.line.mux.parse(rest)? else {
                break;
            };
            from += used;
            if let Some(event) = event {
                Self::take(&mut self.handler, &mut self.line, event)?;
            }
        }
        // A frame is far shorter than the buffer, so there is always room for the rest of one.
        self.held = match to {
            to if from == to => (0, 0),
            to if to > READ / 2 => {
                self.input.copy_within(from..to, 0);
                (0, to - from)
            }
            to => (from, to),
        };
        Ok(())
    }

    fn take(handler: &mut H, line: &mut Line, event: Event<'_>) -> Result<(), Fault> {
        match event {
            Event::Hello => {
                line.drop_all();
                handler.hello(line)?;
            }
            Event::Message(bytes) => handler.message(&bytes, line)?,
            Event::Opened(id, open) => match handler.opened(id, open, line)? {
                Opening::Leads(ends) => line.attach(id, ends),
                Opening::Later => {}
                Opening::Refused => line.reset(id),
            },
            Event::Data(id, bytes) => line.deliver(id, bytes),
            Event::Credit(id) => line.may_pull(id),
            Event::End(id) => line.ended(id),
            Event::Reset(id) => line.drop_stream(id),
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
