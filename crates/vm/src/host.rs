//! The host's end of a machine's channel. The guest is hostile: what it says of itself is passed on as
//! what it says, what it wants to connect to goes where the monitor's own programs would have to go, to
//! the gate, and nothing else in here acts because of it.

use crate::files::Changes;
use crate::orders::{Counter, Order, Told, hear};
use crate::pace::{CONNECTION, Pace};
use crate::relay::Datagrams;
use crate::setting::now;
use crate::stdio::{Streams, make_plain};
use bailiwick_channel::frame::Kind;
use bailiwick_channel::schema::{
    Attach, Exec, Executed, Open, Setting, Size, Stream, ToGuest, ToHost,
};
use bailiwick_channel::{Ends, Fault, Handler, Line, Mux, Opening, Pump, Role, Violation};
use bailiwick_event::harmless;
use bailiwick_gate::Inside;
use bailiwick_sandbox::OWN;
use rustix::fd::OwnedFd;
use std::collections::HashMap;
use std::io;
use std::mem::take;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Tokens: of orders, of the guest's pace, then those of datagrams.
const ORDERS: u32 = 0;
const PACE: u32 = 1;
const DATAGRAMS: u32 = 1 << 16;

/// What is kept of an execution's words: as much as an honest guest tells of.
const WORDS: usize = 256;
/// See [`WORDS`]; in bytes.
const BYTES: usize = 16 * 1024;
/// What is kept of a program's name, in bytes: as long as the kernel's are.
const NAME: usize = 15;
/// What is kept of a text that is shown, in characters.
const SHOWN: usize = 256;
/// Stages of a start.
const STAGES: usize = 64;

/// The streams of a command, opened.
#[derive(Default)]
struct Opened {
    streams: [Stream; 3],
    terminal: Option<u32>,
    attached: Vec<(u32, Ends)>,
}

/// The handler.
struct Host {
    counter: Counter,
    inside: Arc<dyn Inside>,
    datagrams: Datagrams,
    pace: Pace,
    /// What the guest is told first; none where it is to wait.
    setting: Option<Box<Setting>>,
    /// What it may still say once: that it waits, that it is complete, that something was not written,
    /// that there are too many processes.
    awaited: [bool; 4],
    /// Whether it was told to fall silent.
    holding: bool,
    /// Whether it was told to write everything back.
    closing: bool,
    /// So often it was told to go on before it had said that it stands still.
    owed: u32,
    /// Whether it was told to close at all: then it has no business outside any more.
    ends: bool,
    /// The streams of each command.
    streams: HashMap<u32, Vec<u32>>,
    /// The guest's side of the terminals of commands whose stdin is something else.
    sides: HashMap<u32, OwnedFd>,
    /// Ends that wait until everything before them has been passed on.
    ended: Vec<(u32, u8)>,
    /// Of the host's files; none where the guest has none of them.
    changes: Option<Changes>,
    done: bool,
}

impl Host {
    /// A handler for one machine.
    fn new(
        counter: Counter,
        inside: Arc<dyn Inside>,
        setting: Option<Setting>,
        changes: Option<Changes>,
        line: &Line,
    ) -> io::Result<Self> {
        line.watch(&*counter.wake, ORDERS)?;
        let pace = Pace::new(Instant::now())?;
        line.watch(pace.timer(), PACE)?;
        Ok(Self {
            counter,
            inside,
            datagrams: Datagrams::new(DATAGRAMS),
            pace,
            awaited: [true, false, true, true],
            setting: setting.map(Box::new),
            holding: false,
            closing: false,
            owed: 0,
            ends: false,
            streams: HashMap::new(),
            sides: HashMap::new(),
            ended: Vec::new(),
            changes,
            done: false,
        })
    }

    /// Whether the guest has to hear of changes first.
    fn is_behind(&self) -> bool {
        self.changes.as_ref().is_some_and(Changes::are_new)
    }

    /// Has it hear of them before what is said next.
    fn settle(&self, line: &mut Line) {
        if self.is_behind() {
            line.send(&ToGuest::Settle);
        }
    }

    /// The supervisor's side is told of the end.
    fn broken(&self, why: String) {
        self.counter.tell(Told::Over(why));
    }

