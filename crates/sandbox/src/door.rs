//! The door of a sandbox: the user's other processes send commands in through it. What enters has the
//! sandbox's authority and no other, and is recorded like the sandbox's own command.

use crate::backend::{Entry, Invocation, News, OWN, Running};
use crate::continuation;
use crate::environment::{self, Given};
use crate::packet::{receive, send_now, step_aside, tell_now, unpack_command};
use crate::place::{Place, pass};
use crate::protocol::{Ask, Say, Wanted, answer};
use crate::record::{explained, find_outside, texts};
use crate::rules;
use crate::session::start_folder;
use crate::summary;
use crate::supervisor::{End, happened, nanoseconds};
use bailiwick_event::{Act, Text};
use bailiwick_guard::Guard;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::Signal;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

/// Clients at one time. A further one takes the place of the one that has been without a command for
/// longest; where all have one, it is turned away.
pub(crate) const MOST: usize = 256;

/// The exit code of a command that SIGKILL ended, as a shell reports it.
const KILLED: u8 = 137;

/// The door and who came through it.
pub(crate) struct Door {
    /// None where nobody else may come.
    listener: Option<OwnedFd>,
    guests: Vec<Guest>,
    next: Next,
    own: OwnCommand,
}

/// The sandbox's own command, for whoever lets it go on elsewhere.
#[derive(Clone)]
pub(crate) struct OwnCommand {
    pub(crate) argv: Vec<OsString>,
    pub(crate) cwd: PathBuf,
}

/// What the next command gets.
struct Next {
    number: u32,
    given: Given,
}

/// A client.
struct Guest {
    /// None where it is gone and its command still ends.
    socket: Option<OwnedFd>,
    visit: Option<Visit>,
}

/// A command that a client sent in.
struct Visit {
    job: u32,
    name: OsString,
    cwd: PathBuf,
    /// Where the client looks for commands.
    path: Option<OsString>,
    started: Instant,
    /// How much had been refused when it started.
    refusals: u64,
}

impl Door {
    /// A door at which `listener` hears.
    pub(crate) fn new(listener: Option<OwnedFd>, given: Given, own: OwnCommand) -> Self {
        Self {
            listener,
            own,
            guests: Vec::new(),
            next: Next {
                number: OWN + 1,
                given,
            },
        }
    }

    /// Takes the client in whose command is the sandbox's own.
    pub(crate) fn host(&mut self, socket: OwnedFd, wanted: &Wanted) {
        let cwd = wanted.cwd.clone();
        let visit = Some(Visit::new(OWN, wanted, cwd, 0));
        let socket = Some(socket);
        self.guests.push(Guest { socket, visit });
    }

