//! The protocol between host and guest, read slowly: what each frame means after those before it, by
//! the documentation of `bailiwick_channel::frame`, and acts of one end that an input stands for.

use crate::pieces::pieces;
use bailiwick_channel::frame::{HEADER, Header, Kind, PAYLOAD};
use bailiwick_channel::schema::Open;
use bailiwick_channel::{Event, FIRST, Mux, POOL, Role, STREAMS, WINDOW};
use std::collections::BTreeMap;

/// The longest message to a guest and to a host.
const LONGEST: [usize; 2] = [8 << 20, 256 << 10];
/// What an end keeps for what it sends next.
const KEPT: usize = 512 << 10;
/// How much one input may say; a frame costs more than its bytes.
const MOST: usize = 1 << 20;

/// What happens at one end.
#[derive(Debug)]
enum Step {
    Hears(Vec<u8>),
    Opens,
    Writes(u32, usize),
    Consumes(u32, usize),
    Ends(u32),
    Resets(u32),
    Says(usize),
}

#[derive(Debug, PartialEq, Eq)]
enum Told {
    Hello,
    Message(usize),
    Opened(u32, usize),
    Data(u32, Vec<u8>),
    Credit(u32),
    End(u32),
    Reset(u32),
}

/// Runs an input at that end: whole and in pieces, and beside the slow reading.
pub fn check(role: Role, data: &[u8]) {
    let [mode, seed, rest @ ..] = data else {
        return;
    };
    let steps = steps(role, *mode, rest);
    let (mut slow, mut told) = (Some(Slow::new(role)), Vec::new());
    let whole = run(role, &steps, None, &mut slow, &mut told);
    let mut again = Vec::new();
    let parts = run(role, &steps, Some(*seed), &mut None, &mut again);
    assert_eq!(told, again, "in pieces");
    assert_eq!(whole, parts, "in pieces");
}

/// What is sent, and whether the channel was over.
fn run(
    role: Role,
    steps: &[Step],
    seed: Option<u8>,
    slow: &mut Option<Slow>,
    told: &mut Vec<Told>,
) -> (Vec<u8>, bool) {
    let (mut mux, mut held, mut sent) = (Mux::new(role), Vec::new(), Vec::new());
    drain(&mut mux, &mut sent, slow);
    for step in steps {
        if let Step::Hears(bytes) = step {
            let bytes = match seed {
                // Far from the beginning in larger ones: a frame is long, and most of it is bytes.
                Some(seed) => {
                    let (small, large) = bytes.split_at(bytes.len().min(2048));
                    let mut pieces = pieces(seed, small);
                    pieces.extend(large.chunks(61 * (1 + usize::from(seed))));
                    pieces
                }
                None => vec![&bytes[..]],
            };
            for piece in bytes {
                held.extend_from_slice(piece);
                let mut from = 0;
                loop {
                    let rest = &held[from..];
                    let expected = slow.as_mut().map(|slow| slow.hears(rest));
                    let (used, event) = match mux.parse(rest) {
                        Ok(Some((used, event))) => (used, event.map(tell)),
                        Ok(None) => {
                            assert!(expected.is_none_or(|e| e == Ok(None)), "not taken");
                            break;
                        }
                        Err(violation) => {
                            assert!(expected.is_none_or(|e| e.is_err()), "{violation}");
                            return (sent, true);
                        }
                    };
                    if let Some(expected) = expected {
                        assert_eq!(
                            Ok(Some((used, &event))),
                            expected.as_ref().map(|e| e.as_ref().map(|(u, e)| (*u, e)))
                        );
                    }
                    told.extend(event);
                    from += used;
                    drain(&mut mux, &mut sent, slow);
                }
                held.drain(..from);
                assert!(held.len() < HEADER + PAYLOAD, "a frame is not taken");
            }
        } else {
            act(&mut mux, step, slow);
            drain(&mut mux, &mut sent, slow);
        }
        let longest = LONGEST[usize::from(role == Role::Host)];
        assert!(mux.memory() <= KEPT + 2 * longest, "{}", mux.memory());
        if let Some(slow) = slow.as_ref().filter(|slow| slow.streams.len() <= 32) {
            slow.agrees(&mux);
        }
    }
    if let Some(slow) = slow {
        slow.agrees(&mux);
    }
    (sent, false)
}

