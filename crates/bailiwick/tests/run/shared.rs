//! The workspace is one folder to the host and to a sandbox: it behaves as folders do, and what one of them changes
//! the other sees.

use crate::support::{Backend, Background, Sandbox};
use std::fs;
use std::process::Command;

on_every_backend! {
    files_behave_as_programs_count_on,
    what_the_host_changes_is_seen_by_the_next_command,
    what_the_host_changes_while_a_program_runs_is_seen_when_it_hears_of_it,
    a_program_that_watches_hears_of_what_the_host_changes,
    another_run_sees_what_one_has_changed,
    what_was_written_to_memory_is_in_the_file_when_the_command_has_ended,
    many_write_and_close_at_once,
}

fn files_behave_as_programs_count_on(on: Backend) {
    let sandbox = Sandbox::on(on).file("posix.py", include_str!("shared/posix.py"));
    let outcome = sandbox.run("python3 posix.py");
    outcome.success();
    let said = outcome.stdout();
    let lines: Vec<&str> = said.lines().collect();
    let (count, tried) = lines.split_last().unwrap();
    // In a machine everybody is root.
    let may_be = |line: &str| on == Backend::Process && line.contains(" not tried: for root");
    let bad: Vec<_> = tried
        .iter()
        .filter(|line| !line.ends_with(" ok") && !may_be(line))
        .collect();
    assert!(bad.is_empty(), "{bad:#?}");
    assert_eq!(*count, format!("{} cases", tried.len()));
}

/// A run that stays until its input ends, for `exec` to enter.
fn running(sandbox: &Sandbox) -> Background {
    let words = ["run", "--name", "box", "-c", "echo up; cat"];
    Background::start(sandbox, words, "up")
}

#[track_caller]
fn says(sandbox: &Sandbox, script: &str, text: &str) {
    let outcome = sandbox.bailiwick(["exec", "box", "-c", script]);
    outcome.success().stdout_is(text);
}

#[track_caller]
fn on_the_host(sandbox: &Sandbox, script: &str) {
    let done = Command::new("sh")
        .args(["-ec", script])
        .current_dir(sandbox.workspace())
        .status();
    assert!(done.unwrap().success(), "{script}");
}

fn what_the_host_changes_is_seen_by_the_next_command(on: Backend) {
    let sandbox = Sandbox::repository_on(on);
    on_the_host(
        &sandbox,
        "printf one >tracked; mkdir folder; printf two >folder/tracked; git add .; git commit -qm more; git status",
    );
    let _run = running(&sandbox);
    let status = "git status --porcelain";
    says(&sandbox, status, "");
    says(&sandbox, status, "");
    on_the_host(&sandbox, "printf 1ne >tracked");
    says(&sandbox, status, " M tracked\n");
    on_the_host(&sandbox, "git checkout -q tracked; rm folder/tracked");
    says(&sandbox, status, " D folder/tracked\n");
    on_the_host(&sandbox, "git checkout -q folder; mv folder elsewhere");
    says(&sandbox, status, " D folder/tracked\n?? elsewhere/\n");
    on_the_host(&sandbox, "git add -A; git commit -qm moved");
    says(&sandbox, status, "");
    // A file that was looked for and not there, one that is replaced, and one whose mode is another.
    says(&sandbox, "cat new 2>/dev/null || echo none", "none\n");
    on_the_host(&sandbox, "echo first >new");
    says(&sandbox, "cat new", "first\n");
    on_the_host(&sandbox, "echo other >.n; mv .n new; chmod 700 new");
    says(&sandbox, "cat new; stat -c %a new", "other\n700\n");
    on_the_host(
        &sandbox,
        "ln -sf tracked new; mkdir deep; echo far >deep/file",
    );
    says(
        &sandbox,
        "cat new; echo; cat deep/file; ls deep",
        "one\nfar\nfile\n",
    );
    on_the_host(&sandbox, "echo longer than before >>deep/file; rm new");
    says(
        &sandbox,
        "cat deep/file; ls",
        "far\nlonger than before\ndeep\nelsewhere\nf\ntracked\n",
    );
}

/// One program looks again and again at what it has looked at before, whenever it is told to.
fn what_the_host_changes_while_a_program_runs_is_seen_when_it_hears_of_it(on: Backend) {
    let sandbox = Sandbox::on(on).file("value", "0000");
    let script =
        "while read line; do printf '%s %s\\n' \"$(cat value)\" \"$(stat -c %s value)\"; done";
    let mut run = Background::start(
        &sandbox,
        [
            "run",
            "-c",
            &format!("cat value >/dev/null; echo up; {script}"),
        ],
        "up",
    );
    for turn in 1..20_usize {
        let value = format!("{turn:0width$}", width = 4 + turn % 3);
        fs::write(sandbox.workspace().join("value"), &value).unwrap();
        run.types("\n");
        let line = run.line();
        assert_eq!(line, format!("{value} {}", value.len()), "turn {turn}");
    }
}

