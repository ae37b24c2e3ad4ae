//! `bailiwick fork`.

use crate::support::processes::{state, with_words};
use crate::{Quiet, asked, counting, counts_on, exec, machines, sandbox, wait};
use std::collections::BTreeSet;

#[test]
fn copies_go_on_from_one_moment_and_know_nothing_of_each_other() {
    let sandbox = sandbox();
    let _run = counting(&sandbox, "box");
    asked(
        &sandbox,
        "box",
        "echo memory > /tmp/memory; echo disk > disk",
    );
    let forked = sandbox.bailiwick(["fork", "box", "--name", "twin", "--copies", "2"]);
    forked
        .code(0)
        .stdout_is("twin-1 runs, a copy of box\ntwin-2 runs, a copy of box\n");
    let all = ["box", "twin-1", "twin-2"];
    let mut ids = BTreeSet::new();
    let mut random = BTreeSet::new();
    for name in all {
        assert_eq!(
            asked(&sandbox, name, "cat /tmp/memory disk"),
            "memory\ndisk"
        );
        ids.insert(asked(&sandbox, name, "hostname; cat /etc/machine-id"));
        random.insert(asked(
            &sandbox,
            name,
            "head -c 16 /dev/urandom | od -An -tx1",
        ));
        asked(
            &sandbox,
            name,
            &format!("echo {name} > mine; echo {name} > /tmp/mine"),
        );
        counts_on(&sandbox, name, "now");
    }
    assert_eq!((ids.len(), random.len()), (3, 3));
    for name in all {
        assert_eq!(
            asked(&sandbox, name, "cat mine /tmp/mine"),
            format!("{name}\n{name}")
        );
    }
    // A copy of a copy.
    sandbox
        .bailiwick(["fork", "twin-1", "--name", "grandchild"])
        .code(0);
    assert_eq!(
        asked(&sandbox, "grandchild", "cat mine /tmp/memory"),
        "twin-1\nmemory"
    );
    for name in ["twin-1", "twin-2", "grandchild"] {
        sandbox.bailiwick(["rm", "--force", name]).code(0);
    }
    exec(&sandbox, "box", "true").code(0);
    assert_eq!(machines(&sandbox).len(), 1);
    let left = sandbox.scratch().state().join("bailiwick/machines");
    assert_eq!(std::fs::read_dir(left).unwrap().count(), 0);
}

#[test]
fn a_session_is_copied_while_it_talks() {
    let sandbox = sandbox();
    let script =
        "echo up; until [ -e go ]; do sleep 0.05; done; yes 0123456789abcdef | head -c 60M";
    let mut run = Quiet::start(
        &sandbox,
        [
            "run",
            "--disk",
            "--memory=512MiB",
            "--name",
            "box",
            "-c",
            script,
        ],
    );
    wait::until("it is told to talk", || {
        exec(&sandbox, "box", "touch go").exit_code() == Some(0)
    });
    for round in 0..3 {
        let name = format!("copy{round}");
        let forked = sandbox.bailiwick(["fork", "box", "--name", &name]);
        if forked.exit_code() != Some(0) {
            // It is through.
            forked.code(2).stderr_has("ended");
        }
    }
    let (code, said) = run.ends();
    assert_eq!(code, Some(0));
    // Nothing of it was lost or came twice.
    assert_eq!(said.len(), "up\n".len() + (60 << 20));
    assert!(
        said[3..]
            .chunks_exact(17)
            .all(|line| line == b"0123456789abcdef\n")
    );
    for round in 0..3 {
        sandbox.bailiwick(["rm", "--force", &format!("copy{round}")]);
    }
}

#[test]
fn a_session_that_ends_while_it_is_asked_for_a_copy_has_ended() {
    let sandbox = sandbox();
    let run = counting(&sandbox, "box");
    let supervisor = rustix::process::Pid::from_raw(run.pid().cast_signed()).unwrap();
    let signal = |signal| rustix::process::kill_process(supervisor, signal).unwrap();
    signal(rustix::process::Signal::STOP);
    let mut fork = sandbox.command();
    fork.args(["fork", "box", "--name", "twin"]);
    fork.stderr(std::process::Stdio::piped());
    let fork = fork.spawn().unwrap();
    let pid = fork.id();
    let folders = sandbox.scratch().state().join("bailiwick/machines");
    let begun = || std::fs::read_dir(&folders).is_ok_and(|all| all.count() > 0);
    wait::until("the copy has begun", begun);
    wait::until("it waits for an answer", || state(pid) == Some('S'));
    signal(rustix::process::Signal::KILL);
    let forked = fork.wait_with_output().unwrap();
    let said = String::from_utf8(forked.stderr).unwrap();
    assert_eq!(forked.status.code(), Some(2), "{said}");
    assert!(said.contains("ended"), "{said}");
    assert_eq!(std::fs::read_dir(folders).unwrap().count(), 0);
}

