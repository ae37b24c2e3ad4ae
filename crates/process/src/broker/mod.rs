//! The write broker: it does, in the place of the sandboxed program, every act that gives a file a
//! name or opens one for writing. Mounts protect what exists when a run begins; names that do
//! not exist yet, and names that are reached by moving a folder, are decided here, by the same
//! process that performs the act, so that nothing can change between the two.
//!
//! Decision: a call is never let through to the kernel as it was made. Its arguments lie in the
//! program's memory, where another thread can change them after they were looked at; the broker
//! reads them once, resolves the path itself, decides, acts, and hands out the result.

mod act;
mod attributes;
mod bind;
mod connect;
mod deferred;
#[cfg(feature = "fuzzing")]
#[allow(
    unreachable_pub,
    reason = "the crate's door for the targets leads here"
)]
pub mod fuzzing;
mod link;
mod linked;
mod locks;
mod open;
pub(crate) mod order;
mod path;
mod rename;
mod rules;
mod tracee;
mod undecided;
mod watched;
mod withheld;

pub(crate) use rename::replace;
pub(crate) use rules::{
    Found, Left, Lefts, Named, Rules, Verdict, host_program, of_closed, of_table,
};
pub(crate) use undecided::{Removed, Undecided};

use crate::kernel;
use crate::message::{Report, Withheld, tell, tell_now};
use crate::notify::{Answer, Call, Listener};
use crate::outward::Outward;
use act::{Outcome, Refused};
use deferred::{Deferred, Progress};
use linked::Linked;
use locks::{Lock, Locks};
use order::Order;
use rules::Unknown;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};
use watched::{Seen, Watched};
use withheld::Untold;

/// How long to wait before something is tried again.
const PATIENCE: Duration = Duration::from_millis(5);
/// After so many files that said what they may not, and that a program kept open, a run writes no more such files in
/// place: the user's git could read each of them for a moment.
const OBSTINATE: u32 = 3;
/// `ERESTARTSYS`: the kernel runs the handler of the signal that is pending, and makes the call again
/// or fails it with EINTR, as the program has asked for.
const RESTART: Errno = Errno::from_raw_os_error(512);

/// The content of a plain file of at most so many bytes.
///
/// # Errors
/// Why it cannot be read, or that it is no such file.
pub(crate) fn content_of(path: &Path, limit: usize) -> Result<Vec<u8>, String> {
    rename::content_of(path, limit).map_err(|error| error.to_string())
}

/// The broker of one sandbox. Calls are served one after the other: a check that looks at several
/// names stays true until the act is done.
pub(crate) struct Broker {
    rules: Rules,
    /// By number; none where nobody is left who could call.
    listeners: Vec<Option<Listener>>,
    /// Calls that wait for another program, by the number of their listener.
    pending: Vec<(usize, Call)>,
    /// Files that are made when their content is known.
    deferred: Vec<Deferred>,
    /// Files that are decided when they are written.
    watched: Vec<Watched>,
    /// All that were ever among them, which the supervisor was told.
    told: BTreeSet<PathBuf>,
    /// How many of them said what they may not while a program kept them open.
    obstinate: u32,
    reports: Reports,
    /// Locks of git that its programs have made.
    locks: Locks,
    /// Files to which its programs have given more names.
    linked: Linked,
    /// What git was told that it had checked out.
    withheld: withheld::Withheld,
    /// The turns with other sandboxes.
    order: Rc<Order>,
    /// Who makes what only another may; none where there is nobody.
    outward: Option<Outward>,
}

