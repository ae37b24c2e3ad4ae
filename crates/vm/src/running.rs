//! A machine that runs, as the supervisor holds it: what its guest tells and what becomes of its
//! monitor are one stream of news.

use crate::closing::{Closing, GRACE};
use crate::control::Control;
use crate::files;
use crate::image::Hold;
use crate::orders::{Counter, Desk, Messenger, Order, Told, desk};
use crate::said::Said;
use crate::save::Savable;
use crate::spare::Spare;
use crate::stdio::{Streams, make_plain, modes_given, size_of};
use bailiwick_channel::Ends;
use bailiwick_channel::schema::{Exec, Executed, Modes, Program, Stream, ToGuest};
use bailiwick_event::{Act, Failure, LimitKind, Text};
use bailiwick_gate::{Inside, IpFamily};
use bailiwick_process::guest::open_terminal;
use bailiwick_sandbox::{Entry, Invocation, Launch, News, OWN, Running, Save};
use bailiwick_share::NO_REQUEST;
use rustix::event::epoll;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::termios::{isatty, tcgetattr};
use signal_hook::consts::signal::{SIGKILL, SIGWINCH};
use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A machine whose guest is complete.
pub(crate) struct Vm {
    pub(crate) monitor: Box<dyn Running>,
    pub(crate) desk: Desk,
    pub(crate) said: Said,
    /// Readable when the guest or the monitor has news.
    pub(crate) both: OwnedFd,
    /// The terminals of commands, on the guest's side.
    pub(crate) terminals: HashMap<u32, OwnedFd>,
    /// The machine's memory, in bytes.
    pub(crate) memory: u64,
    /// The processes that its commands may have.
    pub(crate) processes: u64,
    /// How the machine's own command ended.
    pub(crate) code: Option<u8>,
    /// Why not all that was written to the host's files arrived there.
    pub(crate) unwritten: Option<i32>,
    /// Whether the machine was ended from here, or is about to be.
    pub(crate) killed: bool,
    /// Whether it has files of a session.
    pub(crate) has_files: bool,
    pub(crate) closing: Closing,
    /// The monitor's control.
    pub(crate) control: Control,
    /// What was told while something else was waited for.
    pub(crate) unheard: VecDeque<Told>,
    /// What the session can be saved with, where it can.
    pub(crate) savable: Option<Savable>,
    /// Keeps the image's parts where they are; none while no session has begun.
    pub(crate) hold: Option<Hold>,
    /// What it was made from, where it waits for its own command.
    pub(crate) spare: Option<Spare>,
    /// News that are told next.
    next: VecDeque<News>,
}

/// So much of the monitor's news is told at most before a command's end: a program may be refused without
/// end.
const BEFORE_AN_END: usize = 64;

/// How long the monitor's end may come after that of the channel.
const LAST: Duration = Duration::from_millis(500);

/// What is said of a monitor that ended with this code.
fn ended_by(code: u8) -> String {
    match code {
        0 => "the guest has powered off".to_owned(),
        129.. => format!("its monitor (QEMU) was ended by signal {}", code - 128),
        code => format!("its monitor (QEMU) ended with code {code}"),
    }
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
            .map(|(name, value)| match name.as_bytes() {
                b"PATH" => (bytes(name), search_path(value.as_bytes(), command.cwd)),
                _ => (bytes(name), bytes(value)),
            })
            .collect(),
        umask,
        streams: [Stream::Null; 3],
        terminal: None,
    }
}

/// Folders of the image with programs that Debian's own search path does not have: the prepared Python
/// environment, and agents.
const IMAGE: &[u8] = b"/opt/ai-clis/bin:/opt/venv/bin";

/// Where Debian has programs.
const SYSTEM: [&[u8]; 6] = [
    b"/usr/local/sbin",
    b"/usr/local/bin",
    b"/usr/sbin",
    b"/usr/bin",
    b"/sbin",
    b"/bin",
];

