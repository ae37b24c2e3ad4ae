//! `bailiwick suspend` and `resume`.

use crate::{
    Backend, Background, Quiet, Sandbox, asked, counting, counts_on, exec, machines, sandbox,
    start, wait, wait_for_session,
};
use std::fs;

#[test]
fn a_session_goes_on_where_it_was_with_its_files_open() {
    let sandbox = sandbox();
    // The file has no name any more: only whoever has it open has its contents.
    let script = "exec 3<>log; echo first >&3; rm log; echo up; n=0
        while [ ! -e go ]; do n=$((n+1)); echo $n > n; sleep 0.1; done
        echo again; echo second >&3; cat /proc/self/fd/3; exit 7";
    let mut run = start(&sandbox, "box", script);
    let host = asked(&sandbox, "box", "hostname; cat /etc/machine-id");
    sandbox
        .bailiwick(["suspend", "box"])
        .code(0)
        .stdout_has("bailiwick resume box");
    assert_eq!(run.ends(), Some(148), "as a shell says of what was stopped");
    exec(&sandbox, "box", "true").code(2);
    // Whatever the host's time is meanwhile, it is the machine's: a second or more later.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let counted = fs::metadata(machines(&sandbox)[0].join("state")).unwrap();
    assert!(counted.len() > 1 << 20);
    let state = machines(&sandbox)[0].clone();
    let mut again = Quiet::start(&sandbox, ["resume", "box"]);
    wait_for_session(&sandbox, "box");
    let other = asked(&sandbox, "box", "hostname; cat /etc/machine-id");
    assert_ne!(host, other, "another name for another life");
    let seconds = || {
        std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .unwrap()
            .as_secs()
    };
    let before = seconds();
    let now: u64 = asked(&sandbox, "box", "date +%s").parse().unwrap();
    let real = before - 2..=seconds() + 2;
    assert!(real.contains(&now), "{real:?} {now}");
    assert!(!state.exists(), "what was saved is used once");
    counts_on(&sandbox, "box", "n");
    exec(&sandbox, "box", "touch go").code(0);
    assert_eq!(again.ends(), (Some(7), b"again\nfirst\nsecond\n".to_vec()));
}

#[test]
fn what_cannot_be_saved_is_told_with_the_remedy() {
    let shared = Sandbox::on(Backend::Vm);
    let _run = Background::start(
        &shared,
        ["run", "--name", "box", "-c", "echo up; cat"],
        "up",
    );
    for words in [&["suspend", "box"][..], &["fork", "box", "--name", "other"]] {
        shared.bailiwick(words).code(2).stderr_has("--disk");
    }
    exec(&shared, "box", "true").code(0);
    let ended = sandbox();
    let id = ended.run("true").code(0).session().unwrap().to_owned();
    ended
        .bailiwick(["resume", &id])
        .code(2)
        .stderr_has("was not suspended");
    ended
        .bailiwick(["suspend", &id])
        .code(2)
        .stderr_has("has ended");
    ended
        .bailiwick(["resume", "nobody"])
        .code(2)
        .stderr_has("nobody");
}

#[test]
fn a_machine_that_cannot_go_on_is_started_anew_with_its_disk_and_that_is_said() {
    let sandbox = sandbox();
    let script = "if [ -e was ]; then echo again; cat was; else echo here > was; echo up; cat; fi";
    let run = start(&sandbox, "box", script);
    sandbox.bailiwick(["suspend", "box"]).code(0);
    drop(run);
    let state = machines(&sandbox)[0].join("state");
    let bytes = fs::read(&state).unwrap();
    fs::write(&state, &bytes[..bytes.len() / 2]).unwrap();
    let resumed = sandbox.bailiwick(["resume", "box"]);
    resumed
        .code(0)
        .stdout_is("again\nhere\n")
        .stderr_has("started anew with its disk");
}

