//! What pid 1 does while commands run: it starts those that enter the sandbox, collects what ends,
//! passes signals on, serves the write broker's calls, keeps the limits that no kernel keeps, and
//! takes everything with it when the sandbox's own command has ended.

use crate::bare;
use crate::broker::{Broker, Rules};
use crate::command::{Streams, Surroundings, become_command};
use crate::departure::Departure;
use crate::disk::Disk;
use crate::image::Image;
use crate::init::Init;
use crate::kernel::{self, Stack};
use crate::leader::{self, Handed};
use crate::limits::{self, Bounds};
use crate::message::{Order, Report, channel, receive, send, tell};
use crate::network;
use crate::seccomp::{self, Brokered};
use crate::setup::{Command, unpack, unpack_command};
use crate::watch::Watch;
use bailiwick_event::LimitKind;
use bailiwick_sandbox::OWN;
use bailiwick_sandbox::place::{Place, pass};
use bailiwick_sandbox::startup::{self, Stage as Mark};
use libc::sock_filter;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::Mode;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group, wait,
};
use std::ffi::OsString;
use std::io;
use std::num::NonZeroI32;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long pid 1 leaves the end of a run that is over its time to the supervisor.
const WALL_GRACE: Duration = Duration::from_millis(500);

/// How long pid 1 stays for a supervisor that has been told of the end.
const STAY: Duration = Duration::from_millis(50);

/// A sandbox whose layers are in force.
pub(crate) struct Live {
    init: Init,
    bounds: Bounds,
    /// Variables that every command here has.
    variables: Vec<(OsString, OsString)>,
    /// Whether there is a gate that connections come to.
    gated: bool,
    broker: Option<Broker>,
    /// The filter that has the commands' calls arrive at the broker, where there is one.
    brokered: Option<Rc<[sock_filter]>>,
    /// A folder of the host for their temporary files, which goes with the supervisor.
    scratch: Option<PathBuf>,
    watch: Option<Watch>,
    disk: Option<Arc<Disk>>,
    /// When the limits were looked at.
    looked: Instant,
    /// When the run is over its time.
    deadline: Option<Instant>,
    jobs: Vec<Job>,
    /// A stack that no command needs any more, for the next one.
    stack: Option<Stack>,
}

/// A command that runs.
struct Job {
    number: u32,
    /// The process whose end is the command's.
    pid: i32,
    /// The process group that gets its signals.
    group: i32,
    /// Where its process hands something in before it becomes the command.
    handed: Option<OwnedFd>,
    /// What its process needs of this one's memory.
    departure: Option<Departure>,
}

