//! The channel itself and what hangs on it: the state of the streams, the files that they lead to, and
//! what epoll is asked for.

use super::Fault;
use super::joint::{Ends, Joint, Source, Wrote};
use super::tap::Tap;
use crate::hello::Role;
use crate::mux::Mux;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use serde::Serialize;
use std::collections::{HashMap, VecDeque};
use std::io;

/// While more than this waits to be sent no source is read, in bytes.
const BUSY: usize = 256 * 1024;
/// While more than this waits to be sent the host takes nothing that the guest sends, in bytes: a guest
/// that asks and does not listen would have its answers kept. A guest always listens, so that the two
/// never wait for each other.
const STUCK: usize = 1024 * 1024;
/// How many sources are read before the channel is looked at again.
const TURNS: usize = 64;

/// Whom epoll tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Channel,
    Source,
    Sink,
    Handler,
}

impl Class {
    fn data(self, number: u32) -> epoll::EventData {
        let class = match self {
            Self::Channel => 0,
            Self::Source => 1,
            Self::Sink => 2,
            Self::Handler => 3,
        };
        epoll::EventData::new_u64(class << 32 | u64::from(number))
    }

    pub(super) fn of(data: u64) -> (Self, u32) {
        let class = match data >> 32 {
            0 => Self::Channel,
            1 => Self::Source,
            2 => Self::Sink,
            _ => Self::Handler,
        };
        (class, u32::try_from(data & 0xffff_ffff).unwrap_or_default())
    }
}

/// The channel and the files that its streams lead to.
pub struct Line {
    file: OwnedFd,
    epoll: OwnedFd,
    pub(super) mux: Mux,
    /// What may wait to be sent while the peer is listened to, in bytes.
    most: usize,
    joints: HashMap<u32, Joint>,
    /// Streams whose source may have something to read, in their order; some are gone.
    ready: VecDeque<u32>,
    over: VecDeque<u32>,
    /// What epoll is asked for of the channel.
    asked: Option<epoll::EventFlags>,
    /// What is still sent before this end is silent, in bytes.
    held: Option<usize>,
}

impl Line {
    /// One end of a channel over this file, which is made non-blocking.
    ///
    /// # Errors
    /// The kernel has no descriptor left.
    pub fn new(file: OwnedFd, role: Role) -> io::Result<Self> {
        let flags = fcntl_getfl(&file)? | OFlags::NONBLOCK;
        fcntl_setfl(&file, flags)?;
        Ok(Self {
            file,
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            mux: Mux::new(role),
            most: match role {
                Role::Host => STUCK,
                Role::Guest => usize::MAX,
            },
            joints: HashMap::new(),
            ready: VecDeque::new(),
            over: VecDeque::new(),
            asked: None,
            held: None,
        })
    }

    /// Has nothing be sent but what waits already, so that the machine can be stopped between two frames.
    /// That ends with [`Line::go_on`], and where the peer greets anew.
    pub fn hold(&mut self) {
        self.held = Some(self.backlog());
    }

    /// Sends on.
    pub fn go_on(&mut self) {
        self.held = None;
    }

    /// What may be sent now.
    fn sendable(&self) -> &[u8] {
        let pending = self.mux.pending();
        let most = self.held.unwrap_or(usize::MAX).min(pending.len());
        pending.get(..most).unwrap_or_default()
    }

    /// Sends a message.
    pub fn send(&mut self, message: &impl Serialize) {
        self.mux.message(message);
    }

    /// Inserts a message into the bytes that wait to be sent, `ahead` bytes from their beginning, which must be the
    /// end of a message.
    pub fn send_ahead(&mut self, ahead: usize, message: &impl Serialize) {
        self.mux.message_ahead(ahead, message);
    }

    /// How many bytes wait until the peer reads; who sends messages of its own accord waits while this
    /// is much.
    #[must_use]
    pub fn backlog(&self) -> usize {
        self.mux.pending().len()
    }

    /// Opens a stream that leads to these files.
    pub fn open(&mut self, open: &impl Serialize, ends: Ends) -> Option<u32> {
        let id = self.open_later(open)?;
        self.attach(id, ends);
        Some(id)
    }

