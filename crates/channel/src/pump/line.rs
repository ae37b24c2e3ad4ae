//! The channel itself and what hangs on it: the state of the streams, the files that they lead to, and
//! what epoll is asked for.

use super::Fault;
use super::joint::{Ends, Joint, Sink, Wrote};
use crate::hello::Role;
use crate::mux::Mux;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use serde::Serialize;
use std::collections::{HashMap, VecDeque};
use std::io;

/// While more than this waits to be sent no source is read, in bytes.
const BUSY: usize = 256 * 1024;
/// While more than this waits to be sent nothing that the peer sends is read, in bytes.
const STUCK: usize = 4 * 1024 * 1024;

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
    joints: HashMap<u32, Joint>,
    /// Streams with a source that epoll tells nothing of.
    files: Vec<u32>,
    /// Streams whose source has to be asked for again.
    idle: Vec<u32>,
    over: VecDeque<u32>,
    /// What epoll is asked for of the channel.
    asked: Option<epoll::EventFlags>,
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
            joints: HashMap::new(),
            files: Vec::new(),
            idle: Vec::new(),
            over: VecDeque::new(),
            asked: None,
        })
    }

    /// Sends a message.
    pub fn send(&mut self, message: &impl Serialize) {
        self.mux.message(message);
    }

    /// Opens a stream that leads to these files.
    pub fn open(&mut self, open: &impl Serialize, ends: Ends) -> Option<u32> {
        let id = self.mux.open(open)?;
        self.attach(id, ends);
        Some(id)
    }

    /// Opens a stream that [`Line::attach`] gives its files.
    pub fn open_later(&mut self, open: &impl Serialize) -> Option<u32> {
        self.mux.open(open)
    }

    /// Whether a stream is open.
    #[must_use]
    pub fn has(&self, id: u32) -> bool {
        self.mux.has(id)
    }

    /// Whether everything that came on a stream so far has been written to its file.
    #[must_use]
    pub fn is_drained(&self, id: u32) -> bool {
        let sink = self.joints.get(&id).and_then(|joint| joint.sink.as_ref());
        !sink.is_some_and(Sink::is_waiting)
    }

    /// How many streams there are.
    #[must_use]
    pub fn streams(&self) -> usize {
        self.joints.len()
    }

    /// Gives a stream its files.
    pub fn attach(&mut self, id: u32, ends: Ends) {
        if !self.mux.has(id) {
            return;
        }
        let joint = Joint::new(ends);
        let sends = joint.source.is_some();
        match &joint.source {
            Some(source) if !source.polled => self.files.push(id),
            Some(_) => self.idle.push(id),
            None => {}
        }
        self.joints.insert(id, joint);
        if !sends {
            self.mux.end(id);
            self.settle_stream(id);
        }
    }

    /// Ends a stream in both directions.
    pub fn reset(&mut self, id: u32) {
        self.mux.reset(id);
        self.drop_stream(id);
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
        while !self.mux.pending().is_empty() {
            match rustix::io::write(&self.file, self.mux.pending()) {
                Ok(sent) => self.mux.sent(sent),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn is_busy(&self) -> bool {
        self.mux.pending().len() > BUSY
    }

    pub(super) fn is_stuck(&self) -> bool {
        self.mux.pending().len() > STUCK
    }

    /// Asks epoll for what is of use now.
    pub(super) fn settle(&mut self, stalled: bool) -> Result<(), Fault> {
        let mut wanted = epoll::EventFlags::empty();
        wanted.set(epoll::EventFlags::IN, !stalled);
        wanted.set(epoll::EventFlags::OUT, !self.mux.pending().is_empty());
        if self.asked != Some(wanted) {
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
        }
        if !self.is_busy() {
            for id in std::mem::take(&mut self.idle) {
                self.listen(id);
            }
        }
        Ok(())
    }

    /// Asks for a stream's source, where it may be read.
    fn listen(&mut self, id: u32) {
        if self.mux.allowance(id) == 0 {
            return;
        }
        let Some(source) = self.joints.get_mut(&id).and_then(|j| j.source.as_mut()) else {
            return;
        };
        if source.polled && !source.watched {
            let data = Class::Source.data(id);
            let added = epoll::add(&self.epoll, &source.file, data, epoll::EventFlags::IN);
            source.watched = added.is_ok();
            if added == Err(Errno::PERM) {
                source.polled = false;
                self.files.push(id);
            }
        }
    }

    pub(super) fn has_files_to_read(&self) -> bool {
        !self.is_busy() && self.files.iter().any(|id| self.mux.allowance(*id) > 0)
    }

    /// Reads the sources that are always ready.
    pub(super) fn read_files(&mut self) {
        if self.files.is_empty() || self.is_busy() {
            return;
        }
        for id in self.files.clone() {
            self.pull(id);
        }
        let joints = &self.joints;
        self.files
            .retain(|id| joints.get(id).is_some_and(|joint| joint.source.is_some()));
    }

    pub(super) fn wait(&self, events: &mut Vec<epoll::Event>, now: bool) -> Result<(), Fault> {
        events.clear();
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        match epoll::wait(&self.epoll, spare_capacity(events), now.then_some(&at_once)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads a stream's source, as far as there is credit for one frame.
    pub(super) fn pull(&mut self, id: u32) {
        let Some(source) = self.joints.get_mut(&id).and_then(|j| j.source.as_mut()) else {
            return;
        };
        let file = &source.file;
        let pulled = self
            .mux
            .data(id, |buffer| Ok(rustix::io::read(file, buffer)?));
        match pulled {
            Ok(0) => self.drop_source(id),
            Ok(_) if self.mux.allowance(id) > 0 && !self.is_busy() => {}
            Ok(_) => self.rest(id),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if self.mux.allowance(id) == 0 {
                    self.rest(id);
                }
            }
            // A terminal whose last program has ended.
            Err(_) => self.drop_source(id),
        }
    }

    /// Asks no more for a source until there is credit, and room to send.
    fn rest(&mut self, id: u32) {
        if let Some(source) = self.joints.get_mut(&id).and_then(|j| j.source.as_mut()) {
            if std::mem::take(&mut source.watched) {
                let _ = epoll::delete(&self.epoll, &source.file);
            }
            if source.polled {
                self.idle.push(id);
            }
        }
    }

    fn drop_source(&mut self, id: u32) {
        if let Some(joint) = self.joints.get_mut(&id)
            && let Some(source) = joint.source.take()
        {
            if source.watched {
                let _ = epoll::delete(&self.epoll, &source.file);
            }
            self.mux.end(id);
            self.settle_stream(id);
        }
    }

    /// A stream has credit again.
    pub(super) fn may_pull(&mut self, id: u32) {
        if !self.idle.contains(&id) {
            self.idle.push(id);
        }
    }

    /// Bytes for a stream's sink.
    pub(super) fn deliver(&mut self, id: u32, bytes: &[u8]) {
        let Some(sink) = self.joints.get_mut(&id).and_then(|j| j.sink.as_mut()) else {
            // Nobody wants them.
            self.reset(id);
            return;
        };
        let wrote = sink.deliver(bytes);
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
                if std::mem::take(&mut sink.watched) {
                    let _ = epoll::delete(&self.epoll, &sink.file);
                }
                let ends = sink.ends;
                self.mux.consumed(id, bytes);
                if ends {
                    self.close_sink(id);
                }
            }
            Wrote::Some(bytes) => {
                if !sink.watched {
                    let data = Class::Sink.data(id);
                    let added = epoll::add(&self.epoll, &sink.file, data, epoll::EventFlags::OUT);
                    sink.watched = added.is_ok();
                    if added == Err(Errno::PERM) {
                        // A regular file takes everything at once.
                        let wrote = Self::push_whole(sink);
                        self.mux.consumed(id, bytes);
                        return self.wrote(id, wrote);
                    }
                }
                self.mux.consumed(id, bytes);
            }
            Wrote::Gone => self.reset(id),
        }
    }

    fn push_whole(sink: &mut Sink) -> Wrote {
        let mut all = 0;
        loop {
            match sink.push() {
                Wrote::Some(bytes) if bytes > 0 => all += bytes,
                Wrote::All(bytes) => return Wrote::All(all + bytes),
                Wrote::Some(_) | Wrote::Gone => return Wrote::Gone,
            }
        }
    }

    /// The peer sends no more of a stream.
    pub(super) fn ended(&mut self, id: u32) {
        let Some(joint) = self.joints.get_mut(&id) else {
            return;
        };
        match &mut joint.sink {
            Some(sink) if sink.is_waiting() => sink.ends = true,
            Some(_) => self.close_sink(id),
            None => {}
        }
        self.settle_stream(id);
    }

    fn close_sink(&mut self, id: u32) {
        if let Some(joint) = self.joints.get_mut(&id)
            && let Some(sink) = joint.sink.take()
        {
            if sink.watched {
                let _ = epoll::delete(&self.epoll, &sink.file);
            }
            sink.close();
        }
        self.settle_stream(id);
    }

    /// Forgets a stream whose both directions have ended and whose sink has everything.
    fn settle_stream(&mut self, id: u32) {
        let waits = |joint: &Joint| joint.sink.as_ref().is_some_and(Sink::is_waiting);
        if !self.mux.has(id) && !self.joints.get(&id).is_some_and(waits) {
            self.drop_stream(id);
        }
    }

    pub(super) fn drop_stream(&mut self, id: u32) {
        if let Some(joint) = self.joints.remove(&id) {
            self.forget(&joint);
            self.over.push_back(id);
        }
    }

    pub(super) fn drop_all(&mut self) {
        let ids: Vec<u32> = self.joints.keys().copied().collect();
        ids.into_iter().for_each(|id| self.drop_stream(id));
    }

    fn forget(&self, joint: &Joint) {
        let source = joint.source.as_ref().filter(|source| source.watched);
        let sink = joint.sink.as_ref().filter(|sink| sink.watched);
        let files: [Option<BorrowedFd<'_>>; 2] = [
            source.map(|source| source.file.as_fd()),
            sink.map(|sink| sink.file.as_fd()),
        ];
        for file in files.into_iter().flatten() {
            let _ = epoll::delete(&self.epoll, file);
        }
    }

    pub(super) fn next_over(&mut self) -> Option<u32> {
        self.over.pop_front()
    }
}
