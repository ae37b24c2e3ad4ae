use super::*;
use crate::command::Streams;
use crate::counting::requests;
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
        // SAFETY: it has been waited for.
        drop(unsafe { departure.into_stack() });
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
fn nothing_on_the_way_allocates_or_frees() {
    let (control, told) = channel().unwrap();
    let (hand_in, handed) = channel().unwrap();
    let (counted, count) = rustix::pipe::pipe().unwrap();
    let null = std::fs::File::open("/dev/null").unwrap();
    let surroundings = Surroundings {
        broker: Some((
            hand_in.as_fd(),
            Rc::from(seccomp::broker_program(&Brokered::PLAIN)),
        )),
        streams: Streams {
            of: [Some(null.as_fd()), None, Some(null.as_fd())],
            terminal: None,
        },
        bounds: Bounds {
            memory: Some(1 << 40),
            processes: Some(1 << 20),
            file_size: Some(1 << 40),
            open_files: Some(256),
            ..Bounds::default()
        },
        keeper: Some(rustix::process::getpid()),
        ..surroundings()
    };
    let image = Image::new(&command(&["no-such-command"])).unwrap();
    match kernel::fork().unwrap() {
        0 => {
            let _ = rustix::thread::set_no_new_privs(true);
            let before = requests();
            let report = become_command(&image, &surroundings);
            let _ = tell(control, &report);
            let made = requests() - before;
            let _ = rustix::io::write(count, &made.to_ne_bytes());
            kernel::exit_now(0)
        }
        pid => assert_eq!(status_of(pid), 0),
    }
    let mut made = [0; size_of::<usize>()];
    rustix::io::read(counted, &mut made).unwrap();
    assert_eq!(usize::from_ne_bytes(made), 0, "pieces of memory");
    let (report, _) = receive::<Report>(&told).unwrap().unwrap();
    let errno = libc::ENOENT;
    assert_eq!(report, Report::ExecFailed { job: 7, errno });
    let (_, listeners) = receive::<crate::leader::Handed>(&handed).unwrap().unwrap();
    assert_eq!(listeners.len(), 1);
}
