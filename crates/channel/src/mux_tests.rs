use super::*;

pub(super) fn open() -> crate::schema::Open {
    crate::schema::Open::Echo
}

/// Two ends that have greeted each other.
fn pair() -> (Mux, Mux) {
    let (mut host, mut guest) = (Mux::new(Role::Host), Mux::new(Role::Guest));
    assert_eq!(carry(&mut host, &mut guest), [Told::Hello]);
    assert_eq!(carry(&mut guest, &mut host), [Told::Hello]);
    (host, guest)
}

/// An event that owns what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Hello,
    Message(Vec<u8>),
    Opened(u32),
    Data(u32, Vec<u8>),
    Credit(u32),
    End(u32),
    Reset(u32),
}

impl From<Event<'_>> for Told {
    fn from(event: Event<'_>) -> Self {
        match event {
            Event::Hello => Self::Hello,
            Event::Message(bytes) => Self::Message(bytes),
            Event::Opened(id, _) => Self::Opened(id),
            Event::Data(id, bytes) => Self::Data(id, bytes.to_vec()),
            Event::Credit(id) => Self::Credit(id),
            Event::End(id) => Self::End(id),
            Event::Reset(id) => Self::Reset(id),
        }
    }
}

/// Gives an end bytes: what it makes of them and how many it took.
pub(super) fn feed(to: &mut Mux, mut bytes: &[u8]) -> Result<(usize, Vec<Told>), Violation> {
    let (mut used, mut told) = (0, Vec::new());
    while let Some((length, event)) = to.parse(bytes)? {
        used += length;
        bytes = &bytes[length..];
        told.extend(event.map(Told::from));
    }
    Ok((used, told))
}

/// Carries everything.
fn carry(from: &mut Mux, to: &mut Mux) -> Vec<Told> {
    let bytes = from.pending().to_vec();
    from.sent(bytes.len());
    let (used, told) = feed(to, &bytes).expect("an honest peer");
    assert_eq!(used, bytes.len());
    told
}

pub(super) fn frame(stream: u32, kind: Kind, payload: &[u8]) -> Vec<u8> {
    let length = payload.len();
    let mut bytes = Header {
        stream,
        kind,
        length,
    }
    .bytes()
    .to_vec();
    bytes.extend_from_slice(payload);
    bytes
}

pub(super) fn write(mux: &mut Mux, id: u32, bytes: &[u8]) -> io::Result<usize> {
    mux.data(id, |place| {
        let length = bytes.len().min(place.len());
        place[..length].copy_from_slice(&bytes[..length]);
        Ok(length)
    })
}

/// A host that hears a guest of our choice.
fn host() -> Mux {
    let mut host = Mux::new(Role::Host);
    host.sent(host.pending().len());
    feed(&mut host, &frame(0, Kind::Hello, &Role::Guest.hello())).expect("a greeting");
    host
}

#[test]
fn bytes_go_both_ways_and_a_stream_is_forgotten_when_both_have_ended() {
    let (mut host, mut guest) = pair();
    let id = host.open(&open()).expect("a number");
    assert_eq!(write(&mut host, id, b"to").expect("credit"), 2);
    host.end(id);
    let told = carry(&mut host, &mut guest);
    assert_eq!(told[0], Told::Opened(id));
    assert!(told.contains(&Told::Data(id, b"to".to_vec())));
    assert_eq!(told.last(), Some(&Told::End(id)));
    guest.consumed(id, 2);
    assert_eq!(write(&mut guest, id, b"fro").expect("credit"), 3);
    guest.end(id);
    assert!(guest.is_idle());
    assert!(carry(&mut guest, &mut host).contains(&Told::Data(id, b"fro".to_vec())));
    assert!(host.has(id), "its bytes wait");
    host.consumed(id, 3);
    assert!(host.is_idle());
}

#[test]
fn a_message_comes_whole_however_long_it_is() {
    let (mut host, mut guest) = pair();
    for length in [0, 1, PAYLOAD - 3, PAYLOAD - 2, PAYLOAD, 3 * PAYLOAD + 5] {
        let message = vec![7_u8; length];
        host.message(&message);
        let [Told::Message(bytes)] = &carry(&mut host, &mut guest)[..] else {
            panic!("not one message");
        };
        let read: Vec<u8> = Mux::decode(bytes, Kind::Message).expect("the message");
        assert_eq!(read, message);
    }
}

#[test]
fn a_guest_may_not_say_a_message_without_end() {
    let mut host = host();
    let part = frame(0, Kind::Part, &vec![0; PAYLOAD]);
    let mut parts = 0;
    let violation = loop {
        match host.parse(&part) {
            Ok(_) => parts += 1,
            Err(violation) => break violation,
        }
        assert!(host.memory() <= 2 * LONGEST[1] + KEPT);
    };
    assert_eq!(
        (violation, parts),
        (Violation::Message, LONGEST[1] / PAYLOAD)
    );
}

