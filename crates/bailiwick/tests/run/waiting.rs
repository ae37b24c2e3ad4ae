//! `bailiwick serve` keeps sandboxes waiting: a run that finds one cannot be told from one that made
//! its own, but by the time it takes.

use crate::support::processes::with_words;
use crate::support::{Background, Outcome, Sandbox, host_command, wait};
use bailiwick_event::{Act, Event};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Has sandboxes wait. When it returns all that are to wait do, and none is made unless one is taken.
fn serve(sandbox: &Sandbox) -> Background {
    Background::start(sandbox, ["serve"], "wait for runs")
}

#[track_caller]
fn run(sandbox: &Sandbox, script: &str) -> Outcome {
    sandbox.bailiwick(["run", "-c", script])
}

/// Whether the sandbox of a run was there before the run: its pid 1 is then older than the stamp
/// (proc(5): field 22 is the start in hundredths of a second since boot).
const WAS_WARM: &str = "test $(awk '{ print $22 }' /proc/1/stat) -lt $(cat stamp)";

/// Writes down the time in that unit.
const STAMP: &str = "awk '{ printf \"%d\", $1 * 100 }' /proc/uptime > stamp";

/// Sees that a run finds a sandbox waiting. One may have to be made first, and a run does not wait long for
/// one to answer, which it may not do in time on a busy machine.
#[track_caller]
fn finds_one(sandbox: &Sandbox) {
    wait::until("a run finds a sandbox", || {
        sandbox.host(STAMP);
        run(sandbox, WAS_WARM).exit_code() == Some(0)
    });
}

/// A run of these words that has found a sandbox, and has printed a line that holds `sign`.
#[track_caller]
fn found<const N: usize>(sandbox: &Sandbox, words: [&str; N], sign: &str) -> Background {
    wait::for_some("a run finds a sandbox", || {
        let run = Background::start(sandbox, words, sign);
        run.has_found_a_sandbox().then_some(run)
    })
}

/// Sees that the next run makes a sandbox of its own.
#[track_caller]
fn makes_one(sandbox: &Sandbox) {
    sandbox.host(STAMP);
    let outcome = run(sandbox, WAS_WARM);
    assert_eq!(outcome.exit_code(), Some(1), "it had waited");
}

#[test]
fn a_run_takes_a_waiting_sandbox_and_is_like_any_other() {
    let sandbox = Sandbox::new().file("data", "inside\n").stdin("typed\n");
    makes_one(&sandbox);
    let serve = serve(&sandbox);
    finds_one(&sandbox);
    let outcome = run(&sandbox, "cat data; cat; echo aside >&2; pwd; exit 7");
    outcome.code(7);
    let workspace = sandbox.workspace().display().to_string();
    assert_eq!(outcome.stdout(), format!("inside\ntyped\n{workspace}\n"));
    assert_eq!(outcome.stderr(), "aside\n");
    let cold = sandbox.bailiwick(["run", "--cold", "-c", WAS_WARM]);
    assert_eq!(cold.exit_code(), Some(1), "--cold took a waiting one");
    let log = sandbox.bailiwick(["log", "--json"]);
    let first = log.success().stdout();
    let first: Event = serde_json::from_str(first.lines().next().unwrap()).unwrap();
    let Act::SessionStart { layers, .. } = first.act else {
        panic!("the first row is {first:?}");
    };
    assert!(layers.iter().any(|layer| layer == "mount"), "{layers:?}");
    serve.terminate();
}

#[test]
fn a_sandbox_is_never_used_twice() {
    let sandbox = Sandbox::new();
    let _serve = serve(&sandbox);
    for _ in 0..6 {
        let outcome = run(
            &sandbox,
            "cat /tmp/left /dev/shm/left; echo x | tee /tmp/left /dev/shm/left; ls /proc | grep -c '^[0-9]'",
        );
        assert_eq!(
            outcome.stdout().lines().next(),
            Some("x"),
            "{}",
            outcome.stdout()
        );
    }
    let ids: std::collections::HashSet<_> = sandbox.scratch().sessions().into_iter().collect();
    assert_eq!(ids.len(), 6, "each run is a session of its own");
}

#[test]
fn refusals_are_recorded_and_said_to_whoever_runs() {
    let sandbox = Sandbox::new();
    let _serve = serve(&sandbox);
    run(&sandbox, "echo x > .mcp.json").stderr_has("by filesystem.protect");
    sandbox.bailiwick(["log", "verify"]).success();
}

