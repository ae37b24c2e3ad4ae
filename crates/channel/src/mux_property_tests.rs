use super::tests::{Told, feed, frame, open, write};
use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

/// What an end may do next.
#[derive(Clone, Debug)]
enum Act {
    Open,
    Write(u8, u16),
    Consume(u8, u32),
    End(u8),
    Reset(u8),
    Message(u16),
    /// So many of the bytes under way arrive.
    Deliver(u32),
}

fn act() -> impl Strategy<Value = (bool, Act)> {
    let act = prop_oneof![
        2 => Just(Act::Open),
        8 => (any::<u8>(), any::<u16>()).prop_map(|(s, n)| Act::Write(s, n)),
        6 => (any::<u8>(), 0..300_000_u32).prop_map(|(s, n)| Act::Consume(s, n)),
        2 => any::<u8>().prop_map(Act::End),
        1 => any::<u8>().prop_map(Act::Reset),
        1 => (0..21_000_u16).prop_map(Act::Message),
        8 => prop_oneof![0..40_u32, 0..300_000_u32].prop_map(Act::Deliver),
    ];
    (any::<bool>(), act)
}

/// What one end has heard and said of a stream.
#[derive(Default)]
struct Side {
    wrote: Vec<u8>,
    heard: Vec<u8>,
    waits: usize,
    ended: bool,
    heard_end: bool,
    reset: bool,
}

struct End {
    mux: Mux,
    /// Bytes that arrived and are no whole frame yet.
    held: Vec<u8>,
    sides: HashMap<u32, Side>,
    ids: Vec<u32>,
    messages: Vec<usize>,
    heard_messages: Vec<usize>,
}

impl End {
    fn new(mux: Mux) -> Self {
        Self {
            mux,
            held: Vec::new(),
            sides: HashMap::new(),
            ids: Vec::new(),
            messages: Vec::new(),
            heard_messages: Vec::new(),
        }
    }

    fn pick(&self, number: u8) -> Option<u32> {
        let at = usize::from(number) % self.ids.len().max(1);
        self.ids.get(at).copied()
    }

    fn begin(&mut self, id: u32) {
        assert!(
            self.sides.insert(id, Side::default()).is_none(),
            "a number twice"
        );
        self.ids.push(id);
    }

    fn act(&mut self, act: &Act, seed: &mut u8) {
        match *act {
            Act::Open if self.ids.len() < 20 => {
                let id = self.mux.open(&open()).expect("a number");
                self.begin(id);
            }
            Act::Write(number, length) => {
                let Some(id) = self.pick(number) else { return };
                let bytes: Vec<u8> = (0..length)
                    .map(|_| {
                        *seed = seed.wrapping_mul(5).wrapping_add(1);
                        *seed
                    })
                    .collect();
                let sent = write(&mut self.mux, id, &bytes).unwrap_or(0);
                self.sides
                    .get_mut(&id)
                    .expect("a side")
                    .wrote
                    .extend(&bytes[..sent]);
            }
            Act::Consume(number, length) => {
                let Some(id) = self.pick(number) else { return };
                let side = self.sides.get_mut(&id).expect("a side");
                let length = (length as usize).min(side.waits);
                side.waits -= length;
                self.mux.consumed(id, length);
            }
            Act::End(number) => {
                let Some(id) = self.pick(number) else { return };
                self.mux.end(id);
                self.sides.get_mut(&id).expect("a side").ended = true;
            }
            Act::Reset(number) => {
                let Some(id) = self.pick(number) else { return };
                self.mux.reset(id);
                let side = self.sides.get_mut(&id).expect("a side");
                side.waits = 0;
                side.reset = true;
            }
            Act::Message(length) => {
                self.messages.push(usize::from(length) * 3);
                self.mux.message(&vec![1_u8; usize::from(length) * 3]);
            }
            Act::Open | Act::Deliver(_) => {}
        }
    }

    fn hear(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
        let (used, told) = feed(&mut self.mux, &self.held).expect("an honest peer");
        self.held.drain(..used);
        for told in told {
            match told {
                Told::Opened(id) => self.begin(id),
                Told::Data(id, bytes) => {
                    let side = self.sides.get_mut(&id).expect("an open stream");
                    assert!(!side.heard_end && !side.reset);
                    side.waits += bytes.len();
                    assert!(side.waits <= WINDOW as usize, "a window is exceeded");
                    side.heard.extend(bytes);
                }
                Told::End(id) => self.sides.get_mut(&id).expect("an open stream").heard_end = true,
                Told::Reset(id) => self.sides.get_mut(&id).expect("an open stream").reset = true,
                Told::Message(bytes) => {
                    let bytes: Vec<u8> = Mux::decode(&bytes, Kind::Message).expect("a message");
                    self.heard_messages.push(bytes.len());
                }
                Told::Credit(_) | Told::Hello => {}
            }
        }
        let waits: usize = self.sides.values().map(|side| side.waits).sum();
        assert!(waits <= POOL as usize + self.ids.len() * FIRST as usize);
    }
}

