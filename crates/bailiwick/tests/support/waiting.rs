//! What the processes of a run that does not end wait for, and how busy the machine is.

use super::processes::state;
use std::fmt::Write as _;
use std::fs;

/// A line for each thread of a process and of those below it, then what the kernel says of the machine's load.
pub(crate) fn shown(process: u32) -> String {
    let mut text = String::new();
    let mut open = vec![process];
    while let Some(process) = open.pop() {
        let threads = fs::read_dir(format!("/proc/{process}/task"))
            .into_iter()
            .flatten();
        for thread in threads.flatten().map(|thread| thread.path()) {
            let said = |file: &str| {
                let text = fs::read_to_string(thread.join(file)).unwrap_or_default();
                text.trim().to_owned()
            };
            let id = thread.file_name().and_then(|id| id.to_str()?.parse().ok());
            let _ = writeln!(
                text,
                "{process} {} {}: waits in {}, call {}",
                said("comm"),
                id.and_then(state).unwrap_or('?'),
                said("wchan"),
                said("syscall"),
            );
            let children = said("children");
            open.extend(children.split(' ').filter_map(|id| id.parse::<u32>().ok()));
        }
    }
    for file in ["loadavg", "pressure/cpu", "pressure/io", "pressure/memory"] {
        let said = fs::read_to_string(format!("/proc/{file}")).unwrap_or_default();
        let _ = writeln!(text, "{file}: {}", said.trim().replace('\n', "; "));
    }
    text
}