/// How a command is started.
#[derive(Clone, Copy)]
pub(crate) enum Way<'a> {
    /// As a child of pid 1.
    Directly(Streams<'a>),
    /// In a session of its own.
    Led {
        terminal: BorrowedFd<'a>,
        streams: [BorrowedFd<'a>; 3],
    },
}

impl Live {
    /// What is kept for the commands to come.
    pub(crate) fn new(
        init: Init,
        rules: Option<Rules>,
        bounds: Bounds,
        variables: Vec<(OsString, OsString)>,
        connects: bool,
        scratch: Option<PathBuf>,
    ) -> io::Result<Self> {
        let broker = match rules {
            None => None,
            Some(rules) => {
                // A file that is too long is an error for the broker, and no signal.
                kernel::ignore_signal(libc::SIGXFSZ);
                limits::apply_to_broker(&bounds)?;
                let [turns, stays] = init.order.as_ref().map_err(|(_, errno)| *errno)?;
                let order = [turns.try_clone()?, stays.try_clone()?];
                let broker = Broker::new(rules, init.control.as_fd(), order)?;
                Some(match connects {
                    true => broker.with_way_out(init.dial.try_clone()?),
                    false => broker,
                })
            }
        };
        let brokered = broker.as_ref().map(|broker| {
            seccomp::broker_program(&Brokered {
                reads: broker.reads(),
                binds: init.has_own_processes(),
                connects,
            })
            .into()
        });
        Ok(Self {
            // Without a pid namespace the processes of others would be counted as well.
            watch: Watch::new(&bounds).filter(|_| init.has_own_processes()),
            disk: None,
            looked: Instant::now(),
            deadline: None,
            jobs: Vec::new(),
            stack: None,
            gated: init.isolated || connects,
            init,
            bounds,
            variables,
            broker,
            brokered,
            scratch,
        })
    }

    /// Starts a command; where that fails, whoever asked is told.
    pub(crate) fn start(&mut self, number: u32, mut command: Command, umask: Mode, way: Way<'_>) {
        for (name, value) in &self.variables {
            command.environment.retain(|(key, _)| key != name);
            command.environment.push((name.clone(), value.clone()));
        }
        if !self.gated {
            bailiwick_sandbox::without_proxy(&mut command.environment);
        }
        match self.spawn(number, &command, umask, way) {
            Ok(job) => {
                if number == OWN {
                    self.deadline = self.bounds.wall.map(|wall| Instant::now() + wall);
                }
                self.jobs.push(job);
            }
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                let job = number;
                let _ = tell(&self.init.control, &Report::ExecFailed { job, errno });
                if number == OWN {
                    kernel::exit_now(125)
                }
            }
        }
    }

    fn spawn(
        &mut self,
        number: u32,
        command: &Command,
        umask: Mode,
        way: Way<'_>,
    ) -> io::Result<Job> {
        let (handed, hand_in) = channel()?;
        let image = Image::new(command)?;
        let isolated = self.init.has_own_processes();
        let surroundings = Surroundings {
            job: number,
            streams: match way {
                Way::Directly(streams) => streams,
                Way::Led { terminal, streams } => Streams::of_session(terminal, streams),
            },
            umask,
            bounds: self.bounds,
            broker: self
                .brokered
                .as_ref()
                .map(|program| (hand_in.as_fd(), Rc::clone(program))),
            keeper: match way {
                Way::Directly(_) if isolated => None,
                _ => Some(getpid()),
            },
            bare: !isolated,
        };
        let control = self.init.control.as_fd();
        let mut become_it = || {
            let _ = tell(control, &become_command(&image, &surroundings));
            127
        };
        let mut departure = None;
        let pid = match way {
            Way::Directly(_) if number == OWN && !image.waits() => kernel::spawn(&mut become_it)?,
            // What runs here already could stop it at any instant, or another sandbox keep its file:
            // nothing waits for it.
            Way::Directly(_) if isolated => {
                let stack = self.stack.take().unwrap_or_else(Stack::new);
                let (pid, started) = Departure::start(stack, image, &surroundings, control)?;
                departure = Some(started);
                pid
            }
            Way::Directly(_) => match kernel::fork()? {
                0 => kernel::exit_now(become_it()),
                pid => pid,
            },
            Way::Led { terminal, .. } => match kernel::fork()? {
                0 => leader::lead(&image, &surroundings, terminal, control, hand_in.as_fd()),
                pid => pid,
            },
        };
        Ok(Job {
            number,
            pid,
            group: pid,
            handed: Some(handed),
            departure,
        })
    }

    /// Waits for what ends, and for orders.
    pub(crate) fn go_on(mut self, folders: Vec<PathBuf>) -> ! {
        release_streams();
        let Ok(signals) = kernel::signal_descriptor(&[libc::SIGCHLD]) else {
            kernel::exit_now(125)
        };
        if let Some(limit) = self.bounds.disk {
            let disk = Arc::new(Disk::new(folders, limit));
            self.keep(Arc::clone(&disk));
            self.disk = Some(disk);
        }
        // What ended before there was the descriptor.
        self.collect();
        loop {
            if ASKED.load(Ordering::Relaxed) {
                self.end(128 + 9)
            }
            if let Some(deadline) = self.deadline
                && Instant::now() >= deadline + WALL_GRACE
            {
                // The supervisor, which ends the run in time, is stopped itself.
                self.end_writing();
                let _ = tell(&self.init.control, &Report::Exited { code: 137 });
                kernel::exit_now(0)
            }
            let timeout = self
                .patience()
                .and_then(|next| Timespec::try_from(next).ok());
            let mut fds = vec![
                PollFd::new(&signals, PollFlags::IN),
                PollFd::new(&self.init.control, PollFlags::IN),
            ];
            // Connections into a network of its own, or out of a sandbox that has none.
            let way = match self.init.isolated {
                true => Some(self.init.dial.as_fd()),
                false => self.broker.as_ref().and_then(Broker::way_out),
            };
            fds.extend(way.map(|way| PollFd::from_borrowed_fd(way, PollFlags::IN)));
            let ways = fds.len();
            let handed = self.jobs.iter().filter_map(|job| job.handed.as_ref());
            fds.extend(handed.map(|handed| PollFd::new(handed, PollFlags::IN)));
            let first = fds.len();
            let mut listeners = Vec::new();
            for (number, listener) in self.broker.iter().flat_map(Broker::descriptors) {
                listeners.push(number);
                fds.push(PollFd::from_borrowed_fd(listener, PollFlags::IN));
            }
            let _ = poll(&mut fds, timeout.as_ref());
            let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            let (child, control, dial) = (ready[0], ready[1], ready[2..ways].contains(&true));
            if ready[ways..first].contains(&true) {
                for job in &mut self.jobs {
                    job.hear(&mut self.broker);
                }
            }
            if let Some(broker) = &mut self.broker {
                // What has to wait from here on is tried again when something happens, or in a while.
                broker.retry();
                for (number, _) in listeners.iter().zip(&ready[first..]).filter(|(_, r)| **r) {
                    broker.serve(*number);
                }
                if dial && !self.init.isolated {
                    broker.hear();
                }
            }
            if control {
                self.obey();
            }
            if dial && self.init.isolated {
                self.make_socket();
            }
            self.look();
            if child {
                let _ = rustix::io::read(&signals, &mut [0; 1024]);
                self.collect();
            }
        }
    }

    /// How long nothing needs to be done.
    fn patience(&self) -> Option<Duration> {
        let waits = self.broker.as_ref().and_then(Broker::patience);
        let look = self.watch.as_ref().map(Watch::interval);
        waits.or(look).or(self.deadline.map(|_| WALL_GRACE))
    }

    /// Looks at the limits, where that is due.
    fn look(&mut self) {
        let looked = self.looked.elapsed();
        let due = self
            .watch
            .as_mut()
            .filter(|watch| looked >= watch.interval());
        let Some(watch) = due else { return };
        self.looked = Instant::now();
        if let Some((kind, observed)) = watch.look() {
            let _ = tell(&self.init.control, &Report::Limit { kind, observed });
            if kind == LimitKind::Memory {
                self.end_all();
            }
        }
    }

    /// Keeps the limit on disk space, in a thread of its own: adding up files takes long.
    fn keep(&self, disk: Arc<Disk>) {
        let Ok(control) = self.init.control.try_clone() else {
            kernel::exit_now(125)
        };
        let end = match self.init.has_own_processes() {
            true => kill_everything,
            false => ask_for_end,
        };
        let keep = move || disk.keep(&control, end);
        // A limit that nobody keeps is none.
        if std::thread::Builder::new().spawn(keep).is_err() {
            kernel::exit_now(125)
        }
    }

    /// Collects what ended; ends the sandbox with its own command.
    fn collect(&mut self) {
        let options = WaitOptions::NOHANG | WaitOptions::UNTRACED;
        while let Ok(Some((pid, status))) = wait(options) {
            let pid = pid.as_raw_nonzero().get();
            let Some(at) = self.jobs.iter().position(|job| job.pid == pid) else {
                continue;
            };
            let job = self.jobs[at].number;
            if let Some(signal) = status.stopping_signal() {
                let _ = tell(&self.init.control, &Report::Stopped { job, signal });
                continue;
            }
            let code = shell_code(status);
            if job == OWN {
                self.end(code);
            }
            pass(Place::Collected);
            // What it has left running may need its listener.
            let mut ended = self.jobs.swap_remove(at);
            ended.hear(&mut self.broker);
            // SAFETY: its process has just been waited for.
            let free = |departure: Departure| unsafe { departure.into_stack() };
            self.stack = ended.departure.map(free).or(self.stack.take());
            let _ = tell(&self.init.control, &Report::Ended { job, code });
        }
    }

    /// The sandbox's own command has ended, or is to end now with everything else.
    fn end(&mut self, code: u8) -> ! {
        // What a short program did between two looks.
        if let Some((kind, observed)) = self.watch.as_mut().and_then(Watch::look) {
            let _ = tell(&self.init.control, &Report::Limit { kind, observed });
        }
        // Nothing of the sandbox is left when the end is reported.
        self.end_writing();
        if let Some(disk) = &self.disk {
            disk.look(&self.init.control);
        }
        startup::mark(Mark::Command);
        let _ = tell(&self.init.control, &Report::Exited { code });
        self.stay_behind();
        // A supervisor that was killed meanwhile has not done it.
        self.clear();
        kernel::exit_now(0)
    }

    /// Removes the temporary files that lie on the host; their folder itself this process cannot
    /// remove, which is under the sandbox's own Landlock rules.
    fn clear(&self) {
        if let Some(scratch) = &self.scratch {
            let _ = std::fs::remove_dir_all(scratch);
        }
    }

    /// Lets the supervisor end first. Taking the namespaces apart keeps a CPU for longer than it has
    /// left to do, and whoever waits for the run would wait for that CPU. It takes this process along.
    fn stay_behind(&self) {
        let patience = Timespec::try_from(STAY).ok();
        let mut fds = [PollFd::new(&self.init.control, PollFlags::IN)];
        let _ = poll(&mut fds, patience.as_ref());
    }

    fn obey(&mut self) {
        match receive::<Order>(&self.init.control) {
            Ok(Some((Order::Signal { job, signal }, _))) => {
                let meant = self.jobs.iter().find(|running| running.number == job);
                let group = meant.and_then(|job| Pid::from_raw(job.group));
                if let (Some(group), Some(signal)) = (group, NonZeroI32::new(signal)) {
                    // SAFETY: the number is not 0; it is the kernel's to send, which refuses numbers
                    // that are no signals, and no handler of this process is set by it.
                    let signal = unsafe { Signal::from_raw_nonzero_unchecked(signal) };
                    // Right after its start its process may not have a group yet.
                    if kill_process_group(group, signal).is_err() {
                        let _ = kill_process(group, signal);
                    }
                }
            }
            Ok(Some((
                Order::Enter {
                    job,
                    terminal,
                    umask,
                },
                descriptors,
            ))) => {
                let umask = Mode::from_raw_mode(umask & 0o777);
                if job == OWN {
                    self.begins();
                }
                if self.enter(job, terminal, umask, descriptors).is_none() {
                    let errno = libc::EPROTO;
                    let _ = tell(&self.init.control, &Report::ExecFailed { job, errno });
                }
            }
            Ok(Some((Order::Found, mut descriptors))) => {
                let found = descriptors.pop().and_then(|list| unpack(list).ok());
                if let (Some(broker), Some(found)) = (&mut self.broker, found) {
                    broker.know(found);
                }
            }
            Ok(Some((Order::End, _))) => self.end(128 + 9),
            Ok(Some((Order::EndAfter(wall), _))) => self.deadline = Some(Instant::now() + wall),
            Ok(Some((Order::Begins, _))) => self.begins(),
            Ok(Some(_)) => {}
            // The supervisor is gone: so is the sandbox.
            _ => {
                self.end_writing();
                self.clear();
                kernel::exit_now(125)
            }
        }
    }

    /// The own command begins, which may have been waited for: what others did meanwhile does not count.
    fn begins(&self) {
        if let Some(disk) = &self.disk {
            disk.begins();
        }
    }

    /// Starts a command that comes with its streams; none where something of it is missing.
    fn enter(
        &mut self,
        job: u32,
        terminal: bool,
        umask: Mode,
        descriptors: Vec<OwnedFd>,
    ) -> Option<()> {
        let (command, streams) = unpack_command::<Command>(descriptors)?;
        if command.argv.is_empty() || self.jobs.iter().any(|running| running.number == job) {
            return None;
        }
        pass(Place::Obeys);
        let all = streams.each_ref().map(AsFd::as_fd);
        let way = match leader::terminal_of(&streams).filter(|_| terminal) {
            Some(terminal) => Way::Led {
                terminal,
                streams: all,
            },
            None => Way::Directly(Streams {
                of: all.map(Some),
                terminal: None,
            }),
        };
        self.start(job, command, umask, way);
        pass(Place::Started);
        Some(())
    }

    /// Ends every process of the sandbox but this one.
    fn end_all(&self) {
        match self.init.has_own_processes() {
            true => kill_everything(),
            false => bare::end_descendants(),
        }
    }

    /// Ends every process of the sandbox but this one, and decides what they have written.
    fn end_writing(&mut self) {
        self.end_all();
        while wait(WaitOptions::empty()).is_ok() {}
        if let Some(broker) = &mut self.broker {
            broker.finish();
        }
    }

    /// Makes a socket for the supervisor, which waits for it.
    fn make_socket(&self) {
        let dial = &self.init.dial;
        let made = match receive::<Order>(dial) {
            Ok(Some((Order::Connect(to), _))) => network::dial(to),
            Ok(Some((Order::Datagrams { v6 }, _))) => network::datagrams(v6),
            _ => return,
        };
        let _ = match made {
            Ok(socket) => send(dial, &0_i32, &[socket]),
            Err(error) => tell(dial, &error.raw_os_error().unwrap_or(libc::EIO)),
        };
    }
}