    /// Tells the guest of its session.
    fn begin(&mut self, mut setting: Box<Setting>, line: &mut Line) {
        // A machine that starts takes a second to get here.
        setting.now = now();
        self.awaited[1] = true;
        line.send(&ToGuest::Begin(setting));
    }

    fn obey(&mut self, line: &mut Line) {
        loop {
            let order = self.counter.orders.try_recv();
            if order.is_ok() && !self.holding {
                self.settle(line);
            }
            match order {
                Ok(Order::Exec {
                    exec,
                    streams,
                    terminal,
                }) => self.start(*exec, streams, terminal, line),
                Ok(Order::Attach { streams, terminal }) => self.attach(streams, terminal, line),
                Ok(Order::Begin(setting)) => self.begin(setting, line),
                Ok(Order::Send(message)) => line.send(&message),
                Ok(Order::Hold { sync }) => {
                    self.holding = true;
                    line.send(&ToGuest::Hold { sync });
                    line.hold();
                }
                Ok(Order::GoOn) => {
                    self.owed += u32::from(take(&mut self.holding));
                    line.go_on();
                    line.send(&ToGuest::GoOn { now: now() });
                }
                Ok(Order::Ask) => line.send(&ToGuest::Ping(0)),
                Ok(Order::Close) => {
                    self.closing = true;
                    self.ends = true;
                    line.send(&ToGuest::Close);
                }
                Ok(Order::Inward { port, end }) => {
                    if let Ok(ends) = Ends::both(end) {
                        line.open(&Open::Inward { port }, ends);
                    }
                }
                Err(std::sync::mpsc::TryRecvError::Empty) => return,
                Err(std::sync::mpsc::TryRecvError::Disconnected) => {
                    self.done = true;
                    return;
                }
            }
        }
    }

    /// Opens the streams of a command: what the guest is told of them, and the files to give them when it
    /// knows.
    fn open(
        &mut self,
        job: u32,
        streams: Streams,
        terminal: Option<(Ends, [bool; 3])>,
        line: &mut Line,
    ) -> Opened {
        let mut opened = Opened::default();
        let at_terminal = terminal.as_ref().map_or([false; 3], |(_, of)| *of);
        let files = streams.ends.into_iter().zip(at_terminal);
        for ((ends, is_terminal), stream) in files.zip(&mut opened.streams) {
            *stream = match ends {
                _ if is_terminal => Stream::Terminal,
                None => Stream::Null,
                Some(ends) => match line.open_later(&Open::Stdio) {
                    Some(id) => {
                        opened.attached.push((id, ends));
                        Stream::Pipe(id)
                    }
                    None => Stream::Null,
                },
            };
        }
        if streams.joined && !at_terminal[2] {
            opened.streams[2] = opened.streams[1];
        }
        if let Some((ends, _)) = terminal
            && let Some(id) = line.open_later(&Open::Stdio)
        {
            let side = ends.sink.as_ref().map(OwnedFd::try_clone);
            if let Some(Ok(side)) = side.filter(|_| !at_terminal[0]) {
                self.sides.insert(job, side);
            }
            opened.attached.push((id, ends));
            opened.terminal = Some(id);
        }
        opened
    }

    /// Tells the guest of a command, and gives its streams their files.
    fn tell(&mut self, job: u32, message: &ToGuest, attached: Vec<(u32, Ends)>, line: &mut Line) {
        let ids = attached.iter().map(|(id, _)| *id).collect();
        self.streams.insert(job, ids);
        line.send(message);
        for (id, ends) in attached {
            line.attach(id, ends);
        }
    }

    fn start(
        &mut self,
        mut exec: Exec,
        streams: Streams,
        terminal: Option<(Ends, [bool; 3])>,
        line: &mut Line,
    ) {
        let job = exec.job;
        let opened = self.open(job, streams, terminal, line);
        exec.streams = opened.streams;
        if let Some(id) = opened.terminal {
            exec.terminal = exec.terminal.map(|(_, size, modes)| (id, size, modes));
        }
        self.tell(job, &ToGuest::Exec(Box::new(exec)), opened.attached, line);
    }