#[test]
fn what_no_honest_guest_sends_is_a_violation() {
    let mine = 2_u32;
    let credit = |more: u32| frame(mine, Kind::Credit, &more.to_le_bytes());
    let cases: [(&str, Vec<u8>, Violation); 18] = [
        ("an unknown kind", vec![0; 8], Violation::Kind(0)),
        (
            "too long",
            vec![2, 0, 0, 0, 5, 0, 0, 1],
            Violation::Length(1 << 16),
        ),
        (
            "a message of a stream",
            frame(2, Kind::Message, b""),
            Violation::Stream(2),
        ),
        (
            "data of no stream",
            frame(0, Kind::Data, b"x"),
            Violation::Stream(0),
        ),
        (
            "a second greeting",
            frame(0, Kind::Hello, &Role::Guest.hello()),
            Violation::Hello,
        ),
        (
            "an open of ours",
            frame(4, Kind::Open, b""),
            Violation::Stream(4),
        ),
        (
            "data before its open",
            frame(1, Kind::Data, b"x"),
            Violation::Stream(1),
        ),
        (
            "data of one that we never opened",
            frame(4, Kind::Data, b"x"),
            Violation::Stream(4),
        ),
        (
            "a reset before its open",
            frame(3, Kind::Reset, b""),
            Violation::Stream(3),
        ),
        (
            "empty data",
            frame(mine, Kind::Data, b""),
            Violation::Contents(Kind::Data),
        ),
        ("no credit", credit(0), Violation::Contents(Kind::Credit)),
        (
            "too much credit",
            credit(WINDOW),
            Violation::Contents(Kind::Credit),
        ),
        (
            "overflowing credit",
            credit(u32::MAX),
            Violation::Contents(Kind::Credit),
        ),
        (
            "short credit",
            frame(mine, Kind::Credit, b"123"),
            Violation::Contents(Kind::Credit),
        ),
        (
            "an end with words",
            frame(mine, Kind::End, b"x"),
            Violation::Contents(Kind::End),
        ),
        (
            "a reset with words",
            frame(mine, Kind::Reset, b"x"),
            Violation::Contents(Kind::Reset),
        ),
        (
            "an end again",
            [frame(mine, Kind::End, b""), frame(mine, Kind::End, b"")].concat(),
            Violation::Stream(mine),
        ),
        (
            "data after the end",
            [frame(mine, Kind::End, b""), frame(mine, Kind::Data, b"x")].concat(),
            Violation::Stream(mine),
        ),
    ];
    for (name, bytes, violation) in cases {
        let mut host = host();
        assert_eq!(host.open(&open()), Some(mine));
        assert_eq!(feed(&mut host, &bytes), Err(violation), "{name}");
    }
    let short = frame(0, Kind::Part, b"x");
    assert_eq!(
        feed(&mut host(), &short),
        Err(Violation::Contents(Kind::Part))
    );
}

#[test]
fn nothing_is_heard_before_the_greeting() {
    let hello = |role: Role| frame(0, Kind::Hello, &role.hello());
    for bytes in [
        frame(0, Kind::Message, b""),
        frame(1, Kind::Open, b""),
        hello(Role::Host),
    ] {
        let heard = feed(&mut Mux::new(Role::Host), &bytes);
        assert_eq!(heard, Err(Violation::Hello));
    }
    let mut other = Role::Guest.hello();
    other[12] ^= 1;
    let heard = feed(&mut Mux::new(Role::Host), &frame(0, Kind::Hello, &other));
    assert_eq!(heard, Err(Violation::Hello), "another schema");
}

#[test]
fn a_guest_sends_no_byte_more_than_it_may() {
    let mut host = host();
    let id = host.open(&open()).expect("a number");
    // The first credit and what is given at once.
    let given = FIRST as usize + credit_in(&host, id);
    let mut left = given;
    while left > 0 {
        let length = left.min(PAYLOAD);
        feed(&mut host, &frame(id, Kind::Data, &vec![0; length])).expect("allowed");
        left -= length;
    }
    let more = feed(&mut host, &frame(id, Kind::Data, b"x"));
    assert_eq!(more, Err(Violation::Window(id)));
}

/// The credit that an end is about to give.
fn credit_in(mux: &Mux, id: u32) -> usize {
    let mut rest = mux.pending();
    let mut credit = 0;
    while let Some((head, more)) = rest.split_first_chunk::<HEADER>() {
        let header = Header::read(*head).expect("our own frame");
        let (payload, more) = more.split_at(header.length);
        if (header.stream, header.kind) == (id, Kind::Credit) {
            credit += u32::from_le_bytes(payload.try_into().expect("four bytes")) as usize;
        }
        rest = more;
    }
    credit
}

#[test]
fn streams_above_the_limit_are_reset_and_those_that_are_open_go_on() {
    let mut host = host();
    for at in 0..2 * STREAMS as u32 {
        feed(&mut host, &frame(1 + 2 * at, Kind::Open, b"")).expect("an open");
    }
    assert_eq!(host.streams.len(), STREAMS);
    feed(&mut host, &frame(1, Kind::Data, b"x")).expect("data of the first");
    feed(&mut host, &frame(1 + 2 * STREAMS as u32, Kind::Data, b"x")).expect("was under way");
    feed(&mut host, &frame(1, Kind::Reset, b"")).expect("a reset");
    let next = 1 + 4 * STREAMS as u32;
    let told = feed(&mut host, &frame(next, Kind::Open, b"")).expect("an open");
    assert_eq!(told.1, [Told::Opened(next)]);
}