fn a_program_that_watches_hears_of_what_the_host_changes(on: Backend) {
    let sandbox = Sandbox::on(on)
        .file("watch.py", WATCHES)
        .file("old", "text");
    fs::create_dir(sandbox.workspace().join("folder")).unwrap();
    let mut run = Background::start(&sandbox, ["run", "--", "python3", "watch.py"], "up");
    for (change, wanted) in [
        ("echo text >folder/new", "create folder/new"),
        ("echo more >>old", "modify old"),
        ("chmod 600 old", "attrib old"),
        ("mkdir folder/below", "create folder/below"),
        ("mv folder/new folder/other", "create folder/other"),
        ("rm folder/other", "delete folder/other"),
    ] {
        on_the_host(&sandbox, change);
        let mut heard = Vec::new();
        while heard.last().map(String::as_str) != Some(wanted) {
            heard.push(run.line());
            assert!(heard.len() < 50, "{change}: {heard:?}");
        }
    }
}

/// Says what it hears of in the workspace and in `folder` (inotify(7)).
const WATCHES: &str = r#"
import ctypes, os, struct

libc = ctypes.CDLL(None)
MASKS = {0x2: "modify", 0x4: "attrib", 0x40: "delete", 0x80: "create", 0x100: "create", 0x200: "delete"}
inotify = libc.inotify_init1(0)
folders = {libc.inotify_add_watch(inotify, name.encode(), sum(MASKS)): name for name in (".", "folder")}
print("up", flush=True)
while True:
    data = os.read(inotify, 4096)
    while data:
        number, mask, _, length = struct.unpack("iIII", data[:16])
        name = os.path.normpath(os.path.join(folders[number], data[16 : 16 + length].rstrip(b"\0").decode()))
        for bit, what in MASKS.items():
            if mask & bit:
                print(what, name, flush=True)
        data = data[16 + length :]
"#;

fn another_run_sees_what_one_has_changed(on: Backend) {
    let sandbox = Sandbox::on(on).file("file", "one\n");
    let _run = running(&sandbox);
    says(&sandbox, "cat file; ls", "one\nfile\n");
    sandbox
        .run("echo two >>file; mkdir made; mv file made/file")
        .success();
    says(&sandbox, "cat made/file; ls", "one\ntwo\nmade\n");
    says(
        &sandbox,
        "echo three >>made/file; cat made/file",
        "one\ntwo\nthree\n",
    );
    sandbox.run("cat made/file").stdout_is("one\ntwo\nthree\n");
}

/// Nobody syncs it, and the program closes nothing.
fn what_was_written_to_memory_is_in_the_file_when_the_command_has_ended(on: Backend) {
    let program = "import mmap, os
file = os.open('mapped', os.O_CREAT | os.O_RDWR)
os.ftruncate(file, 8 << 20)
mapped = mmap.mmap(file, 8 << 20)
mapped[:] = b'x' * (8 << 20)
os._exit(0)
";
    let sandbox = Sandbox::on(on).file("program.py", program);
    let workspace = sandbox.workspace();
    for command in ["run", "exec"] {
        let _ = fs::remove_file(workspace.join("mapped"));
        match command {
            "run" => drop(sandbox.run("python3 program.py").success()),
            _ => {
                let _run = running(&sandbox);
                says(&sandbox, "python3 program.py", "");
            }
        }
        let found = fs::read(workspace.join("mapped")).unwrap();
        assert_eq!(found.len(), 8 << 20);
        assert!(found.iter().all(|byte| *byte == b'x'), "{command}");
    }
}

/// Long writes wait for the host; whoever closes a file meanwhile, on one processor, keeps nobody from going on.
fn many_write_and_close_at_once(on: Backend) {
    let program = "import os
for who in range(4):
    if os.fork() == 0:
        for turn in range(15):
            with open(f'{who}-{turn}', 'wb', buffering=0) as file:
                file.write(bytes([who]) * (2 << 20))
            for small in range(10):
                open(f'{who}-small', 'wb').close()
        os._exit(0)
for _ in range(4):
    assert os.wait()[1] == 0
print('all')
";
    let sandbox = Sandbox::on(on).file("program.py", program);
    sandbox
        .run("python3 program.py")
        .success()
        .stdout_is("all\n");
    for who in 0..4_u8 {
        let found = fs::read(sandbox.workspace().join(format!("{who}-14"))).unwrap();
        assert!(found.len() == 2 << 20 && found.iter().all(|byte| *byte == who));
    }
}
