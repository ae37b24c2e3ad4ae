//! A machine that runs, as the supervisor holds it: what its guest tells and what becomes of its
//! monitor are one stream of news.

use crate::control::Control;
use crate::orders::{Counter, Desk, Messenger, Order, Told, desk};
use crate::said::Said;
use crate::stdio::{ends, make_plain, modes, open_master, size_of};
use bailiwick_channel::Ends;
use bailiwick_channel::schema::{Exec, Stream, ToGuest};
use bailiwick_event::Failure;
use bailiwick_gate::{Inside, IpFamily};
use bailiwick_sandbox::{Entry, Invocation, Launch, News, OWN, Running};
use rustix::event::epoll;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::termios::{isatty, tcgetattr};
use signal_hook::consts::signal::{SIGKILL, SIGWINCH};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use std::time::Duration;

/// How long the monitor's end may come after that of the channel.
const LAST: Duration = Duration::from_secs(2);

/// A machine whose guest is complete.
pub(crate) struct Vm {
    pub(crate) monitor: Box<dyn Running>,
    pub(crate) desk: Desk,
    pub(crate) said: Said,
    /// Readable when the guest or the monitor has news.
    pub(crate) both: OwnedFd,
    /// The terminals of commands, on the guest's side.
    pub(crate) terminals: HashMap<u32, OwnedFd>,
    /// How the machine's own command ended.
    pub(crate) code: Option<u8>,
    /// Whether the machine was ended from here.
    pub(crate) killed: bool,
    /// Why the channel is over, where the monitor's own end follows.
    pub(crate) over: Option<String>,
    /// The monitor's control.
    pub(crate) control: Control,
}

/// The words and variables of a command, as the guest is told them.
pub(crate) fn exec(job: u32, command: &Invocation<'_>, umask: u32) -> Exec {
    let bytes = |word: &OsStr| word.as_bytes().to_vec();
    Exec {
        job,
        argv: command.argv.iter().map(|word| bytes(word)).collect(),
        cwd: bytes(command.cwd.as_os_str()),
        environment: command
            .environment
            .iter()
            .map(|(name, value)| (bytes(name), bytes(value)))
            .collect(),
        umask,
        streams: [Stream::Null; 3],
        terminal: None,
    }
}

/// A descriptor that is readable when one of two is.
fn either(a: BorrowedFd<'_>, b: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let both = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (number, fd) in [(0, a), (1, b)] {
        let data = epoll::EventData::new_u64(number);
        epoll::add(&both, fd, data, epoll::EventFlags::IN)?;
    }
    Ok(both)
}

fn is_readable(fd: BorrowedFd<'_>, within: Duration) -> bool {
    let within = Timespec::try_from(within).ok();
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    matches!(poll(&mut fds, within.as_ref()), Ok(1..))
}

impl Vm {
    /// A machine whose monitor runs, and the other side of its desk.
    pub(crate) fn new(
        monitor: Box<dyn Running>,
        console: OwnedFd,
        control: Control,
    ) -> Result<(Self, Counter), Failure> {
        let fault = |error: io::Error| Failure::fault(format!("the virtual machine: {error}"));
        let said = Said::listen(console).map_err(fault)?;
        let (desk, counter) = desk().map_err(fault)?;
        let both = either(desk.bell.as_fd(), monitor.news_fd()).map_err(fault)?;
        let vm = Self {
            monitor,
            desk,
            said,
            both,
            terminals: HashMap::new(),
            code: None,
            killed: false,
            over: None,
            control,
        };
        Ok((vm, counter))
    }

    /// What the machine said last.
    fn last_words(&self) -> String {
        self.said.tail(6)
    }

    /// Whether the monitor has news, now or within this time.
    pub(crate) fn has_monitor_news(&self, within: Duration) -> bool {
        is_readable(self.monitor.news_fd(), within)
    }

