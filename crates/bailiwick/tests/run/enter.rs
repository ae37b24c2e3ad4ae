//! `bailiwick exec` runs a command in a sandbox that another process started, with its authority and
//! in its record.

use crate::support::{Backend, Background, Outcome, Sandbox, binary, host_command, wait};
use bailiwick_event::Act;
use std::process::Stdio;

on_every_backend! {
    a_command_enters_with_its_streams_folder_and_exit_code,
    a_program_that_stops_everything_neither_holds_the_sandbox_nor_gets_round_its_limits: "pid 1 of a guest waits for a command that is stopped before it is executed",
    a_stream_that_the_caller_closed_is_the_null_device,
    both_see_the_same_processes_files_and_network,
    what_the_policy_refuses_is_refused_recorded_and_said,
    nothing_else_comes_along,
    a_command_that_is_not_there_is_told_like_one_of_run,
    a_run_that_is_not_there_or_has_no_door_is_explained,
    many_enter_at_once_and_one_after_the_other,
    signals_reach_the_command_and_the_death_of_its_client_ends_it,
    the_end_of_the_run_ends_what_entered,
}

/// A run of this name that goes on until its input ends.
fn running(sandbox: &Sandbox) -> Background {
    let words = ["run", "--name", "box", "-c", "echo up; cat"];
    Background::start(sandbox, words, "up")
}

#[track_caller]
fn exec(sandbox: &Sandbox, script: &str) -> Outcome {
    sandbox.bailiwick(["exec", "box", "-c", script])
}

fn a_command_enters_with_its_streams_folder_and_exit_code(on: Backend) {
    let sandbox = Sandbox::on(on).file("data", "inside\n").stdin("typed\n");
    let _run = running(&sandbox);
    let outcome = exec(&sandbox, "cat data; cat; echo aside >&2; pwd; exit 7");
    outcome.code(7);
    let workspace = sandbox.workspace().display().to_string();
    assert_eq!(outcome.stdout(), format!("inside\ntyped\n{workspace}\n"));
    assert_eq!(outcome.stderr(), "aside\n");
}

fn a_program_that_stops_everything_neither_holds_the_sandbox_nor_gets_round_its_limits(
    on: Backend,
) {
    let storm = "import os, signal, subprocess, time
print('up', flush=True)
while not os.path.exists('enough'):
    try: os.kill(-1, signal.SIGSTOP)
    except ProcessLookupError: pass
for _ in range(6):
    if os.fork() == 0:
        held = bytearray(120 << 20)
        for page in range(0, len(held), 4096): held[page] = 1
        time.sleep(60)
time.sleep(60)
";
    let policy = "extends = [\"default\"]\n[limits]\nmemory = \"200MiB\"\n";
    let sandbox = Sandbox::on(on).policy(policy).file("storm.py", storm);
    let words = ["run", "--name", "box", "--", "python3", "storm.py"];
    let file = sandbox.scratch().root().join("policy-1.toml");
    let mut all = vec!["run", "--policy", file.to_str().unwrap()];
    all.extend(&words[1..]);
    let mut run = Background::start(&sandbox, all, "up");
    for _ in 0..3 {
        let mut guest = sandbox.command();
        guest.args(["exec", "box", "--", "true"]);
        let mut guest = guest
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Somewhere on its way.
        std::thread::sleep(std::time::Duration::from_millis(300));
        let _ = guest.kill();
        let _ = guest.wait();
    }
    std::fs::write(sandbox.workspace().join("enough"), "").unwrap();
    assert_eq!(run.ends(), Some(137));
    sandbox.bailiwick(["log", "box"]).stdout_has("memory");
}