    /// Opens a stream that [`Line::attach`] gives its files.
    pub fn open_later(&mut self, open: &impl Serialize) -> Option<u32> {
        let id = self.mux.open(open)?;
        self.joints.insert(id, Joint::later());
        Some(id)
    }

    /// Whether more of a stream may be sent.
    #[must_use]
    pub fn sends(&self, id: u32) -> bool {
        self.mux.sends(id)
    }

    /// Whether everything that came on a stream so far has been written to its file.
    #[must_use]
    pub fn is_drained(&self, id: u32) -> bool {
        let sink = self.joints.get(&id).and_then(|joint| joint.sink.as_ref());
        !sink.is_some_and(|sink| sink.is_waiting())
    }

    /// How many streams there are.
    #[must_use]
    pub fn streams(&self) -> usize {
        self.joints.len()
    }

    /// Gives a stream its files; what came before them is written now.
    pub fn attach(&mut self, id: u32, ends: Ends) {
        if !self.mux.has(id) {
            return;
        }
        let mut joint = Joint::new(ends);
        let sends = joint.source.is_some() && self.mux.sends(id);
        if !sends {
            joint.source = None;
        }
        let watched = joint.source.as_mut().map_or(Ok(()), |s| self.listen(id, s));
        let early = self.joints.insert(id, joint).and_then(|mut before| {
            self.forget(&before);
            before.early.take()
        });
        if watched.is_err() {
            return self.reset(id);
        }
        self.queue(id);
        if !sends {
            self.mux.end(id);
        }
        if let Some(early) = early.filter(|early| !early.is_empty()) {
            self.deliver(id, early.as_slice());
        }
        if self.mux.hears(id) {
            self.settle_stream(id);
        } else {
            self.ended(id);
        }
    }

    /// What becomes of a stream that the handler gives its files later.
    pub(super) fn expect(&mut self, id: u32) {
        if self.mux.has(id) {
            self.joints.entry(id).or_insert_with(Joint::later);
        }
    }

    /// Ends a stream in both directions.
    pub fn reset(&mut self, id: u32) {
        self.mux.reset(id);
        self.break_off(id);
    }

