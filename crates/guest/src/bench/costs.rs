//! What this kernel's primitives cost, as the nearest to those of the capability kernel: the same program
//! shape (many times between two looks at the clock, every outcome looked at) and the same lines on the
//! console, so that the host reads both alike.

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::process::{getpid, getppid};
use rustix::thread::futex;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// Samples of each primitive, after one that is not told.
const SAMPLES: usize = 10;
/// This program, as a bare machine has it.
const OWN: &str = "/init";

type Outcome = Result<(), String>;

fn told(errno: Errno) -> String {
    errno.to_string()
}

/// Takes samples of `times` each, and tells them.
fn measure(name: &str, times: u32, mut act: impl FnMut() -> Outcome) -> Outcome {
    let mut all = Vec::new();
    for _ in 0..=SAMPLES {
        let began = Instant::now();
        for _ in 0..times {
            act()?;
        }
        all.push(began.elapsed().as_nanos().to_string());
    }
    let told = all.get(1..).unwrap_or_default().join(",");
    println!("costs: {name} times={times} ns={told}");
    Ok(())
}

/// Takes them all; what goes wrong has no figure.
pub(super) fn costs() {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    println!("costs: init cpus={cpus} ns=0");
    let own = getpid();
    let same = |ok: bool| ok.then_some(()).ok_or("another process".to_owned());
    let done = measure("nop", 2000, || same(getpid() == own))
        .and_then(|()| measure("call", 2000, || same(getppid().is_none())))
        .and_then(|()| measure("map", 200, page))
        .and_then(|()| measure("spawn", 10, process))
        .and_then(|()| calls(cpus))
        .and_then(|()| measure("thread", 50, thread))
        .and_then(|()| parks());
    if let Err(why) = done {
        println!("costs: FAILED: {why}");
    }
    println!("costs: end");
}

fn page() -> Outcome {
    let rights = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at no given address; it is written to within its page, and taken away before
    // anybody else knows of it.
    unsafe {
        let at =
            mmap_anonymous(std::ptr::null_mut(), 4096, rights, MapFlags::PRIVATE).map_err(told)?;
        at.cast::<u64>().write_volatile(at as u64);
        munmap(at, 4096).map_err(told)
    }
}

fn process() -> Outcome {
    let ended = Command::new(OWN)
        .args(["bench", "nothing"])
        .stdin(Stdio::null())
        .status();
    match ended {
        Ok(status) if status.code() == Some(9) => Ok(()),
        Ok(status) => Err(format!("a child ended with {status}")),
        Err(error) => Err(error.to_string()),
    }
}

fn thread() -> Outcome {
    match std::thread::spawn(|| 5).join() {
        Ok(5) => Ok(()),
        _ => Err("a thread did not end".to_owned()),
    }
}

fn stay_on(cpu: usize) -> Outcome {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(told)
}

/// A byte there and back by two pipes, between two processes: on one processor, or on two where there are.
fn calls(cpus: usize) -> Outcome {
    let io = |error: std::io::Error| error.to_string();
    let mut other = Command::new(OWN)
        .args(["bench", "echo", &(cpus - 1).to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(io)?;
    let ends = other.stdin.take().zip(other.stdout.take());
    let (mut there, mut back) = ends.ok_or("no pipes")?;
    stay_on(0)?;
    measure("ipc", 500, || {
        let mut byte = [0];
        there.write_all(&[7]).map_err(io)?;
        back.read_exact(&mut byte).map_err(io)?;
        (byte == [7]).then_some(()).ok_or("another byte".to_owned())
    })?;
    drop(there);
    let status = other.wait().map_err(io)?;
    let mut all = CpuSet::new();
    (0..cpus).for_each(|cpu| all.set(cpu));
    sched_setaffinity(None, &all).map_err(told)?;
    status
        .success()
        .then_some(())
        .ok_or("the echo failed".to_owned())
}

/// The other side of [`calls`], on this processor.
pub(super) fn echo(cpu: &str) -> Outcome {
    let io = |error: std::io::Error| error.to_string();
    stay_on(cpu.parse().map_err(|_| "no number")?)?;
    let (mut from, mut to) = (std::io::stdin().lock(), std::io::stdout());
    let mut byte = [0];
    while from.read(&mut byte).map_err(io)? == 1 {
        to.write_all(&byte).map_err(io)?;
        to.flush().map_err(io)?;
    }
    Ok(())
}

fn wait_for(word: &AtomicU32, value: u32) -> Outcome {
    loop {
        let now = word.load(Ordering::Acquire);
        if now == value {
            return Ok(());
        }
        match futex::wait(word, futex::Flags::PRIVATE, now, None) {
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(told(error)),
        }
    }
}

fn wake(word: &AtomicU32, value: u32) -> Outcome {
    word.store(value, Ordering::Release);
    futex::wake(word, futex::Flags::PRIVATE, 1)
        .map(drop)
        .map_err(told)
}

/// Each round two threads wait once, and wake each other.
fn parks() -> Outcome {
    const TIMES: u32 = 500;
    let words = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
    let others = words.clone();
    let other = std::thread::spawn(move || -> Outcome {
        for round in 1..=TIMES * (SAMPLES as u32 + 1) {
            wait_for(&others[0], round)?;
            wake(&others[1], round)?;
        }
        Ok(())
    });
    let mut round = 0;
    measure("park", TIMES, || {
        round += 1;
        wake(&words[0], round)?;
        wait_for(&words[1], round)
    })?;
    other.join().map_err(|_| "the other thread".to_owned())?
}
