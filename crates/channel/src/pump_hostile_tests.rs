use super::tests::rest::{rest, stay_asleep};
use super::tests::{Running, noise, piped, sockets, zero};
use super::*;
use crate::frame::{HEADER, Header, Kind, PAYLOAD};
use crate::hello::Role;
use crate::mux::{Mux, POOL, WINDOW};
use crate::schema::{Open, ToGuest};
use rustix::fd::OwnedFd;
use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;

fn frame(stream: u32, kind: Kind, payload: &[u8]) -> Vec<u8> {
    let length = payload.len();
    let header = Header {
        stream,
        kind,
        length,
    };
    [&header.bytes(), payload].concat()
}

fn opens(id: u32, open: &Open) -> Vec<u8> {
    frame(
        id,
        Kind::Open,
        &postcard::to_allocvec(open).expect("an open"),
    )
}

fn hello() -> Vec<u8> {
    Mux::new(Role::Guest).pending().to_vec()
}

#[test]
fn a_guest_that_never_reads_is_not_kept_answers_for() {
    let (mine, mut theirs) = sockets();
    let host = Running::host(mine, usize::MAX, |_| {});
    theirs.write_all(&hello()).expect("a host");
    for at in 0..1000 {
        let id = 1 + 2 * at;
        let credit = frame(id, Kind::Credit, &(WINDOW - 4096).to_le_bytes());
        let all = [opens(id, &Open::Source { bytes: 0 }), credit].concat();
        theirs.write_all(&all).expect("a host");
    }
    stay_asleep(&[&host.pulse], "it waits awake");
    // Then questions, until it does not listen any more.
    theirs.set_nonblocking(true).expect("a socket");
    let mut questions = Vec::new();
    for number in 0..1000 {
        let ping = postcard::to_allocvec(&ToGuest::Ping(number)).expect("a ping");
        questions.extend(frame(0, Kind::Message, &ping));
        questions.extend(opens(2 * number as u32 + 3001, &Open::Echo));
        questions.extend(frame(2 * number as u32 + 3001, Kind::Reset, b""));
    }
    let mut reset = 0;
    while is_taken(&mut theirs, &questions, &host) {
        reset += 1;
        // The same numbers cannot be opened twice; from now on only questions.
        questions = frame(
            0,
            Kind::Message,
            &postcard::to_allocvec(&ToGuest::Ping(1)).expect("a ping"),
        )
        .repeat(4000);
        assert!(reset < 1000, "it listens for ever");
    }
    drop(theirs);
    let (_, mut pump) = host.join();
    let line = pump.line();
    assert!(
        line.backlog() <= (1 << 20) + 2 * PAYLOAD,
        "{}",
        line.backlog()
    );
    assert!(line.mux.memory() <= 3 << 20, "{}", line.mux.memory());
    assert!(line.queued() <= 4096, "{}", line.queued());
}

/// Whether a host takes all of this from a socket that does not wait. It does not where it is at rest
/// and the socket is full.
fn is_taken(to: &mut UnixStream, bytes: &[u8], host: &Running) -> bool {
    let mut rested = false;
    let mut left = bytes;
    while !left.is_empty() {
        match to.write(left) {
            Ok(taken) => (left, rested) = (&left[taken..], false),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && !rested => {
                rest(&[&host.pulse]);
                rested = true;
            }
            Err(_) => return false,
        }
    }
    true
}

#[test]
fn each_source_is_read_in_its_turn() {
    let (mine, mut theirs) = sockets();
    let host = Running::host(mine, usize::MAX, |_| {});
    let mut all = hello();
    for at in 0..100 {
        all.extend(opens(1 + 2 * at, &Open::Source { bytes: 0 }));
        all.extend(frame(
            1 + 2 * at,
            Kind::Credit,
            &(WINDOW - 4096).to_le_bytes(),
        ));
    }
    theirs.write_all(&all).expect("a host");
    let mut reader = theirs.try_clone().expect("a descriptor");
    let (mut seen, mut came) = (HashSet::new(), 0);
    while seen.len() < 100 {
        let mut head = [0; HEADER];
        reader.read_exact(&mut head).expect("a frame");
        let header = Header::read(head).expect("a frame");
        let mut payload = vec![0; header.length];
        reader.read_exact(&mut payload).expect("a frame");
        if header.kind == Kind::Data {
            seen.insert(header.stream);
            came += header.length;
            assert!(came < 16 << 20, "{} streams were read", seen.len());
            // A reader as fast as can be.
            let credit = (header.length as u32).to_le_bytes();
            theirs
                .write_all(&frame(header.stream, Kind::Credit, &credit))
                .expect("a host");
        }
    }
    drop((theirs, reader));
    host.join().0.expect_err("the guest is gone");
}

