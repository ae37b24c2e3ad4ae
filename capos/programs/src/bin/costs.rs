//! What the primitives cost: each is done many times between two looks at the clock, and every outcome is
//! looked at, so that what does not work has no figure. The host puts what a Linux guest takes for the
//! nearest beside it (`bailiwick bench capos`).
//!
//! Decision: submissions are written here, not by the runtime's calls, which make room for any answer.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use bailiwick_capos_core::interfaces::KernelSource;
use bailiwick_capos_core::ring::{Cqe, MessageHeader, Sqe, op};
use bailiwick_capos_programs::{cap, now};
use bailiwick_capos_rt::call::Cap;
use bailiwick_capos_rt::caps::{Grant, spawn};
use bailiwick_capos_rt::{entry, held, park, ring, thread};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

entry!(main);

/// Samples of each primitive, after one that is not told.
const SAMPLES: usize = 10;

const STACK: usize = 32 * 1024;

#[repr(align(16))]
struct Stack {
    _bytes: [u8; STACK],
}

static mut STACK_OF_OTHER: Stack = Stack { _bytes: [0; STACK] };
static PING: AtomicU32 = AtomicU32::new(0);
static PONG: AtomicU32 = AtomicU32::new(0);
static ROUNDS: AtomicU64 = AtomicU64::new(0);

/// Why there is no figure.
type Wrong = &'static str;

/// Takes samples of `times` each, and tells them.
fn measure(
    name: &str,
    times: u32,
    mut act: impl FnMut() -> Result<(), Wrong>,
) -> Result<(), Wrong> {
    let mut all: Vec<u64> = Vec::new();
    for _ in 0..=SAMPLES {
        let began = now();
        for _ in 0..times {
            act()?;
        }
        all.push(now() - began);
    }
    tell(name, times, &all[1..]);
    Ok(())
}

fn tell(name: &str, times: u32, samples: &[u64]) {
    let samples: Vec<String> = samples.iter().map(|ns| format!("{ns}")).collect();
    let line = format!("costs: {name} times={times} ns={}", samples.join(","));
    let _ = cap("console").write_line(&line);
}

fn worked(cqe: &Cqe, wrong: Wrong) -> Result<(), Wrong> {
    match cqe.result < 0 {
        true => Err(wrong),
        false => Ok(()),
    }
}

fn nop() -> Result<(), Wrong> {
    let nop = Sqe {
        opcode: op::NOP,
        user_data: ring::number(),
        ..Sqe::default()
    };
    worked(&ring::run(&nop), "a NOP fails")
}

/// A call without parameters whose result has no room and needs none.
fn plain(cap: Cap) -> Sqe {
    Sqe {
        opcode: op::CALL,
        cap_id: cap.0,
        user_data: ring::number(),
        ..Sqe::default()
    }
}

/// Answers calls, as many as there are to be.
fn serve() -> i64 {
    let gate = cap("gate");
    let mut message = [0_u8; 256];
    let mut called: Option<u32> = None;
    loop {
        if let Some(call_id) = called.take() {
            let answer = Sqe {
                opcode: op::RETURN,
                cap_id: gate.0,
                user_data: ring::number(),
                call_id,
                ..Sqe::default()
            };
            // It is taken with what is submitted next.
            if !ring::submit(&answer) {
                return 3;
            }
        }
        let receive = ring::run(&Sqe {
            opcode: op::RECV,
            cap_id: gate.0,
            user_data: ring::number(),
            result_addr: message.as_mut_ptr() as u64,
            result_len: message.len() as u32,
            ..Sqe::default()
        });
        if receive.result < MessageHeader::SIZE as i32 {
            return 4;
        }
        let method = message.first_chunk().map(MessageHeader::from_bytes);
        if method.is_none_or(|header| header.method_id == 1) {
            return 0;
        }
        called = Some(receive.call_id);
    }
}

fn calls(spawner: Cap) -> Result<(), Wrong> {
    let gate = cap("endpoint");
    let role = Grant::Kernel("role:serve", KernelSource::Null);
    let grants = [role, Grant::Copy("gate", gate)];
    let server = spawn(spawner, "server", "costs", &grants).map_err(|_| "no server")?;
    let client = Grant::Client("gate", gate, 1);
    let grants = [
        Grant::Kernel("role:call", KernelSource::Null),
        client,
        Grant::Kernel("console", KernelSource::Console),
        Grant::Kernel("timer", KernelSource::Timer),
    ];
    let caller = spawn(spawner, "caller", "costs", &grants).map_err(|_| "no caller")?;
    let ended = (caller.wait(), server.wait());
    (ended == (Ok(0), Ok(0)))
        .then_some(())
        .ok_or("a call between processes fails")
}

/// Calls the server.
fn call() -> Result<(), Wrong> {
    let gate = cap("gate");
    let wrong = "a call is not answered";
    measure("ipc", 500, || worked(&ring::run(&plain(gate)), wrong))?;
    // It is not answered: the server ends.
    let last = Sqe {
        method_id: 1,
        ..plain(gate)
    };
    ring::run(&last);
    Ok(())
}