#[test]
fn what_changed_meanwhile_makes_it_useless() {
    let sandbox = Sandbox::new().file(".mcp.json", "{}\n");
    {
        let _serve = serve(&sandbox);
        finds_one(&sandbox);
    }
    // All that wait are older than the change.
    let _serve = serve(&sandbox);
    // A protected file that was replaced: the mount that protects it lies on the old one.
    sandbox.host("echo new > t && mv t .mcp.json");
    makes_one(&sandbox);
    for _ in 0..4 {
        run(&sandbox, "echo x > .mcp.json").failure();
        assert_eq!(sandbox.host("cat .mcp.json"), "new\n");
    }
    finds_one(&sandbox);
    // A control folder that is there now.
    sandbox.host("mkdir .vscode && echo 1 > .vscode/tasks.json");
    run(&sandbox, "echo 2 > .vscode/tasks.json").failure();
    assert_eq!(sandbox.host("cat .vscode/tasks.json"), "1\n");
}

/// Runs a test as root in a mount namespace of its own: what it mounts is seen by what it starts, and
/// goes with it.
fn with_own_mounts(test: impl FnOnce() + Send) {
    if !rustix::process::geteuid().is_root() {
        // An ordinary user mounts nothing.
        return;
    }
    let alone = || {
        // SAFETY: the flag is about the mounts of this thread, and not about its descriptors.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.unwrap();
        mount_change(
            "/",
            MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
        )
        .unwrap();
        test();
    };
    let ended = std::thread::scope(|scope| scope.spawn(alone).join());
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic);
    }
}

const MOUNT: &str = "mount -t tmpfs none";

#[test]
fn a_mount_that_came_meanwhile_makes_it_useless() {
    with_own_mounts(|| {
        let sandbox = Sandbox::new().file("shown/data", "old\n");
        let mount = format!("{MOUNT} shown && echo new > shown/data");
        for (change, shown) in [(mount.as_str(), "new\n"), ("umount shown", "old\n")] {
            // All that wait are older than the change.
            let _serve = serve(&sandbox);
            sandbox.host(&format!("{change} && {STAMP}"));
            let outcome = run(&sandbox, &format!("cat shown/data; {WAS_WARM}"));
            outcome.stdout_is(shown);
            assert_eq!(outcome.exit_code(), Some(1), "it had waited");
            // Those that are made now have it.
            finds_one(&sandbox);
        }
    });
}

#[test]
fn a_mount_above_it_that_became_read_only_makes_it_useless() {
    with_own_mounts(|| {
        let sandbox = Sandbox::new().file("above/inner/data", "");
        let workspace = ["--workspace", "above/inner"];
        // A mount of its own, in which the workspace is a folder.
        sandbox.host("mount --bind above above");
        let words = ["serve", workspace[0], workspace[1]];
        let _serve = Background::start(&sandbox, words, "wait");
        sandbox.host("mount -o remount,bind,ro above");
        let words = ["run", workspace[0], workspace[1], "-c", "touch after"];
        sandbox.bailiwick(words).failure().stderr_has("Read-only");
        sandbox.host("mount -o remount,bind,rw above");
    });
}

#[test]
fn a_mount_that_it_does_not_show_changes_nothing() {
    with_own_mounts(|| {
        let sandbox = Sandbox::new();
        let aside = sandbox.scratch().root().join("aside");
        std::fs::create_dir(&aside).unwrap();
        // A run that one that waits does not answer in time takes it from the next run, and what is made
        // in its place is younger than the mount: each try has those anew that waited before it.
        wait::until("a run finds a sandbox", || {
            let _serve = serve(&sandbox);
            sandbox.host(&format!("{MOUNT} {} && {STAMP}", aside.display()));
            run(&sandbox, WAS_WARM).exit_code() == Some(0)
        });
    });
}

#[test]
fn another_policy_workspace_or_home_does_not_get_it() {
    let sandbox = Sandbox::new();
    let _serve = serve(&sandbox);
    finds_one(&sandbox);
    sandbox.host(&format!("{STAMP}; mkdir sub && cp stamp sub"));
    for words in [
        &["run", "--policy", "read-only", "-c", WAS_WARM] as &[_],
        &["run", "--workspace", "sub", "-c", WAS_WARM],
    ] {
        sandbox.bailiwick(words).failure();
    }
    let home = sandbox.scratch().home();
    let mut command = sandbox.command();
    let elsewhere = command
        .env("HOME", home)
        .args(["run", "-c", WAS_WARM])
        .status();
    assert!(
        !elsewhere.unwrap().success(),
        "a sandbox for another home was taken"
    );
}

#[test]
fn a_policy_that_changed_is_in_force_at_once() {
    let sandbox = Sandbox::new();
    let policy = sandbox.scratch().config().join("bailiwick/policy.toml");
    std::fs::create_dir_all(policy.parent().unwrap()).unwrap();
    let _serve = serve(&sandbox);
    finds_one(&sandbox);
    std::fs::write(&policy, "[filesystem]\ndeny = [\"./secret\"]\n").unwrap();
    sandbox.host("echo s > secret");
    run(&sandbox, "cat secret").failure().stdout_is("");
}

