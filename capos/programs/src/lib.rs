//! What the programs share: how a smoke says what it found.
#![no_std]

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;
use bailiwick_capos_core::interfaces::KernelSource;
use bailiwick_capos_core::message::Builder;
use bailiwick_capos_core::ring::{Mode, Transfer};
use bailiwick_capos_rt::call::{Cap, Failed};
use bailiwick_capos_rt::caps::{Child, Grant, spawn};
use bailiwick_capos_rt::{held, sys};

pub mod memory;
pub mod scale;

/// A smoke: steps that hold or do not, told on the console. The verifier on the host counts them.
#[derive(Debug)]
pub struct Smoke {
    console: Cap,
    name: &'static str,
    steps: u32,
    failed: u32,
}

impl Smoke {
    /// A smoke of this name, which was given a console.
    pub fn begin(name: &'static str) -> Option<Self> {
        Some(Self {
            console: held("console")?,
            name,
            steps: 0,
            failed: 0,
        })
    }

    /// Tells a line.
    pub fn say(&self, text: &str) {
        let _ = self
            .console
            .write_line(&alloc::format!("{}: {text}", self.name));
    }

    /// A step.
    pub fn check(&mut self, what: &str, holds: bool) -> bool {
        self.steps += 1;
        if !holds {
            self.failed += 1;
            self.say(&alloc::format!("FAILED: {what}"));
        }
        holds
    }

    /// Tells the outcome; the code of the program.
    pub fn end(self) -> i64 {
        let Self { steps, failed, .. } = self;
        self.say(&alloc::format!("steps={steps} failed={failed}"));
        i64::from(failed != 0)
    }
}

/// A capability that a smoke cannot do without; a smoke that was not given it ends.
pub fn cap(name: &str) -> Cap {
    held(name).unwrap_or_else(|| {
        if let Some(console) = held("console") {
            let _ = console.write_line(&alloc::format!("smoke: {name} is not held"));
        }
        sys::exit(2)
    })
}

/// How many processors the kernel counts.
pub fn processors() -> usize {
    let text = cap("system_info").call(0, &[]).map(|answer| answer.text(0));
    let count = text
        .ok()
        .and_then(|t| t.rsplit_once("cpus=")?.1.parse().ok());
    count.unwrap_or(1)
}

/// What every child of a smoke is given beside its role.
const COMMON: [KernelSource; 7] = [
    KernelSource::Console,
    KernelSource::Timer,
    KernelSource::ParkSpace,
    KernelSource::ThreadSpawner,
    KernelSource::ThreadControl,
    KernelSource::VirtualMemory,
    KernelSource::FrameAllocator,
];

/// Starts `child` (bin/child.rs) in a role, which it knows by the name of a capability that does nothing.
pub fn child(role: &str, more: &[Grant<'_>]) -> Result<Child, Failed> {
    child_of("child", role, more)
}

/// Starts another program of the manifest in the same way: a smoke that is its own child.
pub fn child_of(program: &str, role: &str, more: &[Grant<'_>]) -> Result<Child, Failed> {
    let role_cap = alloc::format!("role:{role}");
    let mut grants = vec![Grant::Kernel(&role_cap, KernelSource::Null)];
    grants.extend(COMMON.map(|source| Grant::Kernel(source.name(), source)));
    grants.extend_from_slice(more);
    spawn(cap("process_spawner"), role, program, &grants)
}

/// Sleeps so many milliseconds.
pub fn sleep(milliseconds: u64) {
    let _ = cap("timer").numbers(1, &[milliseconds * 1_000_000]);
}

/// Nanoseconds since the start.
pub fn now() -> u64 {
    cap("timer").call(0, &[]).map_or(0, |answer| answer.u64(0))
}

/// The kind of an exception (1 overloaded, 2 disconnected, 3 unimplemented, 4 invalid argument) or, below
/// zero, what the transport said; 0 if it worked.
pub fn outcome<T>(result: &Result<T, Failed>) -> i32 {
    match result {
        Ok(_) => 0,
        Err(failed) => failed.exception.map_or(failed.code, i32::from),
    }
}

/// What [`outcome`] says.
pub const OVERLOADED: i32 = 1;
/// See [`OVERLOADED`].
pub const DISCONNECTED: i32 = 2;
/// See [`OVERLOADED`].
pub const UNIMPLEMENTED: i32 = 3;
/// See [`OVERLOADED`].
pub const INVALID: i32 = 4;

/// A pipe's ends, to read and to write.
pub fn pipe(size: u64) -> Option<(Cap, Cap)> {
    let answer = cap("process_spawner").numbers(1, &[size]).ok()?;
    Some((*answer.caps.first()?, *answer.caps.get(1)?))
}

/// A message that is bytes.
pub fn data_message(data: &[u8]) -> Vec<u8> {
    let mut builder = Builder::new(0, 1);
    let root = builder.root();
    builder.set_data(root, 0, data);
    builder.finish()
}

/// What is told about a capability that is passed on.
pub fn transfer(cap: Cap, mode: Mode) -> Transfer {
    Transfer {
        cap_id: cap.0,
        mode,
    }
}