impl Broker {
    /// A broker that reports refusals on `control`, and takes turns with others by a file that is opened twice.
    pub(crate) fn new(
        rules: Rules,
        control: BorrowedFd<'_>,
        [turns, stays]: [OwnedFd; 2],
    ) -> Result<Self, Errno> {
        let rules = rules.compiled().with_baselines();
        Ok(Self {
            order: Rc::new(Order::of(turns, stays, rules.kept())),
            reports: Reports::new(
                rustix::io::fcntl_dupfd_cloexec(control, 3)?,
                rules.root().to_path_buf(),
            ),
            rules,
            listeners: Vec::new(),
            pending: Vec::new(),
            deferred: Vec::new(),
            watched: Vec::new(),
            told: BTreeSet::new(),
            obstinate: 0,
            locks: Locks::default(),
            linked: Linked::default(),
            withheld: withheld::Withheld::default(),
            outward: None,
        })
    }

    /// Whether calls that read come here as well.
    pub(crate) fn reads(&self) -> bool {
        self.rules.reads()
    }

    /// Serves the calls of one more command.
    pub(crate) fn listen(&mut self, listener: Listener) {
        listener.take_turns();
        self.listeners.push(Some(listener));
    }

    /// The numbers of the listeners, and what becomes readable when there is a call.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = (usize, BorrowedFd<'_>)> {
        let listeners = self.listeners.iter().enumerate();
        listeners.filter_map(|(n, listener)| Some((n, listener.as_ref()?.as_fd())))
    }

    /// How long to wait before [`Broker::retry`] has something to do; none where it has not.
    pub(crate) fn patience(&self) -> Option<Duration> {
        let waiting = u32::try_from(self.pending.len()).unwrap_or(u32::MAX);
        // Whoever makes many wait waits longer.
        let pending = (waiting > 0).then(|| PATIENCE.max(PATIENCE * (waiting / 8)));
        let deferred = self.deferred.iter().map(Deferred::patience).min();
        let watched = (!self.watched.is_empty()).then_some(PATIENCE);
        pending.or(deferred).or(watched)
    }

    /// Tries again what had to wait.
    pub(crate) fn retry(&mut self) {
        self.advance();
        for (listener, call) in std::mem::take(&mut self.pending) {
            self.perform(listener, call, true);
        }
    }

    /// Makes what can be made of the files whose programs have ended.
    pub(crate) fn finish(&mut self) {
        self.advance();
        self.advance();
        self.look(true);
        self.locks.release();
        self.end_checkouts();
        self.reports.left_untold();
    }

    /// Decides the files that are written by now, or all of them (`over`).
    fn look(&mut self, over: bool) {
        if self.watched.is_empty() {
            return;
        }
        for watched in std::mem::take(&mut self.watched) {
            match watched.look(&self.rules, over) {
                Seen::StillWritten(watched) => self.watched.push(watched),
                Seen::Done => {}
                Seen::Refused(refused) => {
                    self.reports.tell(&refused, "write");
                }
                Seen::Obstinate(refused) => {
                    self.obstinate += 1;
                    self.reports.tell(&refused, "write");
                }
            }
        }
        self.may_die();
    }

    /// Lets this process be killed with the supervisor, where nothing is left that it has to do then.
    fn may_die(&self) {
        if self.watched.is_empty() && self.locks.is_empty() {
            let _ = kernel::die_with_parent(true);
        }
    }

    /// Has a lock of git's taken away when the run ends, as [`Broker::watch`] has a file decided.
    fn hold(&mut self, lock: Lock) -> Result<(), Refused> {
        let (path, file) = lock.told();
        let path = path.as_os_str().to_owned();
        // Where nobody reads at the moment, this process alone knows of it.
        let _ = tell_now(&self.reports.control, &Report::Locked { path, file });
        kernel::die_with_parent(false).map_err(|_| Errno::IO)?;
        self.locks.add(lock);
        Ok(())
    }

    /// What the supervisor has found.
    pub(crate) fn know(&mut self, found: Found) {
        self.rules.know_all(found);
        self.retry();
    }

    /// Has a file decided when it is written, whatever ends this process or the supervisor meanwhile: the
    /// other one does it then.
    fn watch(&mut self, watched: Watched) -> Result<(), Refused> {
        let path = watched.path();
        if self.obstinate >= OBSTINATE {
            let reason = "such files were kept open here that said what they may not";
            return Err(watched.refused(reason));
        }
        if !self.told.contains(path) {
            if self.told.len() >= undecided::MOST {
                return Err(watched.refused("a run may write no more such files"));
            }
            let path = path.as_os_str().to_owned();
            tell_now(&self.reports.control, &Report::Writing { path }).map_err(|_| Errno::IO)?;
            self.told.insert(watched.path().to_path_buf());
        }
        kernel::die_with_parent(false).map_err(|_| Errno::IO)?;
        self.watched.push(watched);
        Ok(())
    }

    /// Makes the files whose content is known by now.
    fn advance(&mut self) {
        if self.deferred.is_empty() && self.watched.is_empty() {
            return;
        }
        // Whoever has the turn for longer keeps nobody from ending.
        let order = Rc::clone(&self.order);
        let _turn = order.take();
        self.look(false);
        for deferred in std::mem::take(&mut self.deferred) {
            match deferred.advance(&self.rules) {
                Progress::Waits(deferred) => self.deferred.push(deferred),
                Progress::Done => {}
                Progress::Refused(refused) => {
                    self.reports.tell(&refused, "open");
                }
            }
        }
    }

    /// Serves one call at the listener; forgets it where nobody can call any more.
    pub(crate) fn serve(&mut self, number: usize) {
        let Some(Some(listener)) = self.listeners.get(number) else {
            return;
        };
        match listener.receive() {
            Ok(Some(call)) => {
                // A program that makes its next call has written what it wanted to write.
                self.advance();
                self.perform(number, call, false);
            }
            // Whoever called was killed meanwhile.
            Ok(None) => {}
            Err(_) => self.listeners[number] = None,
        }
    }

    /// Decides a call, does it and answers it. `again` says that it has waited already.
    fn perform(&mut self, number: usize, call: Call, again: bool) {
        if call.number == libc::SYS_connect {
            return self.connect(number, call, again);
        }
        let Some(Some(listener)) = self.listeners.get(number) else {
            return;
        };
        let order = Rc::clone(&self.order);
        let (left, renewed) = (RefCell::default(), RefCell::default());
        let outcome = match order.take() {
            Some(_turn) => loop {
                let surroundings = act::Surroundings {
                    rules: &self.rules,
                    withheld: &self.withheld,
                    linked: &self.linked,
                    left: &left,
                    renewed: &renewed,
                    order: &order,
                };
                match act::perform(&surroundings, &call, &|| listener.is_waiting(&call)) {
                    Err(Refused::Unknown(unknown)) => match *unknown {
                        Unknown::One(one) => self.rules.know(one),
                        Unknown::All => {
                            self.reports.look_for_repositories();
                            break Ok(Outcome::Waits);
                        }
                    },
                    outcome => break outcome,
                }
            },
            None => Ok(Outcome::Waits),
        };
        let renewed = renewed.into_inner();
        for deferred in &mut self.deferred {
            deferred.follow(&renewed);
        }
        let outcome = outcome.or_else(|refused| self.withhold(number, &call, refused));
        let given = match outcome {
            Ok(Outcome::Done) => Ok(None),
            Ok(Outcome::Opened(file, close_on_exec)) => Ok(Some((file, close_on_exec))),
            Ok(Outcome::Locked(lock, file, close_on_exec)) => {
                self.hold(lock).map(|()| Some((file, close_on_exec)))
            }
            Ok(Outcome::Deferred(deferred, file, close_on_exec)) => {
                self.deferred.push(*deferred);
                Ok(Some((file, close_on_exec)))
            }
            Ok(Outcome::Watched(watched, file, close_on_exec)) => {
                self.watch(*watched).map(|()| Some((file, close_on_exec)))
            }
            Ok(Outcome::Waits) if again && tracee::is_interrupted(call.thread) => {
                Err(Refused::Errno(RESTART))
            }
            Ok(Outcome::Waits) => {
                self.pending.push((number, call));
                return;
            }
            Err(refused) => {
                tidy(&refused);
                Err(refused)
            }
        };
        if given.is_ok() {
            self.reports.left(left.into_inner());
            if matches!(call.operation(), "rename" | "unlink") && self.locks.pass() {
                self.may_die();
            }
        }
        let answer = match &given {
            Ok(None) => Answer::Value(0),
            Ok(Some((file, close_on_exec))) => Answer::Descriptor(file.as_fd(), *close_on_exec),
            Err(refused) => Answer::Error(self.reports.tell(refused, call.operation())),
        };
        self.end_checkouts();
        if let Some(Some(listener)) = self.listeners.get(number) {
            // An answer to a program that is gone has nobody to hear it.
            let _ = listener.answer(&call, &answer);
        }
        // Whoever writes to a file goes on to others of the host; to a device goes what nobody keeps.
        if !self.reports.said && self.rules.knows_nothing() && !self.rules.reads() {
            let of_device =
                |file: &OwnedFd| path::kind_of(file).is_ok_and(FileType::is_char_device);
            if !matches!(&given, Ok(Some((file, _))) if of_device(file)) {
                self.reports.will_look();
            }
        }
    }
}

