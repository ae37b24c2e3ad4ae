//! A death at each stage of a start, in the words of the start's own table, leaves nothing: no
//! process, no mount, no temporary file, no record that cannot be read.

use crate::support::{Sandbox, Stopped, Traces, places};
use std::path::{Path, PathBuf};

/// Says that it runs, leaves a temporary file, and waits until it may end.
const COMMAND: &str = "touch began; echo left > ${TMPDIR:-/tmp}/left; \
    while ! test -e may-end; do sleep 0.01; done";

/// What a machine gives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Machine {
    /// Every layer.
    Full,
    /// No namespaces: nothing of the kernel's ends pid 1's stand-in with its supervisor.
    Bare,
}

impl Machine {
    /// A sandbox whose temporary folder is its own.
    pub(crate) fn sandbox(self) -> Sandbox {
        let sandbox = Sandbox::new();
        let temporary = sandbox.scratch().root().join("tmp");
        std::fs::create_dir(&temporary).unwrap();
        let sandbox = sandbox.host_env("TMPDIR", temporary);
        match self {
            Self::Full => sandbox,
            Self::Bare => sandbox.without_namespaces(),
        }
    }

    /// Whether the command may have begun at a place, or begins when whoever stands there goes on.
    fn may_have_begun(self, place: &str) -> bool {
        let running = [
            "pid 1/exec",
            "pid 1/command",
            "supervisor/wait for ready",
            "supervisor/report",
            "supervisor/close",
        ];
        let released = ["pid 1/hand-over", "command/fork"];
        let at = |ends: &[&str]| ends.iter().any(|end| place.ends_with(end));
        at(&running) || (self == Self::Bare && at(&released))
    }

    /// Whether the one that stands at a place does not die with its supervisor: it has to notice by
    /// itself, or by who notices.
    fn is_unbound(self, place: &str) -> bool {
        match self {
            // Pid 1 has not asked yet.
            Self::Full => place == "before pid 1/namespaces",
            Self::Bare => !place.contains(" supervisor/"),
        }
    }

    /// The last place at which there is no pid 1.
    fn alone(self) -> &'static str {
        match self {
            Self::Full => "after supervisor/load",
            // Known to be possible only when the policy is known.
            Self::Bare => "after supervisor/policy",
        }
    }
}

/// Removes what the command has made, and lets it end by itself where it is to.
fn prepare(sandbox: &Sandbox, place: &str) {
    for file in ["began", "may-end"] {
        let _ = std::fs::remove_file(sandbox.workspace().join(file));
    }
    if ["/command", "/report", "/close"]
        .iter()
        .any(|end| place.ends_with(end))
    {
        std::fs::write(sandbox.workspace().join("may-end"), "").unwrap();
    }
}

/// The session that was made since, if there is one, stands as it has to and can be read; a new one
/// can be made; and nothing lies where nothing belongs.
#[track_caller]
fn in_order(sandbox: &Sandbox, place: &str, known: &[String], state: &str) {
    let listed = sandbox
        .bailiwick(["sessions", "list", "--json"])
        .success()
        .stdout();
    let made = sandbox.scratch().sessions();
    if let Some(session) = made.iter().find(|session| !known.contains(session)) {
        let row = listed.lines().find(|line| line.contains(session)).unwrap();
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        assert_eq!(row["state"], state, "{place}: {row}");
        sandbox
            .bailiwick(["log", session])
            .success()
            .stdout_lacks("damaged");
        sandbox.bailiwick(["log", "verify", session]).success();
    }
    sandbox.run("true").success();
    let state = sandbox.scratch().state().join("bailiwick");
    let own = ["projects", "sessions", "written"];
    assert_eq!(names(&state), own, "{place}");
    for session in sandbox.scratch().sessions() {
        for file in names(&state.join("sessions").join(&session)) {
            let known = ["journal", "meta", "policy.lock", "replay.lock"];
            let known = known.contains(&file.as_str()) || file.starts_with("session.db");
            assert!(known, "{place}: {session}/{file}");
        }
    }
    assert!(of_sandboxes(sandbox).is_empty(), "{place}");
    let temporary = names(&sandbox.scratch().root().join("tmp"));
    assert!(temporary.is_empty(), "{place}: {temporary:?}");
    let workspace = names(&sandbox.workspace());
    let ours = |name: &String| ["began", "may-end"].contains(&name.as_str());
    assert!(workspace.iter().all(ours), "{place}: {workspace:?}");
}

