//! A hostile first program (`crates/guest/examples/hostile.rs`): what it sends costs the host little,
//! gives it nothing, and ends in one clear line.

use crate::support::{Sandbox, wait};
use crate::watch::{Cost, cost, median};
use crate::{LONG, alone, cache, machine, seconds};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// What a hostile guest may cost, in KiB.
const MOST: u64 = 16 << 10;
/// Sockets of datagrams, which stay until others take their places.
const SENDERS: u64 = 128;

/// The binary.
fn binary() -> PathBuf {
    let built = "x86_64-unknown-linux-musl/release/examples/hostile";
    let own = std::env::current_exe().unwrap();
    let target = || own.ancestors().nth(3).unwrap().join(built);
    let given = std::env::var_os("BAILIWICK_HOSTILE_GUEST").map(PathBuf::from);
    given.unwrap_or_else(target)
}

/// A machine with this guest. What is kept of it, and it is never used again, is the test's own.
fn hostile(mode: &str, seed: u64, seconds: u64) -> Sandbox {
    let mut bytes = fs::read(binary()).expect("the hostile guest, which has to be built");
    bytes.extend(format!("BAILIWICK-HOSTILE {mode} {seed} {seconds}\n").as_bytes());
    let sandbox = machine();
    let guest = sandbox.scratch().program("hostile", bytes);
    let own = sandbox.scratch().root().join("cache");
    fs::create_dir_all(own.join("bailiwick")).unwrap();
    for part in ["images", "parts", "accelerator"] {
        let kept = cache().join("bailiwick").join(part);
        std::os::unix::fs::symlink(kept, own.join("bailiwick").join(part)).unwrap();
    }
    sandbox
        .host_env("XDG_CACHE_HOME", own)
        .host_env("BAILIWICK_GUEST", guest)
        .option("--cold")
        .within(Duration::from_secs(seconds + 300))
}

#[track_caller]
fn is_clear(said: &str) {
    assert!(said.len() < 2000, "{} bytes: {said:.2000}", said.len());
    let harmless = said.chars().all(|c| c == '\n' || !c.is_control());
    assert!(harmless, "{said:?}");
    assert!(
        said.starts_with("bailiwick: the virtual machine "),
        "{said}"
    );
}

#[test]
fn what_no_honest_guest_says_ends_the_run_with_one_clear_line() {
    let _alone = alone();
    for (mode, word) in [
        ("random", "cannot be talked to"),
        ("greets", "cannot be talked to"),
        ("late", "cannot be talked to"),
        ("failed", "cannot be completed"),
        ("ended", "out of turn"),
        ("unknown", "out of turn"),
        ("turn", "out of turn"),
        ("parts", "too long"),
    ] {
        let sandbox = hostile(mode, 1, 5);
        let outcome = sandbox.exec(["true"]);
        outcome.code(125);
        is_clear(&outcome.stderr());
        assert!(
            outcome.stderr().contains(word),
            "{mode}: {}",
            outcome.stderr()
        );
    }
}

/// A run that goes on, and what the guest tells by the output of the command.
struct Run {
    child: Child,
    told: Receiver<String>,
    errors: PathBuf,
    began: Instant,
}