/// The caller's search path, in a machine. What lies below the folder where the command starts stays first
/// (a project's environment, its `node_modules/.bin`). Then comes what the image has, before other folders
/// of the user's: a tool there was built for the host's libraries, and a version manager's shim asks a
/// shell which program is meant, which takes a translated machine seconds. What the image lacks is found.
fn search_path(path: &[u8], cwd: &Path) -> Vec<u8> {
    let folders = path.split(|byte| *byte == b':');
    let (system, own): (Vec<&[u8]>, Vec<_>) = folders.partition(|f| SYSTEM.contains(f));
    let project = |folder: &&[u8]| Path::new(OsStr::from_bytes(folder)).starts_with(cwd);
    let (project, own): (Vec<_>, Vec<_>) = own.into_iter().partition(project);
    [project, vec![IMAGE], system, own].concat().join(&b':')
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
        memory: u64,
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
            memory,
            processes: 0,
            code: None,
            unwritten: None,
            killed: false,
            has_files: false,
            closing: Closing::default(),
            control,
            unheard: VecDeque::new(),
            savable: None,
            hold: None,
            spare: None,
            next: VecDeque::new(),
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

    /// The channel is over: the monitor has ended, or the guest has broken the protocol.
    fn over(&mut self, why: &str) -> News {
        let ended = match self.has_monitor_news(LAST) {
            true => self.monitor.news(),
            false => Ok(Some(News::Quiet)),
        };
        let what = match ended {
            Ok(Some(News::Exited(code))) => ended_by(code),
            Ok(Some(News::Limit(kind, seen))) => return self.limited(kind, seen),
            Ok(None) | Err(_) => "its monitor was ended from outside".to_owned(),
            Ok(Some(_)) => format!("it cannot be talked to: {why}"),
        };
        self.end_now();
        let tail = self.last_words();
        self.failed(format!(
            "the virtual machine ended before its command: {what}{tail}"
        ))
    }

    /// Ends it, whatever its guest has not written back.
    pub(crate) fn end_now(&mut self) {
        self.killed = true;
        self.monitor.kill();
    }

    /// The monitor has reached a limit that it is held to for the guest: that is its end, and no fault.
    fn limited(&mut self, kind: LimitKind, seen: u64) -> News {
        self.killed = true;
        News::Limit(kind, seen)
    }

    /// Nobody answers for the host's files any more; the code says why. 0: the monitor is gone, of which its
    /// own end tells.
    fn without_files(&mut self, code: u8) -> News {
        if self.killed || code == 0 {
            return News::Quiet;
        }
        self.end_now();
        self.failed(match code {
            NO_REQUEST => {
                "the guest asked for the host's files in no way that a kernel does".to_owned()
            }
            code => format!("the program that answers for the host's files ended with code {code}"),
        })
    }

    /// What was told next, if anything was.
    fn next_told(&mut self) -> Option<Told> {
        if let Some(told) = self.unheard.pop_front() {
            self.desk.ring();
            return Some(told);
        }
        self.desk.told().or_else(|| {
            self.desk.hear();
            let told = self.desk.told()?;
            // What else was told is told when this was: the bell has been heard.
            self.desk.ring();
            Some(told)
        })
    }

    /// The monitor's next news, as they are the machine's.
    fn monitor_news(&mut self) -> io::Result<Option<News>> {
        let news = self.monitor.news()?;
        let is_end = matches!(news, None | Some(News::Exited(_)));
        let news = match news {
            // Whoever is ended as a whole says nothing any more.
            None => self.ended_by_signal().map(News::Exited),
            Some(News::Exited(code)) => Some(match self.code {
                Some(code) => match self.unwritten {
                    Some(errno) => self.unwritten(code, errno),
                    None => News::Exited(code),
                },
                None if self.killed => News::Exited(code),
                None => {
                    let (how, tail) = (ended_by(code), self.last_words());
                    self.failed(format!(
                        "the virtual machine ended before its command: {how}{tail}"
                    ))
                }
            }),
            Some(News::Stopped { .. }) => Some(News::Quiet),
            Some(News::Ended { job, code }) if job == files::JOB => Some(self.without_files(code)),
            Some(News::ExecFailed { job, .. }) if job == files::JOB => {
                Some(self.without_files(u8::MAX))
            }
            Some(News::Limit(kind, seen)) => Some(self.limited(kind, seen)),
            other => other,
        };
        match is_end.then(|| self.missing()).flatten() {
            Some(line) => {
                self.next.extend(news);
                self.desk.ring();
                Ok(Some(News::Told(line)))
            }
            None => Ok(news),
        }
    }

    fn took(&mut self, told: Told) -> News {
        match told {
            Told::Waiting(_) | Told::Quiet | Told::Held(_) | Told::Ready(_) | Told::Keys => {
                News::Quiet
            }
            Told::NoFolder { job, errno } => {
                self.terminals.remove(&job);
                News::NoFolder { job, errno }
            }
            Told::ExecFailed { job, errno } => {
                self.terminals.remove(&job);
                News::ExecFailed { job, errno }
            }
            Told::Stopped { job, signal } => News::Stopped { job, signal },
            Told::Ended { job: OWN, code } => {
                self.code = Some(code);
                // Nothing of it is left when its end is told.
                self.killed = true;
                self.all_is_written();
                let _ = self.monitor.signal(OWN, SIGKILL);
                News::Quiet
            }
            Told::Ended { job, code } => {
                self.terminals.remove(&job);
                News::Ended { job, code }
            }
            Told::Executed(executed) => News::Seen(Box::new(seen(*executed))),
            Told::Called(by, to) => News::Seen(Box::new(called(by, to))),
            Told::Lost(lost) => News::Lost(lost),
            Told::Unwritten(errno) => {
                self.unwritten = Some(errno);
                News::Quiet
            }
            Told::Synced(ago) => {
                self.synced(ago);
                News::Quiet
            }
            Told::Closed(written) => {
                self.closed(written);
                News::Quiet
            }
            Told::Answered => {
                self.answered();
                News::Quiet
            }
            // What was seen is all that there is.
            Told::OutOfMemory if self.killed => News::Quiet,
            Told::OutOfMemory => {
                self.kill();
                News::Limit(LimitKind::Memory, self.memory)
            }
            Told::TooManyProcesses => News::Limit(LimitKind::Processes, self.processes),
            Told::Over(_) if self.killed => News::Quiet,
            Told::Over(why) => self.over(&why),
            Told::Failed { what, errno } => {
                let error = io::Error::from_raw_os_error(errno);
                News::Failed(Box::new(Failure::fault(format!(
                    "the virtual machine: {what}: {error}"
                ))))
            }
        }
    }
}

