//! A sandbox that runs, as the supervisor holds it: what happens in it is news, and dropping it
//! ends it.

use crate::broker::{
    Found, Left, Lefts, Named, Rules, Undecided, host_program, of_closed, of_table,
};
use crate::cgroup::{self, Cgroup};
use crate::checkouts;
use crate::identity;
use crate::indexes::Indexes;
use crate::kernel;
use crate::limits::Bounds;
use crate::made::Made;
use crate::message::{Order, Report, receive, send, tell};
use crate::pty;
use crate::scratch::Scratch;
use crate::setup::{Command, pack};
use crate::stored::{self, Stores};
use crate::sweep;
use crate::switches::{Layer, without};
use bailiwick_event::{Act, Decision, Failure, LimitKind, Origin, RuleRef, Text};
use bailiwick_gate::{Inside, IpFamily};
use bailiwick_sandbox::{Entry, Launch, News, Running};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::process::{Signal, pidfd_send_signal};
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What was found before it was asked for counts so long: the user goes on to change his folders.
const EARLY: Duration = Duration::from_millis(20);

/// A sandbox that is set up or runs; dropping it ends it.
pub(crate) struct ProcessSandbox {
    pub(crate) pid: i32,
    pidfd: OwnedFd,
    pub(crate) control: OwnedFd,
    /// Whether it is in namespaces of its own.
    pub(crate) isolated: bool,
    /// Whether pid 1 has reported the end: nothing is left but itself, on its way out.
    ended: bool,
    /// The broker's rules, by number.
    pub(crate) refusals: Vec<Named>,
    /// What is to be looked at when everything has ended.
    pub(crate) sweep: Option<Sweep>,
    /// What pid 1's broker decides by; none where there is no broker.
    pub(crate) rules: Option<Rules>,
    /// What pid 1 means to decide when it is written.
    undecided: Undecided,
    /// A folder of the host that goes with it.
    pub(crate) scratch: Option<Scratch>,
    /// Where its pseudo-terminals are.
    pub(crate) terminals: Option<OwnedFd>,
    /// The id of what runs inside, where the host's root has another.
    pub(crate) owner: Option<(u32, u32)>,
    /// What it was made from, where it waits for its command.
    pub(crate) made: Option<Made>,
    /// Files that were made or changed and that programs of the host obey.
    left: Lefts,
    /// What was found before it was asked for, and when.
    early: Option<(Instant, Found)>,
    /// When it was begun, by the clock of files.
    pub(crate) since: stored::Instant,
    /// Where it stores objects of git.
    stores: Stores,
    /// The indexes of git that were there.
    indexes: Indexes,
    /// Files that git inside was kept from checking out, of which it was told.
    withheld: BTreeSet<PathBuf>,
    /// Folders of which nothing is known, as far as the user was told when it was set up.
    pub(crate) told: Vec<PathBuf>,
    /// News that were found and not told yet.
    more: VecDeque<News>,
    /// Its control group, and the descriptor that is readable when anything happens.
    cgroup: Option<(Cgroup, OwnedFd)>,
}

/// What a sweep needs to know.
pub(crate) struct Sweep {
    pub(crate) rules: Rules,
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) since: stored::Instant,
    pub(crate) quarantine: PathBuf,
}

impl ProcessSandbox {
    /// The decision that the broker made by the rule of this number.
    fn refusal(&self, rule: u32, reason: Option<String>, withheld: Option<String>) -> Decision {
        let (Named { rule, ordinary }, said) = match host_program(rule) {
            Some(program) => {
                let ordinary = Some(program.pattern.to_owned());
                let rule = program.rule();
                (Named { rule, ordinary }, program.said())
            }
            None => {
                let known = self.refusals.get(rule as usize).cloned();
                let known = known.unwrap_or_else(|| Named {
                    rule: match of_closed(rule) {
                        true => of_table(),
                        false => RuleRef {
                            id: "filesystem.protect".to_owned(),
                            origin: Origin::built_in(),
                        },
                    },
                    ordinary: None,
                });
                (known, "the name is protected".to_owned())
            }
        };
        let fixed = rule.origin.file.starts_with("template:") || rule.origin == Origin::built_in();
        let otherwise = match ordinary {
            Some(name) => format!(
                "if the command must write this one, add \"{name}\" to `ordinary` under [filesystem] in your own policy"
            ),
            // Neither can be edited, and no layer takes the protection back.
            None if fixed => "write this one outside of the sandbox".to_owned(),
            None => format!(
                "if the command must write this one, leave the entry out of {} in {}",
                rule.id, rule.origin
            ),
        };
        // Where the name alone does not say it, the reason is what helps.
        let first = reason.as_deref().unwrap_or("use another name");
        let remedy = withheld.unwrap_or_else(|| format!("{first}; {otherwise}"));
        Decision::deny(rule, reason.unwrap_or(said), remedy)
    }
}

