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
    /// How many runs are at once where many are.
    pub crowd: usize,
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
            crowd: 200,
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
            Contention::Unknown => Verdict::Inconclusive(
                "the kernel does not account for waiting (/proc/PID/schedstat, /proc/stat), so \
                 that contention cannot be excluded"
                    .to_owned(),
            ),
            Contention::OfProcesses(share) if share > self.contention => {
                Verdict::Inconclusive(format!(
                    "contended: its processes waited for a CPU for more than {:.0} % of the time \
                     that they ran",
                    self.contention * 100.0
                ))
            }
            Contention::OfMachine(share) if share > self.contention => {
                Verdict::Inconclusive(format!(
                    "contended: the machine was busy for more than {:.0} % of the time in which \
                     nothing was measured",
                    self.contention * 100.0
                ))
            }
            _ if facts.load > self.load => Verdict::Inconclusive(format!(
                "the load average before the start was {:.2} per CPU (limit {:.2})",
                facts.load, self.load
            )),
            _ => Verdict::Pass,
        }
    }
}

/// How much others had of the CPUs meanwhile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Contention {
    /// Nanoseconds for which what was timed waited for a CPU, over nanoseconds for which it ran.
    OfProcesses(f64),
    /// The share of all CPUs' time that was used between the samples, when nothing was measured:
    /// for what hands its work to other processes, and waits for a CPU that these use.
    OfMachine(f64),
    /// The kernel does not say.
    Unknown,
}

impl Contention {
    /// Of processes that ran and waited for so long.
    pub(crate) fn of_processes(ran_ns: u64, waited_ns: u64) -> Self {
        match ran_ns {
            0 => Self::Unknown,
            _ => Self::OfProcesses(waited_ns as f64 / ran_ns as f64),
        }
    }

    /// The share, for the record.
    pub(crate) fn share(self) -> Option<f64> {
        match self {
            Self::OfProcesses(share) | Self::OfMachine(share) => Some(share),
            Self::Unknown => None,
        }
    }
}

/// What is known about verified samples.
pub(crate) struct Facts {
    /// How many there are.
    pub samples: usize,
    /// So many are enough, where one takes longer than some seconds.
    pub most_runs: Option<u32>,
    /// Whether others used the CPUs.
    pub contention: Contention,
    /// Load average per CPU before the start.
    pub load: f64,
    /// Whether the user asked for a quick run.
    pub quick: bool,
}

#[cfg(test)]
#[path = "conditions_tests.rs"]
mod tests;
