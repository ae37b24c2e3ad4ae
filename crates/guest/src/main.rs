//! The one static binary of a Linux guest: PID 1 and its agent, and what `bailiwick doctor` and
//! `bailiwick bench` run in a machine.
//!
//! Decision: nothing is started on the way to the first command, no shell, no tool, no poll: every
//! step of the start is a system call of this process, and each is timed by the guest's own clock.

mod agent;
mod audit;
mod bench;
mod bounds;
mod callers;
mod clock;
mod datagrams;
mod disk;
mod doctor;
mod files;
mod init;
mod jobs;
mod load;
mod network;
mod power;
mod reached;
mod root;
mod settle;
mod share;
mod stages;
mod terminal;
mod wires;
mod writeback;

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let given: Vec<OsString> = std::env::args_os().skip(1).collect();
    let words = given.iter();
    let mut words = words.map(|word| word.to_string_lossy().into_owned());
    if rustix::process::getpid().as_raw_nonzero().get() == 1 {
        // The host gives the kernel its words. Those of a bare machine of the benchmarks have one for
        // its first program, which has no other way to be told anything.
        match words.next().as_deref() {
            Some("bench") => bench::first(words),
            _ => init::run(),
        }
    }
    match words.next().as_deref() {
        Some("doctor") => doctor::run(words),
        Some("stream") => doctor::stream(words),
        Some("bench") => bench::run(words),
        Some("share") => bailiwick_share::run(given.get(1..).unwrap_or_default()),
        Some(what @ ("pack" | "list" | "unpack")) => files::run(what, given.into_iter().skip(1)),
        _ => {
            eprintln!(
                "bailiwick-guest: this is the first program of a virtual machine; besides, it can be \
                 asked for `bench`, `doctor`, `stream`, `share`, `pack`, `list` and `unpack`"
            );
            ExitCode::from(2)
        }
    }
}
