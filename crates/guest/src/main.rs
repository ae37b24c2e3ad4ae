//! The one static binary of a Linux guest: PID 1 and its agent.
//!
//! Decision: nothing is started on the way to the first command, no shell, no tool, no poll: every
//! step of the start is a system call of this process, and each is timed by the guest's own clock.

mod agent;
mod audit;
mod bounds;
mod clock;
mod datagrams;
mod init;
mod jobs;
mod network;
mod power;
mod root;
mod settle;
mod stages;
mod terminal;

use std::process::ExitCode;

fn main() -> ExitCode {
    if rustix::process::getpid().as_raw_nonzero().get() == 1 {
        init::run()
    }
    eprintln!("bailiwick-guest: this is the first program of a virtual machine, and only that");
    ExitCode::from(2)
}