/// The folders of the host for temporary files of sandboxes without namespaces.
fn of_sandboxes(sandbox: &Sandbox) -> Vec<PathBuf> {
    let projects = sandbox.scratch().state().join("bailiwick/projects");
    let all = std::fs::read_dir(projects).into_iter().flatten().flatten();
    let all = all.flat_map(|project| std::fs::read_dir(project.path().join("tmp")));
    all.flatten().flatten().map(|entry| entry.path()).collect()
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn the_table_has_every_stage_before_and_after() {
    for (machine, stages, some) in [
        (Machine::Full, 25, "after pid 1/mounts"),
        (Machine::Bare, 18, "after pid 1/Landlock"),
    ] {
        let places = places(&machine.sandbox());
        assert!(places.len() >= stages, "{places:?}");
        for place in [
            some,
            "after supervisor/load",
            "before pid 1/namespaces",
            "after command/fork",
        ] {
            assert!(places.iter().any(|p| p == place), "{place}: {places:?}");
        }
    }
}

fn kill_the_supervisor_everywhere(machine: Machine) {
    let sandbox = machine.sandbox();
    let traces = Traces::before(&sandbox.workspace());
    for place in places(&sandbox) {
        prepare(&sandbox, &place);
        let known = sandbox.scratch().sessions();
        let mut stopped = Stopped::at(&place, &sandbox, COMMAND);
        stopped.kill();
        if machine.is_unbound(&place) {
            stopped.release();
        }
        traces.gone(&place);
        // A folder may stay until the next run, but nothing that the command wrote.
        for folder in of_sandboxes(&sandbox) {
            assert!(names(&folder).is_empty(), "{place}");
        }
        if !machine.may_have_begun(&place) {
            assert!(!sandbox.workspace().join("began").exists(), "{place}");
        }
        let state = match place.ends_with("/close") {
            true => "ended",
            false => "killed",
        };
        in_order(&sandbox, &place, &known, state);
    }
}

fn kill_pid_1_everywhere(machine: Machine) {
    let sandbox = machine.sandbox();
    let traces = Traces::before(&sandbox.workspace());
    let places = places(&sandbox);
    let alone = places.iter().position(|p| p == machine.alone()).unwrap();
    for place in &places[alone + 1..] {
        prepare(&sandbox, place);
        let known = sandbox.scratch().sessions();
        let output = Stopped::at(place, &sandbox, COMMAND).kill_pid_1();
        traces.gone(place);
        let said = String::from_utf8_lossy(&output.stderr);
        let reported = ["/report", "/close"].iter().any(|end| place.ends_with(end));
        let (code, words) = match reported {
            true => (0, "total"),
            false => (125, "bailiwick: the sandbox ended"),
        };
        assert_eq!(output.status.code(), Some(code), "{place}: {said}");
        assert!(said.contains(words), "{place}: {said}");
        in_order(&sandbox, place, &known, "ended");
    }
}

#[test]
fn a_supervisor_that_is_killed_at_any_stage_leaves_nothing() {
    kill_the_supervisor_everywhere(Machine::Full);
}

#[test]
fn a_pid_1_that_is_killed_at_any_stage_is_told_and_leaves_nothing() {
    kill_pid_1_everywhere(Machine::Full);
}

#[test]
fn a_supervisor_that_is_killed_without_namespaces_leaves_nothing() {
    kill_the_supervisor_everywhere(Machine::Bare);
}

#[test]
fn a_stand_in_that_is_killed_without_namespaces_is_told_and_leaves_nothing() {
    kill_pid_1_everywhere(Machine::Bare);
}
