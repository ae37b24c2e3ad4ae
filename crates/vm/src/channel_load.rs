//! How fast a machine's channel is, without a program at either end: the same loop, frames and flow
//! control that a session has, in a machine that waits for its session.
//!
//! Decision: the bytes come from the caller and go to the caller, who knows what they must be. A stream's
//! time ends with the answer to a ping that was sent behind it: what was said before has been taken then,
//! and not only sent.

use crate::accelerator::Accelerator;
use crate::backend::sandbox;
use crate::jail;
use crate::said::Said;
use crate::shape::MachineShape;
use crate::start::Behind;
use bailiwick_channel::frame::Kind;
use bailiwick_channel::schema::{Open, ToGuest, ToHost};
use bailiwick_channel::{Ends, Fault, Handler, Line, Mux, Opening, Pump, Role, Violation};
use bailiwick_event::Failure;
use bailiwick_sandbox::Started;
use rustix::fd::OwnedFd;
use std::io;
use std::time::{Duration, Instant};

/// What is to pass through a channel.
pub struct ChannelLoad<'a> {
    /// Pings, one after the other.
    pub pings: usize,
    /// How often bytes go each way, after once that is no sample.
    pub rounds: usize,
    /// How many bytes come from the guest each time: whole MiB.
    pub bytes: u64,
    /// A file of what goes to the guest, from its first byte on.
    pub source: &'a dyn Fn() -> io::Result<OwnedFd>,
    /// Where goes what comes from the guest.
    pub sink: &'a dyn Fn() -> io::Result<OwnedFd>,
}

/// How long it took.
#[derive(Clone, Debug)]
pub struct ChannelTimes {
    /// What ran the guest's instructions.
    pub accelerator: Accelerator,
    /// Each ping.
    pub pings: Vec<Duration>,
    /// Each time to the guest.
    pub to_guest: Vec<Duration>,
    /// Each time to the host.
    pub to_host: Vec<Duration>,
}

/// Starts a machine that shows nothing, and loads its channel: pings, bytes each way in turn, and at last
/// the file once there and back (what comes back goes to the sink, too). The calling process has one
/// thread.
///
/// # Errors
/// A [`Failure`] where the machine does not start or its channel breaks.
pub fn load_channel(shape: &MachineShape, load: &ChannelLoad<'_>) -> Result<ChannelTimes, Failure> {
    let start = shape.start(jail::nothing(), None, "/".into(), false)?;
    let (mut begun, wires) = start.begin(sandbox()?, Behind::NOTHING)?;
    // Where it is gone already, `ready` knows why.
    let _ = begun.go();
    let Started { mut running, .. } = begun.ready()?;
    let fault = |error: io::Error| Failure::fault(format!("the channel: {error}"));
    let said = Said::listen(wires.console).map_err(fault)?;
    let line = Line::new(wires.channel, Role::Host).map_err(fault)?;
    let mut pump = Pump::new(line, Loading::new(load));
    let ran = pump.run();
    running.kill();
    ran.map_err(|broken| Failure::fault(format!("the channel: {broken}{}", said.tail(6))))?;
    let Loading {
        pings,
        to_guest,
        to_host,
        ..
    } = pump.handler();
    Ok(ChannelTimes {
        accelerator: start.machine.accelerator,
        pings: std::mem::take(pings),
        to_guest: std::mem::take(to_guest),
        to_host: std::mem::take(to_host),
    })
}

/// What goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The guest starts.
    Start,
    Ping,
    /// The number of the time.
    ToGuest(usize),
    ToHost(usize),
    Back,
    Done,
}

struct Loading<'a> {
    load: &'a ChannelLoad<'a>,
    step: Step,
    began: Instant,
    /// The number of the ping that is awaited.
    awaited: u64,
    pings: Vec<Duration>,
    to_guest: Vec<Duration>,
    to_host: Vec<Duration>,
}

impl<'a> Loading<'a> {
    fn new(load: &'a ChannelLoad<'a>) -> Self {
        Self {
            load,
            step: Step::Start,
            began: Instant::now(),
            awaited: 0,
            pings: Vec::with_capacity(load.pings),
            to_guest: Vec::new(),
            to_host: Vec::new(),
        }
    }

    fn ping(&mut self, line: &mut Line) {
        self.awaited += 1;
        line.send(&ToGuest::Ping(self.awaited));
    }

    /// What comes after a step that has ended.
    fn next(&mut self, line: &mut Line) -> Result<(), Fault> {
        let took = self.began.elapsed();
        let rounds = self.load.rounds;
        self.step = match self.step {
            Step::Start => Step::Ping,
            Step::Ping => {
                self.pings.push(took);
                match self.pings.len() < self.load.pings {
                    true => Step::Ping,
                    false => Step::ToGuest(0),
                }
            }
            Step::ToGuest(round) => {
                // The first one finds nothing ready.
                if round > 0 {
                    self.to_guest.push(took);
                }
                Step::ToHost(round)
            }
            Step::ToHost(round) => {
                if round > 0 {
                    self.to_host.push(took);
                }
                match round < rounds {
                    true => Step::ToGuest(round + 1),
                    false => Step::Back,
                }
            }
            Step::Back | Step::Done => Step::Done,
        };
        self.begin(line)
    }

    fn begin(&mut self, line: &mut Line) -> Result<(), Fault> {
        let ChannelLoad {
            bytes,
            source,
            sink,
            ..
        } = self.load;
        let (open, ends) = match self.step {
            Step::Start | Step::Done => return Ok(()),
            Step::Ping => {
                self.began = Instant::now();
                self.ping(line);
                return Ok(());
            }
            Step::ToGuest(_) => (Open::Sink, Ends::source(source()?)),
            Step::ToHost(_) => (Open::Source { bytes: *bytes }, Ends::sink(sink()?)),
            Step::Back => {
                let mut ends = Ends::sink(sink()?);
                ends.source = Some(source()?);
                (Open::Echo, ends)
            }
        };
        self.began = Instant::now();
        match line.open(&open, ends) {
            Some(_) => Ok(()),
            None => Err(io::Error::other("no stream can be opened").into()),
        }
    }
}

impl Handler for Loading<'_> {
    fn hello(&mut self, _: &mut Line) -> Result<(), Fault> {
        Ok(())
    }

    fn message(&mut self, bytes: &[u8], line: &mut Line) -> Result<(), Fault> {
        match (Mux::decode(bytes, Kind::Message)?, self.step) {
            (ToHost::Waiting(_), Step::Start) => self.next(line),
            (ToHost::Pong(number), step) if number == self.awaited && step != Step::Start => {
                self.next(line)
            }
            _ => Err(Violation::Turn.into()),
        }
    }

    fn opened(&mut self, _: u32, _: &[u8], _: &mut Line) -> Result<Opening, Fault> {
        Ok(Opening::Refused)
    }

    fn over(&mut self, _: u32, line: &mut Line) {
        self.ping(line);
    }

    fn ready(&mut self, _: u32, _: &mut Line) -> Result<(), Fault> {
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.step == Step::Done
    }
}