#[test]
fn what_the_user_should_know_of_a_policy_is_told_by_the_run_that_finds_a_sandbox() {
    let sandbox = Sandbox::new().file("policy.toml", "extends = [\"default\"]\n");
    run(&sandbox, "true").success();
    let words = ["serve", "--policy", "policy.toml"];
    let _serve = Background::start(&sandbox, words, "wait for runs");
    // It is kept as soon as a sandbox waits for it.
    run(&sandbox, "echo '#' >> policy.toml").failure();
    wait::until("a run finds a sandbox", || {
        sandbox.host(&format!("{STAMP}; rm -f ../state/bailiwick/policies"));
        let by = |script| sandbox.bailiwick(["run", "--policy", "policy.toml", "-c", script]);
        let first = by(WAS_WARM);
        first.stderr_has("policy.toml lies where an earlier sandbox could write");
        by("true").success().stderr_lacks("policy.toml lies");
        first.exit_code() == Some(0)
    });
}

#[test]
fn a_mistake_in_the_policy_does_not_end_serve() {
    let sandbox = Sandbox::new();
    let policy = sandbox.scratch().config().join("bailiwick/policy.toml");
    std::fs::create_dir_all(policy.parent().unwrap()).unwrap();
    std::fs::write(&policy, "").unwrap();
    let said = sandbox.scratch().root().join("said");
    let mut serve = sandbox.command();
    serve
        .arg("serve")
        .stderr(std::fs::File::create(&said).unwrap());
    let mut kept = Background::of(serve, "wait for runs");
    std::fs::write(&policy, "[filesystem").unwrap();
    // It notices when one has to be made.
    wait::until("the mistake is told", || {
        run(&sandbox, "true").code(2).stderr_has("policy.toml:1:");
        let said = std::fs::read_to_string(&said).unwrap();
        said.contains("no sandbox is made until the policy can be read again")
    });
    std::fs::write(&policy, "[limits]\nprocesses = 500\n").unwrap();
    finds_one(&sandbox);
    kept.terminate();
    assert_eq!(kept.ends(), Some(0));
}

#[test]
fn serve_ends_when_it_is_told_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let mut kept = serve(&sandbox);
    let second = sandbox.bailiwick(["serve"]);
    second.code(2).stderr_has("already");
    let words = ["run", "-c", "echo up; cat"];
    let mut run = Background::start(&sandbox, words, "up");
    kept.terminate();
    assert_eq!(kept.ends(), Some(0));
    assert_eq!(run.ends(), Some(0), "its run went on");
    makes_one(&sandbox);
    let folder = sandbox.scratch().state().join("bailiwick/serve");
    let left: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().collect();
    assert!(
        left.iter()
            .all(|e| e.path().extension().is_some_and(|x| x == "lock")),
        "{left:?}"
    );
    let marker = sandbox.workspace().display().to_string();
    wait::until("no sandbox waits for nobody", || waiting_for(&marker) == 0);
}

#[test]
fn serve_that_was_killed_takes_its_waiting_sandboxes_along() {
    let sandbox = Sandbox::new();
    let mut kept = serve(&sandbox);
    let marker = sandbox.workspace().display().to_string();
    assert!(waiting_for(&marker) > 0);
    kept.kill();
    kept.ends();
    wait::until("no sandbox waits for nobody", || waiting_for(&marker) == 0);
    makes_one(&sandbox);
    // And another can begin where it ended.
    let _again = serve(&sandbox);
    finds_one(&sandbox);
}

/// Processes that wait in this folder.
fn waiting_for(folder: &str) -> usize {
    let cwd = |pid: &u32| std::fs::read_link(format!("/proc/{pid}/cwd"));
    let spares = with_words("--spare").into_iter();
    spares
        .filter(|pid| cwd(pid).is_ok_and(|cwd| cwd.to_string_lossy() == folder))
        .count()
}

#[test]
fn limits_hold_also_where_a_sandbox_waited() {
    let sandbox = Sandbox::new()
        .policy("extends = [\"default\"]\n[limits]\nmemory = \"96MiB\"\n")
        .policy("extends = [\"default\"]\n[limits]\noutput = \"10KB\"\n");
    let policy = |number: u32| {
        let file = sandbox.scratch().root();
        format!("{}/policy-{number}.toml", file.display())
    };
    let (memory, output) = (policy(1), policy(2));
    let start =
        |policy: &str| Background::start(&sandbox, ["serve", "--policy", policy], "wait for runs");
    let _both = (start(&memory), start(&output));
    let run =
        |policy: &str, script: &str| sandbox.bailiwick(["run", "--policy", policy, "-c", script]);
    run(&memory, "head -c 300000000 /dev/zero > /tmp/x; sleep 60")
        .code(137)
        .stderr_has("by limits.memory");
    // What a run says is counted by the run itself: it makes its own sandbox.
    let outcome = run(&output, "yes");
    outcome.code(137).stderr_has("by limits.output");
    assert_eq!(outcome.stdout_bytes().len(), 10_000);
}