fn tell(event: Event<'_>) -> Told {
    match event {
        Event::Hello => Told::Hello,
        Event::Message(bytes) => Told::Message(bytes.len()),
        Event::Opened(id, bytes) => Told::Opened(id, bytes.len()),
        Event::Data(id, bytes) => Told::Data(id, bytes.to_vec()),
        Event::Credit(id) => Told::Credit(id),
        Event::End(id) => Told::End(id),
        Event::Reset(id) => Told::Reset(id),
    }
}

fn act(mux: &mut Mux, step: &Step, slow: &mut Option<Slow>) {
    let stream = |slow: &mut Option<Slow>, id: u32, change: &dyn Fn(&mut Stream)| {
        if let Some(slow) = slow
            && let Some(stream) = slow.streams.get_mut(&id)
        {
            change(stream);
            slow.settle(id);
        }
    };
    match *step {
        Step::Hears(_) => {}
        Step::Opens => {
            let id = mux.open(&Open::Echo).expect("a number");
            if let Some(slow) = slow {
                assert!(id > slow.last[0] && slow.is_own(id), "{id} is taken");
                slow.last[0] = id;
                slow.streams.insert(id, Stream::new());
            }
        }
        Step::Writes(id, length) => {
            let wrote = mux.data(id, |place| {
                let length = length.min(place.len());
                place[..length].fill(7);
                Ok(length)
            });
            if let Some(slow) = slow {
                let may = slow
                    .streams
                    .get(&id)
                    .filter(|s| s.sends)
                    .map_or(0, |s| s.credit);
                let may = length.min(PAYLOAD).min(may as usize);
                assert_eq!(wrote.unwrap_or(0), may, "credit of {id}");
            }
        }
        Step::Consumes(id, bytes) => {
            stream(slow, id, &|s| s.waits -= s.waits.min(bytes as u64));
            mux.consumed(id, bytes);
        }
        Step::Ends(id) => {
            stream(slow, id, &|s| s.sends = false);
            mux.end(id);
        }
        Step::Resets(id) => {
            if let Some(slow) = slow {
                slow.streams.remove(&id);
            }
            mux.reset(id);
        }
        Step::Says(length) => mux.message(&vec![0_u8; length]),
    }
}

/// Takes what is to be sent; the slow reading counts credit in it.
fn drain(mux: &mut Mux, sent: &mut Vec<u8>, slow: &mut Option<Slow>) {
    let bytes = mux.pending();
    if let Some(slow) = slow {
        slow.said(bytes);
    }
    sent.extend_from_slice(bytes);
    mux.sent(bytes.len());
    assert!(mux.pending().is_empty());
}

#[derive(Debug)]
struct Stream {
    /// What this end may send, and the other.
    credit: u64,
    room: u64,
    /// What came and was not consumed.
    waits: u64,
    sends: bool,
    hears: bool,
}

impl Stream {
    fn new() -> Self {
        let first = u64::from(FIRST);
        Self {
            credit: first,
            room: first,
            waits: 0,
            sends: true,
            hears: true,
        }
    }
}

/// One end, as the protocol is described.
struct Slow {
    role: Role,
    hello: Vec<u8>,
    greeted: bool,
    streams: BTreeMap<u32, Stream>,
    /// The highest numbers: this end's, the other's.
    last: [u32; 2],
    parts: usize,
}

impl Slow {
    fn new(role: Role) -> Self {
        Self {
            role,
            hello: hello(role.peer())[HEADER..].to_vec(),
            greeted: false,
            streams: BTreeMap::new(),
            last: [0; 2],
            parts: 0,
        }
    }

    fn is_own(&self, id: u32) -> bool {
        match self.role {
            Role::Host => id % 2 == 0,
            Role::Guest => id % 2 == 1,
        }
    }

