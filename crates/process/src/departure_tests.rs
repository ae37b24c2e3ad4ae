use super::*;
use crate::command::Streams;
use crate::counting::allocations;
use crate::limits::Bounds;
use crate::message::{Report, channel, receive};
use crate::seccomp::{self, Brokered};
use crate::setup::Command;
use rustix::fd::AsFd;
use rustix::fs::Mode;
use rustix::process::{Pid, WaitOptions, waitpid};
use std::rc::Rc;

fn command(words: &[&str]) -> Command {
    Command {
        argv: words.iter().map(Into::into).collect(),
        cwd: "/".into(),
        environment: vec![("PATH".into(), "/nowhere:/usr/bin:/bin".into())],
    }
}

fn surroundings() -> Surroundings<'static> {
    Surroundings {
        job: 7,
        streams: Streams::default(),
        umask: Mode::from_raw_mode(0o022),
        bounds: Bounds::default(),
        broker: None,
        keeper: None,
        bare: false,
    }
}

fn status_of(pid: i32) -> i32 {
    let (_, status) = waitpid(Pid::from_raw(pid), WaitOptions::empty())
        .unwrap()
        .unwrap();
    status.exit_status().unwrap()
}

#[test]
fn commands_start_while_this_process_goes_on_to_use_its_memory() {
    let (control, _told) = channel().unwrap();
    let mut started: Vec<_> = (0..64)
        .map(|n| {
            let image = Image::new(&command(&["sh", "-c", &format!("exit {n}")])).unwrap();
            let stack = Stack::new();
            let departure = Departure::start(stack, image, &surroundings(), control.as_fd());
            // What this thread allocates, and the errors that it gets, are not the process's.
            let garbage: Vec<_> = (0..100).map(|n| vec![n; n]).collect();
            assert!(std::fs::File::open("/nowhere").is_err());
            assert_eq!(garbage[99].len(), 99);
            (n, departure.unwrap())
        })
        .collect();
    for (n, (pid, departure)) in started.drain(..) {
        assert_eq!(status_of(pid), n);
        let _ = departure.into_stack();
    }
}

#[test]
fn a_command_that_is_not_there_is_told() {
    let (control, told) = channel().unwrap();
    let image = Image::new(&command(&["no-such-command"])).unwrap();
    let started = Departure::start(Stack::new(), image, &surroundings(), control.as_fd());
    let (pid, _departure) = started.unwrap();
    assert_eq!(status_of(pid), 127);
    let (report, _) = receive::<Report>(&told).unwrap().unwrap();
    let errno = libc::ENOENT;
    assert_eq!(report, Report::ExecFailed { job: 7, errno });
}

/// The invariant of the whole way: in a copy of this process, which it changes.
#[test]
fn nothing_on_the_way_allocates() {
    let (control, told) = channel().unwrap();
    let (hand_in, handed) = channel().unwrap();
    let program = seccomp::broker_program(&Brokered::PLAIN);
    let surroundings = Surroundings {
        broker: Some((hand_in.as_fd(), Rc::from(program))),
        ..surroundings()
    };
    let image = Image::new(&command(&["no-such-command"])).unwrap();
    match kernel::fork().unwrap() {
        0 => {
            let _ = rustix::thread::set_no_new_privs(true);
            let before = allocations();
            let report = become_command(&image, &surroundings);
            let _ = tell(control, &report);
            kernel::exit_now(i32::try_from(allocations() - before).unwrap_or(i32::MAX))
        }
        pid => assert_eq!(status_of(pid), 0, "allocations"),
    }
    let (report, _) = receive::<Report>(&told).unwrap().unwrap();
    let errno = libc::ENOENT;
    assert_eq!(report, Report::ExecFailed { job: 7, errno });
    let (_, listeners) = receive::<crate::leader::Handed>(&handed).unwrap().unwrap();
    assert_eq!(listeners.len(), 1);
}