fn processes(spawner: Cap) -> Result<(), Wrong> {
    measure("spawn", 10, || {
        let role = [Grant::Kernel("role:exit", KernelSource::Null)];
        let child = spawn(spawner, "child", "costs", &role).map_err(|_| "no child")?;
        let code = child.wait();
        let gone = child.handle.release() == 0 && child.manager.release() == 0;
        (code == Ok(9) && gone)
            .then_some(())
            .ok_or("a child does not end")
    })
}

extern "C" fn ends(_: u64, number: u32) -> ! {
    thread::end(cap("thread_control"), number, 5)
}

fn begin(entry: extern "C" fn(u64, u32) -> !) -> Result<Cap, Wrong> {
    let top = (&raw mut STACK_OF_OTHER) as u64 + STACK as u64;
    thread::begin_on(cap("thread_spawner"), entry, 0, top).map_err(|_| "no thread")
}

fn joined(thread: Cap) -> Result<(), Wrong> {
    (thread::join(thread) == Ok(5) && thread.release() == 0)
        .then_some(())
        .ok_or("a thread does not end")
}

fn wait_for(number: u32, word: &AtomicU32, value: u32) {
    loop {
        let now = word.load(Ordering::Acquire);
        if now == value {
            return;
        }
        park::park(cap("park_space"), number, word, now, u64::MAX);
    }
}

extern "C" fn answers(_: u64, number: u32) -> ! {
    for round in 1..=ROUNDS.load(Ordering::Acquire) as u32 {
        wait_for(number, &PING, round);
        PONG.store(round, Ordering::Release);
        park::unpark(cap("park_space"), &PONG, 1);
    }
    thread::end(cap("thread_control"), number, 5)
}

/// Each round parks both threads once, and wakes both.
fn parks() -> Result<(), Wrong> {
    const TIMES: u32 = 500;
    let mut round = 0;
    ROUNDS.store(u64::from(TIMES) * (SAMPLES as u64 + 1), Ordering::Release);
    let other = begin(answers)?;
    measure("park", TIMES, || {
        round += 1;
        PING.store(round, Ordering::Release);
        park::unpark(cap("park_space"), &PING, 1);
        wait_for(1, &PONG, round);
        Ok(())
    })?;
    joined(other)
}

fn pages() -> Result<(), Wrong> {
    let memory = cap("virtual_memory");
    measure("map", 200, || {
        let mapped = memory.numbers(0, &[0, 4096, 3]).map_err(|_| "no page")?;
        let at = mapped.u64(0);
        // SAFETY: the page was mapped for writing just now, and nobody else knows it.
        unsafe { (at as *mut u64).write_volatile(at) }
        memory
            .numbers(1, &[at, 4096])
            .map(drop)
            .map_err(|_| "a page stays")
    })
}

fn all() -> Result<(), Wrong> {
    let spawner = cap("process_spawner");
    let null = cap("null");
    measure("nop", 2000, nop)?;
    measure("call", 2000, || {
        worked(&ring::run(&plain(null)), "a call fails")
    })?;
    pages()?;
    processes(spawner)?;
    // Before there is a second thread: from then on each wait looks again after a while.
    calls(spawner)?;
    measure("thread", 50, || joined(begin(ends)?))?;
    parks()
}

/// Init says when it began, and has a child measure: some of what is measured is given to children alone.
fn first() -> Result<(), Wrong> {
    let text = cap("system_info").call(0, &[]).map(|info| info.text(0));
    let cpus = text
        .ok()
        .and_then(|t| Some(String::from(t.rsplit_once("cpus=")?.1)));
    let line = format!("costs: init cpus={} ns={}", cpus.ok_or("no count")?, now());
    let _ = cap("console").write_line(&line);
    let mut grants: Vec<_> = [
        KernelSource::Console,
        KernelSource::Timer,
        KernelSource::Null,
        KernelSource::Endpoint,
        KernelSource::ProcessSpawner,
        KernelSource::ThreadSpawner,
        KernelSource::ThreadControl,
        KernelSource::ParkSpace,
        KernelSource::VirtualMemory,
    ]
    .map(|source| Grant::Kernel(source.name(), source))
    .into();
    grants.push(Grant::Kernel("role:measure", KernelSource::Null));
    let child = spawn(cap("process_spawner"), "measure", "costs", &grants);
    let code = child.map_err(|_| "the child cannot be made")?.wait();
    (code == Ok(0)).then_some(()).ok_or("the child has failed")
}

fn main() -> i64 {
    if held("role:exit").is_some() {
        return 9;
    }
    if held("role:serve").is_some() {
        return serve();
    }
    if held("role:call").is_none() && held("process_spawner").is_none() {
        let _ = cap("console").write_line("costs: there is nothing to measure with");
        return 0;
    }
    let done = match (held("role:call"), held("role:measure")) {
        (Some(_), _) => call(),
        (_, Some(_)) => all(),
        _ => first(),
    };
    match done {
        Ok(()) => 0,
        Err(wrong) => {
            let _ = cap("console").write_line(&format!("costs: FAILED: {wrong}"));
            1
        }
    }
}
