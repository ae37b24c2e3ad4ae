//! Figures that have a bound: what the product promises about itself. A bound that is missed is
//! shown with its figure, because then the figure is the news; a figure that was not verified is
//! not shown, as everywhere.

use crate::conditions::{Contention, Facts};
use crate::evidence::{LimitRecord, recorded};
use crate::measure;
use crate::profile::Profile;
use crate::statistics::median;
use crate::suite::Suite;
use crate::verdict::Verdict;

use std::ffi::OsString;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The names of the limits here.
pub(crate) const MEMORY: &str = "supervisor's resident memory";
/// The same.
pub(crate) const VERSION: &str = "--version";
/// The highest resident memory of the supervisor in a plain run, in MiB.
const MEMORY_MIB: f64 = 12.0;
/// The time of `--version`, in milliseconds.
const VERSION_MS: f64 = 5.0;
/// The supervisor's memory: `VmHWM` of `BINARY run -- sleep 0.3`, read while it runs.
pub(crate) fn memory(suite: &Suite<'_>) -> LimitRecord {
    let argv = suite.product.run(
        Profile::Default,
        &suite.fixture.workspace(),
        &["sleep", "0.3"].map(OsString::from),
    );
    let (samples, broken) = taken(suite.runs, || {
        peak_memory(suite, &argv).map(|kib| kib as f64 / 1024.0)
    });
    // Waiting for a CPU does not change how much memory a program has.
    let verdict = broken.unwrap_or_else(|| {
        suite.conditions.judge(&Facts {
            samples: samples.len(),
            most_runs: None,
            contention: Contention::OfProcesses(0.0),
            load: 0.0,
            quick: suite.quick,
        })
    });
    LimitRecord {
        name: MEMORY.to_owned(),
        includes: "VmHWM of the process of `run -- sleep 0.3`, at the end of its life; not the \
                   command's, nor that of other processes"
            .to_owned(),
        argv: recorded(&argv),
        unit: "MiB".to_owned(),
        limit: MEMORY_MIB,
        samples,
        verdict,
        value: None,
        met: None,
    }
    .decided()
}

/// So many samples, or those before the one that failed and why.
pub(crate) fn taken(
    count: u32,
    mut take: impl FnMut() -> Result<f64, String>,
) -> (Vec<f64>, Option<Verdict>) {
    let mut samples = Vec::new();
    for _ in 0..count {
        match take() {
            Ok(sample) => samples.push(sample),
            Err(reason) => return (samples, Some(Verdict::Fail(reason))),
        }
    }
    (samples, None)
}

fn peak_memory(suite: &Suite<'_>, argv: &[OsString]) -> Result<u64, String> {
    let mut child = suite
        .command(argv)?
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let status = format!("/proc/{}/status", child.id());
    let start = Instant::now();
    let mut peak = None;
    loop {
        if let Some(kib) = std::fs::read_to_string(&status)
            .ok()
            .and_then(|s| high_water(&s))
        {
            peak = Some(kib);
        }
        match child.try_wait() {
            Ok(None) if start.elapsed() < measure::TIMEOUT => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("the run did not end".to_owned());
            }
            Ok(Some(end)) if !end.success() => return Err(format!("the run ended with {end}")),
            Ok(Some(_)) if start.elapsed() < Duration::from_millis(300) => {
                return Err("the run ended before its command can have".to_owned());
            }
            Ok(Some(_)) => return peak.ok_or_else(|| "its memory could not be read".to_owned()),
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// KiB of `VmHWM` in `/proc/PID/status`.
fn high_water(status: &str) -> Option<u64> {
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?
        .split_ascii_whitespace()
        .next()?
        .parse()
        .ok()
}

/// The time of `BINARY --version`.
pub(crate) fn version(suite: &Suite<'_>) -> LimitRecord {
    let argv: Vec<OsString> = vec![suite.product.binary.clone().into(), "--version".into()];
    let mut samples = Vec::new();
    let (mut ran, mut waited) = (0, 0);
    let mut broken = None;
    for run in 0..=suite.runs {
        match measure::run(&argv, &suite.fixture.workspace(), &suite.variables) {
            Ok(s) if s.code == Some(0) && s.stdout.as_bytes().starts_with(b"bailiwick ") => {
                if run > 0 {
                    samples.push(s.ns as f64 / 1e6);
                    ran += s.run_ns;
                    waited += s.wait_ns;
                }
            }
            Ok(s) => {
                broken = Some(Verdict::Fail(s.ending()));
                break;
            }
            Err(error) => {
                broken = Some(Verdict::Fail(error.to_string()));
                break;
            }
        }
    }
    let verdict = broken.unwrap_or_else(|| {
        suite.conditions.judge(&Facts {
            samples: samples.len(),
            most_runs: None,
            contention: Contention::of_processes(ran, waited),
            load: suite.load,
            quick: suite.quick,
        })
    });
    LimitRecord {
        name: VERSION.to_owned(),
        includes: "fork, exec, printing the version, and exit".to_owned(),
        argv: recorded(&argv),
        unit: "ms".to_owned(),
        limit: VERSION_MS,
        samples,
        verdict,
        value: None,
        met: None,
    }
    .decided()
}

impl LimitRecord {
    /// With the value and the comparison, where the verdict allows them.
    pub(crate) fn decided(mut self) -> Self {
        self.value = self
            .verdict
            .passed()
            .then(|| median(&self.samples))
            .flatten();
        self.met = self.value.and_then(|v| v.meets(self.limit));
        self
    }
}

#[cfg(test)]
#[path = "limit_tests.rs"]
mod tests;