    fn attach(
        &mut self,
        streams: Streams,
        terminal: Option<(Ends, Size, [bool; 3])>,
        line: &mut Line,
    ) {
        let size = terminal.as_ref().map(|(_, size, _)| *size);
        let terminal = terminal.map(|(ends, _, of)| (ends, of));
        let opened = self.open(OWN, streams, terminal, line);
        let to = Attach {
            job: OWN,
            streams: opened.streams,
            terminal: opened.terminal.zip(size),
        };
        self.tell(OWN, &ToGuest::Attach(to), opened.attached, line);
    }

    fn forget(&mut self, job: u32) {
        self.streams.remove(&job);
        self.sides.remove(&job);
    }

    /// Tells of the ends of commands whose last words have been passed on.
    fn tell_of_ends(&mut self, line: &Line) {
        let (streams, sides) = (&mut self.streams, &mut self.sides);
        let counter = &self.counter;
        self.ended.retain(|(job, code)| {
            let own = streams.get(job).map(Vec::as_slice).unwrap_or_default();
            if !own.iter().all(|id| line.is_drained(*id)) {
                return true;
            }
            streams.remove(job);
            sides.remove(job);
            counter.tell(Told::Ended {
                job: *job,
                code: *code,
            });
            false
        });
    }
}

/// A text of the guest's, short and harmless for a terminal.
fn shown(text: &str) -> String {
    let harmless = |c| if harmless(c) { c } else { ' ' };
    text.chars().take(SHOWN).map(harmless).collect()
}

/// Has an execution be no longer than an honest guest tells it.
fn cut(executed: &mut Executed) {
    let mut left = BYTES;
    let words = executed.argv.iter().take(WORDS);
    let fit = words.take_while(|word| match left.checked_sub(word.len()) {
        Some(less) => {
            left = less;
            true
        }
        None => false,
    });
    let fit = fit.count();
    executed.cut |= fit < executed.argv.len();
    executed.argv.truncate(fit);
    executed.argv.shrink_to_fit();
    executed.path.truncate(BYTES);
    executed.cwd.truncate(BYTES);
}

impl Handler for Host {
    fn hello(&mut self, line: &mut Line) -> Result<(), Fault> {
        if let Some(setting) = self.setting.take() {
            self.begin(setting, line);
        }
        Ok(())
    }

    fn message(&mut self, bytes: &[u8], line: &mut Line) -> Result<(), Fault> {
        self.pace.spend(Instant::now(), bytes.len(), 0)?;
        let turn = || Err(Violation::Turn.into());
        let told = match Mux::decode(bytes, Kind::Message)? {
            ToHost::Waiting(stages) | ToHost::Ready(stages) if stages.len() > STAGES => {
                return turn();
            }
            ToHost::Waiting(stages) if take(&mut self.awaited[0]) => Told::Waiting(stages),
            ToHost::Ready(stages) if take(&mut self.awaited[1]) => Told::Ready(stages),
            ToHost::Failed { what, errno } if take(&mut self.awaited[1]) => Told::Failed {
                what: shown(&what),
                errno,
            },
            ToHost::Waiting(_) | ToHost::Ready(_) | ToHost::Failed { .. } => return turn(),
            ToHost::Quiet => Told::Quiet,
            // Nobody waits for it any more; one that is waited for comes behind it.
            ToHost::Held { .. } if self.owed > 0 => {
                self.owed -= 1;
                return Ok(());
            }
            ToHost::Held { errno } if take(&mut self.holding) => Told::Held(as_result(errno)),
            ToHost::Held { .. } => return turn(),
            ToHost::OutOfMemory(_) => Told::OutOfMemory,
            ToHost::TooManyProcesses if take(&mut self.awaited[3]) => Told::TooManyProcesses,
            ToHost::TooManyProcesses => return turn(),
            // Before what was said behind it is shown, and whoever shows it looks.
            ToHost::Keys { job, wanted } => {
                if let Some(side) = self.sides.get(&job) {
                    make_plain(side, wanted)?;
                }
                Told::Keys
            }
            ToHost::Pong(_) => Told::Answered,
            // What is not there can neither fail to start nor stop nor end.
            ToHost::NoFolder { job, .. }
            | ToHost::ExecFailed { job, .. }
            | ToHost::Stopped { job, .. }
            | ToHost::Ended { job, .. }
                if !self.streams.contains_key(&job) =>
            {
                return turn();
            }
            ToHost::NoFolder { job, errno } => {
                self.forget(job);
                Told::NoFolder { job, errno }
            }
            ToHost::ExecFailed { job, errno } => {
                self.forget(job);
                Told::ExecFailed { job, errno }
            }
            ToHost::Stopped { job, signal } => Told::Stopped { job, signal },
            ToHost::Ended { job, code } => {
                if !self.ended.iter().any(|(known, _)| *known == job) {
                    self.ended.push((job, code));
                }
                return Ok(());
            }
            ToHost::Executed(mut executed) => {
                cut(&mut executed);
                Told::Executed(executed)
            }
            ToHost::Called { mut by, to } => {
                by.name.truncate(NAME);
                by.name.shrink_to_fit();
                Told::Called(by, to)
            }
            ToHost::Unwritten { errno } if take(&mut self.awaited[2]) => Told::Unwritten(errno),
            ToHost::Unwritten { .. } => return turn(),
            ToHost::Synced { ago } => Told::Synced(Duration::from_millis(ago)),
            ToHost::Closed { errno } if take(&mut self.closing) => Told::Closed(as_result(errno)),
            ToHost::Closed { .. } => return turn(),
            ToHost::Lost(lost) => Told::Lost(lost),
            ToHost::Datagram { .. } if self.ends => return Ok(()),
            ToHost::Datagram { from, to, bytes } => {
                let (new, old) = self.datagrams.send(&*self.inside, from, to, &bytes);
                if let Some((socket, token)) = new {
                    line.watch(socket, token)?;
                }
                if let Some(old) = old {
                    line.unwatch(&old);
                }
                return Ok(());
            }
        };
        self.counter.tell(told);
        Ok(())
    }

