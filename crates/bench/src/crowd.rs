//! What a sandbox costs among many: whoever runs two hundred at once must not pay more for each of
//! them than for one, because of what they fight about (the kernel's locks, the index of sessions).

use crate::conditions::{Contention, Facts};
use crate::evidence::{LimitRecord, recorded};
use crate::limit::taken;
use crate::peace::busy_ticks;
use crate::profile::Profile;
use crate::suite::Suite;
use crate::verdict::Verdict;
use std::ffi::OsString;
use std::process::{Child, Stdio};

/// The name of the limit.
pub(crate) const CROWD: &str = "a run among 200";
/// What each of them says.
const WORD: &str = "bailiwick";
/// How often all of them are started.
const ROUNDS: u32 = 5;
/// CPU time of each, over that of one alone.
const LIMIT: f64 = 1.5;

/// The CPU time of a run of `echo` among many over that of one that is alone, by the kernel's account
/// of all CPUs: what a sandbox starts and nobody waits for is in it.
pub(crate) fn crowd(suite: &Suite<'_>) -> LimitRecord {
    let argv = run(suite, &["echo", WORD].map(OsString::from));
    let many = suite.conditions.crowd;
    let rounds = match suite.quick {
        true => 1,
        false => ROUNDS.min(suite.conditions.runs),
    };
    let (samples, broken) = match not_in_force(suite) {
        Some(reason) => (Vec::new(), Some(Verdict::Fail(reason))),
        None => taken(rounds, || factor(suite, &argv)),
    };
    let verdict = broken.unwrap_or_else(|| {
        suite.conditions.judge(&Facts {
            samples: samples.len(),
            most_runs: Some(ROUNDS),
            // Two hundred wait for a CPU, and that costs none.
            contention: Contention::OfProcesses(0.0),
            load: suite.load,
            quick: suite.quick,
        })
    });
    LimitRecord {
        name: CROWD.to_owned(),
        includes: format!(
            "CPU time of all CPUs (/proc/stat) from before {many} starts to the last end, over the \
             same one after the other; each prints its word"
        ),
        argv: recorded(&argv),
        unit: "×".to_owned(),
        limit: LIMIT,
        samples,
        verdict,
        value: None,
        met: None,
    }
    .decided()
}

/// `BINARY run … -- CMD` under the policy of most rows.
fn run(suite: &Suite<'_>, argv: &[OsString]) -> Vec<OsString> {
    let workspace = suite.fixture.workspace();
    suite.product.run(Profile::Default, &workspace, argv)
}

/// Why these runs are in no sandbox.
fn not_in_force(suite: &Suite<'_>) -> Option<String> {
    let attempt = run(suite, &suite.yard.command(&suite.fixture.helper()));
    let workspace = suite.fixture.workspace();
    match suite.yard.check(&attempt, &workspace, &suite.variables) {
        Ok(found) if found.holds => None,
        Ok(found) => Some(format!("not in force: {}", found.detail)),
        Err(error) => Some(error.to_string()),
    }
}

fn factor(suite: &Suite<'_>, argv: &[OsString]) -> Result<f64, String> {
    let alone = cost(|| {
        for _ in 0..suite.conditions.crowd {
            end(start(suite, argv)?)?;
        }
        Ok(())
    })?;
    let together = cost(|| {
        let started: Vec<_> = (0..suite.conditions.crowd)
            .map(|_| start(suite, argv))
            .collect();
        started.into_iter().try_for_each(|child| end(child?))
    })?;
    Ok(together as f64 / alone as f64)
}

/// What of the CPUs' time something takes, with what it leaves the kernel to do.
fn cost(act: impl FnOnce() -> Result<(), String>) -> Result<u64, String> {
    let now = || busy_ticks().ok_or("the kernel does not say how long its CPUs worked");
    let before = now()?;
    act()?;
    std::thread::sleep(crate::row::SETTLE);
    Ok(now()?.saturating_sub(before).max(1))
}

fn start(suite: &Suite<'_>, argv: &[OsString]) -> Result<Child, String> {
    suite
        .command(argv)?
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())
}

fn end(child: Child) -> Result<(), String> {
    let output = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    match output.status.success() && output.stdout.trim_ascii() == WORD.as_bytes() {
        true => Ok(()),
        false => Err(format!("a run ended with {} and no word", output.status)),
    }
}
