//! A guest that is hostile from its first program on, for the tests of the host: what it is to do is
//! appended to its own file, as `BAILIWICK-HOSTILE MODE SEED SECONDS`.
//!
//! It is no part of the product. A host that survives it needs no honesty of a guest, only of QEMU.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a guest of tests; one that panics ends its machine"
)]

use bailiwick_channel::frame::{HEADER, Header, Kind, PAYLOAD};
use bailiwick_channel::schema::{Executed, Open, Program, Stage, Stream, ToGuest, ToHost};
use bailiwick_channel::{Event, Mux, Role};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use serde::Serialize;
use std::ffi::CStr;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const MARK: &[u8] = b"BAILIWICK-HOSTILE ";
/// The longest message that a host takes.
const MESSAGE: usize = 64 * 1024;
/// How long it is quiet before and after what it does, to be looked at.
const REST: Duration = Duration::from_secs(3);

/// What is looked at while it goes on; what breaks the protocol has nobody wait for it.
const MEASURED: [&str; 3] = ["grammar", "streams", "deaf"];

/// How long what was begun may take at the end.
const LAST: Duration = Duration::from_secs(90);
/// A stream that is unlike all others.
const MARKED: u32 = 0x5ead_beef;

struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.throw(256) as u8).collect()
    }

    fn address(&mut self) -> SocketAddrV4 {
        let address = match self.throw(8) {
            0 => Ipv4Addr::LOCALHOST,
            1 => Ipv4Addr::new(169, 254, 169, 254),
            2 => Ipv4Addr::UNSPECIFIED,
            3 => Ipv4Addr::BROADCAST,
            4 => Ipv4Addr::new(198, 18, 0, self.throw(256) as u8),
            _ => Ipv4Addr::from(self.throw(1 << 32) as u32),
        };
        let port = match self.throw(3) {
            0 => 53,
            1 => 443,
            _ => self.throw(1 << 16) as u16,
        };
        SocketAddrV4::new(address, port)
    }
}

/// The channel, and when all is over.
struct Wire {
    port: OwnedFd,
    heard: Vec<u8>,
    deaf: bool,
    until: Instant,
    /// The output of the machine's command, where it has one.
    output: Option<u32>,
}

impl Wire {
    fn wait(&mut self, flags: PollFlags, longest: Duration) {
        let longest = longest.min(Duration::from_millis(200));
        let timeout = Timespec::try_from(longest).unwrap();
        let listens = match self.deaf {
            true => flags,
            false => flags | PollFlags::IN,
        };
        let _ = poll(&mut [PollFd::new(&self.port, listens)], Some(&timeout));
        if !self.deaf {
            self.hear();
        }
    }

    fn hear(&mut self) {
        let mut buffer = [0; 32 * 1024];
        while let Ok(read @ 1..) = rustix::io::read(&self.port, &mut buffer) {
            self.heard.extend_from_slice(&buffer[..read]);
        }
    }

    /// Whether there is time left.
    fn goes_on(&self) -> bool {
        Instant::now() < self.until
    }

    fn send(&mut self, mut bytes: &[u8]) {
        // What is begun is ended, or the host would take what follows for its rest.
        while !bytes.is_empty() && Instant::now() < self.until + LAST {
            self.deaf &= self.goes_on();
            match rustix::io::write(&self.port, bytes) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(Errno::AGAIN) => self.wait(PollFlags::OUT, Duration::from_secs(1)),
                Err(_) => return,
            }
        }
    }

    /// Waits until the host, which takes what was sent at its own pace, has taken all of it: it answers a
    /// stream that was opened behind everything else.
    fn catch_up(&mut self) {
        let to = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 443);
        self.send(&opened(MARKED, &Open::Outward { to }));
        let is_there = |heard: &[u8]| heard.windows(4).any(|w| w == MARKED.to_le_bytes());
        while Instant::now() < self.until + LAST && !is_there(&self.heard) {
            self.wait(PollFlags::empty(), REST);
        }
        self.send(&frame(MARKED, Kind::Reset, &[]));
    }

    /// Tells whoever has started the run how far it got.
    fn tell(&mut self, text: &str) {
        if let Some(output) = self.output {
            self.send(&frame(output, Kind::Data, text.as_bytes()));
        }
    }

    fn rest(&mut self) {
        let began = Instant::now();
        while began.elapsed() < REST {
            self.wait(PollFlags::empty(), REST);
            self.heard.clear();
        }
    }
}

fn frame(stream: u32, kind: Kind, payload: &[u8]) -> Vec<u8> {
    let length = payload.len();
    let header = Header {
        stream,
        kind,
        length,
    };
    [&header.bytes(), payload].concat()
}