impl Run {
    fn start(sandbox: &Sandbox) -> Self {
        let errors = sandbox.scratch().root().join("errors");
        let mut child = sandbox
            .command()
            .arg("run")
            .arg("--workspace")
            .arg(sandbox.workspace())
            .args(sandbox.options())
            .args(["--", "true"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(&errors).unwrap())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (tell, told) = channel();
        std::thread::spawn(move || {
            lines.for_each(|line| drop(tell.send(line.unwrap_or_default())));
        });
        let began = Instant::now();
        Self {
            child,
            told,
            errors,
            began,
        }
    }

    fn cost(&self) -> Option<Cost> {
        cost(self.child.id())
    }

    /// Looks at it again and again until it tells of something, or ends.
    fn watch(&self, until: &str, mut look: impl FnMut(Cost)) -> bool {
        loop {
            match self.told.recv_timeout(Duration::from_millis(100)) {
                Ok(line) if line == until => return true,
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => {
                    self.cost().into_iter().for_each(&mut look);
                }
            }
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Another session, on the other backend.
fn other(sandbox: &Sandbox) -> Command {
    let mut command = sandbox.command();
    command
        .args(["run", "--backend", "process", "--workspace"])
        .arg(sandbox.workspace())
        .args(["--", "true"]);
    command
}

fn try_one(mode: &str, seconds: u64) {
    let _alone = alone();
    let sandbox = hostile(mode, 7, seconds);
    let beside = Sandbox::new();
    let idle = median(9, || other(&beside));
    let mut run = Run::start(&sandbox);
    assert!(
        run.watch("begins", |_| ()),
        "{}",
        fs::read_to_string(&run.errors).unwrap()
    );
    let before = run.cost().unwrap();
    // Behind the rest in which it behaves.
    let mut most = before;
    let senders = if mode == "streams" { 0 } else { SENDERS };
    let kept = before.descriptors + senders;
    let mut answers = Vec::new();
    let ended = std::thread::scope(|scope| {
        let (stop, stopped) = channel::<()>();
        let beside = &beside;
        let answers = scope.spawn(move || {
            let mut all = Vec::new();
            while stopped.recv_timeout(Duration::from_millis(500)) == Err(RecvTimeoutError::Timeout)
            {
                all.push(median(1, || other(beside)));
            }
            all
        });
        let over = run.watch("over", |now| {
            most.memory = most.memory.max(now.memory);
            most.monitor = most.monitor.max(now.monitor);
            most.descriptors = most.descriptors.max(now.descriptors);
        });
        // While the guest rests, which it does for some seconds.
        let after = wait::for_some("descriptors are closed, or the run has ended", || match run
            .cost()
        {
            Some(now) => (now.descriptors <= kept).then_some(Some(now)),
            None => Some(None),
        });
        drop(stop);
        (over, answers.join().unwrap(), after)
    });
    let after = ended.2;
    answers.extend(ended.1);
    answers.sort();
    let code = run.child.wait().unwrap().code();
    let said = fs::read_to_string(&run.errors).unwrap();
    let answer = answers.get(answers.len() / 2).copied().unwrap_or_default();
    println!(
        "{mode}: {:?}; before {before:?}, at most {most:?}, after {after:?}; a second session in \
         {answer:?} (at most {:?}) against {idle:?}; {} KiB of record; {code:?}: {said}",
        run.began.elapsed(),
        answers.last(),
        size(&sandbox),
    );
    assert_eq!(code, Some(125), "{said}");
    is_clear(&said);
    assert!(
        most.memory <= before.memory + MOST,
        "{most:?} after {before:?}"
    );
    assert!(
        most.monitor <= before.monitor + MOST,
        "{most:?} after {before:?}"
    );
    assert!(ended.0, "it never told that it was over");
    let after = after.expect("a run that goes on with few descriptors while its guest rests");
    assert!(after.descriptors <= kept, "{after:?} after {before:?}");
    // In a few seconds too few answers come for a judgement.
    if seconds >= LONG {
        assert!(answer <= idle * 2, "{answer:?} against {idle:?}");
    }
}

/// How much was recorded, in KiB.
fn size(sandbox: &Sandbox) -> u64 {
    let mut folders = vec![sandbox.scratch().state()];
    let mut sum = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let meta = entry.metadata().unwrap();
            sum += meta.len() >> 10;
            if meta.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    sum
}

#[test]
fn a_guest_that_floods_costs_the_host_little() {
    try_one("grammar", seconds());
}

#[test]
fn a_guest_that_floods_with_streams_leaves_no_descriptor() {
    try_one("streams", seconds());
}

#[test]
fn a_guest_that_never_reads_costs_the_host_little() {
    try_one("deaf", seconds());
}

/// Each breaks the protocol within a moment, which ends it: many machines, one after the other.
#[test]
fn guests_that_say_anything_at_all_are_ended() {
    let _alone = alone();
    let began = Instant::now();
    let mut seed = 1;
    while seed <= 3 || began.elapsed() < Duration::from_secs(seconds()) {
        let mode = ["random", "greets", "late", "wild"][seed as usize % 4];
        let sandbox = hostile(mode, seed, 5);
        let outcome = sandbox.exec(["true"]);
        outcome.code(125);
        is_clear(&outcome.stderr());
        seed += 1;
    }
    println!("{} guests in {:?}", seed - 1, began.elapsed());
}
