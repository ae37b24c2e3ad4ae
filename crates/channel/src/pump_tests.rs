#[path = "pump_rest.rs"]
pub(super) mod rest;

use super::*;
use crate::frame::Kind;
use crate::hello::Role;
use crate::mux::Mux;
use crate::schema::{Open, ToGuest, ToHost};
use rest::{Pulse, rest, stay_asleep};
use rustix::fd::OwnedFd;
use std::fs::File;
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

type Begin = Box<dyn FnOnce(&mut Line) + Send>;
type Answer = Box<dyn FnMut(Open, u32, &mut Line) -> Opening + Send>;

/// A handler of which a test says what it answers.
pub(super) struct Hand {
    answer: Answer,
    begin: Option<Begin>,
    heard: Arc<AtomicUsize>,
    full: Arc<AtomicBool>,
    over: Vec<u32>,
    /// Done when so many streams are over.
    until: usize,
    stopped: bool,
}

impl Handler for Hand {
    fn hello(&mut self, line: &mut Line) -> Result<(), Fault> {
        if let Some(begin) = self.begin.take() {
            begin(line);
        }
        Ok(())
    }

    fn message(&mut self, bytes: &[u8], line: &mut Line) -> Result<(), Fault> {
        self.heard.fetch_add(1, Ordering::SeqCst);
        if let Ok(ToGuest::Ping(number)) = Mux::decode(bytes, Kind::Message) {
            line.send(&ToHost::Pong(number));
        }
        Ok(())
    }

    fn opened(&mut self, id: u32, open: &[u8], line: &mut Line) -> Result<Opening, Fault> {
        Ok((self.answer)(Mux::decode(open, Kind::Open)?, id, line))
    }

    fn over(&mut self, id: u32, _: &mut Line) {
        self.over.push(id);
    }

    fn ready(&mut self, token: u32, _: &mut Line) -> Result<(), Fault> {
        match token {
            0 => self.stopped = true,
            // The reader takes what waits.
            _ => self.full.store(false, Ordering::SeqCst),
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.full.load(Ordering::SeqCst)
    }

    fn is_done(&self) -> bool {
        self.stopped || self.over.len() >= self.until
    }
}

/// A loop in a thread of its own.
pub(super) struct Running {
    stop: Option<PipeWriter>,
    pub(super) pulse: Pulse,
    heard: Arc<AtomicUsize>,
    thread: JoinHandle<Ended>,
}

type Ended = (Result<(), Fault>, Pump<Hand>);

/// Has a loop run in a thread of its own, which keeps what it watches.
fn spawn(mut pump: Pump<Hand>, watched: impl Send + 'static) -> (Pulse, JoinHandle<Ended>) {
    let (tell, told) = std::sync::mpsc::channel();
    let thread = thread::spawn(move || {
        tell.send(Pulse::here(pump.turns.clone())).expect("a test");
        let result = pump.run();
        drop(watched);
        (result, pump)
    });
    (told.recv().expect("a thread"), thread)
}

impl Running {
    pub(super) fn start(
        file: UnixStream,
        role: Role,
        until: usize,
        answer: impl FnMut(Open, u32, &mut Line) -> Opening + Send + 'static,
        begin: impl FnOnce(&mut Line) + Send + 'static,
    ) -> Self {
        let heard = Arc::<AtomicUsize>::default();
        let hand = Hand {
            answer: Box::new(answer),
            begin: Some(Box::new(begin)),
            heard: heard.clone(),
            full: Arc::default(),
            over: Vec::new(),
            until,
            stopped: false,
        };
        let mut pump = Pump::new(Line::new(file.into(), role).expect("a line"), hand);
        let (stopped, stop) = pipe().expect("a pipe");
        pump.line().watch(&stopped, 0).expect("watched");
        let (pulse, thread) = spawn(pump, stopped);
        Self {
            stop: Some(stop),
            pulse,
            heard,
            thread,
        }
    }

    /// An end that answers as a guest does.
    pub(super) fn guest(file: UnixStream) -> Self {
        Self::start(file, Role::Guest, usize::MAX, answer, |_| {})
    }

