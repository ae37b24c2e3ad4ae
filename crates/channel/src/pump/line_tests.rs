use super::*;
use crate::schema::{Open, ToGuest};
use std::io::Read as _;
use std::os::unix::net::UnixStream;

/// A line, and what its peer has received so far.
fn line() -> (Line, impl FnMut() -> usize) {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let read = move || {
        let mut buffer = vec![0; 1 << 20];
        theirs.read(&mut buffer).unwrap_or(0)
    };
    (Line::new(ours.into(), Role::Host).unwrap(), read)
}

#[test]
fn an_end_that_is_held_says_what_it_had_to_say_and_nothing_after_it() {
    let (mut line, mut read) = line();
    line.send(&ToGuest::Ping(1));
    let before = line.backlog();
    line.hold();
    line.send(&ToGuest::Ping(2));
    let after = line.backlog() - before;
    line.flush().unwrap();
    assert_eq!(read(), before);
    line.flush().unwrap();
    assert_eq!(read(), 0);
    line.go_on();
    line.flush().unwrap();
    assert_eq!(read(), after);
}

#[test]
fn what_does_not_fit_the_channel_at_once_is_counted_in_parts() {
    let (mut line, mut read) = line();
    for number in 0..200_000 {
        line.send(&ToGuest::Ping(number));
    }
    let before = line.backlog();
    line.hold();
    line.send(&ToGuest::Ping(0));
    let mut received = 0;
    for _ in 0..10_000 {
        line.flush().unwrap();
        received += read();
    }
    assert_eq!(received, before);
}

#[test]
fn another_greeting_ends_it_and_what_was_over_before_is_not_told() {
    let (mut line, mut read) = line();
    line.flush().unwrap();
    let _greeting = read();
    line.open(&Open::Sink, Ends::default());
    line.hold();
    line.mux = Mux::new(Role::Host);
    line.greeted();
    assert_eq!(line.next_over(), None);
    assert_eq!(line.streams(), 0);
    let greeting = line.backlog();
    line.flush().unwrap();
    assert_eq!(read(), greeting);
}