impl ProcessSandbox {
    /// Tells pid 1, and the user, what was found in the folders that may be written.
    fn tell_found(&mut self, mut found: Found) -> io::Result<()> {
        let told = found.told(&self.told).into_iter().map(News::Told);
        self.more.extend(told);
        let packed = pack(&found)?;
        self.indexes.keep(std::mem::take(&mut found.git_folders));
        if let Some(rules) = &mut self.rules {
            rules.know_all(found);
        }
        match send(&self.control, &Order::Found, &[packed.as_fd()]) {
            // It has ended meanwhile, and has said so.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }

    /// Looks for what was created at protected names, where nobody kept it from being created.
    fn swept(&mut self) {
        let Some(sweep) = self.sweep.take() else {
            return;
        };
        let found = sweep::sweep(&sweep.rules, &sweep.folders, sweep.since, &sweep.quarantine);
        for found in found {
            self.removed("sweep", found.rule, &found.path, found.note);
        }
    }
}

impl Running for ProcessSandbox {
    fn news_fd(&self) -> BorrowedFd<'_> {
        match &self.cgroup {
            Some((_, watch)) => watch.as_fd(),
            None => self.control.as_fd(),
        }
    }

    fn news(&mut self) -> io::Result<Option<News>> {
        self.hit();
        if let Some(news) = self.more.pop_front() {
            return Ok(Some(news));
        }
        if self.cgroup.is_some() && !kernel::is_readable(&self.control) {
            return Ok(Some(News::Quiet));
        }
        Ok(match receive::<Report>(&self.control)? {
            Some((Report::NoFolder { job, errno }, _)) => Some(News::NoFolder { job, errno }),
            Some((Report::ExecFailed { job, errno }, _)) => Some(News::ExecFailed { job, errno }),
            Some((Report::Stopped { job, signal }, _)) => Some(News::Stopped { job, signal }),
            Some((Report::Ended { job, code }, _)) => Some(News::Ended { job, code }),
            Some((Report::Looks, _)) => {
                let early = self.early.take();
                let early = early.filter(|(when, _)| when.elapsed() < EARLY);
                let found = early.map(|(_, found)| found);
                let find = || self.rules.as_ref().map(Rules::find).unwrap_or_default();
                let found = found.unwrap_or_else(find);
                self.tell_found(found)?;
                Some(News::Quiet)
            }
            Some((Report::WillLook, _)) => {
                let now = Instant::now();
                let found = self.rules.as_ref().and_then(Rules::find_soon);
                self.early = found.map(|found| (now, found));
                Some(News::Quiet)
            }
            Some((Report::Writing { path }, _)) => {
                self.undecided.add(path.into());
                Some(News::Quiet)
            }
            Some((Report::Locked { path, file }, _)) => {
                self.undecided.lock(path.into(), file);
                Some(News::Quiet)
            }
            Some((Report::Left { path, row }, _)) => {
                let left = Left {
                    path: path.into(),
                    row,
                };
                if let Some(folder) = Rules::folder_of_stored(&left) {
                    self.stores.begin(folder, self.since);
                }
                self.left.add(left);
                Some(News::Quiet)
            }
            Some((Report::Exited { code }, _)) => {
                self.undecided.clear();
                self.ends(code);
                self.more.pop_front()
            }
            Some((Report::Limit { kind, observed }, _)) => Some(News::Limit(kind, observed)),
            Some((
                Report::Refused {
                    rule,
                    path,
                    operation,
                    reason,
                    withheld,
                    lost,
                },
                _,
            )) => {
                let path = PathBuf::from(path);
                if withheld.is_some() {
                    self.withheld.insert(path.clone());
                }
                let withheld = withheld.map(|withheld| checkouts::remedy(&path, &withheld));
                let called = || {
                    let by = self.rules.as_ref()?.called_by(&path)?;
                    Some(format!("programs outside run or obey it, by {by}"))
                };
                let decision = self.refusal(rule, reason.or_else(called), withheld);
                let path = Text::from(path.into_os_string());
                let act = Act::Write { operation, path };
                self.more
                    .push_back(News::Refused(Box::new((act, decision))));
                if lost > 0 {
                    self.more.push_back(News::Lost(lost));
                }
                self.more.pop_front()
            }
            Some(_) => return Err(io::Error::other("an answer out of turn")),
            // The kernel has ended everything, pid 1 included, because the memory was used up.
            None if self.exhausted() => {
                self.end();
                self.ends(128 + 9);
                self.more.pop_front()
            }
            None => {
                self.end();
                self.more.pop_front()
            }
        })
    }

    fn open_terminal(&mut self) -> io::Result<OwnedFd> {
        match &self.terminals {
            Some(terminals) => pty::open_in(terminals, self.owner),
            None if !self.isolated => pty::open_on_host(),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn enter(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let command = pack(&Command::from(&entry.command))?;
        if let Some((uid, gid)) = self.owner {
            identity::own_pipes(&entry.streams, uid, gid)?;
        }
        let order = Order::Enter {
            job: entry.job,
            terminal: entry.terminal,
            umask: entry.umask,
        };
        let [stdin, stdout, stderr] = entry.streams;
        let all = [command.as_fd(), stdin, stdout, stderr];
        send(&self.control, &order, &all)
    }

    fn fits(&self, launch: &Launch<'_>) -> Result<bool, Failure> {
        let Some(made) = &self.made else {
            return Ok(false);
        };
        made.is_still(launch)
    }

    fn signal(&mut self, job: u32, signal: i32) -> io::Result<()> {
        tell(&self.control, &Order::Signal { job, signal })
    }

    fn process(&self) -> Option<i32> {
        Some(self.pid)
    }

    fn begins(&mut self) -> io::Result<()> {
        self.since = stored::now();
        tell(&self.control, &Order::Begins)
    }

    fn end_after(&mut self, wall: Duration) -> io::Result<()> {
        tell(&self.control, &Order::EndAfter(wall))
    }

    fn kill(&mut self) {
        let _ = match self.isolated && !without(Layer::Pid) {
            true => pidfd_send_signal(&self.pidfd, Signal::KILL).map_err(io::Error::from),
            // Nothing ends with this process but what it ends itself.
            false => tell(&self.control, &Order::End),
        };
    }
}

impl Drop for ProcessSandbox {
    fn drop(&mut self) {
        // The kernel takes milliseconds to dissolve the namespaces; nobody needs to wait for it.
        if !self.ended {
            self.end();
        }
        if self.cgroup.is_some() {
            // A control group can be removed when nobody is in it any more; pid 1 goes when nobody
            // is here.
            let _ = rustix::net::shutdown(&self.control, rustix::net::Shutdown::Both);
            self.wait_for_end();
        }
    }
}

impl ProcessSandbox {
    /// A sandbox that is being set up by this process.
    pub(crate) fn new(pid: i32, pidfd: OwnedFd, control: OwnedFd, isolated: bool) -> Self {
        Self {
            pid,
            pidfd,
            control,
            isolated,
            ended: false,
            refusals: Vec::new(),
            sweep: None,
            rules: None,
            undecided: Undecided::default(),
            scratch: None,
            terminals: None,
            owner: None,
            made: None,
            told: Vec::new(),
            more: VecDeque::new(),
            left: Lefts::default(),
            early: None,
            since: stored::Instant::default(),
            stores: Stores::default(),
            indexes: Indexes::default(),
            withheld: BTreeSet::new(),
            cgroup: None,
        }
    }

    /// Puts it under limits that the kernel keeps, where it can; says in them which those are.
    pub(crate) fn contain(&mut self, bounds: &mut Bounds) -> Result<(), String> {
        let cgroup = cgroup::contain(self.pid, bounds)?;
        let watch = cgroup.events.watch(self.control.as_fd());
        self.cgroup = Some((cgroup, watch.map_err(|error| error.to_string())?));
        Ok(())
    }

    /// Limits that the kernel says were hit.
    fn hit(&mut self) {
        while let Some((kind, limit)) = self.cgroup.as_mut().and_then(|(c, _)| c.events.take()) {
            self.more.push_back(News::Limit(kind, limit));
        }
    }

    /// Whether the memory limit has ended it. What the kernel says of it may have been heard in
    /// part only, before systemd removed the group.
    fn exhausted(&mut self) -> bool {
        let Some((cgroup, _)) = &mut self.cgroup else {
            return false;
        };
        let Some(limit) = cgroup.events.exhausted else {
            return false;
        };
        if cgroup.events.tell(LimitKind::Memory) {
            self.more.push_back(News::Limit(LimitKind::Memory, limit));
        }
        true
    }

    /// The end: nothing is left, and what is to be looked at then is looked at.
    fn ends(&mut self, code: u8) {
        self.ended = true;
        self.hit();
        self.swept();
        self.hand_over();
        self.more.push_back(News::Exited(code));
    }

    fn end(&mut self) {
        self.kill();
        if !self.isolated || without(Layer::Pid) {
            // It ends everything and then itself, when nobody gives it orders any more.
            let _ = rustix::net::shutdown(&self.control, rustix::net::Shutdown::Write);
        }
        self.wait_for_end();
        let undecided = &mut self.undecided;
        let removed = self.rules.as_ref().map(|rules| undecided.decide(rules));
        for removed in removed.into_iter().flatten() {
            self.removed("write", removed.rule, &removed.path, removed.reason);
        }
        self.hand_over();
    }

    /// Tells what is left for programs of the host, of what is still there.
    fn hand_over(&mut self) {
        let mut left = self.left.take();
        let Some(rules) = &self.rules else {
            return;
        };
        let mut indexes = std::mem::take(&mut self.indexes);
        left.extend(indexes.look(rules, self.since, &self.withheld));
        let stored = Rules::take_stored(&mut left);
        // Of a flood not all was told, nor where pid 1 was killed.
        let flooded = !self.ended || Rules::is_cut(&left);
        let found = self
            .stores
            .look(rules, &stored, (&indexes, flooded), self.since);
        left.extend(found.left);
        for left in rules.still_left(left) {
            self.more.push_back(News::Left(Box::new(left)));
        }
        for removed in found.removed {
            self.removed("store", removed.rule, &removed.path, removed.reason);
        }
    }

    /// Tells that a file was taken away.
    fn removed(&mut self, operation: &str, rule: u32, path: &Path, reason: String) {
        let act = Act::Write {
            operation: operation.to_owned(),
            path: path.as_os_str().into(),
        };
        let decision = self.refusal(rule, Some(reason), None);
        let news = News::Refused(Box::new((act, decision)));
        self.more.push_back(news);
    }

    fn wait_for_end(&self) {
        let id = rustix::process::WaitId::PidFd(self.pidfd.as_fd());
        let _ = rustix::process::waitid(id, rustix::process::WaitIdOptions::EXITED);
    }
}

/// Asks pid 1 for sockets of the sandbox's network, one at a time.
pub(crate) struct Dialler(Mutex<OwnedFd>);

impl Dialler {
    /// Asks on this socket.
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self(Mutex::new(socket))
    }

    fn ask(&self, order: &Order) -> io::Result<OwnedFd> {
        let socket = self.0.lock().map_err(|_| io::Error::other("poisoned"))?;
        tell(&*socket, order)?;
        match receive::<i32>(&*socket)? {
            Some((0, mut descriptors)) if !descriptors.is_empty() => Ok(descriptors.remove(0)),
            Some((errno, _)) if errno != 0 => Err(io::Error::from_raw_os_error(errno)),
            _ => Err(io::ErrorKind::ConnectionRefused.into()),
        }
    }
}

impl Inside for Dialler {
    fn connect_to(&self, to: SocketAddr) -> io::Result<OwnedFd> {
        self.ask(&Order::Connect(to))
    }

    fn datagrams(&self, family: IpFamily) -> io::Result<OwnedFd> {
        let v6 = family == IpFamily::V6;
        self.ask(&Order::Datagrams { v6 })
    }
}

/// The network of a sandbox that has none.
pub(crate) struct Nowhere;

impl Inside for Nowhere {
    fn connect_to(&self, _: SocketAddr) -> io::Result<OwnedFd> {
        Err(io::ErrorKind::ConnectionRefused.into())
    }

    fn datagrams(&self, _: IpFamily) -> io::Result<OwnedFd> {
        Err(io::ErrorKind::ConnectionRefused.into())
    }
}