impl Job {
    /// Takes what its process has handed in so far. Without a listener the command could not attach
    /// its filter, and has not started.
    fn hear(&mut self, broker: &mut Option<Broker>) {
        while let Some(handed) = self.handed.as_ref().filter(|h| kernel::is_readable(h)) {
            match receive::<Handed>(handed) {
                Ok(Some((Handed::Listener, mut descriptors))) => {
                    if let (Some(listener), Some(broker)) = (descriptors.pop(), broker.as_mut()) {
                        broker.listen(listener.into());
                    }
                }
                Ok(Some((Handed::Leads(pid), _))) => self.group = pid,
                Ok(None) | Err(_) => self.handed = None,
            }
        }
    }
}

/// Whether another thread has asked for the end.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Has the first thread end everything, and the sandbox with it: without a namespace whoever ends
/// processes waits for them, and the end of the sandbox's own command would not be heard.
fn ask_for_end() {
    ASKED.store(true, Ordering::Relaxed);
    let _ = kill_process(getpid(), Signal::CHILD);
}

/// Ends every process of the namespace but this one.
fn kill_everything() {
    // SAFETY: numbers only; as pid 1 of a namespace, -1 means every other process in it.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// Pid 1 must not keep the ends of the caller's pipes open.
fn release_streams() {
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
    if let Ok(null) = rustix::fs::open("/dev/null", flags, Mode::empty()) {
        let _ = rustix::stdio::dup2_stdin(null.as_fd());
        let _ = rustix::stdio::dup2_stdout(null.as_fd());
        let _ = rustix::stdio::dup2_stderr(null.as_fd());
    }
}

pub(crate) fn shell_code(status: WaitStatus) -> u8 {
    let code = status
        .exit_status()
        .or_else(|| status.terminating_signal().map(|signal| 128 + signal))
        .unwrap_or(125);
    u8::try_from(code).unwrap_or(125)
}
