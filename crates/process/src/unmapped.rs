//! Memory that no process has mapped: what was written to a memory file or a System V segment and is
//! held by a descriptor or by nothing but its number. The processes' own figures do not have it.
//!
//! It is looked for only when the machine as a whole has more shared memory than before, because
//! walking through every descriptor takes long. A descriptor that lies in a socket's queue is not
//! found.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// What the maps call such memory.
const NAMES: [&str; 2] = ["/memfd:", "/SYSV"];

/// A file in memory: the first word of its name, and its number.
type Id = (&'static str, u64);

/// Bytes in memory files and segments, whether mapped or not.
pub(crate) fn all(pids: impl Iterator<Item = u32>) -> HashMap<Id, u64> {
    let mut found = HashMap::new();
    for pid in pids {
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd"));
        for entry in descriptors.into_iter().flatten().flatten() {
            let is_memory = fs::read_link(entry.path())
                .is_ok_and(|link| link.to_str().is_some_and(|l| l.starts_with(NAMES[0])));
            if is_memory && let Ok(stat) = fs::metadata(entry.path()) {
                found.insert((NAMES[0], stat.ino()), stat.blocks() * 512);
            }
        }
    }
    let segments = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    found.extend(segments.lines().skip(1).filter_map(segment));
    found
}

/// A line of the table of segments: its number, and what of it is in memory.
fn segment(line: &str) -> Option<(Id, u64)> {
    let fields: Vec<u64> = line
        .split_whitespace()
        .map(|field| field.parse().unwrap_or(0))
        .collect();
    let (id, bytes) = (*fields.get(1)?, *fields.get(14)?);
    Some(((NAMES[1], id), bytes))
}

/// Bytes that nobody has mapped: each file without what the processes have of it.
pub(crate) fn exactly(pids: impl Iterator<Item = u32>, all: &HashMap<Id, u64>) -> u64 {
    if all.is_empty() {
        return 0;
    }
    let mut mapped = HashMap::new();
    for pid in pids {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap_or_default();
        add_mapped(&text, &mut mapped);
    }
    let left = |(id, bytes): (&Id, &u64)| bytes.saturating_sub(*mapped.get(id).unwrap_or(&0));
    all.iter().map(left).sum()
}

/// Adds what a process has mapped of memory files: its part of each page that it shares.
fn add_mapped(smaps: &str, to: &mut HashMap<Id, u64>) {
    let mut current = None;
    for line in smaps.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            // address, rights, offset, device, number, name
            [range, _, _, _, number, name, ..] if range.contains('-') => {
                let kind = NAMES.into_iter().find(|kind| name.starts_with(kind));
                current = kind.and_then(|kind| Some((kind, number.parse().ok()?)));
            }
            [range, _, _, _, _] if range.contains('-') => current = None,
            ["Pss:", kilobytes, _] => {
                if let Some(id) = current {
                    *to.entry(id).or_default() += kilobytes.parse().unwrap_or(0) * 1024;
                }
            }
            _ => {}
        }
    }
}

/// Bytes of shared memory on the whole machine.
pub(crate) fn on_the_machine() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix("Shmem:"))
        .and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mapped_is_not_counted_twice() {
        let smaps = "7f0000000000-7f0000100000 rw-s 00000000 00:01 77 /memfd:a b (deleted)\n\
            Size: 1024 kB\nRss: 512 kB\nPss: 256 kB\nPss_Dirty: 256 kB\n\
            7f0000200000-7f0000300000 rw-p 00000000 00:00 0 \nPss: 999 kB\n\
            7f0000400000-7f0000500000 rw-s 00000000 00:01 3 /SYSV00000000 (deleted)\n\
            Pss: 64 kB\n\
            7f0000600000-7f0000700000 rw-s 00000000 00:01 77 /memfd:a b (deleted)\nPss: 4 kB\n";
        let mut mapped = HashMap::new();
        add_mapped(smaps, &mut mapped);
        assert_eq!(mapped[&("/memfd:", 77)], 260 * 1024);
        assert_eq!(mapped[&("/SYSV", 3)], 64 * 1024);
        assert_eq!(mapped.len(), 2);
    }

    #[test]
    fn a_segment_is_known_by_its_number() {
        let line = "         0      65538  1600              10485760 11 12      0  1000  1000  \
            1000  1000 0 0 1 8192 0";
        assert_eq!(segment(line), Some((("/SYSV", 65538), 8192)));
        assert_eq!(segment(""), None);
    }

    #[test]
    fn a_memory_file_is_found_by_its_descriptor() {
        let file = rustix::fs::memfd_create("x", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::io::write(&file, &[1; 8192]).unwrap();
        let own = || std::iter::once(std::process::id());
        let number = rustix::fs::fstat(&file).unwrap().st_ino;
        let mut found = all(own());
        found.retain(|id, _| *id == ("/memfd:", number));
        assert_eq!(found[&("/memfd:", number)], 8192);
        assert_eq!(exactly(own(), &found), 8192);
    }
}
