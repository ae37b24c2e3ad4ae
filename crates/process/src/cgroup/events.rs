//! What the kernel says about a group: a limit that was hit. It is read while the run goes on, since
//! a group that systemd made is gone as soon as nobody is in it.

use crate::limits::Bounds;
use bailiwick_event::LimitKind;
use rustix::event::epoll;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The files that tell, and what was told already.
#[derive(Debug)]
pub(crate) struct Events {
    sources: Vec<Source>,
    /// Whether the memory was used up: the kernel then ends all processes of the group, pid 1
    /// included.
    pub(crate) exhausted: Option<u64>,
    /// The group above, which counts what happens below, and how often it had happened before.
    above: Option<(File, u64)>,
}

/// One file, which the kernel makes ready when it changes.
#[derive(Debug)]
struct Source {
    file: File,
    /// The line that counts how often the limit was hit.
    line: &'static str,
    kind: LimitKind,
    limit: u64,
    told: bool,
}

impl Events {
    /// The files of this group, for the limits that it keeps exactly.
    pub(crate) fn of(path: &Path, bounds: &Bounds) -> Self {
        let source = |limit: Option<u64>, kept: bool, name: &str, line, kind| {
            let limit = limit.filter(|_| kept)?;
            let file = File::open(path.join(name)).ok()?;
            // A file that nobody has read yet is ready, whatever is in it.
            read(&file);
            Some(Source {
                file,
                line,
                kind,
                limit,
                told: false,
            })
        };
        let Bounds {
            memory,
            processes,
            exact,
            ..
        } = *bounds;
        let sources = [
            source(
                memory,
                exact.memory,
                "memory.events",
                "oom_kill",
                LimitKind::Memory,
            ),
            source(
                processes,
                exact.processes,
                "pids.events",
                "max",
                LimitKind::Processes,
            ),
        ];
        let above = path.parent().map(|above| above.join("memory.events"));
        let above = above.and_then(|above| File::open(above).ok());
        Self {
            sources: sources.into_iter().flatten().collect(),
            exhausted: None,
            above: above.map(|file| {
                let before = number(&read(&file), "oom_kill");
                (file, before)
            }),
        }
    }

    /// A descriptor that is readable when `also` is, or when something happened here.
    pub(crate) fn watch(&self, also: BorrowedFd<'_>) -> io::Result<OwnedFd> {
        let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let none = epoll::EventData::new_u64(0);
        epoll::add(&set, also, none, epoll::EventFlags::IN)?;
        for source in &self.sources {
            epoll::add(&set, source.file.as_fd(), none, epoll::EventFlags::PRI)?;
        }
        Ok(set)
    }

    /// Whether a limit is still to be told; from now on it is not.
    pub(crate) fn tell(&mut self, kind: LimitKind) -> bool {
        let mut of_kind = self.sources.iter_mut().filter(|source| source.kind == kind);
        of_kind.any(|source| !std::mem::replace(&mut source.told, true))
    }

    /// A limit that was hit and not told yet, and what it is.
    pub(crate) fn take(&mut self) -> Option<(LimitKind, u64)> {
        for source in &mut self.sources {
            // Reading is also what tells the kernel that its news has been heard.
            let text = read(&source.file);
            // systemd removes a group as soon as nobody is in it; the one above still knows.
            let elsewhere =
                |(file, before): &(File, u64)| number(&read(file), "oom_kill") > *before;
            let gone = || text.is_empty() && self.above.as_ref().is_some_and(elsewhere);
            if source.kind == LimitKind::Memory && (number(&text, "oom") > 0 || gone()) {
                self.exhausted = Some(source.limit);
            }
            if number(&text, source.line) > 0 && !source.told {
                source.told = true;
                return Some((source.kind, source.limit));
            }
        }
        None
    }
}

/// A file of counts; nothing where the group is gone.
fn read(file: &File) -> String {
    let mut bytes = [0; 1024];
    let length = file.read_at(&mut bytes, 0).unwrap_or(0);
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

/// The number of a line of it; 0 where there is no such line.
fn number(text: &str, line: &str) -> u64 {
    text.lines()
        .filter_map(|found| found.split_once(' '))
        .find(|(name, _)| *name == line)
        .and_then(|(_, value)| value.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Exact;

    #[test]
    fn a_count_is_that_of_its_own_line() {
        let text = "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n";
        assert_eq!(number(text, "oom_kill"), 2);
        assert_eq!(number(text, "max"), 12);
        assert_eq!(number(text, "oom_kil"), 0);
        assert_eq!(number("", "max"), 0);
    }

    #[test]
    fn the_end_of_a_group_that_is_gone_is_known_to_the_one_above() {
        let above = tempfile::tempdir().unwrap();
        let group = above.path().join("group");
        std::fs::create_dir(&group).unwrap();
        let count = |n| {
            std::fs::write(
                above.path().join("memory.events"),
                format!("oom_kill {n}\n"),
            )
        };
        count(4).unwrap();
        std::fs::write(group.join("memory.events"), "").unwrap();
        let bounds = Bounds {
            memory: Some(100),
            exact: Exact {
                memory: true,
                ..Exact::default()
            },
            ..Bounds::default()
        };
        let mut events = Events::of(&group, &bounds);
        assert_eq!((events.take(), events.exhausted), (None, None));
        count(5).unwrap();
        assert_eq!((events.take(), events.exhausted), (None, Some(100)));
        assert!(events.tell(LimitKind::Memory));
        assert!(!events.tell(LimitKind::Memory), "once");
    }

    #[test]
    fn a_limit_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name, text| std::fs::write(folder.path().join(name), text).unwrap();
        write("memory.events", "max 7\noom 0\noom_kill 0\n");
        write("pids.events", "max 0\n");
        let bounds = Bounds {
            memory: Some(100),
            processes: Some(5),
            exact: Exact {
                memory: true,
                processes: true,
                cpu: false,
            },
            ..Bounds::default()
        };
        let mut events = Events::of(folder.path(), &bounds);
        assert_eq!(events.take(), None, "reclaim is no hit");
        write("pids.events", "max 3\n");
        write("memory.events", "max 9\noom 1\noom_kill 1\n");
        assert_eq!(events.take(), Some((LimitKind::Memory, 100)));
        assert_eq!(events.take(), Some((LimitKind::Processes, 5)));
        assert_eq!(events.take(), None);
        assert_eq!(events.exhausted, Some(100));
    }
}