    pub(super) fn host(
        file: UnixStream,
        until: usize,
        begin: impl FnOnce(&mut Line) + Send + 'static,
    ) -> Self {
        Self::start(file, Role::Host, until, answer, begin)
    }

    /// Waits until it is done.
    pub(super) fn join(mut self) -> Ended {
        let stop = self.stop.take();
        let deadline = Instant::now() + Duration::from_secs(120);
        while !self.thread.is_finished() {
            assert!(Instant::now() < deadline, "the loop does not end");
            sleep(Duration::from_millis(1));
        }
        drop(stop);
        self.thread.join().expect("no panic")
    }

    pub(super) fn stop(mut self) -> Pump<Hand> {
        self.stop = None;
        self.join().1
    }
}

pub(super) fn zero() -> OwnedFd {
    File::open("/dev/zero").expect("a file").into()
}

fn null() -> OwnedFd {
    File::options()
        .write(true)
        .open("/dev/null")
        .expect("a file")
        .into()
}

pub(super) fn piped() -> (PipeReader, PipeWriter) {
    pipe().expect("a pipe")
}

pub(super) fn sockets() -> (UnixStream, UnixStream) {
    UnixStream::pair().expect("sockets")
}

/// Echo by a pipe, by what is bound to be ready, or by a socket's two directions.
pub(super) fn answer(open: Open, _: u32, _: &mut Line) -> Opening {
    Opening::Leads(match open {
        Open::Echo => {
            let (reader, writer) = piped();
            Ends {
                source: Some(reader.into()),
                sink: Some(writer.into()),
                shared: false,
            }
        }
        Open::Source { .. } => Ends::source(zero()),
        Open::Sink => Ends::sink(null()),
        _ => return Opening::Refused,
    })
}

pub(super) fn noise(length: usize, seed: usize) -> Vec<u8> {
    (0..length)
        .map(|at| (at * 7 + (at >> 8) * 13 + seed) as u8)
        .collect()
}

fn file(bytes: &[u8]) -> File {
    let file = rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::CLOEXEC).expect("a file");
    let mut file = File::from(file);
    file.write_all(bytes).expect("written");
    std::io::Seek::rewind(&mut file).expect("a file");
    file
}

#[test]
fn many_streams_echo_at_once_by_pipes_sockets_and_files() {
    let (mine, theirs) = sockets();
    let guest = Running::guest(theirs);
    let (mut ends, mut readers, mut files) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..12 {
        let bytes = noise(600_000 + at, at);
        match at % 3 {
            0 => {
                let ((from, mut to), (mut back, sink)) = (piped(), piped());
                ends.push(Ends {
                    source: Some(from.into()),
                    sink: Some(sink.into()),
                    shared: at % 2 == 0,
                });
                let said = bytes.clone();
                thread::spawn(move || to.write_all(&said).expect("a reader"));
                readers.push(thread::spawn(move || {
                    let mut heard = Vec::new();
                    back.read_to_end(&mut heard).expect("an end");
                    assert!(heard == bytes, "pipe {at}");
                }));
            }
            1 => {
                let (far, near) = sockets();
                ends.push(Ends::both(far.into()).expect("a descriptor"));
                let mut writer = near.try_clone().expect("a descriptor");
                let said = bytes.clone();
                thread::spawn(move || {
                    writer.write_all(&said).expect("a reader");
                    writer
                        .shutdown(std::net::Shutdown::Write)
                        .expect("a socket");
                });
                readers.push(thread::spawn(move || {
                    let mut heard = Vec::new();
                    (&near).read_to_end(&mut heard).expect("an end");
                    assert!(heard == bytes, "socket {at}");
                }));
            }
            _ => {
                let into = file(b"");
                let copy = into.try_clone().expect("a descriptor");
                ends.push(Ends {
                    source: Some(file(&bytes).into()),
                    sink: Some(into.into()),
                    shared: false,
                });
                files.push((copy, bytes));
            }
        }
    }
    let host = Running::host(mine, 12, move |line| {
        for ends in ends {
            line.open(&Open::Echo, ends).expect("a number");
        }
    });
    let (result, mut pump) = host.join();
    result.expect("an honest guest");
    assert_eq!(pump.line().streams(), 0);
    readers
        .into_iter()
        .for_each(|reader| reader.join().expect("what was said"));
    for (at, (mut copy, bytes)) in files.into_iter().enumerate() {
        let mut heard = Vec::new();
        std::io::Seek::rewind(&mut copy).expect("a file");
        copy.read_to_end(&mut heard).expect("an end");
        assert!(heard == bytes, "file {at}");
    }
    let mut guest = guest.stop();
    assert_eq!(
        (guest.line().streams(), guest.handler().over.len()),
        (0, 12)
    );
}

