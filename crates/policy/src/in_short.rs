//! The effective policy in a few lines, for whoever looks at a run that is over: where it came from
//! and what it granted. The full text runs to hundreds of entries, in which nobody finds the three
//! that matter; what is cut short says so.

use crate::quantity::{show_size, show_time};
use crate::{Effective, PathEntry, PathPattern, Sourced};
use bailiwick_event::Text;

/// How many entries of a list are named.
const NAMED: usize = 8;

impl Effective {
    /// Its layers, what may be written and reached, and its limits; a line each, safe to show.
    #[must_use]
    pub fn in_short(&self) -> String {
        let files = &self.filesystem;
        let network = &self.network;
        let mut lines = vec![
            (
                "workspace",
                Text::from(self.workspace.as_os_str()).to_string(),
            ),
            ("layers", named(self.layers.iter().map(String::as_str))),
            ("hash", self.hash()),
            ("write", paths(&files.write)),
            ("private", paths(&files.private)),
            ("copy", paths(&files.copy)),
        ];
        for (name, list) in [
            ("read", &files.read),
            ("deny", &files.deny),
            ("protect", &files.protect),
        ] {
            lines.push((name, format!("{} entries", list.len())));
        }
        let granted = named(
            (network.allow.iter().map(|e| e.value.to_string()))
                .chain(
                    network
                        .http
                        .iter()
                        .map(|e| format!("{} (http)", e.value.host)),
                )
                .chain(
                    (network.hosts.iter())
                        .map(|e| format!("{} ({})", e.value.host, e.value.address)),
                ),
        );
        lines.push(("network", granted));
        if !network.publish.is_empty() {
            let ports = network.publish.iter();
            let ports = ports.map(|e| format!("{} to {}", e.value.listen, e.value.port));
            lines.push(("publish", named(ports)));
        }
        lines.push(("limits", named(self.limits_in_short())));
        if !self.require.is_empty() {
            let layers = self.require.iter().map(|e| e.value.as_str());
            lines.push(("require", named(layers)));
        }
        if !self.capabilities.is_empty() {
            let held = self.capabilities.iter().map(|e| e.value.as_str());
            lines.push(("capos", named(held)));
        }
        let lines = lines
            .into_iter()
            .map(|(name, text)| format!("  {name:<10} {text}"));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn limits_in_short(&self) -> Vec<String> {
        let limits = &self.limits;
        let of = |name: &str, limit: &Option<Sourced<u64>>, show: fn(u64) -> String| {
            limit.as_ref().map(|l| format!("{name} {}", show(l.value)))
        };
        let number = |n: u64| n.to_string();
        let wall = limits.wall.as_ref();
        [
            of("memory", &limits.memory, show_size),
            of("processes", &limits.processes, number),
            of("cpu", &limits.cpu, |n| {
                format!("{}.{:03}", n / 1000, n % 1000)
            }),
            wall.map(|l| format!("wall {}", show_time(l.value))),
            of("file_size", &limits.file_size, show_size),
            of("open_files", &limits.open_files, number),
            of("disk", &limits.disk, show_size),
            of("output", &limits.output, show_size),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

fn paths(entries: &[PathEntry]) -> String {
    named(entries.iter().map(|entry| match &entry.pattern {
        PathPattern::Path(path) => path.to_string_lossy().into_owned(),
        PathPattern::Glob { root, glob } => root.join(glob).to_string_lossy().into_owned(),
    }))
}

/// The first of them, and how many more there are.
fn named<T: AsRef<str>>(of: impl IntoIterator<Item = T>) -> String {
    let all: Vec<String> = (of.into_iter())
        .map(|text| Text::from(text.as_ref()).to_string())
        .collect();
    let more = match all.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    match all.is_empty() {
        true => "nothing".to_owned(),
        false => format!("{}{more}", all[..all.len().min(NAMED)].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_cut_and_says_so_and_nothing_in_it_reaches_the_terminal() {
        assert_eq!(named([""; 0]), "nothing");
        assert_eq!(named(["a", "b"]), "a, b");
        let many: Vec<String> = (0..10).map(|n| n.to_string()).collect();
        assert_eq!(named(&many), "0, 1, 2, 3, 4, 5, 6, 7, and 2 more");
        assert_eq!(named(["\u{1b}[2J"]), "\\u{1b}[2J");
    }
}