#[test]
fn a_run_that_stops_itself_all_the_time_does_not_get_rid_of_its_client() {
    let sandbox = Sandbox::new().file(
        "flood.py",
        "import os, signal, time\n\
         me = os.getpid()\n\
         flooded = open('flooded', 'w')\n\
         print('up', flush=True)\n\
         if os.fork() == 0:\n\
         \x20   while not os.path.exists('go'): time.sleep(.01)\n\
         \x20   for _ in range(600):\n\
         \x20       os.kill(me, signal.SIGSTOP)\n\
         \x20       time.sleep(.003)\n\
         \x20       os.kill(me, signal.SIGCONT)\n\
         \x20   flooded.write('yes')\n\
         \x20   flooded.close()\n\
         \x20   os._exit(0)\n\
         time.sleep(600)\n",
    );
    let _serve = serve(&sandbox);
    let mut run = found(&sandbox, ["run", "--", "python3", "flood.py"], "up");
    let client = rustix::process::Pid::from_raw(run.pid().cast_signed()).unwrap();
    let tell = |signal| rustix::process::kill_process(client, signal).unwrap();
    tell(rustix::process::Signal::STOP);
    sandbox.host("touch go");
    let ended = || {
        let list = sandbox.bailiwick(["sessions", "list"]).stdout();
        !list.contains("live")
    };
    let flooded = sandbox.workspace().join("flooded");
    wait::until(
        "it has stopped itself all the time, or was ended for it",
        || std::fs::metadata(&flooded).unwrap().len() > 0 || ended(),
    );
    tell(rustix::process::Signal::CONT);
    run.kill();
    run.ends();
    wait::until("the run does not go on without its client", ended);
}

#[test]
fn a_run_does_not_wait_for_a_serve_that_is_gone() {
    let sandbox = Sandbox::new();
    let mut kept = serve(&sandbox);
    let mut other = found(&sandbox, ["run", "-c", "echo up; cat"], "up");
    kept.kill();
    kept.ends();
    let mut second = Background::start(&sandbox, ["run", "-c", "echo second"], "second");
    assert_eq!(second.ends(), Some(0));
    assert_eq!(other.ends(), Some(0));
}

#[test]
fn a_stderr_that_nobody_reads_does_not_end_a_run_that_found_a_sandbox() {
    let sandbox = Sandbox::new();
    let _serve = serve(&sandbox);
    finds_one(&sandbox);
    // What is refused is told after nobody reads any more, and before the end.
    let script = "rm -f closed; { \"$B\" run --monitor -c \"$1\" 2>&1; echo $? > code; } | \
                  { exec <&-; : > closed; }; cat code";
    let inside = format!(
        "until test -e closed; do sleep 0.01; done; (echo x > .mcp.json) 2>/dev/null; \
         {WAS_WARM} && exit 4"
    );
    wait::until("a run finds a sandbox", || {
        sandbox.host(STAMP);
        let mut shell = sandbox.shell(script);
        let output = shell.args(["sh", &inside]).output().unwrap();
        let code = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(["4\n", "1\n"].contains(&code.as_str()), "{code}");
        code == "4\n"
    });
}

#[test]
fn clients_that_say_nothing_are_in_nobodys_way() {
    let sandbox = Sandbox::new();
    let _serve = serve(&sandbox);
    finds_one(&sandbox);
    let folder = sandbox.scratch().state().join("bailiwick/serve");
    let knock = "import glob, os, socket, sys\n\
                 os.chdir(sys.argv[1])\n\
                 door = [p for p in os.listdir('.') if not p.endswith('.lock')][0]\n\
                 silent = []\n\
                 for _ in range(100):\n\
                 \x20   s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n\
                 \x20   s.setblocking(False)\n\
                 \x20   try: s.connect(door)\n\
                 \x20   except BlockingIOError: break\n\
                 \x20   silent.append(s)\n\
                 print('there', flush=True)\n\
                 sys.stdin.read()\n";
    let mut silent = host_command("python3")
        .args(["-c", knock])
        .arg(folder)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut said = std::io::BufReader::new(silent.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    assert_eq!(line, "there\n");
    makes_one(&sandbox);
    silent.kill().unwrap();
    silent.wait().unwrap();
}
