//! A guest that does what it can to cost the host memory or descriptors. A process of its own, so that
//! both can be counted. `BAILIWICK_HOSTILE_SECONDS` says how long each kind of guest is tried.

#![allow(clippy::expect_used)]

use bailiwick_channel::frame::{Header, Kind, PAYLOAD};
use bailiwick_channel::schema::{Open, ToGuest, ToHost};
use bailiwick_channel::{Ends, Fault, Handler, Line, Mux, Opening, Pump, Role};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

/// Opens whatever it is asked for, by sockets whose far ends nobody reads, or that echo, or that are
/// gone; and has some streams of its own.
struct Host {
    number: usize,
    far: VecDeque<UnixStream>,
}

impl Handler for Host {
    fn hello(&mut self, line: &mut Line) -> Result<(), Fault> {
        for _ in 0..4 {
            let zero = File::open("/dev/zero")?;
            line.open(&Open::Sink, Ends::source(zero.into()));
            let null = File::options().write(true).open("/dev/null")?;
            line.open(&Open::Source { bytes: 9 }, Ends::sink(null.into()));
        }
        Ok(())
    }

    fn message(&mut self, bytes: &[u8], line: &mut Line) -> Result<(), Fault> {
        match Mux::decode(bytes, Kind::Message)? {
            ToHost::Pong(number) => line.send(&ToGuest::Ping(number)),
            ToHost::Quiet => line.send(&ToGuest::Quiesce),
            _ => {}
        }
        Ok(())
    }

    fn opened(&mut self, _: u32, _: &[u8], _: &mut Line) -> Result<Opening, Fault> {
        self.number += 1;
        let (near, far) = UnixStream::pair()?;
        Ok(match self.number % 5 {
            0 => Opening::Refused,
            1 => Opening::Later,
            2 => {
                let zero = File::open("/dev/zero")?;
                Opening::Leads(Ends::source(zero.into()))
            }
            3 => Opening::Leads(Ends::both(near.into())?),
            _ => {
                // The socket's own buffer is the kernel's; only what the host keeps is of interest.
                self.far.push_back(far);
                if self.far.len() > 200 {
                    self.far.pop_front();
                }
                Opening::Leads(Ends::both(near.into())?)
            }
        })
    }

    fn ready(&mut self, _: u32, _: &mut Line) -> Result<(), Fault> {
        Ok(())
    }
}

struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

fn frame(bytes: &mut Vec<u8>, stream: u32, kind: Kind, payload: &[u8]) {
    let length = payload.len();
    bytes.extend_from_slice(
        &Header {
            stream,
            kind,
            length,
        }
        .bytes(),
    );
    bytes.extend_from_slice(payload);
}

/// Frames of which most are what an honest guest could send.
fn grammar(dice: &mut Dice, next: &mut u32, wild: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..64 {
        let id = match dice.throw(4) {
            0 => 2 + 2 * dice.throw(8) as u32,
            _ => next.saturating_sub(2 * dice.throw(300) as u32 + 2) | 1,
        };
        let length = dice.throw(40) as usize * dice.throw(40) as usize;
        match dice.throw(1995 + wild) {
            0..700 => {
                frame(&mut bytes, *next, Kind::Open, &vec![0; length % 64]);
                // Its whole first credit at once.
                if dice.throw(2) == 0 {
                    frame(&mut bytes, *next, Kind::Data, &[1; 4096]);
                }
                *next += 2;
            }
            700..1000 => frame(&mut bytes, id, Kind::Data, &vec![1; length.clamp(1, 9)]),
            1000..1200 => {
                let more = 1 + dice.throw(16) as u32;
                frame(&mut bytes, id, Kind::Credit, &more.to_le_bytes());
            }
            1200..1240 => frame(&mut bytes, id, Kind::End, &[]),
            1240..1800 => frame(&mut bytes, id, Kind::Reset, &[]),
            1800..1995 => {
                let pong = ToHost::Pong(dice.throw(1 << 40));
                let pong = postcard::to_allocvec(&pong).expect("a message");
                frame(&mut bytes, 0, Kind::Message, &pong);
            }
            1995..1998 => frame(&mut bytes, 0, Kind::Part, &[0; PAYLOAD]),
            _ => bytes.push(dice.throw(256) as u8),
        }
    }
    bytes
}

fn try_one(dice: &mut Dice, is_random: bool) -> usize {
    let (mine, mut theirs) = UnixStream::pair().expect("sockets");
    let line = Line::new(mine.into(), Role::Host).expect("a line");
    let host = Host {
        number: 0,
        far: VecDeque::new(),
    };
    let host = thread::spawn(move || Pump::new(line, host).run().is_err());
    // A host that is slow to take or to say something is only tried less.
    theirs
        .set_write_timeout(Some(Duration::from_millis(20)))
        .expect("a socket");
    theirs
        .set_read_timeout(Some(Duration::from_millis(1)))
        .expect("a socket");
    let _ = theirs.write_all(Mux::new(Role::Guest).pending());
    let (mut next, mut sent) = (1, 0);
    let listens = dice.throw(3) > 0;
    // Most guests live long.
    let wild = 5 * (dice.throw(4) / 3);
    let mut heard = vec![0; 1 << 18];
    for _ in 0..400 {
        let bytes = match is_random {
            true => (0..512).map(|_| dice.throw(256) as u8).collect(),
            false => grammar(dice, &mut next, wild),
        };
        if theirs.write_all(&bytes).is_err() {
            break;
        }
        sent += bytes.len();
        if listens {
            let _ = theirs.read(&mut heard);
        }
    }
    drop(theirs);
    assert!(host.join().expect("no panic"), "the guest is gone");
    sent
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("a list").count()
}

/// The most memory that this process has had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let line = line.expect("a peak").trim().trim_end_matches(" kB");
    line.parse().expect("a number")
}

#[test]
fn a_hostile_guest_costs_the_host_little_memory_and_no_descriptor() {
    let seconds = std::env::var("BAILIWICK_HOSTILE_SECONDS");
    let seconds = seconds.map_or(2, |text| text.parse().expect("a number"));
    let mut dice = Dice(0x0bad_5eed_0bad_5eed);
    try_one(&mut dice, true);
    let (open, memory) = (descriptors(), peak());
    for is_random in [true, false] {
        let (start, mut guests, mut sent) = (Instant::now(), 0, 0);
        while start.elapsed() < Duration::from_secs(seconds) {
            sent += try_one(&mut dice, is_random);
            guests += 1;
        }
        let grown = peak() - memory;
        println!("random: {is_random}, {guests} guests, {sent} bytes, grown by {grown} KiB");
        assert!(grown <= 16 * 1024, "{grown} KiB more");
        assert_eq!(descriptors(), open, "descriptors");
    }
}