/// What the guest says of a program, as a row.
fn seen(executed: Executed) -> Act {
    let text = |bytes: Vec<u8>| Text::from(OsString::from_vec(bytes).as_os_str());
    Act::Executed {
        pid: executed.pid,
        parent: executed.parent,
        executable: text(executed.path),
        argv: executed.argv.into_iter().map(text).collect(),
        cwd: text(executed.cwd),
    }
}

/// What the guest says of a connection's program, as a row.
fn called(by: Program, to: SocketAddrV4) -> Act {
    Act::Caller {
        pid: by.pid,
        program: Text::from(OsString::from_vec(by.name).as_os_str()),
        host: Text::from(to.ip().to_string()),
        address: (*to.ip()).into(),
        port: to.port(),
    }
}

impl Running for Vm {
    fn news_fd(&self) -> BorrowedFd<'_> {
        self.both.as_fd()
    }

    fn news(&mut self) -> io::Result<Option<News>> {
        self.end_where_late();
        if let Some(news) = self.next.pop_front() {
            self.desk.ring();
            return Ok(Some(news));
        }
        if let Some(news) = self.heard() {
            self.desk.ring();
            return Ok(Some(news));
        }
        let Some(told) = self.next_told() else {
            return match self.has_monitor_news(Duration::ZERO) {
                true => self.monitor_news(),
                false => Ok(Some(News::Quiet)),
            };
        };
        // The monitor has said what was refused to a command before that knew of it; whoever waits for
        // its end hears of it before.
        let ends = matches!(told, Told::Ended { job, .. } if job != OWN);
        for _ in 0..BEFORE_AN_END {
            if !ends || !self.has_monitor_news(Duration::ZERO) {
                break;
            }
            let news = self.monitor_news()?;
            self.next.extend(news);
        }
        let news = self.took(told);
        self.next.push_back(news);
        let first = self.next.pop_front();
        if !self.next.is_empty() {
            self.desk.ring();
        }
        Ok(first)
    }

    fn open_terminal(&mut self) -> io::Result<OwnedFd> {
        open_terminal()
    }

    fn enter(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        if let Some(spare) = self.spare.take_if(|_| entry.job == OWN) {
            self.monitor.begins()?;
            if let Some(wall) = spare.wall() {
                self.end_after(wall)?;
            }
            // A host that slept has counted on, and the machine has not.
            self.desk.order(Order::GoOn)?;
        }
        let mut told = exec(entry.job, &entry.command, entry.umask);
        let mut streams = Streams::of(entry.streams.map(Some));
        let mut terminal = None;
        let of = entry.streams.map(|stream| entry.terminal && isatty(stream));
        if let Some(at) = of.iter().position(|is| *is) {
            let slave = entry.streams[at].try_clone_to_owned()?;
            let termios = tcgetattr(&slave)?;
            told.terminal = Some((
                0,
                size_of(&slave).unwrap_or_default(),
                Some(Modes::from(&termios)),
            ));
            make_plain(&slave, of[0])?;
            self.terminals.insert(entry.job, slave.try_clone()?);
            for (stream, is) in streams.ends.iter_mut().zip(of) {
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

    fn fits(&self, launch: &Launch<'_>) -> Result<bool, Failure> {
        match &self.spare {
            Some(spare) => spare.is_still(launch, &*self.monitor, self.both.as_fd()),
            None => Ok(false),
        }
    }

    fn signal(&mut self, job: u32, signal: i32) -> io::Result<()> {
        if self.ends_by(job, signal) {
            return Ok(());
        }
        if signal == SIGWINCH {
            if let Some(modes) = self.terminals.get(&job).and_then(modes_given) {
                self.desk
                    .order(Order::Send(ToGuest::Modes { job, modes }))?;
            }
            let size = self.terminals.get(&job).and_then(size_of);
            let resize = size.map(|size| ToGuest::Resize { job, size });
            return resize.map_or(Ok(()), |resize| self.desk.order(Order::Send(resize)));
        }
        self.desk
            .order(Order::Send(ToGuest::Signal { job, signal }))
    }

    fn known(&self, to: &Save<'_>) -> Result<Vec<u8>, Failure> {
        let mut saved = self.savable()?.saved.clone();
        saved.copied = self.copied(to);
        Ok(saved.to_bytes())
    }

    fn save(&mut self, to: &Save<'_>) -> Result<(), Failure> {
        self.save_to(to)
    }

    fn end_after(&mut self, wall: Duration) -> io::Result<()> {
        self.monitor.end_after(wall.saturating_add(GRACE))
    }

    fn kill(&mut self) {
        // What is being closed has its time.
        if !self.is_closing() && !self.close() {
            self.end_now();
        }
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

#[cfg(test)]
mod tests {
    use super::search_path;
    use std::path::Path;

    #[test]
    fn what_the_image_has_comes_before_the_users_tools_and_behind_the_projects() {
        let with = |path: &str| {
            let path = search_path(path.as_bytes(), Path::new("/work/app"));
            String::from_utf8(path).unwrap()
        };
        let image = "/opt/ai-clis/bin:/opt/venv/bin";
        assert_eq!(
            with("/usr/local/go/bin:/root/.pyenv/shims:/usr/local/bin:/usr/bin"),
            format!("{image}:/usr/local/bin:/usr/bin:/usr/local/go/bin:/root/.pyenv/shims")
        );
        assert_eq!(
            with("/work/app/.venv/bin:/root/bin:/work/app2/bin:/bin"),
            format!("/work/app/.venv/bin:{image}:/bin:/root/bin:/work/app2/bin")
        );
        assert_eq!(with("/bin"), format!("{image}:/bin"));
        assert_eq!(with("/home/u/bin"), format!("{image}:/home/u/bin"));
    }
}
