//! A death where sandboxes wait: of `serve`, of the process that holds a sandbox, of the sandbox's
//! pid 1, and of the run that takes it, wherever any of them has got to. Nothing is left, what can
//! go on does, and the next run is a run like any other.

use crate::stages::{Machine, names};
use crate::support::{Sandbox, Stopped, Traces, children, kill_children, places, places_in, wait};
use std::ffi::OsString;
use std::process::Output;

/// Says that it runs, and waits until it may end.
const COMMAND: &str = "touch began; while ! test -e may-end; do sleep 0.01; done; exit 7";

/// Who dies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Victim {
    Serve,
    /// The process that holds the sandbox, and is the run's supervisor.
    Holder,
    FirstProcess,
    Client,
}

/// `serve` and a run that takes its sandbox; somebody has stopped at a place.
struct Waiting {
    serve: Stopped,
    /// None where the place comes before anybody can take the sandbox.
    client: Option<Stopped>,
    /// The process that holds the sandbox, where there is one.
    holder: Option<u32>,
}

impl Waiting {
    #[track_caller]
    fn at(place: &str, sandbox: &Sandbox) -> Self {
        let workspace = sandbox.workspace();
        for file in ["began", "may-end"] {
            let _ = std::fs::remove_file(workspace.join(file));
        }
        // The run's end is what is waited for there.
        if ["/told", "/report", "/close", "pid 1/command"]
            .iter()
            .any(|end| place.ends_with(end))
        {
            sandbox.host("touch may-end");
        }
        let of_client = place.starts_with("at client/");
        let (of_serve, of_run) = match of_client {
            true => ("nowhere", place),
            false => (place, "nowhere"),
        };
        let mut words = ["serve", "--keep", "1", "--workspace"]
            .map(OsString::from)
            .to_vec();
        words.push(workspace.clone().into());
        words.extend(sandbox.options().iter().cloned());
        let mut serve = Stopped::start(of_serve, sandbox, words);
        if is_before_it_waits(place) {
            serve.wait();
            let holder = children(serve.pid()).first().copied();
            return Self {
                serve,
                client: None,
                holder,
            };
        }
        assert!(serve.line().contains("for runs in"), "{place}");
        // Under load a run may not wait until a sandbox answers, and makes its own.
        let (holder, client) = wait::for_some(&format!("{place} is reached"), || {
            let holder = children(serve.pid()).first().copied();
            let mut client = Stopped::start(of_run, sandbox, run(sandbox));
            let stands = |client: &Stopped| match of_client {
                true => client.is_there(0),
                false => serve.is_there(0),
            };
            wait::until(&format!("{place} is reached, or missed"), || {
                stands(&client) || !client.is_alive() || !children(client.pid()).is_empty()
            });
            stands(&client).then_some((holder, client))
        });
        Self {
            serve,
            client: Some(client),
            holder,
        }
    }

    /// Kills somebody; the others go on. What became of the client.
    fn kill(&mut self, victim: Victim, sandbox: &Sandbox) -> Option<Output> {
        match victim {
            Victim::Serve => self.serve.kill(),
            Victim::Holder => kill_children(self.serve.pid()),
            Victim::FirstProcess => self.holder.into_iter().for_each(kill_children),
            Victim::Client => self.client.iter_mut().for_each(Stopped::kill),
        }
        self.serve.release();
        let client = self.client.as_mut()?;
        client.release();
        if victim == Victim::Client {
            return None;
        }
        sandbox.host("touch may-end");
        Some(client.output())
    }
}

/// Whether a place comes before `serve` says that sandboxes wait.
fn is_before_it_waits(place: &str) -> bool {
    let late = [
        "client/",
        "serve/taken",
        "spare/client",
        "spare/taken",
        "spare/fit",
        "spare/record",
        "spare/enter",
        "spare/report",
        "spare/close",
        "entry/",
        "command/",
        "pid 1/command",
    ];
    !late.iter().any(|late| place.contains(late))
}

/// The words of a run.
fn run(sandbox: &Sandbox) -> Vec<OsString> {
    let mut words = ["run", "--workspace"].map(OsString::from).to_vec();
    words.push(sandbox.workspace().into());
    words.extend(sandbox.options().iter().cloned());
    words.extend(["--", "sh", "-c", COMMAND].map(OsString::from));
    words.push(sandbox.workspace().into());
    words
}

