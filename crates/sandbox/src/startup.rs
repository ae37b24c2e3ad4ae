//! When each stage of a start ended (`run --trace-startup`), so that a slow start can be named
//! instead of guessed at.
//!
//! The sandbox's pid 1 and the command's process mark their stages as well: the marks lie in an
//! anonymous file that they inherit, and that is closed when the command's image is loaded. A run
//! that is not traced pays one load of a pointer per stage.

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd};
use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create};
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

/// Which process a stage belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    Supervisor,
    Init,
    Network,
    Command,
}

impl Lane {
    fn name(self) -> &'static str {
        match self {
            Self::Supervisor => "supervisor",
            Self::Init => "pid 1",
            Self::Network => "network",
            Self::Command => "command",
        }
    }
}

macro_rules! stages {
    ($($(#[doc = $doc:literal])+ $stage:ident: $lane:ident, $name:literal;)+) => {
        /// A stage; its mark is the instant at which it ended.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Stage {
            $($(#[doc = $doc])+ $stage,)+
        }
        /// Every stage, in the order of its lane.
        const STAGES: &[(Stage, Lane, &str)] = &[$((Stage::$stage, Lane::$lane, $name),)+];
    };
}

stages! {
    /// Pid 1 is forked.
    Fork: Supervisor, "fork";
    /// The command line is read.
    Arguments: Supervisor, "parse";
    /// The effective policy is made.
    Policy: Supervisor, "policy";
    /// Pid 1 is told what to build.
    Planned: Supervisor, "plan";
    /// The session's record exists.
    Ledger: Supervisor, "ledger";
    /// Every layer is reported to be in force.
    Ready: Supervisor, "wait for ready";
    /// Pid 1 runs, in its namespaces.
    Namespaces: Init, "namespaces";
    /// What every root has is there.
    Base: Init, "base of the root";
    /// Pid 1 knows what to build.
    Plan: Init, "wait for plan";
    /// The private root is entered.
    Mounts: Init, "mounts";
    /// Identity, terminal and capabilities are as they stay.
    Identity: Init, "identity";
    /// Landlock is in force.
    Landlock: Init, "Landlock";
    /// The system-call filter is attached.
    Seccomp: Init, "seccomp";
    /// The network's sockets are there and the old root is gone.
    Network: Init, "wait for gate";
    /// The supervisor has the sandbox's sockets and has let the command start.
    HandOver: Init, "hand-over";
    /// The sandbox's network stands and its sockets listen.
    Gate: Network, "gate";
    /// The command's process is about to load its image.
    Prepared: Command, "fork";
    /// The command's image is loaded.
    Exec: Init, "exec";
    /// The command has ended and nothing of it is left.
    Command: Init, "command";
    /// The supervisor knows.
    Report: Supervisor, "report";
    /// The record is closed.
    Closed: Supervisor, "close";
}

/// The stage before the command line is read.
const LOAD: &str = "load";

/// What is known before the command line is read.
#[derive(Clone, Copy)]
struct Origin {
    /// Nanoseconds of CLOCK_MONOTONIC at the first instruction of the product.
    main: u64,
    /// Nanoseconds of CPU time that the process had used by then: its fork, its image and its
    /// libraries.
    load: u64,
}

static ORIGIN: OnceLock<Origin> = OnceLock::new();
static MARKS: OnceLock<File> = OnceLock::new();

/// What pid 1 has to keep open for its marks.
pub fn descriptors() -> impl Iterator<Item = BorrowedFd<'static>> {
    let marks = MARKS.get().map(AsFd::as_fd);
    #[cfg(all(feature = "stop-at-stage", debug_assertions))]
    return marks.into_iter().chain(crate::stop::descriptors());
    #[cfg(not(all(feature = "stop-at-stage", debug_assertions)))]
    marks.into_iter()
}

fn now(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
        + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Notes where a process begins; the first thing that it does. A standard stream that the caller has
/// closed is made `/dev/null`: another descriptor would be taken for it.
pub fn begin() {
    let null = || rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty());
    // The kernel gives the lowest number that is free.
    while null().is_ok_and(|file| match file.as_raw_fd() {
        0..=2 => file.into_raw_fd() <= 2,
        _ => false,
    }) {}
    let _ = ORIGIN.set(Origin {
        main: now(ClockId::Monotonic),
        load: now(ClockId::ProcessCPUTime),
    });
    #[cfg(all(feature = "stop-at-stage", debug_assertions))]
    {
        crate::stop::list();
        crate::stop::here("after", Lane::Supervisor.name(), LOAD);
    }
}

/// The first stage of a lane begins: nothing to note, but a place where a test stops a run.
#[cfg_attr(
    not(all(feature = "stop-at-stage", debug_assertions)),
    allow(unused_variables)
)]
pub fn enter(first: Stage) {
    #[cfg(all(feature = "stop-at-stage", debug_assertions))]
    stop("before", first);
}

#[cfg(all(feature = "stop-at-stage", debug_assertions))]
fn stop(when: &str, stage: Stage) {
    let (_, lane, name) = STAGES[stage as usize];
    crate::stop::here(when, lane.name(), name);
}