    fn opened(&mut self, _: u32, open: &[u8], _: &mut Line) -> Result<Opening, Fault> {
        self.pace.spend(Instant::now(), open.len(), CONNECTION)?;
        let Open::Outward { to } = Mux::decode(open, Kind::Open)? else {
            return Ok(Opening::Refused);
        };
        if self.ends {
            return Ok(Opening::Refused);
        }
        let socket = self.inside.connect_to(SocketAddr::V4(to));
        let ends = socket.and_then(|socket| {
            let _ = rustix::net::sockopt::set_tcp_nodelay(&socket, true);
            Ends::both(socket)
        });
        Ok(ends.map_or(Opening::Refused, Opening::Leads))
    }

    fn ready(&mut self, token: u32, line: &mut Line) -> Result<(), Fault> {
        if token == ORDERS {
            hear(&self.counter.wake);
            self.obey(line);
        } else if token == PACE {
            self.pace.heard(Instant::now())?;
        } else if let Some(answer) = self.datagrams.receive(token) {
            self.settle(line);
            line.send(&answer);
        }
        Ok(())
    }

    fn was_read(&mut self, ahead: usize, line: &mut Line) {
        if self.is_behind() {
            line.send_ahead(ahead, &ToGuest::Settle);
        }
    }

    fn turn(&mut self, line: &mut Line) {
        if !self.ended.is_empty() {
            self.tell_of_ends(line);
        }
    }

    fn is_full(&self) -> bool {
        self.counter.is_full() || self.pace.is_spent()
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

/// Serves a machine's channel in a thread of its own, until the supervisor's side or the channel is
/// gone.
pub(crate) fn serve(
    channel: OwnedFd,
    counter: Counter,
    inside: Arc<dyn Inside>,
    setting: Option<Setting>,
    changes: Option<Changes>,
) -> io::Result<()> {
    let line = Line::new(channel, Role::Host)?;
    let host = Host::new(counter, inside, setting, changes, &line)?;
    let mut pump = Pump::new(line, host);
    std::thread::Builder::new()
        .name("vm-channel".to_owned())
        .spawn(move || {
            if let Err(fault) = pump.run() {
                pump.handler().broken(fault.to_string());
            }
        })?;
    Ok(())
}

/// What an error number of the guest's says; 0 is none.
fn as_result(errno: i32) -> Result<(), i32> {
    match errno {
        0 => Ok(()),
        errno => Err(errno),
    }
}