#[test]
fn a_session_that_was_suspended_is_removed_with_its_disk() {
    let sandbox = sandbox();
    let run = counting(&sandbox, "box");
    sandbox
        .bailiwick(["rm", "box"])
        .code(2)
        .stderr_has("still running");
    sandbox.bailiwick(["suspend", "box"]).code(0);
    drop(run);
    sandbox.bailiwick(["rm", "box"]).code(0);
    assert!(machines(&sandbox).is_empty());
    let mut run = counting(&sandbox, "box");
    sandbox.bailiwick(["rm", "--force", "box"]).code(0);
    assert!(matches!(run.ends(), Some(137 | 143)));
    assert!(machines(&sandbox).is_empty());
}

#[test]
fn a_session_is_ended_gently_and_else_by_force() {
    let sandbox = sandbox();
    let mut run = start(
        &sandbox,
        "box",
        "trap 'exit 9' TERM; echo up; while :; do sleep 0.1; done",
    );
    sandbox.bailiwick(["stop", "box"]).code(0);
    assert_eq!(run.ends(), Some(9));
    let mut deaf = start(
        &sandbox,
        "box",
        "trap '' TERM; echo up; while :; do sleep 0.1; done",
    );
    sandbox.bailiwick(["stop", "--time", "1", "box"]).code(0);
    assert_eq!(deaf.ends(), Some(137));
    sandbox
        .bailiwick(["stop", "box"])
        .code(2)
        .stderr_has("has ended");
}

#[test]
fn nothing_that_was_said_is_lost_between_suspend_and_resume() {
    let sandbox = sandbox();
    let script = "n=0; while [ ! -e go ]; do n=$((n+1)); echo $n; done; exit 7";
    let words = ["run", "--disk", "--name", "box", "-c", script];
    let mut run = Quiet::start(&sandbox, words);
    wait_for_session(&sandbox, "box");
    wait::until("it has said much", || {
        let said = fs::read(&run.1).unwrap();
        said.iter().filter(|byte| **byte == b'\n').count() > 100
    });
    // What one has left that was interrupted.
    for name in ["session.new", "state.new"] {
        fs::write(machines(&sandbox)[0].join(name), "half").unwrap();
    }
    sandbox.bailiwick(["suspend", "box"]).code(0);
    let (code, mut said) = run.ends();
    assert_eq!(code, Some(148));
    let mut again = Quiet::start(&sandbox, ["resume", "box"]);
    wait_for_session(&sandbox, "box");
    // The session may be over before its own end is told.
    let _ = exec(&sandbox, "box", "touch go");
    let (code, more) = again.ends();
    assert_eq!(code, Some(7));
    said.extend(more);
    let said = String::from_utf8(said).unwrap();
    let numbers: Vec<u32> = said.lines().map(|line| line.parse().unwrap()).collect();
    let all: Vec<u32> = (1..).take(numbers.len()).collect();
    assert!(numbers.len() > 100 && numbers == all);
}

#[test]
fn what_was_suspended_is_called_so_and_what_went_on_has_the_disk() {
    let sandbox = sandbox();
    let _run = counting(&sandbox, "box");
    sandbox.bailiwick(["suspend", "box"]).code(0);
    let list = sandbox.bailiwick(["sessions", "list"]);
    list.code(0).stdout_has("suspended");
    let text = list.stdout();
    let old = text.lines().find(|line| line.contains("suspended"));
    let old = old.unwrap().split_whitespace().next().unwrap().to_owned();
    for words in [&["suspend", "box"][..], &["cp", "box:/tmp/x", "."]] {
        sandbox
            .bailiwick(words)
            .code(2)
            .stderr_has("bailiwick resume box");
    }
    let _again = Quiet::start(&sandbox, ["resume", "box"]);
    wait_for_session(&sandbox, "box");
    sandbox
        .bailiwick(["apply", &old])
        .code(2)
        .stderr_has("went on as another one");
    sandbox
        .bailiwick(["cp", "box:/nowhere", "."])
        .code(2)
        .stderr_has("/nowhere");
    sandbox.bailiwick(["stop", "--time", "1", "box"]).code(0);
    sandbox.bailiwick(["rm", "box"]).code(0);
    assert!(machines(&sandbox).is_empty());
}
