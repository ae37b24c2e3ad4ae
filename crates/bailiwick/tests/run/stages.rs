//! A death at each stage of a start, in the words of the start's own table, leaves nothing: no
//! process, no mount, no temporary file, no record that cannot be read.

use crate::support::{Sandbox, Stopped, Traces, places};
use std::path::Path;

/// Says that it runs, and waits until it may end.
const COMMAND: &str = "touch began; while ! test -e may-end; do sleep 0.01; done";

/// The places at which the command may have begun.
const RUNNING: [&str; 5] = [
    "pid 1/exec",
    "pid 1/command",
    "supervisor/wait for ready",
    "supervisor/report",
    "supervisor/close",
];

/// Where pid 1 has not asked yet to die with its supervisor: it has to notice by itself.
const UNBOUND: &str = "before pid 1/namespaces";

/// A sandbox whose temporary folder is its own, under a limit that needs every part of a run.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let temporary = sandbox.scratch().root().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    sandbox.host_env("TMPDIR", temporary)
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
    assert_eq!(names(&state), ["projects", "sessions"], "{place}");
    for session in sandbox.scratch().sessions() {
        for file in names(&state.join("sessions").join(&session)) {
            let known = ["journal", "meta", "policy.lock", "replay.lock"];
            let known = known.contains(&file.as_str()) || file.starts_with("session.db");
            assert!(known, "{place}: {session}/{file}");
        }
    }
    let temporary = names(&sandbox.scratch().root().join("tmp"));
    assert!(temporary.is_empty(), "{place}: {temporary:?}");
    let workspace = names(&sandbox.workspace());
    let ours = |name: &String| ["began", "may-end"].contains(&name.as_str());
    assert!(workspace.iter().all(ours), "{place}: {workspace:?}");
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn the_table_has_every_stage_before_and_after() {
    let places = places(&sandbox());
    assert!(places.len() >= 25, "{places:?}");
    for place in [
        "after supervisor/load",
        "before pid 1/namespaces",
        "after command/fork",
    ] {
        assert!(places.iter().any(|p| p == place), "{place}: {places:?}");
    }
}

#[test]
fn a_supervisor_that_is_killed_at_any_stage_leaves_nothing() {
    let sandbox = sandbox();
    let traces = Traces::before(&sandbox.workspace());
    for place in places(&sandbox) {
        prepare(&sandbox, &place);
        let known = sandbox.scratch().sessions();
        let go_on = Stopped::at(&place, &sandbox, COMMAND).kill_supervisor();
        if place == UNBOUND {
            drop(go_on);
        }
        traces.gone(&place);
        if !RUNNING.iter().any(|running| place.ends_with(running)) {
            assert!(!sandbox.workspace().join("began").exists(), "{place}");
        }
        let state = match place.ends_with("/close") {
            true => "ended",
            false => "killed",
        };
        in_order(&sandbox, &place, &known, state);
    }
}

#[test]
fn a_pid_1_that_is_killed_at_any_stage_is_told_and_leaves_nothing() {
    let sandbox = sandbox();
    let traces = Traces::before(&sandbox.workspace());
    let places = places(&sandbox);
    // Before it is forked there is none.
    let forked = places
        .iter()
        .position(|p| p.ends_with("supervisor/fork"))
        .unwrap();
    for place in &places[forked..] {
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
