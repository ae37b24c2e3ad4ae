//! What a run costs the host, from outside: its supervisor's memory and descriptors, and the monitor's
//! memory but for the machine's own.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Larger mappings of the monitor are the machine's memory and what its programs are translated to,
/// both of which are bounded from the start.
const LARGE: u64 = 128 << 10;

/// At one time; memory in KiB.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) memory: u64,
    pub(crate) monitor: u64,
    pub(crate) descriptors: u64,
}

fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// The run of this process now; none when it has ended.
pub(crate) fn cost(pid: u32) -> Option<Cost> {
    let process = Path::new("/proc").join(pid.to_string());
    let status = fs::read_to_string(process.join("status")).ok()?;
    Some(Cost {
        memory: field(&status, "RssAnon:")?,
        monitor: monitor(pid).and_then(own_memory).unwrap_or_default(),
        descriptors: fs::read_dir(process.join("fd")).ok()?.count() as u64,
    })
}

/// The monitor below a process.
fn monitor(top: u32) -> Option<u32> {
    let mut parents = vec![top];
    while let Some(parent) = parents.pop() {
        let tasks = fs::read_dir(format!("/proc/{parent}/task")).ok()?;
        for task in tasks.flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            parents.extend(
                children
                    .split_whitespace()
                    .filter_map(|c| c.parse::<u32>().ok()),
            );
        }
        let name = fs::read_to_string(format!("/proc/{parent}/comm")).unwrap_or_default();
        if name.starts_with("qemu-system") {
            return Some(parent);
        }
    }
    None
}

fn own_memory(pid: u32) -> Option<u64> {
    let maps = fs::read_to_string(format!("/proc/{pid}/smaps")).ok()?;
    let (mut sum, mut large, mut heap) = (0, false, false);
    for line in maps.lines() {
        if let Some(size) = field(line, "Size:") {
            large = size > LARGE && !heap;
        } else if let Some(resident) = field(line, "Rss:") {
            sum += if large { 0 } else { resident };
        } else if !line.split_whitespace().next()?.ends_with(':') {
            heap = line.ends_with("[heap]");
        }
    }
    Some(sum)
}

/// How long a program takes, the median of some.
pub(crate) fn median(times: usize, mut command: impl FnMut() -> Command) -> Duration {
    let mut all: Vec<Duration> = (0..times)
        .map(|_| {
            let began = Instant::now();
            let output = command().output().unwrap();
            assert!(output.status.success(), "{output:?}");
            began.elapsed()
        })
        .collect();
    all.sort();
    all[all.len() / 2]
}