#[test]
fn a_slow_reader_stops_its_own_stream_alone() {
    let (mine, theirs) = sockets();
    let guest = Running::guest(theirs);
    let ((slow, slow_sink), (mut fast, fast_sink)) = (piped(), piped());
    let host = Running::host(mine, usize::MAX, move |line| {
        let open = Open::Source { bytes: 0 };
        line.open(&open, Ends::sink(slow_sink.into()));
        line.open(&open, Ends::sink(fast_sink.into()));
    });
    let mut bytes = vec![1; 16 << 20];
    fast.read_exact(&mut bytes).expect("the fast stream");
    assert!(bytes.iter().all(|byte| *byte == 0));
    drop(fast);
    stay_asleep(&[&host.pulse, &guest.pulse], "the slow one keeps it awake");
    drop((slow, host.stop(), guest));
}

#[test]
fn a_reader_that_is_gone_ends_an_endless_stream() {
    let (mine, theirs) = sockets();
    let guest = Running::start(theirs, Role::Guest, 1, answer, |_| {});
    let (reader, sink) = piped();
    let host = Running::host(mine, 1, move |line| {
        line.open(&Open::Source { bytes: 0 }, Ends::sink(sink.into()));
    });
    // All is full, and both wait.
    rest(&[&host.pulse, &guest.pulse]);
    drop(reader);
    host.join().0.expect("an honest guest");
    guest.join().0.expect("an honest host");
}

#[test]
fn an_end_goes_one_way_and_the_answer_comes_the_other() {
    let (mine, theirs) = sockets();
    let (far, server) = sockets();
    let far = Ends::both(far.into()).expect("a descriptor");
    let mut far = Some(far);
    let guest = move |_: Open, _: u32, _: &mut Line| Opening::Leads(far.take().expect("once"));
    let guest = Running::start(theirs, Role::Guest, 1, guest, |_| {});
    let (near, client) = sockets();
    let host = Running::host(mine, 1, move |line| {
        let ends = Ends::both(near.into()).expect("a descriptor");
        line.open(&Open::Inward { port: 1 }, ends);
    });
    (&client).write_all(b"question").expect("a reader");
    client
        .shutdown(std::net::Shutdown::Write)
        .expect("a socket");
    let mut heard = Vec::new();
    (&server).read_to_end(&mut heard).expect("an end");
    assert_eq!(heard, b"question");
    stay_asleep(&[&host.pulse, &guest.pulse], "half closed, and awake");
    (&server).write_all(b"answer").expect("a reader");
    drop(server);
    let mut heard = Vec::new();
    (&client).read_to_end(&mut heard).expect("an end");
    assert_eq!(heard, b"answer");
    host.join().0.expect("an honest guest");
    guest.join().0.expect("an honest host");
}

#[test]
fn the_last_words_of_a_connection_are_heard_though_it_takes_nothing_more() {
    let (mine, theirs) = sockets();
    let mut far = None;
    let (inner, server) = sockets();
    far.replace(Ends::both(inner.into()).expect("a descriptor"));
    (&server).write_all(&noise(50_000, 1)).expect("room");
    // Nobody reads what comes.
    drop(server);
    let guest = move |_: Open, _: u32, _: &mut Line| Opening::Leads(far.take().expect("once"));
    let guest = Running::start(theirs, Role::Guest, 1, guest, |_| {});
    let (near, client) = sockets();
    (&client)
        .write_all(b"a question that comes too late")
        .expect("room");
    let host = Running::host(mine, 1, move |line| {
        let ends = Ends::both(near.into()).expect("a descriptor");
        line.open(&Open::Inward { port: 1 }, ends);
    });
    let mut heard = Vec::new();
    let _ = (&client).read_to_end(&mut heard);
    assert!(heard == noise(50_000, 1), "{} bytes", heard.len());
    drop(client);
    host.join().0.expect("an honest guest");
    guest.join().0.expect("an honest host");
}

