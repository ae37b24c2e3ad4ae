//! How busy the machine is while nothing is measured, by the kernel's account of every CPU: what it is
//! then is what else takes time from a measurement, whoever does it.

use std::fs;

/// The times of all CPUs together, in ticks (proc_stat(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    busy: u64,
    all: u64,
}

/// Moments of peace.
#[derive(Debug, Default)]
pub(crate) struct Peace {
    busy: u64,
    all: u64,
    /// Whether the kernel ever did not say.
    unknown: bool,
}

impl Peace {
    /// Has `pause` pass, and notes what the machine did meanwhile.
    pub(crate) fn keep(&mut self, pause: impl FnOnce()) {
        let before = Ticks::now();
        pause();
        match (before, Ticks::now()) {
            (Some(before), Some(now)) => {
                self.busy += now.busy.saturating_sub(before.busy);
                self.all += now.all.saturating_sub(before.all);
            }
            _ => self.unknown = true,
        }
    }

    /// The share of the CPUs' time that was used; none where the kernel does not say.
    pub(crate) fn busy(&self) -> Option<f64> {
        (self.all > 0 && !self.unknown).then(|| self.busy as f64 / self.all as f64)
    }
}

/// For how many ticks all CPUs together have worked since the machine started; none where the kernel
/// does not say.
pub(crate) fn busy_ticks() -> Option<u64> {
    Ticks::now().map(|ticks| ticks.busy)
}

impl Ticks {
    fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// user nice system idle iowait irq softirq steal; what follows is part of the first two.
    fn parse(text: &str) -> Option<Self> {
        let words = text.lines().next()?.strip_prefix("cpu ")?;
        let times: Vec<u64> = words
            .split_ascii_whitespace()
            .take(8)
            .map(str::parse)
            .collect::<Result<_, _>>()
            .ok()?;
        let all = times.iter().sum();
        let idle = times.get(3)? + times.get(4)?;
        Some(Self {
            busy: all - idle,
            all,
        })
    }
}

#[cfg(test)]
#[path = "peace_tests.rs"]
mod tests;