/// Until it is executed the process of a command that enters has the memory of pid 1.
#[test]
fn a_program_that_ends_what_enters_ends_neither_the_sandbox_nor_what_comes_later() {
    let storm = "import os, signal
print('up', flush=True)
signals = [signal.SIGKILL, signal.SIGSEGV, signal.SIGQUIT, signal.SIGABRT]
while not os.path.exists('enough'):
    for number in signals:
        try: os.kill(-1, number)
        except ProcessLookupError: pass
input()
";
    let sandbox = Sandbox::new().file("storm.py", storm);
    let words = ["run", "--name", "box", "--", "python3", "storm.py"];
    let mut run = Background::start(&sandbox, words, "up");
    for round in 0..60 {
        // One of two is through before the storm meets it, or is not; the other waits for it.
        let seconds = ["0.05", "600"][round % 2];
        let outcome = sandbox.bailiwick(["exec", "box", "--", "sleep", seconds]);
        let lost = outcome.exit_code() != Some(0);
        assert!(lost || seconds != "600", "the storm did not meet it");
    }
    std::fs::write(sandbox.workspace().join("enough"), "").unwrap();
    // The last signals of the storm may still meet one.
    wait::until("the storm is over", || {
        exec(&sandbox, "exit 3").exit_code() == Some(3)
    });
    run.types("\n");
    assert_eq!(run.ends(), Some(0));
    sandbox.bailiwick(["log", "verify", "box"]).success();
}

fn a_stream_that_the_caller_closed_is_the_null_device(on: Backend) {
    let sandbox = Sandbox::on(on);
    let script = "\"$B\" run -c 'echo a; cat; echo b >&2; exit 4' <&- >&- 2>&-; echo $?";
    let shell = sandbox.shell(script).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&shell.stdout), "4\n");
}

fn both_see_the_same_processes_files_and_network(on: Backend) {
    let sandbox = Sandbox::on(on);
    let words = [
        "run",
        "--name",
        "box",
        "-c",
        "sleep 600 & echo mine > /tmp/t; echo up; cat",
    ];
    let _run = Background::start(&sandbox, words, "up");
    let outcome = exec(
        &sandbox,
        "cat /tmp/t; grep -l '^sleep$' /proc/[0-9]*/comm | wc -l; \
         echo $HTTP_PROXY; readlink /proc/self/ns/net > ns; test -e /proc/1",
    );
    assert_eq!(
        outcome.success().stdout(),
        "mine\n1\nhttp://127.0.0.1:14829\n"
    );
    let ns = std::fs::read_to_string(sandbox.workspace().join("ns")).unwrap();
    let own = std::fs::read_link("/proc/self/ns/net").unwrap();
    assert_ne!(ns.trim(), own.to_str().unwrap());
}

fn what_the_policy_refuses_is_refused_recorded_and_said(on: Backend) {
    let sandbox = Sandbox::on(on).home_file(".ssh/id", "the key\n");
    let mut run = running(&sandbox);
    exec(&sandbox, "cat ~/.ssh/id")
        .failure()
        .stdout_lacks("the key");
    exec(&sandbox, "echo x > .mcp.json").stderr_has("by filesystem.protect");
    let calm = exec(&sandbox, "true");
    assert_eq!(calm.success().stderr(), "", "it tells what others did");
    assert_eq!(run.ends(), Some(0));
    let log = sandbox.bailiwick(["log", "box", "--json"]);
    let rows: Vec<bailiwick_event::Event> = log
        .success()
        .stdout()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let jobs = |row: &bailiwick_event::Event| match &row.act {
        Act::Enter { job, argv, .. } => Some((*job, argv[2].to_string())),
        _ => None,
    };
    let entered: Vec<_> = rows.iter().filter_map(jobs).collect();
    let scripts = ["cat ~/.ssh/id", "echo x > .mcp.json", "true"].map(String::from);
    assert_eq!(entered, (1..).zip(scripts).collect::<Vec<_>>());
    let codes = |row: &bailiwick_event::Event| match row.act {
        Act::Leave { job, code, .. } => Some((job, code)),
        _ => None,
    };
    let left: Vec<_> = rows.iter().filter_map(codes).collect();
    assert_eq!(left.len(), 3, "{left:?}");
    assert_eq!(left[2], (3, 0));
    sandbox.bailiwick(["log", "verify", "box"]).success();
}

/// Clients that say nothing, more than a sandbox hears at a time, until their input ends.
const SILENT: &str = "import glob, os, socket, sys
[door] = glob.glob(os.environ['XDG_STATE_HOME'] + '/bailiwick/sessions/*/door')
os.chdir(os.path.dirname(door))
silent = []
for _ in range(300):
    silent.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
    silent[-1].connect('door')
