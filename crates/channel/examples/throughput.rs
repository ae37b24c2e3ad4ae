//! How fast the channel is: two loops in two threads over a pair of sockets.
//!
//! `cargo run --release -p bailiwick-channel --example throughput [MIB]`

use bailiwick_channel::frame::Kind;
use bailiwick_channel::schema::{Open, ToGuest, ToHost};
use bailiwick_channel::{Ends, Fault, Handler, Line, Mux, Opening, Pump, Role};
use std::error::Error;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

const PINGS: usize = 20_000;

/// A file that is this long and empty.
fn source(bytes: u64) -> Result<OwnedFd, Fault> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let file = rustix::fs::memfd_create("source", flags)?;
    rustix::fs::ftruncate(&file, bytes)?;
    Ok(file)
}

fn sink() -> Result<OwnedFd, Fault> {
    Ok(File::options().write(true).open("/dev/null")?.into())
}

/// Answers everything.
struct Guest;

impl Handler for Guest {
    fn hello(&mut self, _: &mut Line) -> Result<(), Fault> {
        Ok(())
    }

    fn message(&mut self, bytes: &[u8], line: &mut Line) -> Result<(), Fault> {
        if let ToGuest::Ping(number) = Mux::decode(bytes, Kind::Message)? {
            line.send(&ToHost::Pong(number));
        }
        Ok(())
    }

    fn opened(&mut self, _: u32, open: &[u8], _: &mut Line) -> Result<Opening, Fault> {
        Ok(match Mux::decode(open, Kind::Open)? {
            Open::Source { bytes } => Opening::Leads(Ends::source(source(bytes)?)),
            Open::Sink => Opening::Leads(Ends::sink(sink()?)),
            _ => Opening::Refused,
        })
    }

    fn ready(&mut self, _: u32, _: &mut Line) -> Result<(), Fault> {
        Ok(())
    }
}

/// What is measured.
#[derive(Clone, Copy)]
enum Work {
    ToGuest(usize),
    ToHost(usize),
    Both(usize),
    Pings,
}

struct Host {
    work: Work,
    bytes: u64,
    open: usize,
    sent: Instant,
    pings: Vec<Duration>,
    done: bool,
}

impl Host {
    fn open(&mut self, line: &mut Line, to_guest: usize, to_host: usize) -> Result<(), Fault> {
        let bytes = self.bytes / (to_guest.max(to_host)) as u64;
        for _ in 0..to_guest {
            line.open(&Open::Sink, Ends::source(source(bytes)?));
        }
        for _ in 0..to_host {
            line.open(&Open::Source { bytes }, Ends::sink(sink()?));
        }
        self.open = to_guest + to_host;
        Ok(())
    }
}

impl Handler for Host {
    fn hello(&mut self, line: &mut Line) -> Result<(), Fault> {
        self.sent = Instant::now();
        match self.work {
            Work::ToGuest(streams) => self.open(line, streams, 0),
            Work::ToHost(streams) => self.open(line, 0, streams),
            Work::Both(streams) => self.open(line, streams, streams),
            Work::Pings => {
                line.send(&ToGuest::Ping(0));
                Ok(())
            }
        }
    }

    fn message(&mut self, _: &[u8], line: &mut Line) -> Result<(), Fault> {
        self.pings.push(self.sent.elapsed());
        self.done = self.pings.len() == PINGS;
        self.sent = Instant::now();
        line.send(&ToGuest::Ping(0));
        Ok(())
    }

    fn opened(&mut self, _: u32, _: &[u8], _: &mut Line) -> Result<Opening, Fault> {
        Ok(Opening::Refused)
    }

    fn over(&mut self, _: u32, _: &mut Line) {
        self.open -= 1;
        self.done = self.open == 0;
    }

    fn ready(&mut self, _: u32, _: &mut Line) -> Result<(), Fault> {
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

fn measure(work: Work, bytes: u64) -> Result<(f64, Vec<Duration>), Box<dyn Error>> {
    let (host, guest) = UnixStream::pair()?;
    let line = Line::new(guest.into(), Role::Guest)?;
    let guest = thread::spawn(move || Pump::new(line, Guest).run().is_err());
    let handler = Host {
        work,
        bytes,
        open: 0,
        sent: Instant::now(),
        pings: Vec::with_capacity(PINGS),
        done: false,
    };
    let mut pump = Pump::new(Line::new(host.into(), Role::Host)?, handler);
    let start = Instant::now();
    pump.run().map_err(|fault| fault.to_string())?;
    let seconds = start.elapsed().as_secs_f64();
    let pings = std::mem::take(&mut pump.handler().pings);
    drop(pump);
    let _ = guest.join();
    Ok((seconds, pings))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mib: u64 = std::env::args()
        .nth(1)
        .map_or(Ok(2048), |word| word.parse())?;
    for (name, work, ways) in [
        ("to the guest, 1 stream", Work::ToGuest(1), 1.0),
        ("to the guest, 8 streams", Work::ToGuest(8), 1.0),
        ("to the host, 1 stream", Work::ToHost(1), 1.0),
        ("to the host, 8 streams", Work::ToHost(8), 1.0),
        ("both ways, 1 stream each", Work::Both(1), 2.0),
        ("both ways, 8 streams each", Work::Both(8), 2.0),
    ] {
        let (seconds, _) = measure(work, mib << 20)?;
        let speed = (mib << 20) as f64 / seconds / 1e6;
        println!("{name}: {:.0} MB/s, {speed:.0} MB/s each way", speed * ways);
    }
    let (_, mut pings) = measure(Work::Pings, 0)?;
    pings.sort_unstable();
    let at = |part: usize| pings.get(pings.len() * part / 100).copied();
    let (Some(middle), Some(most)) = (at(50), at(95)) else {
        return Err("no ping".into());
    };
    println!("ping: p50 {middle:?}, p95 {most:?}");
    Ok(())
}