    /// Tells the handler when this is readable, by this token.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn watch(&self, file: impl AsFd, token: u32) -> io::Result<()> {
        let data = Class::Handler.data(token);
        Ok(epoll::add(&self.epoll, file, data, epoll::EventFlags::IN)?)
    }

    /// Tells no more of it.
    pub fn unwatch(&self, file: impl AsFd) {
        let _ = epoll::delete(&self.epoll, file);
    }

    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match rustix::io::read(&self.file, &mut *buffer) {
                Err(Errno::INTR) => {}
                other => return Ok(other?),
            }
        }
    }

    /// Sends what the peer takes.
    pub(super) fn flush(&mut self) -> Result<(), Fault> {
        while !self.sendable().is_empty() {
            match rustix::io::write(&self.file, self.sendable()) {
                Ok(sent) => {
                    self.mux.sent(sent);
                    self.held = self.held.map(|left| left - sent);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn is_busy(&self) -> bool {
        self.backlog() > BUSY
    }

    pub(super) fn is_stuck(&self) -> bool {
        self.backlog() > self.most
    }

    /// Asks epoll for what is of use of the channel now.
    pub(super) fn settle(&mut self, stalled: bool) -> Result<(), Fault> {
        let mut wanted = epoll::EventFlags::empty();
        wanted.set(epoll::EventFlags::IN, !stalled);
        wanted.set(epoll::EventFlags::OUT, !self.sendable().is_empty());
        if self.asked == Some(wanted) {
            return Ok(());
        }
        let data = Class::Channel.data(0);
        match self.asked {
            // Where nothing is asked for, that the peer is gone would still be told, for ever.
            Some(_) if wanted.is_empty() => epoll::delete(&self.epoll, &self.file)?,
            Some(flags) if !flags.is_empty() => {
                epoll::modify(&self.epoll, &self.file, data, wanted)?;
            }
            _ if wanted.is_empty() => {}
            _ => epoll::add(&self.epoll, &self.file, data, wanted)?,
        }
        self.asked = Some(wanted);
        Ok(())
    }

    pub(super) fn wait(&self, events: &mut Vec<epoll::Event>, now: bool) -> Result<(), Fault> {
        events.clear();
        let at_once = Timespec::default();
        match epoll::wait(&self.epoll, spare_capacity(events), now.then_some(&at_once)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Asks for a stream's source: epoll tells once that there is something, and again when there is
    /// more after all was read.
    fn listen(&self, id: u32, source: &mut Source) -> Result<(), Errno> {
        if source.tap.regular {
            return Ok(());
        }
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        match epoll::add(&self.epoll, &source.tap, Class::Source.data(id), flags) {
            Ok(()) => source.watched = true,
            // A device that is ready always.
            Err(Errno::PERM) => source.ready = true,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn source(&mut self, id: u32) -> Option<&mut Source> {
        self.joints.get_mut(&id)?.source.as_mut()
    }

    /// Epoll has told of a stream's source.
    pub(super) fn wake(&mut self, id: u32) {
        if let Some(source) = self.source(id) {
            source.ready = true;
            self.queue(id);
        }
    }

    /// A stream whose source may have something to read is read in its turn.
    pub(super) fn queue(&mut self, id: u32) {
        let Some(source) = self.source(id).filter(|s| s.ready && !s.queued) else {
            return;
        };
        source.queued = true;
        self.ready.push_back(id);
        if self.ready.len() > 2 * self.joints.len() + TURNS {
            let joints = &self.joints;
            self.ready.retain(|id| joints.contains_key(id));
        }
    }

    /// Whether there are sources to read and room for what they have.
    pub(super) fn has_to_pull(&self) -> bool {
        !self.ready.is_empty() && !self.is_busy() && self.held.is_none()
    }

    /// Reads the sources, each in its turn.
    pub(super) fn pull_in_turn(&mut self) {
        if self.held.is_some() {
            // What is not read stays where it is: the peer may be another when this goes on.
            return;
        }
        for _ in 0..TURNS {
            match self.ready.pop_front() {
                Some(id) if !self.is_busy() => self.pull(id),
                Some(id) => return self.ready.push_front(id),
                None => return,
            }
        }
    }

    /// Reads a stream's source, as far as there is credit for one frame.
    fn pull(&mut self, id: u32) {
        let Some(source) = self.joints.get_mut(&id).and_then(|j| j.source.as_mut()) else {
            return;
        };
        source.queued = false;
        // Credit queues it again.
        if !source.ready || self.mux.allowance(id) == 0 {
            return;
        }
        let tap = &source.tap;
        match self.mux.data(id, |buffer| Ok(tap.read(buffer)?)) {
            Ok(0) => self.drop_source(id),
            Ok(_) => self.queue(id),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::INTR) => self.queue(id),
                Some(Errno::AGAIN) => source.ready = false,
                // A terminal whose last program has ended.
                Some(Errno::IO) => self.drop_source(id),
                _ => self.reset(id),
            },
        }
    }

    fn drop_source(&mut self, id: u32) {
        let Some(joint) = self.joints.get_mut(&id) else {
            return;
        };
        let deaf = joint.deaf;
        if let Some(source) = joint.source.take() {
            if source.watched {
                let _ = epoll::delete(&self.epoll, &source.tap);
            }
            if deaf && self.mux.hears(id) {
                return self.reset(id);
            }
            self.mux.end(id);
            self.settle_stream(id);
        }
    }

    /// Bytes for a stream's sink.
    pub(super) fn deliver(&mut self, id: u32, bytes: &[u8]) {
        let wrote = match self.joints.get_mut(&id) {
            Some(Joint {
                early: Some(early), ..
            }) => return early.extend(bytes),
            Some(Joint { deaf: true, .. }) => return self.mux.consumed(id, bytes.len()),
            Some(Joint {
                sink: Some(sink), ..
            }) => sink.deliver(bytes),
            // Nobody wants them.
            _ => return self.reset(id),
        };
        self.wrote(id, wrote);
    }

    /// A stream's sink takes more.
    pub(super) fn push(&mut self, id: u32) {
        if let Some(sink) = self.joints.get_mut(&id).and_then(|j| j.sink.as_mut()) {
            let wrote = sink.push();
            self.wrote(id, wrote);
        }
    }

    fn wrote(&mut self, id: u32, wrote: Wrote) {
        let Some(sink) = self.joints.get_mut(&id).and_then(|j| j.sink.as_mut()) else {
            return;
        };
        match wrote {
            Wrote::All(bytes) => {
                let ends = sink.ends;
                self.mux.consumed(id, bytes);
                if ends {
                    self.close_sink(id);
                }
            }
            Wrote::Some(bytes) => {
                if !sink.watched {
                    let flags = epoll::EventFlags::OUT | epoll::EventFlags::ET;
                    let added = epoll::add(&self.epoll, &sink.tap, Class::Sink.data(id), flags);
                    if added.is_err() {
                        return self.reset(id);
                    }
                    sink.watched = true;
                }
                self.mux.consumed(id, bytes);
            }
            Wrote::Gone => self.deafen(id),
        }
    }

    /// Nobody reads a stream's sink any more. What a connection had to say before is still read.
    fn deafen(&mut self, id: u32) {
        let joint = self.joints.get_mut(&id).filter(|j| j.source.is_some());
        let Some(joint) = joint.filter(|j| j.sink.as_ref().is_some_and(|s| s.tap.is_socket()))
        else {
            return self.reset(id);
        };
        if let Some(sink) = joint.sink.take_if(|sink| sink.watched) {
            let _ = epoll::delete(&self.epoll, &sink.tap);
        }
        joint.sink = None;
        joint.deaf = true;
        self.mux.consumed(id, usize::MAX);
    }

    /// The peer sends no more of a stream.
    pub(super) fn ended(&mut self, id: u32) {
        match self.joints.get_mut(&id).and_then(|j| j.sink.as_mut()) {
            Some(sink) if sink.is_waiting() => sink.ends = true,
            Some(_) => self.close_sink(id),
            None => self.settle_stream(id),
        }
    }

    fn close_sink(&mut self, id: u32) {
        if let Some(joint) = self.joints.get_mut(&id)
            && let Some(sink) = joint.sink.take()
        {
            if sink.watched {
                let _ = epoll::delete(&self.epoll, &sink.tap);
            }
            sink.tap.end();
        }
        self.settle_stream(id);
    }

    /// The peer has ended a stream in both directions; what it had said to its end is still written.
    pub(super) fn was_reset(&mut self, id: u32) {
        match self.mux.has(id) {
            true => self.drop_source(id),
            false => self.break_off(id),
        }
    }

    /// Forgets a stream whose both directions have ended and whose sink has everything.
    fn settle_stream(&mut self, id: u32) {
        if !self.mux.has(id) {
            self.drop_stream(id);
        }
    }

    fn break_off(&mut self, id: u32) {
        if let Some(joint) = self.joints.get(&id) {
            let sink = joint.sink.as_ref().map(|sink| &sink.tap);
            let tap = sink.or(joint.source.as_ref().map(|source| &source.tap));
            tap.into_iter().for_each(Tap::break_off);
        }
        self.drop_stream(id);
    }

    fn drop_stream(&mut self, id: u32) {
        if let Some(joint) = self.joints.remove(&id) {
            self.forget(&joint);
            self.over.push_back(id);
        }
    }

    /// The peer is there. What it knows nothing of is over.
    pub(super) fn greeted(&mut self) {
        self.held = None;
        let gone = |id: &u32| !self.mux.has(*id);
        let ids: Vec<u32> = self.joints.keys().copied().filter(gone).collect();
        ids.into_iter().for_each(|id| self.break_off(id));
        // Whoever is greeted knows that, and may have streams of the same numbers by now.
        self.over.clear();
    }

    fn forget(&self, joint: &Joint) {
        let source = joint.source.as_ref().filter(|source| source.watched);
        let sink = joint.sink.as_ref().filter(|sink| sink.watched);
        let taps = [source.map(|s| &s.tap), sink.map(|s| &s.tap)];
        for tap in taps.into_iter().flatten() {
            let _ = epoll::delete(&self.epoll, tap);
        }
    }

    pub(super) fn next_over(&mut self) -> Option<u32> {
        self.over.pop_front()
    }

    /// How many entries the queue of sources has.
    #[cfg(test)]
    pub(super) fn queued(&self) -> usize {
        self.ready.len()
    }

    /// How much memory has what sinks have not taken.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        let sinks = self.joints.values().filter_map(|joint| joint.sink.as_ref());
        sinks.map(super::joint::Sink::memory).sum()
    }
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