#[test]
fn what_hundreds_of_slow_readers_are_sent_stays_within_the_pool() {
    let (mine, theirs) = sockets();
    let (keep, kept) = std::sync::mpsc::channel();
    // The far ends are full already: what comes waits in the host.
    let answer = move |_: Open, _: u32, _: &mut Line| {
        let (far, near) = sockets();
        far.set_nonblocking(true).expect("a socket");
        while (&far).write(&[0; 4096]).is_ok() {}
        keep.send(near).expect("a test");
        Opening::Leads(Ends::sink(far.into()))
    };
    let host = Running::start(mine, Role::Host, usize::MAX, answer, |_| {});
    let guest = Running::start(
        theirs,
        Role::Guest,
        usize::MAX,
        |_, _, _| Opening::Refused,
        |line| {
            for _ in 0..300 {
                line.open(&Open::Sink, Ends::source(zero()));
            }
        },
    );
    let readers: Vec<_> = kept.iter().take(300).collect();
    stay_asleep(&[&host.pulse, &guest.pulse], "they wait awake");
    let mut pump = host.stop();
    let waits = pump.line().waiting();
    assert!(waits >= 300 * 4096, "the streams are in use: {waits}");
    assert!(waits <= POOL as usize * 2 + 300 * 8192, "{waits}");
    drop((readers, guest.stop()));
}

#[test]
fn a_guest_that_is_not_honest_ends_the_loop() {
    let (mine, mut theirs) = sockets();
    let host = Running::host(mine, usize::MAX, |_| {});
    theirs
        .write_all(&[hello(), frame(7, Kind::Data, b"x")].concat())
        .expect("a host");
    let result = host.join().0;
    assert!(
        matches!(result, Err(Fault::Violation(Violation::Stream(7)))),
        "{result:?}"
    );
}

#[test]
fn a_shared_file_keeps_its_way_of_waiting_and_never_stops_the_loop() {
    let (mine, theirs) = sockets();
    let guest = Running::guest(theirs);
    let ((from, to), (back, sink)) = (piped(), piped());
    let copies = [
        from.try_clone().expect("a descriptor").into(),
        sink.try_clone().expect("a descriptor").into(),
    ];
    let copies: [OwnedFd; 2] = copies;
    let (mut fast, fast_sink) = piped();
    let host = Running::host(mine, usize::MAX, move |line| {
        let ends = Ends {
            source: Some(from.into()),
            sink: Some(sink.into()),
            shared: true,
        };
        line.open(&Open::Echo, ends);
        line.open(&Open::Source { bytes: 0 }, Ends::sink(fast_sink.into()));
    });
    // Far more than a pipe holds comes back and is not read.
    let writer = thread::spawn(move || (&to).write_all(&noise(200_000, 3)));
    fast.read_exact(&mut vec![0; 8 << 20])
        .expect("the other stream");
    for copy in &copies {
        let flags = rustix::fs::fcntl_getfl(copy).expect("flags");
        assert!(!flags.contains(rustix::fs::OFlags::NONBLOCK));
    }
    let mut heard = vec![0; 200_000];
    (&back).read_exact(&mut heard).expect("what was said");
    assert!(heard == noise(200_000, 3));
    writer.join().expect("no panic").expect("a reader");
    drop((copies, host.stop(), guest.stop()));
}

#[test]
fn a_shared_terminal_is_written_whole_though_nobody_reads_it_for_long() {
    use rustix::fs::{Mode, OFlags};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&master)
        .and_then(|()| unlockpt(&master))
        .expect("a terminal");
    let name = ptsname(&master, Vec::new())
        .expect("a name")
        .into_string()
        .expect("a name");
    // Not this process's own, which would hang up with it where it is the first of its session.
    let flags = OFlags::RDWR | OFlags::NOCTTY;
    let terminal = rustix::fs::open(name, flags, Mode::empty()).expect("a terminal");
    let terminal = File::from(terminal);
    let (mine, theirs) = sockets();
    let guest = Running::guest(theirs);
    let copy = terminal.try_clone().expect("a descriptor");
    let host = Running::host(mine, usize::MAX, move |line| {
        let ends = Ends::sink(terminal.into()).shared();
        let id = line
            .open(&Open::Source { bytes: 0 }, ends)
            .expect("a number");
        assert!(line.mux.has(id));
    });
    stay_asleep(&[&host.pulse, &guest.pulse], "it waits awake");
    let mut master = File::from(master);
    master
        .read_exact(&mut vec![0; 1 << 20])
        .expect("what was written");
    // It can still be stopped: nothing waits in a write.
    drop((host.stop(), copy, guest));
}
