//! When a measurement can carry a figure at all. These bounds stand in one place, so that nobody
//! softens one of them for one row.

use crate::verdict::Verdict;
use std::path::PathBuf;

/// The bounds, and what differs between the product and its tests.
pub(crate) struct Conditions {
    /// At most this share of its run time may a row's processes have waited for a CPU.
    pub contention: f64,
    /// At most this load average per CPU before the start.
    pub load: f64,
    /// Fewer runs than this give no published row.
    pub runs: u32,
    /// The program that is copied into the workspace to measure there.
    pub helper: PathBuf,
    /// Whether this program was built for release.
    pub release: bool,
}

impl Conditions {
    /// The product's.
    pub(crate) fn published() -> std::io::Result<Self> {
        Ok(Self {
            contention: 0.10,
            load: 1.0,
            runs: 50,
            helper: std::env::current_exe()?,
            release: !cfg!(debug_assertions),
        })
    }

    /// The verdict on samples that were all verified. A quick run is not held to the number of
    /// runs, because it is never published.
    pub(crate) fn judge(&self, facts: &Facts) -> Verdict {
        if facts.samples == 0 {
            return Verdict::Inconclusive("there are no samples".to_owned());
        }
        let least = facts
            .most_runs
            .map_or(self.runs, |most| most.min(self.runs));
        if !facts.quick && facts.samples < least as usize {
            return Verdict::Inconclusive(format!(
                "{} runs are too few; a published row has at least {least}",
                facts.samples
            ));
        }
        match facts.contention {
            None => Verdict::Inconclusive(
                "the kernel does not account for waiting (/proc/PID/schedstat), so that \
                 contention cannot be excluded"
                    .to_owned(),
            ),
            Some(share) if share > self.contention => Verdict::Inconclusive(format!(
                "contended: its processes waited for a CPU for more than {:.0} % of the time that \
                 they ran",
                self.contention * 100.0
            )),
            Some(_) if facts.load > self.load => Verdict::Inconclusive(format!(
                "the load average before the start was {:.2} per CPU (limit {:.2})",
                facts.load, self.load
            )),
            Some(_) => Verdict::Pass,
        }
    }
}

/// What is known about verified samples.
pub(crate) struct Facts {
    /// How many there are.
    pub samples: usize,
    /// So many are enough, where one takes longer than some seconds.
    pub most_runs: Option<u32>,
    /// Nanoseconds waited over nanoseconds run; none where the kernel does not say.
    pub contention: Option<f64>,
    /// Load average per CPU before the start.
    pub load: f64,
    /// Whether the user asked for a quick run.
    pub quick: bool,
}

#[cfg(test)]
#[path = "conditions_tests.rs"]
mod tests;
