//! Watches one running command: what happens to it, what the caller's signals and terminal say,
//! and when the gate is needed. One thread, one poll; the gate's thread exists only from the
//! first connection on.

use crate::backend::{News, Running};
use crate::job;
use crate::signals::Signals;
use crate::terminal::Terminal;
use bailiwick_event::{Act, Decision, Failure, LimitKind, Text};
use bailiwick_gate::{Gate, Inside, Sockets};
use bailiwick_guard::Guard;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use rustix::io::Errno;
use signal_hook::consts::signal::{SIGCONT, SIGPIPE, SIGWINCH, SIGXFSZ};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a run may last before its rows are moved to the database while it goes on.
const SHORT: Duration = Duration::from_millis(200);

/// How often a background run looks whether it is in the foreground.
const LOOK: Duration = Duration::from_millis(100);

/// Everything about a command that runs.
pub(crate) struct Supervisor {
    pub(crate) running: Box<dyn Running>,
    pub(crate) guard: Arc<Guard>,
    pub(crate) signals: Signals,
    pub(crate) terminal: Option<Terminal>,
    pub(crate) sockets: Option<Sockets>,
    pub(crate) inside: Arc<dyn Inside>,
    pub(crate) gate: Option<Gate>,
    pub(crate) started: Instant,
    pub(crate) writing: bool,
}

/// How a run ended.
pub(crate) enum End {
    /// The command ended by itself or by a limit; as a shell reports it.
    Code(u8),
    /// The command could not be executed.
    NotExecuted(i32),
}

impl Supervisor {
    /// Watches until the command has ended.
    pub(crate) fn watch(&mut self) -> Result<End, Failure> {
        let wall = self.guard.policy().limits.wall.as_ref().map(|l| l.value);
        let mut reached = false;
        loop {
            let elapsed = self.started.elapsed();
            if !self.writing && elapsed >= SHORT {
                self.writing = true;
                self.guard.ledger().start_writer()?;
            }
            if wall.is_some_and(|wall| elapsed >= wall) && !reached {
                reached = true;
                self.limit(LimitKind::Wall, nanoseconds(elapsed));
                self.running.kill();
            }
            let next = match (self.writing, wall) {
                (false, Some(wall)) => Some(wall.min(SHORT).saturating_sub(elapsed)),
                (false, None) => Some(SHORT.saturating_sub(elapsed)),
                (true, Some(wall)) if !reached => Some(wall.saturating_sub(elapsed)),
                _ => None,
            };
            let hidden = self
                .terminal
                .as_ref()
                .is_some_and(Terminal::waits_for_foreground);
            let next = if hidden {
                Some(next.unwrap_or(LOOK).min(LOOK))
            } else {
                next
            };
            let ready = self.wait(next)?;
            if ready.signals {
                self.hear();
            }
            if let Some(terminal) = &mut self.terminal {
                terminal.pump(ready.input);
            }
            if ready.network {
                self.start_gate()?;
            }
            if ready.news {
                match self.running.news() {
                    Ok(Some(news)) => {
                        if let Some(end) = self.take(news) {
                            return Ok(end);
                        }
                    }
                    _ if reached => return Ok(End::Code(137)),
                    _ => {
                        return Err(Failure::fault(
                            "the sandbox ended without a word; it was \
                        killed from outside, or the machine is out of memory",
                        ));
                    }
                }
            }
        }
    }

    fn take(&mut self, news: News) -> Option<End> {
        match news {
            News::ExecFailed(errno) => return Some(End::NotExecuted(errno)),
            News::Exited(code) => {
                if i32::from(code) == 128 + SIGXFSZ
                    && let Some(limit) = self.guard.policy().limits.file_size.as_ref()
                {
                    self.limit(LimitKind::FileSize, limit.value);
                }
                return Some(End::Code(code));
            }
            News::Stopped(_) => {
                if let Some(terminal) = &mut self.terminal {
                    terminal.release();
                }
                job::stop_self();
                if let Some(terminal) = &mut self.terminal {
                    terminal.retake();
                }
                let _ = self.running.signal(SIGCONT);
            }
            News::Limit(kind, observed) => self.limit(kind, observed),
        }
        None
    }