print('silent', flush=True)
sys.stdin.read()
";

#[test]
fn clients_that_say_nothing_make_room_and_those_with_a_command_stay() {
    let sandbox = Sandbox::new().file("silent.py", SILENT);
    let _run = running(&sandbox);
    let mut first = sandbox.command();
    first.args(["exec", "box", "-c", "echo in; read a; exit $a"]);
    let mut first = Background::of(first, "in");
    let _silent = Background::of(sandbox.shell("exec python3 silent.py"), "silent");
    exec(&sandbox, "exit 6").code(6);
    first.types("5\n");
    assert_eq!(first.ends(), Some(5));
}

fn nothing_else_comes_along(on: Backend) {
    let sandbox = Sandbox::on(on).host_env("SECRET_TOKEN", "s3cret");
    let _run = running(&sandbox);
    let outcome = exec(
        &sandbox,
        "env; ls -l /proc/self/fd; id -u; grep -E 'CapEff|NoNewPrivs|Seccomp:' /proc/self/status",
    );
    let said = outcome.success().stdout().to_owned();
    assert!(!said.contains("s3cret"), "{said}");
    assert!(
        said.contains("BAILIWICK=1") && said.contains("IS_SANDBOX=1"),
        "{said}"
    );
    if on == Backend::Process {
        assert!(
            said.contains("NoNewPrivs:\t1") && said.contains("Seccomp:\t2"),
            "{said}"
        );
        assert!(said.contains("CapEff:\t0000000000000000"), "{said}");
    }
    let descriptors = said.lines().filter(|l| l.contains(" -> ")).count();
    assert_eq!(descriptors, 4, "0, 1, 2 and the folder itself: {said}");
}

fn a_command_that_is_not_there_is_told_like_one_of_run(on: Backend) {
    let sandbox = Sandbox::on(on);
    let _run = running(&sandbox);
    let outcome = sandbox.bailiwick(["exec", "box", "--", "no-such-program"]);
    outcome.code(127);
    outcome.stderr_has("no-such-program: not found in the sandbox");
}

fn a_run_that_is_not_there_or_has_no_door_is_explained(on: Backend) {
    let sandbox = Sandbox::on(on);
    sandbox.run("true").success();
    let unknown = sandbox.bailiwick(["exec", "box", "--", "true"]);
    unknown.code(2).stderr_has("box");
    let mut run = running(&sandbox);
    assert_eq!(run.ends(), Some(0));
    let ended = exec(&sandbox, "true");
    ended.code(2).stderr_has("has ended");
    let words = ["run", "-c", "echo up; cat"];
    let _nameless = Background::start(&sandbox, words, "up");
    let without = sandbox.bailiwick(["exec", "latest", "--", "true"]);
    without.code(2).stderr_has("--name");
}

