//! A sandbox that waits for its command. Everything that a start costs was paid before anybody
//! asked; what remains is to see that the sandbox is still the one that is wanted, to record the
//! run and to start the command. It is used once: nothing that one command left is seen by
//! another.

use crate::backend::{Backend, Entry, Invocation, Launch, News, OWN, Running, Started};
use crate::door::{Door, OwnCommand, give_terminal};
use crate::environment::{self, Given};
use crate::packet::{receive, tell, tell_now, unpack_command};
use crate::place::{Place, pass};
use crate::protocol::{Ask, Say, Wanted, WantedRun, answer};
use crate::ready::ready;
use crate::record::{Beginning, Record};
use crate::secrets;
use crate::serve::{READY, ServeRequest, TAKEN};
use crate::session::{make_own_folders, private_folder, publish, say, start_folder};
use crate::supervisor::Supervisor;
use crate::trust::Trust;
use bailiwick_event::Failure;
use bailiwick_gate::{OuterProxy, Settings};
use bailiwick_ledger::{Blank, StateDir};
use bailiwick_policy::{Effective, Loaded, Request, Used};
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use signal_hook::consts::signal::SIGPIPE;
use std::sync::Arc;
use std::time::Duration;

/// Makes one sandbox, waits for its command and runs it. The door is stdin, and whoever keeps the
/// sandbox waiting is at stdout.
///
/// # Errors
/// A [`Failure`] where it cannot be made.
pub fn spare(backend: &dyn Backend, request: &ServeRequest) -> Result<u8, Failure> {
    // Neither the end of whoever keeps it waiting nor a client's closed stderr ends a run.
    signal_hook::flag::register(SIGPIPE, Arc::default())
        .map_err(|e| Failure::fault(format!("signals: {e}")))?;
    let own = |e: rustix::io::Errno| Failure::fault(format!("streams: {e}"));
    let door = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).map_err(own)?;
    let keeper = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3).map_err(own)?;
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    let null = null.map_err(own)?;
    rustix::stdio::dup2_stdin(&null).map_err(own)?;
    rustix::stdio::dup2_stdout(&null).map_err(own)?;
    let prepared = backend.prepare(None);
    pass(Place::Forked);
    let state = StateDir::from_environment()?;
    let policy = read(&request.policy)?.effective;
    let private = private_folder(&state, &policy);
    let trust = Trust::of(&state, &policy, backend.has_own_files())?;
    let begun = prepared?.begin(&launch(
        &policy,
        trust.as_ref(),
        &private,
        request.best_effort,
    ))?;
    pass(Place::Planned);
    let layers = begun.layers();
    let started = begun.ready()?;
    // Where there is none, the record makes its own.
    let blank = Blank::new(&state).ok();
    pass(Place::Complete);
    let told = |word: u8| rustix::io::write(&keeper, &[word]).is_ok();
    if !told(READY) {
        return Ok(0);
    }
    pass(Place::Waits);
    let mut running = started.running;
    let Some((socket, heard)) = wait(&door, &keeper, &mut *running)? else {
        return Ok(0);
    };
    pass(Place::Wanted);
    let Heard {
        wanted,
        streams,
        voice,
    } = heard;
    // By the end of the other side it is seen that this process has ended: it stays open until then.
    told(TAKEN);
    drop(door);
    pass(Place::Taken);
    let started = Started { running, ..started };
    let Some(run) = wanted.run.clone() else {
        return Ok(2);
    };
    // Notices, and what goes wrong from here on, are the client's.
    rustix::stdio::dup2_stderr(&voice).map_err(own)?;
    drop(voice);
    let waiting = Waiting {
        backend,
        state,
        blank,
        layers,
        started,
        trust,
    };
    match waiting.fit(&wanted, &run) {
        Some((waiting, policy)) => waiting.go(socket, &wanted, run, streams, &policy),
        None => {
            let _ = tell(&socket, &Say::Unfit);
            Ok(0)
        }
    }
}

/// Says something where the client's stderr is, which is raw where the command has a terminal.
fn tell_caller(wanted: &Wanted, line: &str) {
    let end = if wanted.terminal { "\r" } else { "" };
    say(&format!("{line}{end}"));
}

