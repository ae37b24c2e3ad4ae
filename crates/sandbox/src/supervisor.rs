//! Watches one running command: what happens to it, what the caller's signals and terminal say,
//! and when the gate is needed. One thread, one poll; the gate's thread exists only from the
//! first connection on.

use crate::asks::Asks;
use crate::backend::{News, OWN, Running, Started};
use crate::door::Door;
use crate::front::Front;
use crate::output::Output;
use crate::own_text;
use crate::ready::ready;
use crate::record::Record;
use crate::session::Finished;
use crate::switches::without_limits;
use bailiwick_event::{Act, Decision, Failure, LimitKind, Text};
use bailiwick_gate::{Gate, Inside, Settings, Sockets};
use bailiwick_guard::Guard;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::consts::signal::{SIGCONT, SIGXFSZ};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a run may last before its rows are moved to the database while it goes on.
const SHORT: Duration = Duration::from_millis(200);

/// How long a run may last before what only its start has needed is let go.
const SETTLED: Duration = Duration::from_millis(500);

/// How long a run that was ended waits for a reader of its output.
const PATIENCE: Duration = Duration::from_secs(1);

/// Everything about a command that runs.
pub(crate) struct Supervisor {
    running: Box<dyn Running>,
    guard: Arc<Guard>,
    /// Who waits for the command in this process; none where a client does.
    pub(crate) front: Option<Front>,
    /// Questions for the person at the terminal.
    pub(crate) asks: Option<Asks>,
    /// Where other commands enter.
    door: Option<Door>,
    /// What the command says, where that is limited.
    pub(crate) output: Option<Output>,
    /// Whether a limit or a rule has ended the run.
    reached: bool,
    /// Readable when a rule ends the run.
    stopped: Option<Arc<OwnedFd>>,
    sockets: Option<Sockets>,
    inside: Arc<dyn Inside>,
    /// What the gate is told.
    settings: Settings,
    gate: Option<Gate>,
    started: Instant,
    /// Whether rows are moved to the database.
    writing: bool,
    settled: bool,
    /// What the run leaves for programs of the host.
    left: Vec<Act>,
    /// What the user should know besides, a line each.
    told: Vec<String>,
}

/// How a run ended.
pub(crate) enum End {
    /// The command ended by itself or by a limit; as a shell reports it.
    Code(u8),
    /// The folder in which it would start is not there.
    NoFolder(i32),
    /// The command could not be executed.
    NotExecuted(i32),
}

impl Supervisor {
    /// Watches a command that starts now, for nobody in this process.
    pub(crate) fn new(
        started: Started,
        guard: Arc<Guard>,
        door: Option<Door>,
        settings: Settings,
    ) -> Self {
        Self {
            running: started.running,
            stopped: stopper(&guard),
            guard,
            front: None,
            asks: None,
            door,
            output: None,
            reached: false,
            sockets: Some(started.sockets),
            inside: started.inside,
            settings,
            gate: None,
            started: Instant::now(),
            left: Vec::new(),
            told: Vec::new(),
            writing: false,
            settled: false,
        }
    }

