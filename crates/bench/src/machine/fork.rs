//! `bench fork`: a running session with a disk of its own is copied, and goes on.

use super::ground::{Ground, Way};
use super::row::Row;
use super::worker::Worker;
use crate::gate::record::limit;
use crate::gate::row::{Description, Draft};
use crate::statistics::median;
use crate::verdict::Verdict;
use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Copies of one session.
const COPIES: u32 = 10;
/// The memory of the machines, in bytes: that of the copies of a template.
const MEMORY: u64 = 512 << 20;
/// What the session has in memory and on disk that its copies must have.
const MARKS: &str = "echo memory > /usr/local/mark && echo disk > mark && dd if=/dev/urandom of=data bs=1M \
                     count=16 2>/dev/null && cp data /usr/local/data && sync";
/// Says whether they are there.
const SEEN: &str = "cat /usr/local/mark mark && cmp data /usr/local/data";

/// The rows.
pub(super) fn rows() -> Vec<Row> {
    vec![Row {
        description: Description {
            name: "fork".to_owned(),
            workload:
                "`fork` of a running session of 512 MiB with a disk, whose program answers all the \
                       time; then `exec -- true` in the copy"
                    .to_owned(),
            includes: "first answer: the whole of `bailiwick fork`, which waits until the copy's machine \
                       has answered and its command goes on; first command: `exec -- true` in the copy \
                       after that, the whole program; paused: the longest that the session's own program \
                       kept its caller waiting meanwhile",
            verifier: "what the session had written in memory (16 MiB in the system's folders) and on its \
                       disk (16 MiB) is in every copy, with the same bytes; the session's program \
                       answers to the end",
            least: COPIES,
            timed: true,
        },
        measure: Box::new(|ground, draft| {
            ground.bare()?;
            let name = ground.next_name();
            let mut worker = session(ground, &name)?;
            worker.ask(&["about"])?;
            ground.product(&["exec", &name, "--", "sh", "-c", MARKS])?;
            for round in 0..=ground.amounts.runs.min(COPIES) {
                copy(ground, draft, (&name, &mut worker), round > 0)?;
            }
            worker.end()?;
            ground.product(&["rm", &name])?;
            for (what, most) in [(ANSWER, 250.0), (PAUSED, 120.0)] {
                let value = median(draft.of(what));
                draft
                    .limits
                    .push(limit(what, "the median", "ms", most, value));
            }
            Ok(())
        }),
    }]
}

const ANSWER: &str = "first answer";
const PAUSED: &str = "paused";

/// A session whose program answers; in a copy, where nobody asks, it goes on without.
fn session(ground: &Ground<'_>, name: &str) -> Result<Worker, Verdict> {
    let mut program = ground.workload(Way::Warm);
    program.push(" bench");
    let mut script = OsString::from("host=$(hostname); ");
    script.push(program);
    script.push("; [ \"$(hostname)\" = \"$host\" ] || exec sleep 600");
    let command = ["sh".into(), "-c".into(), script];
    let words = ["--disk", "--name", name];
    let argv = ground.sized(Way::Warm, Some(MEMORY), &words, &command);
    let workspace = ground.fixture.workspace();
    Worker::start(Way::Warm, &argv, &workspace, ground.variables())
}

/// One copy. `counts` says whether its times do.
fn copy(
    ground: &Ground<'_>,
    draft: &mut Draft,
    (name, worker): (&str, &mut Worker),
    counts: bool,
) -> Result<(), Verdict> {
    let copy = ground.next_name();
    draft.settle();
    let milliseconds = |since: Instant| since.elapsed().as_secs_f64() * 1000.0;
    let began = Instant::now();
    let mut forked = Command::new(&ground.binary)
        .args(["fork", name, "--name", &copy])
        .current_dir(ground.fixture.workspace())
        .envs(ground.variables().iter().cloned())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| Verdict::Fail(format!("fork: {error}")))?;
    let (answer, paused) = std::thread::scope(|scope| {
        let forking = scope.spawn(move || (forked.wait(), milliseconds(began)));
        let mut paused: f64 = 0.0;
        while !forking.is_finished() {
            let began = Instant::now();
            worker.ask(&["about"])?;
            paused = paused.max(milliseconds(began));
        }
        match forking.join() {
            Ok((Ok(status), took)) if status.success() => Ok((took, paused)),
            _ => Err(Verdict::Fail("the session could not be copied".to_owned())),
        }
    })?;
    let began = Instant::now();
    ground.product(&["exec", &copy, "--", "true"])?;
    let first = milliseconds(began);
    let seen = ground.product(&["exec", &copy, "--", "sh", "-c", SEEN])?;
    if seen.stdout.to_string_lossy() != "memory\ndisk\n" {
        let found = seen.stdout.to_string_lossy();
        return Err(Verdict::Fail(format!(
            "a copy has not what the session had: {found:?}"
        )));
    }
    ground.product(&["rm", "--force", &copy])?;
    if counts {
        draft.add(ANSWER, "ms", [answer]);
        draft.add("first command", "ms", [first]);
        draft.add(PAUSED, "ms", [paused]);
    }
    Ok(())
}