/// Every place at which somebody stops: those of `serve`, of the process that holds a sandbox, of its
/// pid 1 and its command, and of the client.
fn everywhere(sandbox: &Sandbox) -> Vec<String> {
    let mut all = places_in(&["serve", "spare", "client"]);
    // What enters later than a sandbox's own command is no matter of waiting.
    let entry = places_in(&["entry"]);
    all.extend(entry.into_iter().filter(|p| !p.ends_with("/end")));
    let inside = |place: &String| {
        // Its command is started by the order of a client, and not by the end of the start.
        let inside = [" pid 1/", " network/", " command/"];
        inside.iter().any(|lane| place.contains(lane)) && !place.ends_with("pid 1/exec")
    };
    all.extend(places(sandbox).into_iter().filter(inside));
    assert!(all.len() >= 28, "{all:?}");
    all
}

fn kill_everywhere(machine: Machine, victim: Victim) {
    let sandbox = machine.sandbox();
    sandbox.run("true").success();
    let traces = Traces::before(&sandbox.workspace());
    for place in everywhere(&sandbox) {
        let mut waiting = Waiting::at(&place, &sandbox);
        if victim == Victim::Client && waiting.client.is_none() {
            continue;
        }
        let known = sandbox.scratch().sessions();
        if let Some(ended) = waiting.kill(victim, &sandbox) {
            let said = String::from_utf8_lossy(&ended.stderr);
            let code = ended.status.code();
            match victim {
                // The run goes on without whoever kept its sandbox waiting.
                Victim::Serve => assert_eq!(code, Some(7), "{place}: {said}"),
                // It was over, it could make its own, or it is told.
                _ if code == Some(7) => {}
                _ => {
                    assert_eq!(code, Some(125), "{place}: {said}");
                    assert!(said.contains("bailiwick: the "), "{place}: {said}");
                }
            }
        }
        if victim != Victim::Serve {
            assert!(waiting.serve.is_alive(), "{place}: serve has ended");
        }
        drop(waiting);
        traces.gone(&place);
        in_order(&sandbox, &place, &known);
    }
}

/// A run works, every record can be read, and nothing lies where nothing belongs.
#[track_caller]
fn in_order(sandbox: &Sandbox, place: &str, known: &[String]) {
    sandbox.run("true").success();
    for session in sandbox.scratch().sessions() {
        if !known.contains(&session) {
            sandbox.bailiwick(["log", "verify", &session]).success();
        }
    }
    let state = sandbox.scratch().state().join("bailiwick");
    let own = ["projects", "serve", "sessions", "written"];
    assert_eq!(names(&state), own, "{place}");
    // The door and the lock of `serve`, which the next one takes over.
    let doors = names(&state.join("serve"));
    assert!(doors.len() <= 2, "{place}: {doors:?}");
    let temporary = names(&sandbox.scratch().root().join("tmp"));
    assert!(temporary.is_empty(), "{place}: {temporary:?}");
    let list = sandbox.bailiwick(["sessions", "list"]).success().stdout();
    assert!(!list.contains("live"), "{place}: {list}");
}

#[test]
fn serve_that_is_killed_anywhere_leaves_nothing_and_its_run_goes_on() {
    kill_everywhere(Machine::Full, Victim::Serve);
}

#[test]
fn a_process_that_holds_a_sandbox_and_is_killed_anywhere_leaves_nothing() {
    kill_everywhere(Machine::Full, Victim::Holder);
}

#[test]
fn a_pid_1_that_waits_and_is_killed_anywhere_leaves_nothing() {
    kill_everywhere(Machine::Full, Victim::FirstProcess);
}

#[test]
fn a_client_that_is_killed_anywhere_takes_the_sandbox_that_waited_along() {
    kill_everywhere(Machine::Full, Victim::Client);
}

#[test]
fn whoever_is_killed_without_namespaces_leaves_nothing() {
    for victim in [
        Victim::Serve,
        Victim::Holder,
        Victim::FirstProcess,
        Victim::Client,
    ] {
        kill_everywhere(Machine::Bare, victim);
    }
}