/// Takes the folder away that git has made for a file which was refused, where there is nothing else in it: as long
/// as it is there git believes to be in the middle of a rebase.
fn tidy(refused: &Refused) {
    let Refused::Rule { path, .. } = refused else {
        return;
    };
    let begun = ["rebase-merge/autostash", "rebase-apply/autostash"];
    let begun = begun.iter().any(|end| path.ends_with(end));
    if let Some(folder) = path.parent().filter(|_| begun) {
        let _ = std::fs::remove_dir(folder);
    }
}

impl Broker {
    /// Takes away what is there for git while it checks out, and tells what git believes to have removed.
    fn end_checkouts(&mut self) {
        for Untold { refused, withheld } in self.withheld.tidy(&self.locks) {
            self.reports.refused(&refused, "unlink", Some(withheld));
        }
    }

    /// What git gets instead of a refusal, where it goes on without the file.
    fn withhold(
        &mut self,
        number: usize,
        call: &Call,
        refused: Refused,
    ) -> Result<Outcome, Refused> {
        let instead = self
            .withheld
            .instead(call, &refused, &self.locks, &self.rules);
        let is_waiting = |listener: &Listener| listener.is_waiting(call);
        let listener = self.listeners.get(number).and_then(Option::as_ref);
        let instead = match instead.filter(|_| listener.is_some_and(is_waiting)) {
            Some(Ok(instead)) => instead,
            Some(Err(reason)) => return Err(refused.because(reason)),
            None => return Err(refused),
        };
        if let Some((path, file)) = instead.made {
            let path = path.into_os_string();
            let _ = tell_now(&self.reports.control, &Report::Locked { path, file });
        }
        if let Some(Untold { refused, withheld }) = instead.news {
            self.reports
                .refused(&refused, call.operation(), Some(withheld));
        }
        Ok(match instead.file {
            Some((file, close_on_exec)) => Outcome::Opened(file, close_on_exec),
            None => Outcome::Done,
        })
    }
}