/// The policy that a request means now.
fn read(request: &Request) -> Result<Loaded, Failure> {
    let loaded = bailiwick_policy::load(request)?;
    make_own_folders(&loaded.effective, request)?;
    Ok(loaded)
}

fn launch<'a>(
    policy: &'a Effective,
    trust: Option<&'a Trust>,
    private: &'a std::path::Path,
    best_effort: bool,
) -> Launch<'a> {
    Launch {
        policy,
        command: None,
        open: true,
        private,
        best_effort,
        trust: trust.map(|trust| &trust.files),
        streams: [None; 3],
        monitor: None,
    }
}

/// What a client wants, and what it sends along.
struct Heard {
    wanted: Wanted,
    /// The command's.
    streams: [OwnedFd; 3],
    /// Where this process speaks from then on.
    voice: OwnedFd,
}

/// Waits for a client that sends a command; none where nobody waits with us any more.
fn wait(
    door: &OwnedFd,
    keeper: &OwnedFd,
    running: &mut dyn Running,
) -> Result<Option<(OwnedFd, Heard)>, Failure> {
    loop {
        let news = running.news_fd();
        let mut fds = [
            PollFd::new(door, PollFlags::IN),
            PollFd::new(keeper, PollFlags::IN),
            PollFd::new(&news, PollFlags::IN),
        ];
        let [knock, kept, ended] = ready(&mut fds, None)?[..] else {
            continue;
        };
        if kept || (ended && !matches!(running.news(), Ok(Some(News::Quiet)))) {
            return Ok(None);
        }
        // Another waiting sandbox may have been quicker.
        if knock
            && let Some(client) = answer(door.as_fd())
            && tell_now(&client, &Say::Here).is_ok()
            && let Some(heard) = hear(&client, running)
        {
            return Ok(Some((client, heard)));
        }
    }
}

/// How long a client that was let in may be silent.
const PATIENCE: Duration = Duration::from_secs(1);

/// Hears a client out; none where it goes away or falls silent without a command.
fn hear(client: &OwnedFd, running: &mut dyn Running) -> Option<Heard> {
    set_socket_timeout(client, Timeout::Recv, Some(PATIENCE)).ok()?;
    loop {
        match receive::<Ask>(client).ok()?? {
            (Ask::Terminal, _) => give_terminal(client, running),
            (Ask::Enter, mut descriptors) => {
                let voice = descriptors.pop()?;
                let (wanted, streams) = unpack_command::<Wanted>(descriptors)?;
                let fine = wanted.run.is_some() && !wanted.argv.is_empty();
                return fine.then_some(Heard {
                    wanted,
                    streams,
                    voice,
                });
            }
            (Ask::Signal(_) | Ask::SignalOwn(_) | Ask::Rules | Ask::Save, _) => {}
        }
    }
}

/// A sandbox that somebody wants.
struct Waiting<'a> {
    backend: &'a dyn Backend,
    state: StateDir,
    blank: Option<Blank>,
    layers: Vec<String>,
    started: Started,
    trust: Option<Trust>,
}