    fn settle(&mut self, id: u32) {
        let over = |s: &Stream| !s.sends && !s.hears && s.waits == 0;
        if self.streams.get(&id).is_some_and(over) {
            self.streams.remove(&id);
        }
    }

    /// The next frame: how long it is and what it says; `None` where it is not whole.
    fn hears(&mut self, bytes: &[u8]) -> Result<Option<(usize, Option<Told>)>, ()> {
        let [a, b, c, d, kind, e, f, g, rest @ ..] = bytes else {
            return Ok(None);
        };
        let id = u32::from_le_bytes([*a, *b, *c, *d]);
        let length = usize::from(*e) + (usize::from(*f) << 8) + (usize::from(*g) << 16);
        // Hello, messages and their parts are of no stream; all others are of one.
        if !(1..=8).contains(kind) || length > PAYLOAD || (*kind <= 3) != (id == 0) {
            return Err(());
        }
        let Some(payload) = rest.get(..length) else {
            return Ok(None);
        };
        Ok(Some((HEADER + length, self.frame(*kind, id, payload)?)))
    }

    fn frame(&mut self, kind: u8, id: u32, payload: &[u8]) -> Result<Option<Told>, ()> {
        let must = |holds: bool| if holds { Ok(()) } else { Err(()) };
        if kind == 1 {
            must(payload == self.hello && !(self.greeted && self.role == Role::Host))?;
            if self.greeted {
                *self = Self::new(self.role);
            }
            self.greeted = true;
            return Ok(Some(Told::Hello));
        }
        must(self.greeted)?;
        if kind <= 3 {
            self.parts += payload.len();
            must(self.parts <= LONGEST[usize::from(self.role == Role::Host)])?;
            must(kind == 2 || payload.len() == PAYLOAD)?;
            let whole = (kind == 2).then(|| std::mem::take(&mut self.parts));
            return Ok(whole.map(Told::Message));
        }
        if kind == 4 {
            must(!self.is_own(id) && id > self.last[1])?;
            self.last[1] = id;
            let is_theirs = |id: &&u32| !self.is_own(**id);
            let many = self.streams.len() >= STREAMS;
            if many && self.streams.keys().filter(is_theirs).count() == STREAMS {
                return Ok(None);
            }
            self.streams.insert(id, Stream::new());
            return Ok(Some(Told::Opened(id, payload.len())));
        }
        let last = self.last[usize::from(!self.is_own(id))];
        let Some(stream) = self.streams.get_mut(&id) else {
            // Only what was under way when a stream ended.
            return must(id <= last).map(|()| None);
        };
        let told = match kind {
            5 => {
                must(stream.hears && !payload.is_empty() && payload.len() as u64 <= stream.room)?;
                stream.room -= payload.len() as u64;
                stream.waits += payload.len() as u64;
                Told::Data(id, payload.to_vec())
            }
            6 => {
                let more: [u8; 4] = payload.try_into().map_err(|_| ())?;
                let more = u64::from(u32::from_le_bytes(more));
                must(more > 0 && stream.credit + more <= u64::from(WINDOW))?;
                stream.credit += more;
                Told::Credit(id)
            }
            7 => {
                must(payload.is_empty() && stream.hears)?;
                stream.hears = false;
                Told::End(id)
            }
            _ => {
                must(payload.is_empty())?;
                stream.sends = false;
                // What was said to its end still counts until it was consumed.
                if stream.hears {
                    stream.hears = false;
                    stream.waits = 0;
                }
                Told::Reset(id)
            }
        };
        self.settle(id);
        Ok(Some(told))
    }

    /// What this end sends must be what an honest one may.
    fn said(&mut self, mut bytes: &[u8]) {
        while let Some((head, rest)) = bytes.split_first_chunk::<HEADER>() {
            let header = Header::read(*head).expect("a frame of our own");
            let (payload, rest) = rest.split_at(header.length);
            if let Some(stream) = self.streams.get_mut(&header.stream) {
                let length = payload.len() as u64;
                match header.kind {
                    Kind::Data => {
                        stream.credit = stream.credit.checked_sub(length).expect("no credit");
                    }
                    Kind::Credit => {
                        let more: [u8; 4] = payload.try_into().expect("four bytes");
                        stream.room += u64::from(u32::from_le_bytes(more));
                    }
                    _ => {}
                }
            }
            bytes = rest;
        }
        assert!(bytes.is_empty(), "half a frame");
    }