/// Refusals and questions on their way to the supervisor. A program can be refused faster than anybody can
/// record: what is too much is counted, and pid 1 never waits for whoever reads.
struct Reports {
    control: OwnedFd,
    /// Where the policy's files stand: paths are told without it.
    root: PathBuf,
    /// How many may be told now.
    credit: u32,
    since: Instant,
    lost: u64,
    /// Whether it was asked for the repositories that are there.
    asked: bool,
    /// Whether it was said that this will be asked.
    said: bool,
    /// Files at names that are reported, of which it was told.
    left: Lefts,
    /// Those of which it could not be told.
    untold: Vec<Left>,
}

/// So many of those are remembered.
const UNTOLD: usize = 4096;

impl Reports {
    /// How many are told at once at the most, and how many per second in the long run.
    const BURST: u32 = 2000;
    const RATE: u32 = 200;
    /// A reason is at most so many bytes.
    const REASON: usize = 300;

    fn new(control: OwnedFd, root: PathBuf) -> Self {
        Self {
            control,
            root,
            credit: Self::BURST,
            since: Instant::now(),
            lost: 0,
            asked: false,
            said: false,
            left: Lefts::default(),
            untold: Vec::new(),
        }
    }

    /// Says that it will ask for the repositories that are there.
    fn will_look(&mut self) {
        self.said = true;
        // Where nobody reads at the moment it is asked later.
        let _ = tell_now(&self.control, &Report::WillLook);
    }

