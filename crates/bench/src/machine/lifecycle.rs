//! `bench lifecycle`: a session from its start to the end of its record, as a user goes through it.

use super::boot::Boot;
use super::ground::{Ground, Way};
use super::host_memory::{HostMemory, family};
use super::row::Row;
use crate::gate::record::limit;
use crate::gate::row::{Description, Draft};
use crate::inside_session::InsideSession;
use crate::measure::Sample;
use crate::statistics::median;
use crate::verdict::Verdict;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Sessions of each way; each has several commands.
const SESSIONS: u32 = 10;
/// Commands by one connection, in each session.
const COMMANDS: u32 = 5;
/// Copies of one template that are there at one time.
const CLONES: usize = 4;
/// The memory of each, in bytes.
const CLONE: u64 = 512 << 20;
/// How long a session has been there whose memory is counted, at the least.
const WAITING: Duration = Duration::from_secs(1);
/// What is left of a session has to be gone after this.
const LAST: Duration = Duration::from_secs(10);

/// The rows.
pub(super) fn rows() -> Vec<Row> {
    vec![lifecycle(), memory(), clones()]
}

/// The ways that have a life.
const WAYS: [Way; 3] = [Way::Process, Way::Warm, Way::Cold];

fn lifecycle() -> Row {
    Row {
        description: Description {
            name: "lifecycle".to_owned(),
            workload:
                "`run --name` of a program that waits for work, `exec -- true`, `exec -- echo ok`, \
                       `echo ok` by a connection that is open, the end of the program's input, \
                       `sessions rm`"
                    .to_owned(),
            includes: "provision: from before the fork of `run` to the first answer of its program; \
                       ready: the first `exec -- true`, the whole program; exec: the same of `exec -- \
                       echo ok`; exec by the API: from the request on an open connection to the word \
                       that the command has ended; delete: from the end of input until no process of \
                       the run is left, and the whole of `sessions rm`; total: provision, ready, exec \
                       and delete",
            verifier: "each command's code and output, exactly; the kernel that the program says; that \
                       every process of the run is gone; that the record is gone; the policy holds, \
                       once before the rows",
            least: SESSIONS,
            timed: true,
        },
        measure: Box::new(|ground, draft| {
            let ways = WAYS.into_iter();
            let ways: Vec<Way> = ways
                .filter(|way| !way.is_machine() || ground.bare.is_some())
                .collect();
            for round in 0..=ground.amounts.runs.min(SESSIONS) {
                for way in &ways {
                    live(ground, draft, *way, round > 0)?;
                }
            }
            for way in ways.iter().filter(|way| way.is_machine()) {
                let name = way.name();
                let of = |what: &str| median(draft.of(&format!("{name}: {what}")));
                let (exec, delete) = (of(API), of(DELETE));
                draft.limits.extend([
                    limit(&format!("{name}: {API}"), "the median", "ms", 8.0, exec),
                    limit(
                        &format!("{name}: {DELETE}"),
                        "the median",
                        "ms",
                        60.0,
                        delete,
                    ),
                ]);
            }
            Ok(())
        }),
    }
}

const API: &str = "exec of echo by the API";
const DELETE: &str = "delete";