#[test]
fn what_comes_before_a_stream_has_files_waits_for_them() {
    let (mine, theirs) = sockets();
    let (mut reader, sink) = piped();
    let (told, later) = std::sync::mpsc::channel();
    let guest = move |_: Open, id: u32, _: &mut Line| {
        told.send(id).expect("a test");
        Opening::Later
    };
    let guest = Running::start(theirs, Role::Guest, 1, guest, |_| {});
    let host = Running::host(mine, usize::MAX, |line| {
        line.open(&Open::Stdio, Ends::source(file(b"early").into()));
    });
    let id = later.recv().expect("an open");
    rest(&[&host.pulse, &guest.pulse]);
    let mut pump = guest.stop();
    pump.line().attach(id, Ends::sink(sink.into()));
    pump.line().flush().expect("a host");
    let mut heard = Vec::new();
    reader.read_to_end(&mut heard).expect("an end");
    assert_eq!(heard, b"early");
    assert!(!pump.line().mux.has(id));
    host.stop();
}

#[test]
fn a_stream_without_files_that_is_reset_is_told_of() {
    let (mine, theirs) = sockets();
    let guest = Running::start(theirs, Role::Guest, 1, |_, _, _| Opening::Later, |_| {});
    let host = Running::host(mine, usize::MAX, |line| {
        let id = line.open_later(&Open::Stdio).expect("a number");
        line.reset(id);
    });
    assert_eq!(guest.join().1.handler().over.len(), 1);
    host.stop();
}

#[test]
fn streams_that_are_opened_before_the_greeting_keep_their_files() {
    let (mine, theirs) = sockets();
    let (mut reader, sink) = piped();
    let hand = Running::host(mine, 1, |_| {});
    // The guest's loop is begun with a stream.
    let mut line = Line::new(theirs.into(), Role::Guest).expect("a line");
    line.open(
        &Open::Echo,
        Ends {
            source: Some(file(b"first").into()),
            sink: Some(sink.into()),
            shared: false,
        },
    );
    let guest = Hand {
        answer: Box::new(answer),
        begin: None,
        heard: Arc::default(),
        full: Arc::default(),
        over: Vec::new(),
        until: 1,
        stopped: false,
    };
    Pump::new(line, guest).run().expect("an honest host");
    let mut heard = Vec::new();
    reader.read_to_end(&mut heard).expect("an end");
    assert_eq!(heard, b"first");
    hand.join().0.expect("an honest guest");
}

#[test]
fn a_handler_that_is_full_stops_the_peer_and_goes_on_when_it_is_not() {
    let (mine, theirs) = sockets();
    let (full, has_room) = (Arc::new(AtomicBool::new(true)), piped());
    let heard = Arc::<AtomicUsize>::default();
    let hand = Hand {
        answer: Box::new(answer),
        begin: None,
        heard: heard.clone(),
        full: full.clone(),
        over: Vec::new(),
        until: usize::MAX,
        stopped: false,
    };
    let mut pump = Pump::new(Line::new(theirs.into(), Role::Guest).expect("a line"), hand);
    let (stopped, stop) = piped();
    pump.line().watch(&stopped, 0).expect("watched");
    pump.line().watch(&has_room.0, 1).expect("watched");
    let (pulse, thread) = spawn(pump, stopped);
    let host = Running::host(mine, usize::MAX, |line| {
        for number in 0..1000 {
            line.send(&ToGuest::Ping(number));
        }
    });
    stay_asleep(&[&host.pulse, &pulse], "it waits awake");
    assert_eq!(heard.load(Ordering::SeqCst), 0);
    (&has_room.1).write_all(b"x").expect("a reader");
    let deadline = Instant::now() + Duration::from_secs(120);
    while host.heard.load(Ordering::SeqCst) < 1000 {
        assert!(Instant::now() < deadline, "the answers do not come");
        sleep(Duration::from_millis(1));
    }
    drop(stop);
    thread.join().expect("no panic").0.expect("an honest host");
    host.stop();
}