    /// Watches until the command has ended.
    pub(crate) fn watch(&mut self) -> Result<End, Failure> {
        let wall = self.guard.policy().limits.wall.as_ref().map(|l| l.value);
        let wall = wall.filter(|_| !without_limits());
        loop {
            let elapsed = self.started.elapsed();
            if !self.writing && elapsed >= SHORT {
                self.writing = true;
                self.guard.ledger().start_writer()?;
            }
            if !self.settled && elapsed >= SETTLED {
                self.settled = true;
                own_text::let_go();
            }
            let ages = [
                (!self.writing).then_some(SHORT),
                (!self.settled).then_some(SETTLED),
                wall.filter(|_| !self.reached),
            ];
            let ages = ages.into_iter().flatten();
            let patience = self.front.as_ref().and_then(Front::patience);
            let asking = self.asks.as_ref().and_then(Asks::patience);
            let left = ages.map(|age| age.saturating_sub(elapsed));
            let next = left.chain(patience).chain(asking).min();
            let ready = self.wait(next)?;
            // Before the news: whoever keeps the time for a supervisor that was stopped has ended the run.
            let elapsed = self.started.elapsed();
            if wall.is_some_and(|wall| elapsed >= wall) && !self.reached {
                self.reached = true;
                self.limit(LimitKind::Wall, nanoseconds(elapsed));
                self.running.kill();
            }
            if let Some(front) = &mut self.front {
                let running = &mut self.running;
                front.serve(&ready.front, |signal| running.signal(OWN, signal));
            }
            if let (Some(asks), Some(front)) = (&mut self.asks, &mut self.front) {
                asks.serve(front);
            }
            if let Some(output) = self.output.as_mut().filter(|_| ready.output) {
                output.hear();
            }
            if let Some(said) = self.said() {
                self.reached = true;
                self.limit(LimitKind::Output, said);
                self.running.kill();
            }
            if ready.stopped {
                self.stopped = None;
                self.reached = true;
                self.running.kill();
            }
            if let Some(door) = &mut self.door {
                door.serve(&ready.door, &mut *self.running, &self.guard);
            }
            if ready.network {
                self.start_gate()?;
            }
            if ready.news {
                match self.running.news() {
                    Ok(Some(News::Failed(failure))) => return Err(*failure),
                    Ok(Some(news)) => {
                        let news = match &mut self.door {
                            Some(door) => door.tell(news, &mut *self.running, &self.guard),
                            None => Some(news),
                        };
                        if let Some(end) = news.and_then(|news| self.take(news)) {
                            return Ok(end);
                        }
                    }
                    _ if self.reached => return Ok(End::Code(137)),
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

    /// What was said, where that is over the limit and was not told yet.
    fn said(&self) -> Option<u64> {
        let output = self.output.as_ref().filter(|_| !self.reached);
        output.and_then(Output::over)
    }

    /// Waits until what the command said has been passed on. What it said last is counted when it
    /// has ended already.
    pub(crate) fn pass_on_the_rest(&mut self) {
        if let (Some(output), Some(front)) = (&mut self.output, &mut self.front) {
            output.finish(front.signals(), self.reached.then_some(PATIENCE));
        }
        if let Some(said) = self.said() {
            self.reached = true;
            self.limit(LimitKind::Output, said);
        }
    }

    /// Records the end of the run, tells it to whoever waits, and closes the record.
    ///
    /// Decision: a run that a limit ends never ends as the command did, even where the command was
    /// quicker than the signal or the look: what was cut or is too much must not look like success.
    pub(crate) fn conclude(
        &mut self,
        end: Result<End, Failure>,
        record: Record,
        path: Option<&OsString>,
        json: bool,
    ) -> Result<Finished, Failure> {
        let took = self.started.elapsed();
        if let Some(door) = &self.door {
            door.end_visits(&self.guard);
        }
        let ended = end.map(|end| match self.reached {
            true => record.end(&End::Code(137), took, path),
            false => record.end(&end, took, path),
        });
        if let Some(asks) = &mut self.asks {
            asks.end();
        }
        if let Some(gate) = self.gate.take() {
            gate.stop();
        }
        let finished = match ended {
            Ok((code, line)) => record.close(code, line, json, (&self.left, &self.told)),
            Err(failure) => Err(record.fail(took, failure)),
        };
        if let Some(door) = &mut self.door {
            let (code, line) = match &finished {
                Ok(finished) => (finished.code, finished.last_line.as_deref()),
                // What failed is told by whoever gets it.
                Err(failure) => (failure.exit_code(), None),
            };
            door.close(code, line);
        }
        finished
    }

    fn take(&mut self, news: News) -> Option<End> {
        match news {
            News::Quiet | News::Failed(_) => {}
            News::NoFolder { errno, .. } => return Some(End::NoFolder(errno)),
            News::ExecFailed { errno, .. } => return Some(End::NotExecuted(errno)),
            News::Exited(code) => {
                if i32::from(code) == 128 + SIGXFSZ
                    && let Some(limit) = self.guard.policy().limits.file_size.as_ref()
                {
                    self.limit(LimitKind::FileSize, limit.value);
                }
                return Some(End::Code(code));
            }
            News::Stopped { .. } => {
                if let Some(front) = &mut self.front {
                    front.stop();
                    let _ = self.running.signal(OWN, SIGCONT);
                }
            }
            News::Ended { .. } => {}
            News::Limit(kind, observed) => {
                self.reached |= matches!(kind, LimitKind::Memory | LimitKind::Disk);
                self.limit(kind, observed);
            }
            News::Seen(mut act) => {
                if let Act::Caller { host, address, .. } = &mut *act
                    && let Some(gate) = &self.gate
                {
                    *host = Text::from(&gate.host_of(*address));
                }
                self.guard.note(*act, happened());
            }
            News::Lost(lost) => self.guard.note(Act::Overflow { lost }, happened()),
            News::Refused(refused) => self.guard.note(refused.0, refused.1),
            News::Told(line) => self.told.push(line),
            News::Left(left) => {
                self.left.push(left.0.clone());
                self.guard.note(left.0, left.1);
            }
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
            LimitKind::Disk => limits.disk.as_ref().map(|l| l.value),
            LimitKind::Output => limits.output.as_ref().map(|l| l.value),
        };
        self.guard.submit(Act::Limit {
            kind,
            // A machine has its memory, whether the policy says how much or not.
            limit: limit.unwrap_or(observed),
            observed,
        });
    }

    fn start_gate(&mut self) -> Result<(), Failure> {
        let Some(sockets) = self.sockets.take() else {
            return Ok(());
        };
        raise_descriptors();
        let (guard, inside) = (Arc::clone(&self.guard), Arc::clone(&self.inside));
        let gate = Gate::start(sockets, guard, inside, self.settings.clone())
            .map_err(|e| Failure::fault(format!("the gate cannot be started: {e}")))?;
        self.gate = Some(gate);
        Ok(())
    }

    /// Waits for something to do, at most this long.
    fn wait(&self, timeout: Option<Duration>) -> Result<Ready, Failure> {
        let news = self.running.news_fd();
        let mut fds = vec![PollFd::new(&news, PollFlags::IN)];
        fds.extend(self.front.iter().flat_map(Front::interest));
        let front = fds.len();
        fds.extend(self.door.iter().flat_map(Door::interest));
        let door = fds.len();
        let output = self.output.as_ref().and_then(Output::fd);
        fds.extend(output.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let output = fds.len();
        let stopped = self.stopped.as_ref();
        fds.extend(stopped.map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)));
        let stop = fds.len();
        let asks = self.asks.as_ref();
        fds.extend(asks.map(|asks| PollFd::from_borrowed_fd(asks.fd(), PollFlags::IN)));
        let asked = fds.len();
        if let Some(s) = &self.sockets {
            let published = s.publish.iter().map(|(socket, _)| socket);
            let all = [&s.tcp, &s.dns, &s.udp, &s.proxy, &s.loopback];
            for socket in all.into_iter().flatten().chain(published) {
                fds.push(PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN));
            }
            let calls = s.calls.iter().map(|calls| calls.source.readable());
            fds.extend(calls.map(|calls| PollFd::from_borrowed_fd(calls, PollFlags::IN)));
        }
        let ready = ready(&mut fds, timeout)?;
        Ok(Ready {
            news: ready[0],
            front: ready[1..front].to_vec(),
            door: ready[front..door].to_vec(),
            output: ready[door..output].contains(&true),
            // Where the other side is gone nobody waits for an answer.
            stopped: ready[output..stop].contains(&true),
            network: fds[asked..].iter().any(|fd| {
                let events = fd.revents();
                !events.is_empty() && !events.contains(PollFlags::HUP)
            }),
        })
    }
}

/// Each connection of a program is two descriptors here. The command is there by now and keeps the limit
/// that it has.
fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    // Where it cannot be raised the gate serves fewer connections at one time.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    );
}

struct Ready {
    stopped: bool,
    news: bool,
    front: Vec<bool>,
    door: Vec<bool>,
    output: bool,
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

/// What becomes readable when a rule ends the session; none where the machine has no room for it,
/// and then what the rule is about is refused all the same.
fn stopper(guard: &Arc<Guard>) -> Option<Arc<OwnedFd>> {
    let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
    let fd = Arc::new(eventfd(0, flags).ok()?);
    let told = Arc::clone(&fd);
    guard.on_stop(move || {
        // It is read once; that it is full already says the same.
        let _ = rustix::io::write(&*told, &1_u64.to_ne_bytes());
    });
    Some(fd)
}

/// The decision of rows that only say what happened.
pub(crate) fn happened() -> Decision {
    Decision::allow(bailiwick_event::RuleRef {
        id: "run".to_owned(),
        origin: bailiwick_event::Origin::built_in(),
    })
}