    fn agrees(&self, mux: &Mux) {
        let mut all = 0;
        for (id, stream) in &self.streams {
            assert!(mux.has(*id), "{id} is forgotten");
            assert_eq!(mux.hears(*id), stream.hears);
            let may = if stream.sends { stream.credit } else { 0 };
            assert_eq!(mux.allowance(*id) as u64, may.min(PAYLOAD as u64));
            let window = stream.room + stream.waits;
            assert!(window <= u64::from(WINDOW), "a window of {window}");
            all += window;
        }
        let most = u64::from(POOL) + self.streams.len() as u64 * u64::from(FIRST);
        assert!(all <= most, "{all} bytes may be under way");
        for id in (0..64).chain(self.last) {
            assert_eq!(mux.has(id), self.streams.contains_key(&id), "{id}");
        }
        assert_eq!(mux.is_idle(), self.streams.is_empty());
    }
}

fn hello(role: Role) -> Vec<u8> {
    Mux::new(role).pending().to_vec()
}

/// What an input stands for. Bit 0 of the mode: no greeting comes first. Bit 1: all of it is bytes
/// that are heard.
fn steps(role: Role, mode: u8, data: &[u8]) -> Vec<Step> {
    let mut steps = Vec::new();
    if mode & 1 == 0 {
        steps.push(Step::Hears(hello(role.peer())));
    }
    if mode & 2 != 0 {
        steps.push(Step::Hears(data.to_vec()));
        return steps;
    }
    let mut data = data.iter().copied();
    let mut next = 1 + u32::from(role == Role::Guest);
    let mut said = 0;
    while let Some(step) = data.next().filter(|_| steps.len() < 500) {
        let mut byte = || data.next().unwrap_or(0);
        let word = |low: u8, high: u8| usize::from(low) | usize::from(high) << 8;
        let mut heard = |kind: u8, id: u32, payload: &[u8]| {
            let mut bytes = id.to_le_bytes().to_vec();
            bytes.push(kind);
            bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
            bytes.extend_from_slice(payload);
            said += bytes.len() + 256;
            match steps.last_mut() {
                Some(Step::Hears(before)) => before.extend(bytes),
                _ => steps.push(Step::Hears(bytes)),
            }
        };
        match step & 15 {
            0 => steps.push(Step::Opens),
            1 => steps.push(Step::Writes(id(byte()), word(byte(), byte()))),
            2 => steps.push(Step::Consumes(id(byte()), word(byte(), byte()) * 4)),
            3 => steps.push(Step::Ends(id(byte()))),
            4 => steps.push(Step::Resets(id(byte()))),
            5 => steps.push(Step::Says(usize::from(byte()) * 256)),
            6 => {
                heard(4, next, &[0; 3]);
                next += 2;
            }
            7 => heard(
                5,
                id(byte()),
                &vec![byte(); word(byte(), byte()).min(PAYLOAD)],
            ),
            8 => {
                let more = (word(byte(), byte()) as u32) << (step >> 4);
                heard(6, id(byte()), &more.to_le_bytes());
            }
            9 => heard(7, id(byte()), &[]),
            10 => heard(8, id(byte()), &[]),
            11 => heard(2, 0, &vec![0; usize::from(byte()) * 128]),
            12 => heard(3, 0, &[0; PAYLOAD]),
            13 => heard(1, 0, &hello(role.peer())[HEADER..]),
            14 => {
                for _ in 0..usize::from(byte()) * 8 {
                    heard(4, next, &[]);
                    next += 2;
                }
            }
            _ => heard(byte(), id(byte()), &vec![0; usize::from(byte())]),
        }
        if said > MOST {
            break;
        }
    }
    steps
}

/// Most are few and small.
fn id(byte: u8) -> u32 {
    match byte {
        255 => u32::MAX,
        254 => 2 * STREAMS as u32,
        byte => u32::from(byte),
    }
}