fn many_enter_at_once_and_one_after_the_other(on: Backend) {
    let sandbox = Sandbox::on(on);
    let _run = running(&sandbox);
    for n in 0..50 {
        let outcome = exec(&sandbox, &format!("echo {n} > f{n}; exit {n}"));
        outcome.code(n);
    }
    let children: Vec<_> = (0..20)
        .map(|n| {
            let script = format!("sleep 0.{n}; echo {n}");
            let mut command = sandbox.command();
            command.args(["exec", "box", "-c", &script]);
            command.stdout(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for (n, child) in children.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{n}\n"));
    }
}

fn signals_reach_the_command_and_the_death_of_its_client_ends_it(on: Backend) {
    let sandbox = Sandbox::on(on);
    let _run = running(&sandbox);
    let start = |script: &str| {
        let words = ["exec", "box", "-c", script];
        Background::start(&sandbox, words, "there")
    };
    let mut asked = start("trap 'exit 5' TERM; echo there; while :; do sleep 0.01; done");
    asked.terminate();
    assert_eq!(asked.ends(), Some(5));
    let mut killed = start("echo $$ > pid; echo there; exec sleep 600");
    killed.kill();
    assert_eq!(killed.ends(), None);
    let gone = exec(
        &sandbox,
        "pid=$(cat pid) || exit 1; while kill -0 $pid 2>/dev/null; do sleep 0.01; done",
    );
    gone.success();
}

fn the_end_of_the_run_ends_what_entered(on: Backend) {
    let sandbox = Sandbox::on(on);
    let mut run = running(&sandbox);
    let words = ["exec", "box", "-c", "echo there; exec sleep 600"];
    let mut entered = Background::start(&sandbox, words, "there");
    assert_eq!(run.ends(), Some(0));
    assert_eq!(entered.ends(), Some(137));
    sandbox
        .bailiwick(["log", "latest"])
        .stdout_has("exit 137 of command 1");
}

#[test]
fn no_two_runs_have_one_name_at_a_time() {
    let sandbox = Sandbox::new();
    let run = running(&sandbox);
    let second = sandbox.bailiwick(["run", "--name", "box", "--", "true"]);
    second.code(2).stderr_has("box");
    drop(run);
    let words = ["run", "--name", "box", "--", "true"];
    sandbox.bailiwick(words).success();
}

#[test]
fn another_user_cannot_enter() {
    if !rustix::process::geteuid().is_root() {
        // An ordinary user has nobody else to be; the test as root covers the check.
        return;
    }
    let sandbox = Sandbox::new();
    let _run = running(&sandbox);
    let session = sandbox.scratch().sessions().pop().unwrap();
    let folder = sandbox.scratch().state().join("bailiwick/sessions");
    let door = folder.join(session).join("door");
    // As if every folder above were open.
    for path in door.ancestors() {
        let _ = std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o777));
        if path == std::env::temp_dir() {
            break;
        }
    }
    let knock = "import socket,sys; s=socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); \
                 s.connect(sys.argv[1]); s.send(b'\\0'); print(len(s.recv(100)))";
    let output = host_command("setpriv")
        .args([
            "--reuid",
            "1000",
            "--clear-groups",
            "/usr/bin/python3",
            "-c",
            knock,
        ])
        .arg(&door)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    let turned_away = said == "0\n"
        || complaint.contains("ECONN")
        || complaint.contains("Pipe")
        || complaint.contains("reset");
    assert!(turned_away, "{said} {complaint}");
    // Its owner is heard (the same words): a terminal is a packet.
    let own = host_command("python3")
        .args(["-c", knock])
        .arg(&door)
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&own.stdout),
        "1\n",
        "{}",
        binary().display()
    );
}

#[test]
fn a_client_that_says_nonsense_ends_nothing_but_its_own_command() {
    let sandbox = Sandbox::new();
    let _run = running(&sandbox);
    let session = sandbox.scratch().sessions().pop().unwrap();
    let folder = sandbox.scratch().state().join("bailiwick/sessions");
    let nonsense = "import array, os, socket, sys\n\
        os.chdir(sys.argv[1])\n\
        null = os.open('/dev/null', os.O_RDWR)\n\
        word = lambda w: bytes([0, len(w)]) + w\n\
        wanted = bytes([2]) + word(b'sleep') + word(b'60') + word(b'/') + bytes(5)\n\
        message = os.memfd_create('m')\n\
        os.write(message, wanted)\n\
        def enter(message):\n\
        \x20   s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n\
        \x20   s.connect('door')\n\
        \x20   fds = array.array('i', [message, null, null, null])\n\
        \x20   s.sendmsg([bytes([1])], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])\n\
        \x20   return s\n\
        s = enter(message)\n\
        for signal in 0, 1, 199, 255:\n\
        \x20   s.send(bytes([2, signal, 1]) if signal > 127 else bytes([2, signal]))\n\
        # SIGKILL, which is heard after them: it goes on until then.\n\
        s.send(bytes([2, 18]))\n\
        print(s.recv(100))\n\
        t = enter(os.open('/etc/passwd', os.O_RDONLY))\n\
        print(t.recv(100))\n";
    let output = host_command("python3")
        .args(["-c", nonsense])
        .arg(folder.join(session))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    // `Ended`, with the code of a command that was killed and without a line.
    assert_eq!(said, "b'\\x03\\x89\\x00'\nb''\n", "{complaint}");
    exec(&sandbox, "true").success();
}