impl Waiting<'_> {
    /// This sandbox, where it is what the run would make now, with the run's policy.
    fn fit(mut self, wanted: &Wanted, run: &WantedRun) -> Option<(Self, Arc<Effective>)> {
        let mut request = Request::new(
            run.policies.clone(),
            run.workspace.clone(),
            wanted.cwd.clone(),
            wanted.caller.iter().cloned().collect(),
        );
        request.allow_wide_workspace = run.allow_wide_workspace;
        let Loaded {
            effective, notices, ..
        } = read(&request).ok()?;
        if effective.limits.output.is_some() {
            // What it says is counted where it is passed on: by the run itself.
            return None;
        }
        let private = private_folder(&self.state, &effective);
        // Another authority than it was made with makes it another sandbox.
        let own_files = self.backend.has_own_files();
        self.trust = Trust::of(&self.state, &effective, own_files).ok()?;
        let launch = launch(&effective, self.trust.as_ref(), &private, run.best_effort);
        if !self.started.running.fits(&launch).ok()? {
            return None;
        }
        self.started.sockets.publish = publish(&effective).ok()?;
        if let Some(list) = &effective.written {
            Used::remember(list, &effective.used).ok()?;
        }
        notices
            .iter()
            .for_each(|notice| tell_caller(wanted, notice));
        Some((self, Arc::new(effective)))
    }

    /// Records the run, starts the command and watches it to its end.
    fn go(
        mut self,
        guest: OwnedFd,
        wanted: &Wanted,
        run: WantedRun,
        streams: [OwnedFd; 3],
        policy: &Arc<Effective>,
    ) -> Result<u8, Failure> {
        pass(Place::Fits);
        let cwd = start_folder(policy, &wanted.cwd);
        let record = Record::begin(Beginning {
            state: &self.state,
            blank: self.blank.take(),
            policy,
            name: run.name.as_deref(),
            backend: self.backend.name(),
            layers: std::mem::take(&mut self.layers),
            argv: &wanted.argv,
            cwd: &cwd,
            monitor: run.monitor,
            raw: wanted.terminal,
        });
        let record = match record {
            Ok(record) => record,
            Err(failure) => {
                let say = Say::Ended {
                    code: failure.exit_code(),
                    line: Some(format!("bailiwick: {failure}")),
                };
                let _ = tell(&guest, &say);
                return Ok(0);
            }
        };
        pass(Place::Recorded);
        let listener = match run.name {
            Some(_) => {
                let failed = |failure| record.fail(Duration::ZERO, failure);
                Some(record.open_door().map_err(failed)?)
            }
            None => None,
        };
        let notices = self.started.notices.iter();
        notices.for_each(|notice| tell_caller(wanted, notice));
        let caller = wanted.caller.iter().cloned().collect();
        let secrets = match secrets::of(policy, &caller) {
            Ok(secrets) => secrets,
            Err(failure) => {
                let failure = record.fail(Duration::ZERO, failure);
                let say = Say::Ended {
                    code: failure.exit_code(),
                    line: Some(format!("bailiwick: {failure}")),
                };
                let _ = tell(&guest, &say);
                return Ok(0);
            }
        };
        let given = Given {
            of_bundle: self.trust.as_ref().map(Trust::named_by).unwrap_or_default(),
            secrets: secrets::variables(&secrets),
        };
        let environment = environment::build(policy, &caller, &given, &wanted.added, &cwd);
        let entry = Entry {
            job: OWN,
            command: Invocation {
                argv: &wanted.argv,
                cwd: &cwd,
                environment: &environment,
            },
            streams: streams.each_ref().map(AsFd::as_fd),
            terminal: wanted.terminal,
            umask: wanted.umask,
        };
        let mut running = self.started.running;
        if let Err(error) = running.enter(&entry) {
            let failure = Failure::fault(format!("the command cannot be handed over: {error}"));
            let say = Say::Ended {
                code: failure.exit_code(),
                line: Some(format!("bailiwick: {failure}")),
            };
            let _ = tell(&guest, &say);
            return Err(record.fail(Duration::ZERO, failure));
        }
        pass(Place::Released);
        record
            .keep_policy()
            .map_err(|failure| record.fail(Duration::ZERO, failure))?;
        drop(streams);
        let own = OwnCommand {
            argv: wanted.argv.clone(),
            cwd: cwd.clone(),
        };
        let mut door = Door::new(listener, given, own);
        door.host(guest, wanted);
        let started = Started {
            running,
            ..self.started
        };
        let settings = Settings {
            inspection: self.trust.and_then(|trust| trust.inspection),
            secrets,
            outer_proxy: OuterProxy::of(&caller).unwrap_or_default(),
        };
        let mut supervisor =
            Supervisor::new(started, Arc::clone(&record.guard), Some(door), settings);
        let end = supervisor.watch();
        pass(Place::Ended);
        let path = wanted.variable("PATH");
        let finished = supervisor.conclude(end, record, path, run.json)?;
        pass(Place::Closed);
        Ok(finished.code)
    }
}