/// Marks are kept from here on.
///
/// # Errors
/// There is no memory or descriptor for them.
pub fn enable() -> io::Result<()> {
    if MARKS.get().is_some() {
        return Ok(());
    }
    let file = File::from(memfd_create("stages", MemfdFlags::CLOEXEC)?);
    file.set_len(8 * STAGES.len() as u64)?;
    let _ = MARKS.set(file);
    Ok(())
}

/// The stage ended now.
pub fn mark(stage: Stage) {
    if let Some(file) = MARKS.get() {
        // A mark that is missing is shown as such.
        let _ = file.write_at(&now(ClockId::Monotonic).to_ne_bytes(), 8 * stage as u64);
    }
    #[cfg(all(feature = "stop-at-stage", debug_assertions))]
    stop("after", stage);
}

/// A stage with the instant of its end in nanoseconds, none where it was not reached.
type Marked = (Lane, &'static str, Option<u64>);

/// The table of the stages, after the run.
#[must_use]
pub fn table() -> Option<String> {
    let (file, origin) = (MARKS.get()?, ORIGIN.get()?);
    let marked: Vec<Marked> = STAGES
        .iter()
        .map(|&(stage, lane, name)| {
            let mut bytes = [0; 8];
            let _ = file.read_exact_at(&mut bytes, 8 * stage as u64);
            let end = u64::from_ne_bytes(bytes);
            (lane, name, (end != 0).then_some(end))
        })
        .collect();
    Some(render(
        origin.main,
        origin.load,
        now(ClockId::Monotonic),
        &marked,
    ))
}

/// One row of the table, in nanoseconds since the process began.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    lane: &'static str,
    name: &'static str,
    begin: u64,
    end: u64,
    /// What the run as a whole waited for in this stage.
    critical: u64,
}

/// The rows in the order of their ends. Each stage of a lane begins where the one before it
/// ended. The run waits, at each instant, for the stage that leads to its end: of the stages that
/// run side by side that is the one of the lane which ends last before the lanes meet.
fn rows(main: u64, load: u64, last: u64, marked: &[Marked]) -> Vec<Row> {
    let begin = main - load.min(main);
    let mut rows = vec![Row {
        lane: Lane::Supervisor.name(),
        name: LOAD,
        begin: 0,
        end: main - begin,
        critical: 0,
    }];
    let at = |name: &str, lane: Lane| {
        marked
            .iter()
            .find(|(l, n, _)| *l == lane && *n == name)
            .and_then(|(.., end)| *end)
    };
    let forked = at("fork", Lane::Supervisor).unwrap_or(main);
    let entered = at("namespaces", Lane::Init).unwrap_or(forked);
    let released = at("hand-over", Lane::Init).unwrap_or(entered);
    for lane in [Lane::Supervisor, Lane::Init, Lane::Network, Lane::Command] {
        let mut previous = match lane {
            Lane::Supervisor => main,
            Lane::Init => forked,
            Lane::Network => entered,
            Lane::Command => released,
        };
        for (_, name, end) in marked.iter().filter(|(l, ..)| *l == lane) {
            let Some(end) = *end else { continue };
            rows.push(Row {
                lane: lane.name(),
                name,
                begin: previous.min(end) - begin,
                end: end - begin,
                critical: 0,
            });
            previous = end;
        }
    }
    rows.push(Row {
        lane: Lane::Supervisor.name(),
        name: "end",
        begin: rows
            .iter()
            .filter(|row| row.lane == Lane::Supervisor.name())
            .map(|row| row.end)
            .max()
            .unwrap_or(0),
        end: last - begin,
        critical: 0,
    });
    rows.sort_by_key(|row| row.end);
    attribute(&mut rows);
    rows
}

/// Walks back from the end: what the run waited for at an instant is the stage that ended last
/// and had begun before it. "wait for …" stages wait themselves and are never the reason.
fn attribute(rows: &mut [Row]) {
    let mut instant = rows.last().map_or(0, |row| row.end);
    while instant > 0 {
        let reason = rows
            .iter_mut()
            .filter(|row| !row.name.starts_with("wait") && row.name != "report")
            .filter(|row| row.begin < instant && row.critical == 0)
            .max_by_key(|row| row.end.min(instant));
        let Some(row) = reason else { break };
        row.critical = instant - row.begin;
        instant = row.begin;
    }
}

fn render(main: u64, load: u64, last: u64, marked: &[Marked]) -> String {
    use std::fmt::Write as _;
    let rows = rows(main, load, last, marked);
    let total = rows.last().map_or(0, |row| row.end);
    let us = |ns: u64| ns as f64 / 1000.0;
    let mut text =
        String::from("stage                 where        begin us    took us   waited for us\n");
    for row in &rows {
        let critical = match row.critical {
            0 => String::from("-"),
            ns => format!("{:.0}", us(ns)),
        };
        let _ = writeln!(
            text,
            "{:<20}  {:<10}  {:>9.0}  {:>9.0}  {:>14}",
            row.name,
            row.lane,
            us(row.begin),
            us(row.end - row.begin),
            critical
        );
    }
    let _ = write!(
        text,
        "{:<20}  {:<10}  {:>9}  {:>9.0}  {:>14.0}",
        "total",
        "",
        "",
        us(total),
        us(rows.iter().map(|row| row.critical).sum())
    );
    text
}

#[cfg(test)]
#[path = "startup_tests.rs"]
mod tests;