#[test]
fn a_stream_that_has_ended_counts_until_its_bytes_were_passed_on() {
    let mut host = host();
    for at in 0..2 * STREAMS as u32 {
        let id = 1 + 2 * at;
        let all = [
            frame(id, Kind::Open, b""),
            frame(id, Kind::Data, b"x"),
            frame(id, Kind::End, b""),
        ];
        feed(&mut host, &all.concat()).expect("a stream");
        host.end(id);
    }
    assert_eq!(host.streams.len(), STREAMS);
    host.consumed(1, 1);
    assert!(!host.has(1));
    // A reset does not take back what was said to its end.
    feed(&mut host, &frame(3, Kind::Reset, b"")).expect("a reset");
    assert!(host.has(3));
    host.consumed(3, 1);
    assert!(!host.has(3));
}

#[test]
fn all_streams_together_are_given_no_more_than_the_pool() {
    let mut host = host();
    let mut given = vec![FIRST as usize; STREAMS];
    let mut waits = vec![0; STREAMS];
    for round in 0..12 {
        for at in 0..STREAMS {
            let id = 1 + 2 * at as u32;
            if round == 0 {
                feed(&mut host, &frame(id, Kind::Open, b"")).expect("an open");
                given[at] += credit_in(&host, id);
                host.sent(host.pending().len());
            }
            // The first rounds are fast, the last is never read.
            while given[at] > 0 {
                let length = given[at].min(PAYLOAD);
                feed(&mut host, &frame(id, Kind::Data, &vec![0; length])).expect("allowed");
                given[at] -= length;
                waits[at] += length;
            }
            if round < 11 {
                host.consumed(id, std::mem::take(&mut waits[at]));
                given[at] += credit_in(&host, id);
                host.sent(host.pending().len());
            }
        }
    }
    let all: usize = waits.iter().sum();
    assert!(all <= POOL as usize + STREAMS * FIRST as usize, "{all}");
    for at in 0..STREAMS as u32 {
        host.reset(1 + 2 * at);
    }
    let id = host.open(&open()).expect("a number");
    assert!(
        credit_in(&host, id) >= 32 * 1024,
        "what was given came back"
    );
}

#[test]
fn a_fast_stream_is_given_a_whole_window_and_a_slow_one_is_never_stuck() {
    let (mut host, mut guest) = pair();
    let id = host.open(&open()).expect("a number");
    let (mut most, mut all) = (0, 0);
    for _ in 0..100 {
        while write(&mut host, id, &[0; PAYLOAD]).is_ok_and(|sent| sent > 0) {}
        let told = carry(&mut host, &mut guest);
        let came = |told: &Told| {
            if let Told::Data(_, bytes) = told {
                bytes.len()
            } else {
                0
            }
        };
        let came: usize = told.iter().map(came).sum();
        most = most.max(came);
        // In small pieces at the end.
        if all < 2 << 20 {
            guest.consumed(id, came);
        } else {
            assert!(came > 0);
            (0..came.div_ceil(999)).for_each(|_| guest.consumed(id, 999));
        }
        all += came;
        carry(&mut guest, &mut host);
    }
    assert_eq!(most, WINDOW as usize);
}

#[test]
fn a_guest_that_is_greeted_again_has_no_stream_and_a_host_hears_one_greeting() {
    let (mut host, mut guest) = pair();
    let id = guest.open(&open()).expect("a number");
    host.open(&open()).expect("a number");
    carry(&mut host, &mut guest);
    feed(&mut guest, &frame(0, Kind::Part, &vec![0; PAYLOAD])).expect("a part");
    write(&mut guest, id, b"lost").expect("credit");
    // The machine is restored beside another host.
    let mut host = Mux::new(Role::Host);
    assert_eq!(carry(&mut host, &mut guest), [Told::Hello]);
    assert!(guest.is_idle());
    assert_eq!(carry(&mut guest, &mut host), [Told::Hello]);
    host.message(&5_u8);
    assert_eq!(carry(&mut host, &mut guest), [Told::Message(vec![5])]);
    assert_eq!(guest.open(&open()), Some(1));
}

#[test]
fn what_cannot_be_filled_sends_nothing_and_costs_no_credit() {
    let (mut host, _) = pair();
    let id = host.open(&open()).expect("a number");
    let before = (host.pending().to_vec(), host.allowance(id));
    assert!(
        host.data(id, |_| Err(io::ErrorKind::WouldBlock.into()))
            .is_err()
    );
    assert_eq!(host.data(id, |_| Ok(0)).expect("an end"), 0);
    assert_eq!((host.pending().to_vec(), host.allowance(id)), before);
    assert!(host.data(77, |_| Ok(1)).is_err(), "no such stream");
}