    /// Asks for the repositories that are there. Where that was asked before there is no answer yet.
    fn look_for_repositories(&mut self) {
        if !self.asked {
            self.asked = tell_now(&self.control, &Report::Looks).is_ok();
        }
    }

    /// Tells of files that were made or changed at names that are reported.
    fn left(&mut self, left: Vec<Left>) {
        for left in left {
            let Some(left) = self.left.add(left) else {
                continue;
            };
            if tell_now(&self.control, &self.report_of(&left)).is_err() {
                // Where nobody reads at the moment it is told again when the run ends, or by the next act at the name.
                self.left.forget(&left);
                match self.untold.get_mut(UNTOLD - 1) {
                    Some(last) => last.stands_for_more(),
                    None => self.untold.push(left),
                }
            }
        }
    }

    /// Tells what nobody has read, where nothing is left to be done but to end.
    fn left_untold(&mut self) {
        for left in std::mem::take(&mut self.untold) {
            if tell(&self.control, &self.report_of(&left)).is_err() {
                return;
            }
        }
    }

    fn report_of(&self, left: &Left) -> Report {
        Report::Left {
            path: of_policy(&self.root, &left.path).into_os_string(),
            row: left.row,
        }
    }

    /// Tells what a rule refused; what the program gets.
    fn tell(&mut self, refused: &Refused, operation: &str) -> Errno {
        self.refused(refused, operation, None)
    }

    /// The same for a file that git goes on without.
    fn refused(&mut self, refused: &Refused, operation: &str, withheld: Option<Withheld>) -> Errno {
        let (rule, path, reason) = match refused {
            Refused::Errno(errno) => return *errno,
            Refused::Unknown(_) => return Errno::AGAIN,
            Refused::Rule { rule, path, reason } => (*rule, path, reason.as_deref()),
        };
        let seconds = u32::try_from(self.since.elapsed().as_secs()).unwrap_or(u32::MAX);
        if seconds > 0 {
            self.since = Instant::now();
            self.credit = Self::BURST.min(self.credit + seconds.saturating_mul(Self::RATE));
        }
        if self.credit == 0 {
            self.lost += 1;
            return Errno::ACCESS;
        }
        let cut = |text: &str| text[..text.floor_char_boundary(Self::REASON)].to_owned();
        let report = Report::Refused {
            rule,
            path: of_policy(&self.root, path).into_os_string(),
            operation: operation.to_owned(),
            reason: reason.map(cut),
            withheld,
            lost: self.lost,
        };
        match tell_now(&self.control, &report) {
            Ok(()) => {
                self.credit -= 1;
                self.lost = 0;
            }
            Err(_) => self.lost += 1,
        }
        Errno::ACCESS
    }
}

/// The path of the policy's files whose root stands at `root` that a path inside is.
fn of_policy(root: &Path, path: &Path) -> PathBuf {
    Path::new("/").join(path.strip_prefix(root).unwrap_or(path))
}
