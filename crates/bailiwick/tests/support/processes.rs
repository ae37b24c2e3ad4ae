//! Processes of the machine, as `/proc` shows them.

use std::fs;

/// The letter of what a process does (proc(5): `R` runs, `S` sleeps, `T` is stopped, `Z` has ended and
/// was not waited for); none where there is no such process.
pub(crate) fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold anything.
    stat.rsplit_once(") ")?.1.chars().next()
}

/// The processes whose command line holds this text. One that has ended has none.
pub(crate) fn with_words(text: &str) -> Vec<u32> {
    let pid = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let all = fs::read_dir("/proc").unwrap().flatten().filter_map(pid);
    all.filter(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(text)
    })
    .collect()
}