    /// What to wait for.
    pub(crate) fn interest(&self) -> Vec<PollFd<'_>> {
        let listener = self.listener.iter();
        let sockets = self.guests.iter().filter_map(|guest| guest.socket.as_ref());
        listener
            .chain(sockets)
            .map(|socket| PollFd::new(socket, PollFlags::IN))
            .collect()
    }

    /// Does what the readiness of [`Door::interest`] asks for.
    pub(crate) fn serve(&mut self, ready: &[bool], running: &mut dyn Running, guard: &Guard) {
        let mut ready = ready.iter().copied();
        let knocks = self.listener.is_some() && ready.next() == Some(true);
        for guest in self
            .guests
            .iter_mut()
            .filter(|guest| guest.socket.is_some())
        {
            if ready.next() == Some(true) {
                guest.listen(&mut self.next, &self.own, running, guard);
            }
        }
        self.guests
            .retain(|guest| guest.socket.is_some() || guest.visit.is_some());
        if knocks
            && let Some(listener) = &self.listener
            && let Some(socket) = answer(listener.as_fd())
        {
            let (socket, visit) = (Some(socket), None);
            self.guests.push(Guest { socket, visit });
        }
        // They stand in the order in which they came; the last one is new.
        if self.guests.len() > MOST
            && let Some(idle) = self.guests.iter().position(|guest| guest.visit.is_none())
        {
            self.guests.remove(idle).say(&Say::Full);
        }
    }

    /// Tells whose command it is about; returns what is nobody's.
    pub(crate) fn tell(
        &mut self,
        news: News,
        running: &mut dyn Running,
        guard: &Guard,
    ) -> Option<News> {
        let job = match news {
            News::NoFolder { job, .. }
            | News::ExecFailed { job, .. }
            | News::Stopped { job, .. }
            | News::Ended { job, .. } => job,
            _ => return Some(news),
        };
        let of = |guest: &&mut Guest| guest.visit.as_ref().is_some_and(|visit| visit.job == job);
        let Some(guest) = self.guests.iter_mut().find(of) else {
            // The end of one that could not be executed, which was told.
            return (job == OWN).then_some(news);
        };
        let end = match news {
            News::Stopped { .. } => {
                // One that stops itself all the time must not get rid of its client that way.
                if !guest.say(&Say::Stopped) {
                    guest.end(running);
                }
                return None;
            }
            _ if job == OWN => return Some(news),
            News::NoFolder { errno, .. } => End::NoFolder(errno),
            News::ExecFailed { errno, .. } => End::NotExecuted(errno),
            News::Ended { code, .. } => End::Code(code),
            _ => return Some(news),
        };
        if let Some(visit) = guest.visit.take() {
            let say = visit.conclude(&end, guard);
            pass(Place::Concluded);
            guest.say(&say);
        }
        None
    }

    /// Records that the commands which are still inside end with the sandbox.
    pub(crate) fn end_visits(&self, guard: &Guard) {
        let visits = self.guests.iter().filter_map(|guest| guest.visit.as_ref());
        for visit in visits.filter(|visit| visit.job != OWN) {
            visit.note_end(KILLED, guard);
        }
    }

    /// Tells the client whose command is the sandbox's own how the run ended, and the others that it
    /// did.
    pub(crate) fn close(&mut self, code: u8, line: Option<&str>) {
        for guest in &mut self.guests {
            let own = guest.visit.as_ref().is_some_and(|visit| visit.job == OWN);
            let say = match own {
                true => Say::Ended {
                    code,
                    line: line.map(str::to_owned),
                },
                false => Say::Ended {
                    code: KILLED,
                    line: Some("bailiwick: the sandbox ended, and this command with it".to_owned()),
                },
            };
            if guest.visit.is_some() {
                guest.say(&say);
            }
        }
        step_aside();
    }
}

impl Guest {
    /// Says something; a client that does not listen is none any more. Returns whether there is one.
    fn say(&mut self, say: &Say) -> bool {
        self.socket = self.socket.take().filter(|s| tell_now(s, say).is_ok());
        self.socket.is_some()
    }

    /// Whoever goes away takes the command along, as the supervisor of a run does.
    fn end(&mut self, running: &mut dyn Running) {
        self.socket = None;
        match &self.visit {
            Some(visit) if visit.job == OWN => running.kill(),
            Some(visit) => drop(running.signal(visit.job, Signal::KILL.as_raw())),
            None => {}
        }
    }

    /// Does what the client asks for.
    fn listen(
        &mut self,
        next: &mut Next,
        own: &OwnCommand,
        running: &mut dyn Running,
        guard: &Guard,
    ) {
        let Some(socket) = &self.socket else { return };
        match receive::<Ask>(socket) {
            Ok(Some((Ask::Terminal, _))) => give_terminal(socket, running),
            Ok(Some((Ask::Signal(signal), _))) => {
                if let Some(visit) = &self.visit {
                    let _ = running.signal(visit.job, signal);
                }
            }
            Ok(Some((Ask::Rules, descriptors))) => rules::serve(socket, descriptors, guard),
            Ok(Some((Ask::SignalOwn(signal), _))) => drop(running.signal(OWN, signal)),
            Ok(Some((Ask::Save, descriptors))) => {
                let say = |say: &Say| _ = self.say(say);
                let saved =
                    continuation::serve(descriptors, own, &next.given.secrets, running, guard, say);
                self.say(&Say::Saved(saved));
            }
            Ok(Some((Ask::Enter, descriptors))) if self.visit.is_none() => {
                match enter(socket, descriptors, next, running, guard) {
                    Some(visit) => self.visit = Some(visit),
                    None => self.socket = None,
                }
                next.number += 1;
            }
            _ => self.end(running),
        }
    }
}