#[test]
fn a_copy_that_cannot_begin_says_why_and_leaves_nothing() {
    let sandbox = sandbox();
    let _run = counting(&sandbox, "box");
    for (name, why) in [("box", "already called"), ("a/b", "cannot be the name")] {
        let forked = sandbox.bailiwick(["fork", "box", "--name", name]);
        forked
            .code(2)
            .stderr_has(&format!("{name} could not go on: "))
            .stderr_has(why);
    }
    let left = sandbox.scratch().state().join("bailiwick/machines");
    assert_eq!(std::fs::read_dir(left).unwrap().count(), 0);
    assert_eq!(asked(&sandbox, "box", "sleep 0.2; echo on"), "on");
}

#[test]
fn who_cannot_say_that_a_copy_runs_does_not_wait_for_its_end() {
    let sandbox = sandbox();
    let _run = counting(&sandbox, "box");
    let mut fork = sandbox.command();
    fork.args(["fork", "box", "--name", "twin"]);
    fork.stdout(
        std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap(),
    );
    assert_ne!(fork.status().unwrap().code(), Some(0));
    assert_eq!(asked(&sandbox, "twin", "echo on"), "on");
    sandbox.bailiwick(["rm", "--force", "twin"]).code(0);
}

#[test]
fn a_copy_ends_whose_fork_was_killed_before_all_was_written() {
    let sandbox = sandbox();
    let run = counting(&sandbox, "box");
    // What takes a while to write.
    let much = "dd if=/dev/zero of=/dev/shm/much bs=1M count=200 2>/dev/null";
    asked(&sandbox, "box", much);
    let mut fork = sandbox.command();
    let mut fork = fork
        .args(["fork", "box", "--name", "twin"])
        .spawn()
        .unwrap();
    let folders = sandbox.scratch().state().join("bailiwick/machines");
    // It has this name when the copy begins.
    let begun = || {
        let all = std::fs::read_dir(&folders).into_iter().flatten().flatten();
        all.map(|entry| entry.path())
            .find(|folder| folder.join("session").is_file())
    };
    let folder = wait::for_some("the copy has begun", || {
        assert_eq!(fork.try_wait().unwrap(), None, "it is through already");
        begun()
    });
    let supervisor = rustix::process::Pid::from_raw(run.pid().cast_signed()).unwrap();
    let signal = |signal| rustix::process::kill_process(supervisor, signal).unwrap();
    signal(rustix::process::Signal::STOP);
    let copy = || with_words(folder.to_str().unwrap()).len();
    wait::until("a process works for the copy", || copy() > 0);
    fork.kill().unwrap();
    fork.wait().unwrap();
    wait::until("no process works for the copy", || copy() == 0);
    assert_eq!(std::fs::read_dir(&folders).unwrap().count(), 0);
    signal(rustix::process::Signal::CONT);
    exec(&sandbox, "twin", "true").code(2);
    assert_eq!(asked(&sandbox, "box", "sleep 0.2; echo on"), "on");
}

#[test]
fn nothing_runs_in_a_copy_before_it_is_itself() {
    let sandbox = sandbox();
    let script = "echo up; exec bash -c 'while :; do read -r id < /etc/machine-id;
        echo $EPOCHREALTIME $id; done > ids'";
    let _run = crate::start(&sandbox, "box", script);
    wait::until("it has said who it is", || {
        exec(&sandbox, "box", "[ $(wc -l < ids) -gt 20 ]").exit_code() == Some(0)
    });
    sandbox.bailiwick(["fork", "box", "--name", "twin"]).code(0);
    let own = asked(&sandbox, "twin", "cat /etc/machine-id");
    let all = asked(&sandbox, "twin", "cat ids");
    sandbox.bailiwick(["rm", "--force", "twin"]).code(0);
    let rows: Vec<(f64, &str)> = all
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(_, id)| id.len() == own.len())
        .map(|(at, id)| (at.parse().unwrap(), id))
        .collect();
    // What was read before and is said afterwards is one row at most.
    let last = rows
        .iter()
        .rev()
        .filter(|(_, id)| *id != own)
        .nth(1)
        .unwrap();
    let first = rows.iter().find(|(_, id)| *id == own).unwrap();
    // Between the two lies the time in which another machine was made of it.
    assert!(first.0 - last.0 > 0.03, "{last:?} {first:?}");
}
