//! The host: which processors there are, which of them share a core, how busy they are.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// What the host is.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    /// The processors that QEMU may use.
    pub(crate) cpus: Vec<usize>,
    /// How many different cores these are.
    pub(crate) cores: usize,
}

/// The processors of a list as the kernel and taskset write it: `0-3,6`.
pub(crate) fn cpus_of_list(list: &str) -> Result<Vec<usize>, String> {
    let wrong = || format!("{list:?} is no list of processors, such as 0-3,6");
    let mut all = BTreeSet::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
        let (first, last) = (number(first)?, number(last)?);
        if first > last || last >= 4096 {
            return Err(wrong());
        }
        all.extend(first..=last);
    }
    Ok(all.into_iter().collect())
}

/// Of a processor: its package and its core there; itself alone where the kernel does not tell.
fn core(cpu: usize) -> (String, String) {
    let read = |what: &str| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/{what}");
        fs::read_to_string(path)
            .ok()
            .map(|text| text.trim().to_owned())
    };
    match (read("physical_package_id"), read("core_id")) {
        (Some(package), Some(core)) => (package, core),
        _ => ("?".into(), cpu.to_string()),
    }
}

/// The processors that this program may use.
fn allowed() -> Vec<usize> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.and_then(|list| cpus_of_list(list).ok())
        .unwrap_or_else(|| vec![0])
}

/// The first line that a program prints.
fn first_line(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.ok()
        .and_then(|text| text.lines().next().map(str::to_owned))
        .unwrap_or_else(|| "unknown".into())
}

impl Host {
    /// Looks at it; where QEMU is pinned, at those processors.
    pub(crate) fn look(pinned: Option<Vec<usize>>) -> Self {
        let cpus = pinned.unwrap_or_else(allowed);
        let cores: BTreeSet<_> = cpus.iter().map(|cpu| core(*cpu)).collect();
        Self {
            cores: cores.len(),
            cpus,
        }
    }

    /// Whether so many processors of a guest have cores of their own.
    pub(crate) fn has_cores(&self, processors: u32) -> bool {
        self.cores >= processors as usize
    }

    /// What has to be known of it to read the figures.
    pub(crate) fn words(&self) -> Vec<String> {
        let model = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = model
            .lines()
            .find_map(|line| line.strip_prefix("model name"));
        let shares = match self.cores < self.cpus.len() {
            true => "; some share a core (SMT)",
            false => "",
        };
        let commit = first_line("git", &["rev-parse", "HEAD"]);
        let is_dirty = first_line("git", &["status", "--porcelain"]) != "unknown";
        vec![
            format!(
                "commit: {commit}{}",
                if is_dirty { ", with changes" } else { "" }
            ),
            format!("qemu: {}", first_line("qemu-system-x86_64", &["--version"])),
            "accelerator: tcg, one thread for each processor".into(),
            format!(
                "processor: {}",
                model
                    .unwrap_or("unknown")
                    .trim_start_matches([' ', '\t', ':'])
            ),
            format!(
                "processors: {:?} on {} cores{shares}",
                self.cpus, self.cores
            ),
        ]
    }
}

/// What the host's processors did since it was started, in nanoseconds: all that was not idle, and how much of
/// that other machines had (`steal`). Of Linux's Documentation/filesystems/proc.rst, in hundredths of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Busy {
    pub(crate) all: u64,
    pub(crate) stolen: u64,
}

impl Busy {
    /// Now.
    pub(crate) fn now() -> Self {
        Self::of(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    fn of(stat: &str) -> Self {
        let all = stat.lines().find_map(|line| line.strip_prefix("cpu "));
        let ticks: Vec<u64> = all
            .into_iter()
            .flat_map(str::split_whitespace)
            .map_while(|word| word.parse().ok())
            .collect();
        // Idle, and waiting for a disk; guests are counted under user.
        let busy: u64 = [0, 1, 2, 5, 6, 7]
            .iter()
            .filter_map(|at| ticks.get(*at))
            .sum();
        Self {
            all: busy * 10_000_000,
            stolen: ticks.get(7).copied().unwrap_or(0) * 10_000_000,
        }
    }

    /// What was done since another look.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            all: self.all.saturating_sub(before.all),
            stolen: self.stolen.saturating_sub(before.stolen),
        }
    }
}

/// How many threads wanted a processor in the last minute, on average.
pub(crate) fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ')
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(0.0)
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