/// One session. `counts` says whether its times do.
fn live(ground: &Ground<'_>, draft: &mut Draft, way: Way, counts: bool) -> Result<(), Verdict> {
    let name = ground.next_name();
    let mut add = |what: &str, ms: f64| {
        if counts {
            draft.add(&format!("{}: {what}", way.name()), "ms", [ms]);
        }
    };
    // The kernel takes namespaces of the session before apart some time after its end.
    std::thread::sleep(Duration::from_millis(100));
    let began = Instant::now();
    let mut worker = ground.worker(way, &["--name", &name])?;
    worker.ask(&["about"])?;
    let provision = milliseconds(began);
    let ready = exec(ground, &name, &["true"], "")?;
    let echo = exec(ground, &name, &["echo", "ok"], "ok\n")?;
    let api = by_connection(ground, &name)?;
    let processes = Watched::of(worker.id())?;
    let began = Instant::now();
    worker.end()?;
    processes.wait()?;
    ground.product(&["sessions", "rm", &name])?;
    let delete = milliseconds(began);
    gone(ground, &name)?;
    add("provision", provision);
    add("ready", ready);
    add("exec of echo, the whole program", echo);
    for ms in api {
        add(API, ms);
    }
    add(DELETE, delete);
    add("total", provision + ready + echo + delete);
    draft.settle();
    Ok(())
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

/// `bailiwick exec`, whole; what it took in milliseconds.
fn exec(ground: &Ground<'_>, run: &str, command: &[&str], says: &str) -> Result<f64, Verdict> {
    let sample = ground.product(&[&["exec", run, "--"], command].concat())?;
    said(&sample, says)?;
    Ok(sample.ns as f64 / 1e6)
}

fn said(sample: &Sample, says: &str) -> Result<(), Verdict> {
    let found = sample.stdout.to_string_lossy();
    match sample.code == Some(0) && found == says {
        true => Ok(()),
        false => Err(Verdict::Fail(format!(
            "it said {found:?} and not {says:?}: {}",
            sample.ending()
        ))),
    }
}

/// Commands by one connection to the run; their times in milliseconds.
fn by_connection(ground: &Ground<'_>, run: &str) -> Result<Vec<f64>, Verdict> {
    let commands = (COMMANDS + 1).to_string();
    let mut argv: Vec<OsString> = vec![ground.binary.clone().into()];
    let words = [
        "bench",
        "connected",
        "--runs",
        &commands,
        run,
        "--",
        "echo",
        "ok",
    ];
    argv.extend(words.map(OsString::from));
    let workspace = ground.fixture.workspace();
    let session = InsideSession::start(&argv, &workspace, ground.variables());
    let mut session = session.map_err(Verdict::Fail)?;
    let mut all = Vec::new();
    for number in 0..=COMMANDS {
        let sample = session.step().map_err(Verdict::Fail)?;
        said(&sample, "ok\n")?;
        // The first one also waits for the connection.
        if number > 0 {
            all.push(sample.ns as f64 / 1e6);
        }
    }
    Ok(all)
}

/// The processes of a run, to wait for their end.
struct Watched(Vec<OwnedFd>);

impl Watched {
    fn of(process: u32) -> Result<Self, Verdict> {
        let all: BTreeSet<u32> = family(process);
        let open = |pid: &u32| {
            let pid = Pid::from_raw(pid.cast_signed())?;
            pidfd_open(pid, PidfdFlags::empty()).ok()
        };
        let open: Vec<OwnedFd> = all
            .iter()
            .filter(|pid| **pid != process)
            .filter_map(open)
            .collect();
        match open.is_empty() {
            true => Err(Verdict::Fail("the run has started nothing".to_owned())),
            false => Ok(Self(open)),
        }
    }

    /// Waits until none of them is left.
    fn wait(self) -> Result<(), Verdict> {
        let limit = Timespec::try_from(LAST).ok();
        for process in self.0 {
            match poll(&mut [PollFd::new(&process, PollFlags::IN)], limit.as_ref()) {
                Ok(1..) => {}
                _ => {
                    return Err(Verdict::Fail(
                        "a process of the run does not end".to_owned(),
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Whether the record is gone.
fn gone(ground: &Ground<'_>, run: &str) -> Result<(), Verdict> {
    match ground.product(&["sessions", "show", run]) {
        Err(_) => Ok(()),
        Ok(_) => Err(Verdict::Fail(format!("the record of {run} is still there"))),
    }
}

fn memory() -> Row {
    Row {
        description: Description {
            name: "host memory".to_owned(),
            workload: "a session whose program waits for work, a second after `exec -- true`"
                .to_owned(),
            includes: "shares (Pss) of the mappings of the run's processes: `run`, pid 1 of the \
                       monitor's sandbox, QEMU; the guest's own memory, as far as it is used, and \
                       QEMU's translations apart; how large these may become stands below the table",
            verifier: "the command ends with 0; the guest's memory is found among QEMU's mappings",
            least: 5,
            timed: false,
        },
        measure: Box::new(|ground, draft| {
            let bytes = ground.bare()?.memory;
            let ways = [Way::Warm, Way::Cold];
            for _ in 0..ground.amounts.runs.min(5) {
                for way in ways {
                    let name = ground.next_name();
                    draft.settle();
                    let mut worker = ground.worker(way, &["--name", &name])?;
                    worker.ask(&["about"])?;
                    exec(ground, &name, &["true"], "")?;
                    // Until then it has what it started with.
                    std::thread::sleep(WAITING);
                    let memory = HostMemory::of(worker.id(), bytes)
                        .map_err(|error| Verdict::Inconclusive(error.to_string()))?;
                    worker.end()?;
                    if memory.guest == 0 {
                        let why = "the guest's memory is not among QEMU's mappings";
                        return Err(Verdict::Inconclusive(why.to_owned()));
                    }
                    let mut add = |what: &str, mib: f64| {
                        draft.add(&format!("{}: {what}", way.name()), "MiB", [mib]);
                    };
                    add("beyond the guest's", memory.beyond());
                    add("QEMU's translations", memory.translations as f64 / 1024.0);
                    add("QEMU, all else", memory.monitor as f64 / 1024.0);
                    add("run and pid 1", memory.others as f64 / 1024.0);
                    add("the guest's own", memory.guest as f64 / 1024.0);
                }
            }
            for way in ways {
                let what = format!("{}: beyond the guest's", way.name());
                let value = median(draft.of(&what));
                let name = format!("host memory, {what}");
                draft.limits.push(limit(
                    &name,
                    "the median, translations included",
                    "MiB",
                    60.0,
                    value,
                ));
            }
            Ok(())
        }),
    }
}

fn clones() -> Row {
    Row {
        description: Description {
            name: "four copies of a template".to_owned(),
            workload:
                "machines of 512 MiB, copies of one template, one after the other; those before \
                       are kept, each with a program that waits for work"
                    .to_owned(),
            includes: "first answer: `bailiwick boot` beside the copies that are there already, from \
                       QEMU's execution until the machine takes commands; run: from before the fork of \
                       `run` to the first answer of its program",
            verifier: "the machine is a copy; no two have the same machine id or host name",
            least: 10,
            timed: true,
        },
        measure: Box::new(|ground, draft| {
            for round in 0..=ground.amounts.runs.min(10) {
                copies(ground, draft, round > 0)?;
            }
            for number in 1..=CLONES {
                let name = first_answer(number);
                let value = median(draft.of(&name));
                draft
                    .limits
                    .push(limit(&name, "the median", "ms", 75.0, value));
            }
            Ok(())
        }),
    }
}

fn first_answer(number: usize) -> String {
    format!("copy {number} to its first answer")
}

fn copies(ground: &Ground<'_>, draft: &mut Draft, counts: bool) -> Result<(), Verdict> {
    let mut kept = Vec::new();
    let mut seen = BTreeSet::new();
    for number in 1..=CLONES {
        draft.settle();
        let boot = Boot::take(ground, true, Some(CLONE))?;
        draft.settle();
        let began = Instant::now();
        let mut worker = ground.sized_worker(Way::Warm, CLONE, &[])?;
        let about = worker.ask(&["about"])?;
        let took = milliseconds(began);
        for what in ["machine", "host"] {
            if !seen.insert(format!("{what} {}", about.text(what)?)) {
                return Err(Verdict::Fail(format!("two copies have the same {what}")));
            }
        }
        kept.push(worker);
        if counts {
            draft.add(&first_answer(number), "ms", [boot.answer()]);
            draft.add(
                &format!("copy {number}, run to its program's answer"),
                "ms",
                [took],
            );
        }
    }
    kept.into_iter().try_for_each(super::worker::Worker::end)
}
