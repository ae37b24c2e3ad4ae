//! A death while a command enters a run: of its client, and of the run's supervisor, wherever either
//! of them, pid 1 or the command's own process has got to. The command does not outlive either, and
//! a run whose guest has died goes on.

use crate::stages::Machine;
use crate::support::{Sandbox, Stopped, Traces, places_in, wait};
use bailiwick_event::{Act, Event};
use std::ffi::OsString;

/// Goes on until it may end.
const OWN: &str = "touch up; while ! test -e may-end; do sleep 0.01; done; exit 7";
/// The same, for a guest.
const GUEST: &str = "touch entered; while ! test -e may-leave; do sleep 0.01; done; exit 5";

/// A run and a command that enters it, one of which has stopped at a place.
struct Both {
    run: Stopped,
    guest: Stopped,
}

impl Both {
    #[track_caller]
    fn at(place: &str, sandbox: &Sandbox) -> Self {
        let workspace = sandbox.workspace();
        for file in ["up", "entered", "may-end", "may-leave"] {
            let _ = std::fs::remove_file(workspace.join(file));
        }
        // Its end is what is waited for there.
        if ["/told", "/concluded", "/end"]
            .iter()
            .any(|end| place.ends_with(end))
        {
            sandbox.host("touch may-leave");
        }
        let of_client = place.starts_with("at client/");
        let (of_run, of_guest) = match of_client {
            true => ("nowhere", place),
            false => (place, "nowhere"),
        };
        let begin = ["run", "--name", "box"].map(OsString::from);
        let command = ["--", "sh", "-c", OWN, "own"].map(OsString::from);
        let words = begin.iter().chain(sandbox.options()).chain(&command);
        let run = Stopped::start(of_run, sandbox, words);
        wait::until(&format!("{place}: the run is up"), || {
            workspace.join("up").exists()
        });
        let words = ["exec", "box", "--", "sh", "-c", GUEST].map(OsString::from);
        let words = words.into_iter().chain([guest(sandbox).into()]);
        let guest = Stopped::start(of_guest, sandbox, words);
        let mut both = Self { run, guest };
        match of_client {
            true => both.guest.wait(),
            false => both.run.wait(),
        }
        both
    }

    /// Whoever stopped goes on.
    fn release(&mut self) {
        self.run.release();
        self.guest.release();
    }
}

/// A word that every process of the guest has in its command line.
fn guest(sandbox: &Sandbox) -> std::path::PathBuf {
    sandbox.workspace().join("guest")
}

/// Sees that the record of the last run can be read and says of everybody who entered that he left.
#[track_caller]
fn on_record(sandbox: &Sandbox, place: &str, everybody_left: bool) {
    sandbox
        .bailiwick(["log", "verify", "latest"])
        .success()
        .stdout_lacks("damaged");
    let log = sandbox.bailiwick(["log", "latest", "--json"]);
    let rows: Vec<Event> = log
        .success()
        .stdout()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let count = |is: fn(&Act) -> bool| rows.iter().filter(|row| is(&row.act)).count();
    let entered = count(|act| matches!(act, Act::Enter { .. }));
    let left = count(|act| matches!(act, Act::Leave { .. }));
    assert!(left <= entered, "{place}: {rows:#?}");
    if everybody_left {
        assert_eq!(left, entered, "{place}: {rows:#?}");
    }
}

fn places() -> Vec<String> {
    let places = places_in(&["client", "door", "entry", "entered"]);
    assert!(places.len() >= 12, "{places:?}");
    places
}

fn kill_the_client_everywhere(machine: Machine) {
    let sandbox = machine.sandbox();
    for place in places() {
        let traces = Traces::before(&guest(&sandbox));
        let mut both = Both::at(&place, &sandbox);
        both.guest.kill();
        both.release();
        traces.gone(&place);
        assert!(both.run.is_alive(), "{place}: the run has ended");
        let again = sandbox.bailiwick(["exec", "box", "-c", "exit 3"]);
        assert_eq!(again.exit_code(), Some(3), "{place}: {}", again.stderr());
        sandbox.host("touch may-end");
        let ended = both.run.output();
        assert_eq!(ended.status.code(), Some(7), "{place}: {ended:?}");
        on_record(&sandbox, &place, true);
    }
}

fn kill_the_supervisor_everywhere(machine: Machine) {
    let sandbox = machine.sandbox();
    for place in places() {
        let traces = Traces::before(&sandbox.workspace());
        let mut both = Both::at(&place, &sandbox);
        both.run.kill();
        both.release();
        let ended = both.guest.output();
        let said = String::from_utf8_lossy(&ended.stderr);
        let (code, words) = match place.ends_with("/told") {
            true => (5, ""),
            false => (125, "the sandbox "),
        };
        assert_eq!(ended.status.code(), Some(code), "{place}: {said}");
        assert!(said.contains(words), "{place}: {said}");
        traces.gone(&place);
        on_record(&sandbox, &place, false);
        // The name is free again.
        let words = ["run", "--name", "box"].map(OsString::from);
        let command = ["--", "true"].map(OsString::from);
        let words = words.iter().chain(sandbox.options()).chain(&command);
        sandbox.bailiwick(words).success();
    }
}

#[test]
fn a_client_that_is_killed_anywhere_takes_its_command_along_and_the_run_goes_on() {
    kill_the_client_everywhere(Machine::Full);
}

#[test]
fn a_supervisor_that_is_killed_anywhere_takes_what_entered_along() {
    kill_the_supervisor_everywhere(Machine::Full);
}

#[test]
fn a_client_that_is_killed_without_namespaces_takes_its_command_along() {
    kill_the_client_everywhere(Machine::Bare);
}

#[test]
fn a_supervisor_that_is_killed_without_namespaces_takes_what_entered_along() {
    kill_the_supervisor_everywhere(Machine::Bare);
}