fn deliver(from: &mut End, to: &mut End, most: usize) {
    let most = most.min(from.mux.pending().len());
    let bytes = from.mux.pending()[..most].to_vec();
    from.mux.sent(most);
    to.hear(&bytes);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn two_honest_ends_agree_whatever_they_do(
        acts in proptest::collection::vec(act(), 0..100), seed: u8
    ) {
        let mut seed = seed;
        let mut host = End::new(Mux::new(Role::Host));
        let mut guest = End::new(Mux::new(Role::Guest));
        for (is_host, act) in &acts {
            let (this, other) = match is_host {
                true => (&mut host, &mut guest),
                false => (&mut guest, &mut host),
            };
            match act {
                Act::Deliver(most) => deliver(other, this, *most as usize),
                act => this.act(act, &mut seed),
            }
        }
        // Everything is ended, carried and consumed.
        for _ in 0..4 {
            for end in [&mut host, &mut guest] {
                for id in end.ids.clone() {
                    let side = end.sides.get_mut(&id).expect("a side");
                    side.ended = true;
                    let waits = std::mem::take(&mut side.waits);
                    end.mux.consumed(id, waits);
                    end.mux.end(id);
                }
            }
            deliver(&mut host, &mut guest, usize::MAX);
            deliver(&mut guest, &mut host, usize::MAX);
        }
        prop_assert!(host.mux.is_idle() && guest.mux.is_idle());
        prop_assert!(host.held.is_empty() && guest.held.is_empty());
        prop_assert_eq!(&host.messages, &guest.heard_messages);
        prop_assert_eq!(&guest.messages, &host.heard_messages);
        for (from, to) in [(&host, &guest), (&guest, &host)] {
            for (id, said) in &from.sides {
                let heard = &to.sides[id];
                prop_assert!(said.wrote.starts_with(&heard.heard), "what was said in order");
                if !heard.reset && !said.reset {
                    prop_assert_eq!(&said.wrote, &heard.heard);
                    prop_assert!(heard.heard_end);
                }
            }
        }
    }

    #[test]
    fn no_bytes_make_an_end_panic_or_keep_much(
        bytes in proptest::collection::vec(any::<u8>(), 0..4000), greeted: bool, guest: bool
    ) {
        let role = if guest { Role::Guest } else { Role::Host };
        let mut mux = Mux::new(role);
        if greeted {
            feed(&mut mux, &frame(0, Kind::Hello, &role.peer().hello())).expect("a greeting");
        }
        let _ = feed(&mut mux, &bytes);
        prop_assert!(mux.memory() <= 64 * 1024);
    }

    #[test]
    fn honest_frames_that_were_changed_are_understood_or_refused_and_cost_little(
        acts in proptest::collection::vec(act(), 0..60),
        changes in proptest::collection::vec((any::<u32>(), any::<u8>()), 1..6),
        pieces in proptest::collection::vec(1..5000_usize, 1..8)
    ) {
        // What an honest guest says alone.
        let mut guest = End::new(Mux::new(Role::Guest));
        feed(&mut guest.mux, &frame(0, Kind::Hello, &Role::Host.hello())).expect("a greeting");
        let mut seed = 1;
        for (_, act) in &acts {
            guest.act(act, &mut seed);
        }
        let mut bytes = guest.mux.pending().to_vec();
        for (at, value) in changes {
            let at = at as usize % bytes.len();
            bytes[at] = value;
        }
        let mut whole = Mux::new(Role::Host);
        let expected = feed(&mut whole, &bytes);
        prop_assert!(whole.streams.len() <= STREAMS && whole.theirs <= STREAMS);
        prop_assert!(whole.memory() <= 2 * LONGEST[1] + KEPT);
        // In pieces it is the same.
        let (mut parts, mut held, mut told) = (Mux::new(Role::Host), Vec::new(), Vec::new());
        let (mut at, mut pieces, mut refused) = (0, pieces.iter().cycle(), None);
        while at < bytes.len() && refused.is_none() {
            let end = (at + pieces.next().expect("a piece")).min(bytes.len());
            held.extend_from_slice(&bytes[at..end]);
            at = end;
            let mut from = 0;
            while refused.is_none() {
                match parts.parse(&held[from..]) {
                    Ok(Some((length, event))) => {
                        from += length;
                        told.extend(event.map(Told::from));
                    }
                    Ok(None) => break,
                    Err(violation) => refused = Some(violation),
                }
            }
            held.drain(..from);
        }
        match expected {
            Ok((_, expected)) => prop_assert_eq!((told, None), (expected, refused)),
            Err(violation) => prop_assert_eq!(Some(violation), refused),
        }
    }
}