/// Opens a terminal of the sandbox for a client.
pub(crate) fn give_terminal(socket: &OwnedFd, running: &mut dyn Running) {
    let terminal: Vec<OwnedFd> = running.open_terminal().into_iter().collect();
    let _ = send_now(socket, &Say::Terminal, &terminal);
}

/// Starts a command that is wanted; none where what came is none.
fn enter(
    socket: &OwnedFd,
    descriptors: Vec<OwnedFd>,
    next: &Next,
    running: &mut dyn Running,
    guard: &Guard,
) -> Option<Visit> {
    let job = next.number;
    let (wanted, streams) = unpack_command::<Wanted>(descriptors)?;
    if wanted.argv.is_empty() {
        return None;
    }
    pass(Place::Heard);
    let policy = guard.policy();
    let cwd = start_folder(policy, &wanted.cwd);
    let caller = wanted.caller.iter().cloned().collect();
    let environment = environment::build(policy, &caller, &next.given, &wanted.added, &cwd);
    let refusals = guard.ledger().counts().refusals;
    let act = Act::Enter {
        job,
        argv: texts(&wanted.argv),
        cwd: Text::from(cwd.as_os_str()),
    };
    let decision = guard.require(act, happened());
    pass(Place::Noted);
    let visit = Visit::new(job, &wanted, cwd, refusals);
    let code = match decision {
        Ok(decision) if decision.is_allow() => 0,
        Ok(_) => 126,
        Err(_) => 125,
    };
    if code != 0 {
        let _ = tell_now(socket, &visit.conclude(&End::Code(code), guard));
        return None;
    }
    let entry = Entry {
        job,
        command: Invocation {
            argv: &wanted.argv,
            cwd: &visit.cwd,
            environment: &environment,
        },
        streams: streams.each_ref().map(AsFd::as_fd),
        terminal: wanted.terminal,
        umask: wanted.umask,
    };
    if let Err(error) = running.enter(&entry) {
        let errno = error
            .raw_os_error()
            .unwrap_or(rustix::io::Errno::IO.raw_os_error());
        let _ = tell_now(socket, &visit.conclude(&End::NotExecuted(errno), guard));
        return None;
    }
    pass(Place::Ordered);
    Some(visit)
}

impl Visit {
    fn new(job: u32, wanted: &Wanted, cwd: PathBuf, refusals: u64) -> Self {
        Self {
            job,
            name: wanted.argv[0].clone(),
            cwd,
            path: wanted.variable("PATH").cloned(),
            started: Instant::now(),
            refusals,
        }
    }

    fn note_end(&self, code: u8, guard: &Guard) {
        let act = Act::Leave {
            job: self.job,
            code,
            duration_ns: nanoseconds(self.started.elapsed()),
        };
        guard.note(act, happened());
    }

    /// Records the end of the command; what its client is told.
    fn conclude(&self, end: &End, guard: &Guard) -> Say {
        let name = Text::from(self.name.as_os_str());
        let outside = || find_outside(&self.name, self.path.as_ref());
        let (code, line) = explained(end, &name, &self.cwd, outside);
        self.note_end(code, guard);
        let ledger = guard.ledger();
        let refused = ledger.counts().refusals - self.refusals;
        let line = line.map(|line| format!("bailiwick: {line}"));
        let (last, stopped) = (ledger.last_refusal(), guard.stopped_by());
        let refusal = (refused > 0)
            .then(|| summary::line(ledger.id(), refused, last.as_ref(), stopped))
            .flatten();
        let line = refusal.or(line);
        Say::Ended { code, line }
    }
}