#[test]
fn a_loop_whose_peer_is_gone_ends() {
    let (mine, theirs) = sockets();
    let host = Running::host(mine, usize::MAX, |_| {});
    drop(theirs);
    assert!(matches!(host.join().0, Err(Fault::Io(_))));
}

#[test]
fn a_stream_that_is_reset_breaks_its_connection_off() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = server.local_addr().expect("an address");
    let client = std::net::TcpStream::connect(address).expect("a connection");
    let (accepted, _) = server.accept().expect("a connection");
    let (mine, theirs) = sockets();
    let guest = move |_: Open, id: u32, line: &mut Line| {
        line.reset(id);
        Opening::Later
    };
    let guest = Running::start(theirs, Role::Guest, usize::MAX, guest, |_| {});
    let host = Running::host(mine, 1, move |line| {
        let ends = Ends::both(accepted.into()).expect("a descriptor");
        line.open(&Open::Echo, ends);
    });
    let end = (&client).read(&mut [0; 9]).expect_err("no end");
    assert_eq!(end.kind(), io::ErrorKind::ConnectionReset);
    host.join().0.expect("an honest guest");
    assert_eq!(guest.stop().line().streams(), 0);
}

#[test]
fn a_source_that_fails_resets_its_stream() {
    let (mine, theirs) = sockets();
    let folder = File::open("/").expect("a folder");
    let guest = Running::start(theirs, Role::Guest, 1, answer, |_| {});
    // A folder cannot be read.
    let host = Running::host(mine, 1, move |line| {
        line.open(&Open::Sink, Ends::source(folder.into()));
    });
    assert_eq!(host.join().1.handler().over.len(), 1);
    // The host is gone by now.
    assert_eq!(guest.join().1.handler().over.len(), 1);
}

#[test]
fn a_shared_socket_goes_on_for_its_other_users() {
    let (mine, theirs) = sockets();
    let guest = |_: Open, _: u32, _: &mut Line| Opening::Leads(Ends::source(file(b"said").into()));
    let guest = Running::start(theirs, Role::Guest, 1, guest, |_| {});
    let (near, mut far) = sockets();
    let copy = near.try_clone().expect("a descriptor");
    let host = Running::host(mine, 1, move |line| {
        line.open(&Open::Stdio, Ends::sink(near.into()).shared());
    });
    host.join().0.expect("an honest guest");
    (&copy).write_all(b", and more").expect("a reader");
    drop(copy);
    let mut heard = Vec::new();
    far.read_to_end(&mut heard).expect("an end");
    assert_eq!(heard, b"said, and more");
    guest.join().0.expect("an honest host");
}

#[test]
fn what_was_said_to_its_end_is_written_though_a_reset_follows() {
    let (mine, theirs) = sockets();
    let (mut reader, sink) = piped();
    let (from, to) = piped();
    let host = Running::host(mine, 1, move |line| {
        let ends = Ends {
            source: Some(from.into()),
            sink: Some(sink.into()),
            shared: false,
        };
        line.open(&Open::Echo, ends);
    });
    // More than the pipe holds.
    let bytes = noise(100_000, 5);
    let said = file(&bytes);
    let guest = move |_: Open, _: u32, _: &mut Line| {
        let (gone, sink) = piped();
        drop(gone);
        let source = said.try_clone().expect("a descriptor");
        Opening::Leads(Ends {
            source: Some(source.into()),
            sink: Some(sink.into()),
            shared: false,
        })
    };
    let guest = Running::start(theirs, Role::Guest, usize::MAX, guest, |_| {});
    let mut heard = vec![0; 30_000];
    reader.read_exact(&mut heard).expect("the beginning");
    rest(&[&host.pulse, &guest.pulse]);
    // Nobody reads this: the guest resets the stream.
    (&to).write_all(b"x").expect("a reader");
    rest(&[&host.pulse, &guest.pulse]);
    reader.read_to_end(&mut heard).expect("an end");
    assert!(heard == bytes, "{} bytes", heard.len());
    host.join().0.expect("an honest guest");
    assert_eq!(guest.stop().handler().over.len(), 1);
}