    fn took(&mut self, told: Told) -> News {
        match told {
            Told::Waiting(_) | Told::Quiet | Told::Ready(_) => News::Quiet,
            Told::NoFolder { job, errno } => News::NoFolder { job, errno },
            Told::ExecFailed { job, errno } => News::ExecFailed { job, errno },
            Told::Stopped { job, signal } => News::Stopped { job, signal },
            Told::Ended { job: OWN, code } => {
                self.code = Some(code);
                // Nothing of it is left when its end is told.
                self.killed = true;
                let _ = self.monitor.signal(OWN, SIGKILL);
                News::Quiet
            }
            Told::Ended { job, code } => {
                self.terminals.remove(&job);
                News::Ended { job, code }
            }
            Told::Over(_) if self.killed => News::Quiet,
            // The monitor has ended: by what, it tells itself.
            Told::Over(why) if self.has_monitor_news(LAST) => {
                self.over = Some(why);
                News::Quiet
            }
            Told::Over(why) => {
                self.kill();
                News::Failed(Box::new(Failure::fault(format!(
                    "the virtual machine cannot be talked to any more: {why}{}",
                    self.last_words()
                ))))
            }
            Told::Failed { what, errno } => {
                let error = io::Error::from_raw_os_error(errno);
                News::Failed(Box::new(Failure::fault(format!(
                    "the virtual machine: {what}: {error}"
                ))))
            }
        }
    }
}

impl Running for Vm {
    fn news_fd(&self) -> BorrowedFd<'_> {
        self.both.as_fd()
    }

    fn news(&mut self) -> io::Result<Option<News>> {
        if let Some(told) = self.desk.told() {
            return Ok(Some(self.took(told)));
        }
        self.desk.hear();
        if let Some(told) = self.desk.told() {
            // What else was told is told when this was: the bell has been heard.
            self.desk.ring();
            return Ok(Some(self.took(told)));
        }
        if !self.has_monitor_news(Duration::ZERO) {
            return Ok(Some(News::Quiet));
        }
        Ok(match self.monitor.news()? {
            Some(News::Exited(code)) => Some(match self.code {
                Some(code) => News::Exited(code),
                None if self.killed => News::Exited(code),
                None => News::Failed(Box::new(Failure::fault(format!(
                    "the virtual machine ended by itself{}{}",
                    self.over
                        .as_ref()
                        .map_or_else(String::new, |why| format!(": {why}")),
                    self.last_words()
                )))),
            }),
            Some(News::Stopped { .. }) => Some(News::Quiet),
            Some(News::Limit(kind, seen)) => {
                // Whatever it reaches ends it.
                self.killed = true;
                Some(News::Limit(kind, seen))
            }
            other => other,
        })
    }

    fn open_terminal(&mut self) -> io::Result<OwnedFd> {
        open_master()
    }

    fn enter(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let mut told = exec(entry.job, &entry.command, entry.umask);
        let mut streams = ends(entry.streams.map(Some))?;
        let mut terminal = None;
        let of = entry.streams.map(|stream| entry.terminal && isatty(stream));
        if let Some(at) = of.iter().position(|is| *is) {
            let slave = entry.streams[at].try_clone_to_owned()?;
            let termios = tcgetattr(&slave)?;
            told.terminal = Some((
                0,
                size_of(&slave).unwrap_or_default(),
                Some(modes(&termios)),
            ));
            make_plain(&slave, of[0])?;
            self.terminals.insert(entry.job, slave.try_clone()?);
            for (stream, is) in streams.iter_mut().zip(of) {
                if is {
                    *stream = None;
                }
            }
            terminal = Some((Ends::both(slave)?.shared(), of));
        }
        self.desk.order(Order::Exec {
            exec: Box::new(told),
            streams,
            terminal,
        })
    }

    fn fits(&self, _: &Launch<'_>) -> Result<bool, Failure> {
        Ok(false)
    }

    fn signal(&mut self, job: u32, signal: i32) -> io::Result<()> {
        if signal == SIGWINCH {
            let size = self.terminals.get(&job).and_then(size_of);
            let resize = size.map(|size| ToGuest::Resize { job, size });
            return resize.map_or(Ok(()), |resize| self.desk.order(Order::Send(resize)));
        }
        self.desk
            .order(Order::Send(ToGuest::Signal { job, signal }))
    }

    fn kill(&mut self) {
        self.killed = true;
        self.monitor.kill();
    }
}

/// The way into the guest's network, for ports that are published.
pub(crate) struct IntoGuest(pub(crate) Messenger);

impl Inside for IntoGuest {
    fn connect_to(&self, to: SocketAddr) -> io::Result<OwnedFd> {
        if !to.ip().is_loopback() {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let port = to.port();
        self.0.order(Order::Inward { port, end: ours })?;
        Ok(theirs)
    }

    fn datagrams(&self, _: IpFamily) -> io::Result<OwnedFd> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The way into the guest's network.
pub(crate) fn into_guest(desk: &Desk) -> Arc<dyn Inside> {
    Arc::new(IntoGuest(desk.messenger()))
}