/// A message as its frames, or the first frame of a stream.
fn said(message: &impl Serialize) -> Vec<u8> {
    let mut mux = Mux::new(Role::Guest);
    mux.sent(mux.pending().len());
    mux.message(message);
    mux.pending().to_vec()
}

fn opened(stream: u32, open: &Open) -> Vec<u8> {
    // A short message is one frame, whose contents are those of a stream's first.
    frame(stream, Kind::Open, &said(open)[HEADER..])
}

/// Behaves until the machine's command is to be started.
fn behave(wire: &mut Wire) {
    let mut mux = Mux::new(Role::Guest);
    let hello = mux.pending().to_vec();
    wire.send(&hello);
    mux.sent(hello.len());
    loop {
        let mut answers = Vec::new();
        let mut done = false;
        while let Ok(Some((used, event))) = mux.parse(&wire.heard.clone()) {
            wire.heard.drain(..used);
            match event {
                Some(Event::Hello) => answers.extend(said(&ToHost::Waiting(Vec::new()))),
                Some(Event::Message(bytes)) => {
                    match Mux::decode::<ToGuest>(&bytes, Kind::Message).unwrap() {
                        ToGuest::Begin(_) => answers.extend(said(&ToHost::Ready(Vec::new()))),
                        ToGuest::Exec(exec) => {
                            done = true;
                            if let Stream::Pipe(id) = exec.streams[1] {
                                wire.output = Some(id);
                            }
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        wire.send(&answers);
        if done || !wire.goes_on() {
            return;
        }
        wire.wait(PollFlags::empty(), Duration::from_secs(1));
    }
}

/// What looks like an execution, as large as a message can be.
fn executed(dice: &mut Dice) -> ToHost {
    let argv = match dice.throw(3) {
        // Words cost the host more than their bytes.
        0 => vec![Vec::new(); MESSAGE - 64],
        1 => vec![dice.bytes(1000); (MESSAGE - 64) / 1002],
        _ => vec![b"true".to_vec()],
    };
    ToHost::Executed(Box::new(Executed {
        pid: 1,
        parent: 1,
        uid: 0,
        path: b"/\x1b]0;owned\x07".to_vec(),
        argv,
        cut: false,
        cwd: b"/".to_vec(),
    }))
}

/// What looks like a program with a connection, whose name is none.
fn called(dice: &mut Dice) -> ToHost {
    let name = match dice.throw(2) {
        0 => dice.bytes(MESSAGE - 64),
        _ => b"\x1b]0;owned\x07".to_vec(),
    };
    let by = Program { pid: 1, name };
    let to = dice.address();
    ToHost::Called { by, to }
}

/// Streams of the guest's: the next number, those that are open.
struct Streams {
    next: u32,
    open: Vec<u32>,
    /// Credit that the host still takes: of more than a window it knows that it is not honest.
    credit: u32,
}

/// Some frames of one sort, all of which an honest guest could have sent but for how many they are.
fn grammar(dice: &mut Dice, streams: &mut Streams, datagrams: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    match dice.throw(7) {
        0..3 => {
            for _ in 0..dice.throw(1500) {
                let to = dice.address();
                bytes.extend(opened(streams.next, &Open::Outward { to }));
                let length = [0, 1, 100, 4096][dice.throw(4) as usize];
                if length > 0 {
                    bytes.extend(frame(streams.next, Kind::Data, &dice.bytes(length)));
                }
                streams.open.push(streams.next);
                streams.next += 2;
            }
            while dice.throw(40) > 0 && !streams.open.is_empty() {
                let at = dice.throw(streams.open.len() as u64) as usize;
                let stream = streams.open.swap_remove(at);
                bytes.extend(frame(stream, Kind::Reset, &[]));
            }
            if streams.open.len() > 1200 {
                for stream in streams.open.drain(..) {
                    bytes.extend(frame(stream, Kind::Reset, &[]));
                }
            }
        }
        3 if datagrams => {
            for _ in 0..dice.throw(300) {
                let (from, to) = (dice.address(), dice.address());
                let length = dice.throw(9000) as usize;
                let bytes_of = dice.bytes(length);
                bytes.extend(said(&ToHost::Datagram {
                    from,
                    to,
                    bytes: bytes_of,
                }));
            }
        }
        4 => {
            for _ in 0..10 {
                bytes.extend(said(&executed(dice)));
                bytes.extend(said(&called(dice)));
            }
        }
        5 => {
            for _ in 0..2000 {
                bytes.extend(said(&ToHost::Lost(dice.throw(1 << 40))));
            }
        }
        _ => {
            for _ in 0..5000 {
                bytes.extend(match dice.throw(3) {
                    0 => said(&ToHost::Pong(dice.throw(1 << 40))),
                    1 if streams.credit > 0 => {
                        streams.credit -= 1;
                        frame(2, Kind::Credit, &1_u32.to_le_bytes())
                    }
                    _ => said(&ToHost::Quiet),
                });
            }
        }
    }
    bytes
}

/// Damages some bytes.
fn mutate(dice: &mut Dice, bytes: &mut [u8]) {
    for _ in 0..1 + dice.throw(4) {
        let at = dice.throw(bytes.len().max(1) as u64) as usize;
        if let Some(byte) = bytes.get_mut(at) {
            *byte = dice.throw(256) as u8;
        }
    }
}

fn act(mode: &str, wire: &mut Wire, dice: &mut Dice) {
    match mode {
        // Never says who it is.
        "random" => {}
        "greets" => wire.send(Mux::new(Role::Guest).pending()),
        "failed" => {
            wire.send(Mux::new(Role::Guest).pending());
            let what = "\x1b]0;owned\x07\x1b[2J\r\nbailiwick: all is well ".repeat(1500);
            wire.send(&said(&ToHost::Failed { what, errno: 1 }));
            return wire.rest();
        }
        _ => {
            behave(wire);
            if MEASURED.contains(&mode) {
                // What is made at its first use is no cost of what follows.
                let to = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 443);
                wire.send(&opened(1, &Open::Outward { to }));
                wire.rest();
                wire.send(&frame(1, Kind::Reset, &[]));
                wire.rest();
                wire.tell("begins\n");
                wire.until += REST;
            }
        }
    }
    let mut streams = Streams {
        next: 3,
        open: Vec::new(),
        credit: 100_000,
    };
    match mode {
        "ended" => wire.send(&said(&ToHost::Ended { job: 7, code: 0 })),
        "unknown" => wire.send(&said(&ToHost::NoFolder { job: 7, errno: 2 })),
        "turn" => {
            let stage = Stage {
                name: "x".repeat(900),
                at: 1,
            };
            wire.send(&said(&ToHost::Ready(vec![stage; 60])));
        }
        "parts" => {
            while wire.goes_on() {
                wire.send(&frame(0, Kind::Part, &[0; PAYLOAD]));
            }
        }
        "grammar" | "streams" | "deaf" | "wild" => {
            wire.deaf = mode == "deaf";
            while wire.goes_on() {
                let mut bytes = grammar(dice, &mut streams, mode != "streams");
                if mode == "wild" && dice.throw(16) == 0 {
                    mutate(dice, &mut bytes);
                }
                wire.send(&bytes);
                wire.heard.clear();
            }
            let resets = streams.open.drain(..);
            let resets: Vec<u8> = resets.flat_map(|s| frame(s, Kind::Reset, &[])).collect();
            wire.send(&resets);
            // Of what was mutated the host may have made something after which it has no answer.
            if mode != "wild" {
                wire.catch_up();
            }
            wire.tell("over\n");
        }
        _ => {
            while wire.goes_on() {
                let bytes = dice.bytes(4096);
                wire.send(&bytes);
                wire.heard.clear();
            }
        }
    }
    wire.rest();
}

fn port() -> OwnedFd {
    loop {
        for entry in std::fs::read_dir("/dev").unwrap().flatten() {
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            if name.starts_with(b"vport") && name.ends_with(b"p1") {
                let flags = OFlags::RDWR | OFlags::NONBLOCK;
                return rustix::fs::open(entry.path(), flags, Mode::empty()).unwrap();
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn main() -> ExitCode {
    if rustix::process::getpid().as_raw_nonzero().get() != 1 {
        // On the host it answers for files, as the guest's binary in whose place it is.
        let words: Vec<_> = std::env::args_os().skip(1).collect();
        return match words.split_first() {
            Some((what, words)) if what == "share" => bailiwick_share::run(words),
            _ => {
                eprintln!("a machine's first program, for tests");
                ExitCode::from(2)
            }
        };
    }
    let _ = std::fs::create_dir("/dev");
    let _ = mount(
        c"dev",
        c"/dev",
        c"devtmpfs",
        MountFlags::NOSUID,
        None::<&CStr>,
    );
    let own = std::fs::read("/init").unwrap();
    let at = own.windows(MARK.len()).rposition(|window| window == MARK);
    let words = String::from_utf8(own[at.unwrap() + MARK.len()..].to_vec()).unwrap();
    let mut words = words.split_whitespace();
    let mode = words.next().unwrap().to_owned();
    let mut number = || words.next().unwrap().parse::<u64>().unwrap();
    let (seed, seconds) = (number(), number());
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut wire = Wire {
        port: port(),
        heard: Vec::new(),
        deaf: false,
        until: Instant::now() + Duration::from_secs(seconds) + REST,
        output: None,
    };
    act(&mode, &mut wire, &mut dice);
    let _ = rustix::system::reboot(rustix::system::RebootCommand::Restart);
    ExitCode::SUCCESS
}