    /// Records a limit that was reached.
    fn limit(&self, kind: LimitKind, observed: u64) {
        let limits = &self.guard.policy().limits;
        let limit = match kind {
            LimitKind::Wall => limits.wall.as_ref().map(|l| nanoseconds(l.value)),
            LimitKind::Memory => limits.memory.as_ref().map(|l| l.value),
            LimitKind::Processes => limits.processes.as_ref().map(|l| l.value),
            LimitKind::FileSize => limits.file_size.as_ref().map(|l| l.value),
            LimitKind::OpenFiles => limits.open_files.as_ref().map(|l| l.value),
            LimitKind::Cpu => limits.cpu.as_ref().map(|l| l.value),
        };
        self.guard.submit(Act::Limit {
            kind,
            limit: limit.unwrap_or(0),
            observed,
        });
    }

    fn hear(&mut self) {
        for signal in self.signals.drain() {
            match signal {
                SIGWINCH => {
                    if let Some(terminal) = &self.terminal {
                        terminal.resize();
                    }
                }
                SIGPIPE => {}
                SIGCONT => {
                    if let Some(terminal) = &mut self.terminal {
                        terminal.retake();
                    }
                    let _ = self.running.signal(SIGCONT);
                }
                // SIGTSTP as well: the command's own stop comes back as `News::Stopped`.
                signal => drop(self.running.signal(signal)),
            }
        }
    }

    fn start_gate(&mut self) -> Result<(), Failure> {
        let Some(sockets) = self.sockets.take() else {
            return Ok(());
        };
        let gate = Gate::start(sockets, Arc::clone(&self.guard), Arc::clone(&self.inside))
            .map_err(|e| Failure::fault(format!("the gate cannot be started: {e}")))?;
        self.gate = Some(gate);
        Ok(())
    }

    /// Waits for something to do, at most this long.
    fn wait(&self, timeout: Option<Duration>) -> Result<Ready, Failure> {
        let news = self.running.news_fd();
        let mut fds = vec![
            PollFd::new(&news, PollFlags::IN),
            PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN),
        ];
        let terminal = self
            .terminal
            .as_ref()
            .map(Terminal::interest)
            .unwrap_or_default();
        let terminals = terminal.len();
        fds.extend(terminal);
        if let Some(s) = &self.sockets {
            let published = s.publish.iter().map(|(socket, _)| socket);
            let all = [&s.tcp, &s.dns, &s.udp, &s.proxy, &s.loopback];
            for socket in all.into_iter().flatten().chain(published) {
                fds.push(PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN));
            }
        }
        let timeout = timeout.map(|t| Timespec {
            tv_sec: i64::try_from(t.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: t.subsec_nanos().into(),
        });
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Failure::fault(format!("waiting failed: {error}"))),
        }
        let ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        Ok(Ready {
            news: ready(&fds[0]),
            signals: ready(&fds[1]),
            input: terminals > 0 && fds[2..2 + terminals].last().is_some_and(ready),
            network: fds[2 + terminals..].iter().any(ready),
        })
    }
}

struct Ready {
    news: bool,
    signals: bool,
    input: bool,
    network: bool,
}

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// What a person is told about a command that could not be executed, and the exit code.
pub(crate) fn not_executed(name: &Text, errno: i32, outside: Option<&Path>) -> (u8, String) {
    let error = std::io::Error::from_raw_os_error(errno);
    let hint = match outside {
        Some(path) => format!(
            "; it exists outside as {}, which the policy does not show: add its folder to \
             [filesystem] read, or begin the policy with extends = [\"default\"]",
            Text::from(path.as_os_str())
        ),
        None => String::new(),
    };
    match error.kind() {
        std::io::ErrorKind::NotFound => (127, format!("{name}: not found in the sandbox{hint}")),
        _ => (126, format!("{name}: cannot be executed: {error}")),
    }
}

/// The decision of rows that only say what happened.
pub(crate) fn happened() -> Decision {
    Decision::allow(bailiwick_event::RuleRef {
        id: "run".to_owned(),
        origin: bailiwick_event::Origin::built_in(),
    })
}
