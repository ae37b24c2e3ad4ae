//! A terminal inside behaves as the one outside. Each test is a person at a pseudo-terminal.

use crate::support::{Backend, Background, Sandbox, host_command, wait};
use rustix::fd::OwnedFd;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

on_every_backend! {
    an_interactive_shell_has_job_control_and_its_exit_code_comes_out,
    a_shell_that_enters_a_run_has_job_control,
    a_command_that_entered_is_stopped_and_goes_on_with_its_client,
    a_sandbox_that_used_up_its_terminals_does_not_get_the_callers: "that there is no terminal left is told as a command that cannot be executed",
    a_caller_whose_process_group_lies_outside_of_its_pid_namespace_has_the_terminal,
    ctrl_c_reaches_the_command,
    ctrl_z_stops_the_run_and_fg_goes_on,
    a_new_window_size_reaches_the_command,
    the_python_prompt_edits_lines,
    vim_edits_a_file_and_the_screen_is_restored: "the image has no vim",
    a_pager_at_the_end_of_a_pipe_takes_keys,
    a_pager_that_enters_a_run_takes_keys,
    what_a_terminal_shows_counts_as_output,
    a_stream_that_is_no_terminal_stays_none,
    without_a_terminal_stream_there_is_no_terminal_at_all,
    no_descriptor_of_the_callers_terminal_is_inside,
    what_is_typed_while_nobody_reads_does_not_keep_the_run_from_its_end,
    a_run_that_is_brought_to_the_foreground_gets_the_keys,
}

/// A shell at a terminal, with somebody who types and reads.
pub(crate) struct Person {
    child: Child,
    keys: File,
    master: OwnedFd,
    seen: Arc<Mutex<String>>,
    /// How much of what was seen was already waited for.
    read: usize,
    pub(crate) sandbox: Sandbox,
}

impl Person {
    /// Sits down before a plain `sh`; `$B` runs a command in a sandbox.
    pub(crate) fn sits_down(sandbox: Sandbox) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        tcsetwinsize(&master, size(24, 80)).unwrap();
        // setsid -c: a session of its own, with the pseudo-terminal as its terminal.
        let slave = || {
            File::options()
                .read(true)
                .write(true)
                // Not this process's own, where it is the first of its session.
                .custom_flags(libc::O_NOCTTY)
                .open(name.to_str().unwrap())
                .unwrap()
        };
        let mut command = host_command("setsid");
        for (key, value) in sandbox.command().get_envs() {
            if let Some(value) = value {
                command.env(key, value);
            }
        }
        let child = command
            .args(["-c", "-w", "bash", "--norc", "--noprofile", "-i"])
            .current_dir(sandbox.workspace())
            .env("PS1", "outer> ")
            .env("TERM", "xterm")
            .env("B", sandbox.binary())
            .stdin(Stdio::from(slave()))
            .stdout(Stdio::from(slave()))
            .stderr(Stdio::from(slave()))
            .spawn()
            .unwrap();
        let seen = Arc::new(Mutex::new(String::new()));
        let mut screen = File::from(rustix::io::dup(&master).unwrap());
        let log = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = screen.read(&mut buffer) {
                log.lock()
                    .unwrap()
                    .push_str(&String::from_utf8_lossy(&buffer[..length]));
            }
        });
        let keys = File::from(rustix::io::dup(&master).unwrap());
        let mut person = Self {
            child,
            keys,
            master,
            seen,
            read: 0,
            sandbox,
        };
        person.sees("outer> ");
        person
    }

    pub(crate) fn types(&mut self, keys: &str) -> &mut Self {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self
    }

    /// Waits until this text comes, behind what was waited for before.
    #[track_caller]
    pub(crate) fn sees(&mut self, text: &str) -> &mut Self {
        let at = wait::for_ok(&format!("{text:?} is to be seen"), || {
            let seen = self.seen.lock().unwrap();
            let new = &seen[self.read..];
            new.find(text).ok_or_else(|| format!("there is {new:?}"))
        });
        self.read += at + text.len();
        self
    }

    /// Whether this text has come, behind what was waited for before.
    pub(crate) fn has_seen(&self, text: &str) -> bool {
        self.seen.lock().unwrap()[self.read..].contains(text)
    }

    /// Whether this text has come at all.
    pub(crate) fn was_shown(&self, text: &str) -> bool {
        self.seen.lock().unwrap().contains(text)
    }

    /// Waits until a run has the keys: it takes them as they are, and a shell leaves Ctrl-C to the
    /// terminal.
    #[track_caller]
    fn hands_over(&mut self) -> &mut Self {
        wait::until("a run has the terminal", || {
            let modes = tcgetattr(&self.master).unwrap().local_modes;
            !modes.contains(LocalModes::ISIG)
        });
        self
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let _ = self.keys.write_all(b"\x03\x04\nexit\nexit\n");
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn size(rows: u16, columns: u16) -> Winsize {
    Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

pub(crate) const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const CTRL_Z: &str = "\x1a";

/// A command that goes on until it is ended, and says when it runs and when it goes on after a stop. What it
/// says is not in the line that was typed. It starts nothing once it has said that it runs: a shell that
/// stands in vfork(2) while its child is stopped before its execve(2) is not stopped itself, and the shell
/// above waits for both.
const JOB: &str = "sh -c 'trap \"echo on\"ward CONT; sleep 1000 & echo go\"ing\"; \
                   while wait $!; [ $? -gt 128 ]; do :; done'";

/// Has a shell that `start` starts inside, and sees that it controls its jobs.
fn has_job_control(person: &mut Person, start: &str) {
    let shell = format!("{start} --env 'PS1=inner> ' -- bash --norc --noprofile -i\n");
    person.types(&shell).sees("inner> ");
    // The line that was typed holds the prompt as well.
    person.types("tty; echo done\n");
    person.sees("/dev/pts/").sees("done").sees("inner> ");
    person.types(&format!("{JOB}\n")).sees("going\r\n");
    person.types(CTRL_Z).sees("Stopped").sees("inner> ");
    person.types("jobs\n").sees("sleep 1000").sees("inner> ");
    person.types("fg\n").sees("sleep 1000").sees("onward\r\n");
    person.types(CTRL_C).sees("inner> ");
    person.types("exit 9\n").sees("outer> ");
    person
        .types("echo code=$?\n")
        .sees("code=9")
        .sees("outer> ");
}

fn an_interactive_shell_has_job_control_and_its_exit_code_comes_out(on: Backend) {
    let mut person = Person::sits_down(Sandbox::on(on).host_env("SHELL", "/bin/bash"));
    has_job_control(&mut person, "$B run");
}

fn a_shell_that_enters_a_run_has_job_control(on: Backend) {
    let sandbox = Sandbox::on(on);
    let words = ["run", "--name", "box", "-c", "echo up; cat"];
    let _run = Background::start(&sandbox, words, "up");
    let mut person = Person::sits_down(sandbox);
    has_job_control(&mut person, "$B exec box");
}

#[test]
fn a_shell_in_a_sandbox_that_waited_has_job_control() {
    let sandbox = Sandbox::new();
    let _serve = Background::start(&sandbox, ["serve"], "wait for runs");
    let mut person = Person::sits_down(sandbox);
    has_job_control(&mut person, "$B run");
}

#[test]
fn a_program_that_stops_its_terminal_does_not_stop_who_watches_it() {
    let stop = "import os, sys, termios
termios.tcflow(1, termios.TCOOFF)
for name in ('.envrc', '.mcp.json'):
    try: open(name, 'w')
    except OSError: pass
os._exit(3)
";
    let sandbox = Sandbox::new().file("stop.py", stop);
    let _serve = Background::start(&sandbox, ["serve"], "wait for runs");
    let mut person = Person::sits_down(sandbox);
    person.types("$B run --monitor -- python3 stop.py; echo code=$?\n");
    person.sees("refused file open").sees(".envrc");
    person.sees("refused file open").sees(".mcp.json");
    person.sees("code=3").sees("outer> ");
}

fn a_command_that_entered_is_stopped_and_goes_on_with_its_client(on: Backend) {
    let sandbox = Sandbox::on(on);
    let words = ["run", "--name", "box", "-c", "echo up; cat"];
    let _run = Background::start(&sandbox, words, "up");
    let mut person = Person::sits_down(sandbox);
    person.types("$B exec box -- sh -c 'echo begun; read x; echo got $x'\n");
    person
        .sees("begun\r\n")
        .types(CTRL_Z)
        .sees("Stopped")
        .sees("outer> ");
    person
        .types("fg\n")
        .types("word\n")
        .sees("got word\r\n")
        .sees("outer> ");
}

fn a_sandbox_that_used_up_its_terminals_does_not_get_the_callers(on: Backend) {
    let sandbox = Sandbox::on(on).file(
        "hog.py",
        "import os, sys\n\
         try:\n\
         \x20   while True: os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY)\n\
         except OSError as error: print(error.strerror, flush=True)\n\
         sys.stdin.read()\n",
    );
    let words = ["run", "--name", "box", "--", "python3", "hog.py"];
    let _run = Background::start(&sandbox, words, "No space left");
    let mut person = Person::sits_down(sandbox);
    person.types("$B exec box -- sh -c 'echo it en''tered'; echo code $?\n");
    person.sees("the caller's own is not given to it");
    person.sees("code 125\r\n");
}

fn a_caller_whose_process_group_lies_outside_of_its_pid_namespace_has_the_terminal(on: Backend) {
    let mut person = Person::sits_down(Sandbox::on(on));
    let user = match rustix::process::geteuid().is_root() {
        true => "",
        false => "--user --map-current-user",
    };
    person.types(&format!(
        "unshare {user} --pid --fork --mount-proc $B run -c 'echo u\"\"p; read a; echo got-$a'\n"
    ));
    person
        .sees("up\r\n")
        .types("keys\n")
        .sees("got-keys")
        .sees("outer> ");
}

fn ctrl_c_reaches_the_command(on: Backend) {
    let mut person = Person::sits_down(Sandbox::on(on));
    person.types("$B run -- sh -c 'trap \"echo caught; exit 3\" INT; echo ready; while :; do sleep 0.05; done'\n");
    person
        .sees("ready\r\n")
        .types(CTRL_C)
        .sees("caught")
        .sees("outer> ");
    person.types("echo code=$?\n").sees("code=3");
}

fn ctrl_z_stops_the_run_and_fg_goes_on(on: Backend) {
    let mut person = Person::sits_down(Sandbox::on(on));
    person
        .types("$B run -- sh -c 'echo ready; read line; echo got $line'\n")
        .sees("ready\r\n");
    person.types(CTRL_Z).sees("Stopped").sees("outer> ");
    person
        .types("echo between\n")
        .sees("between\r\n")
        .sees("outer> ");
    person.types("fg\n").sees("run --").hands_over();
    person
        .types("the line\n")
        .sees("got the line")
        .sees("outer> ");
}

fn a_new_window_size_reaches_the_command(on: Backend) {
    let mut person = Person::sits_down(Sandbox::on(on));
    person.types("$B run -- sh -c 'trap \"stty size; exit\" WINCH; stty size; while :; do sleep 0.05; done'\n");
    person.sees("24 80");
    tcsetwinsize(&person.master, size(40, 100)).unwrap();
    person.sees("40 100").sees("outer> ");
}

fn the_python_prompt_edits_lines(on: Backend) {
    let mut person = Person::sits_down(Sandbox::on(on));
    person.types("$B run -- python3 -q\n").sees(">>> ");
    person
        .types("print(6*8)\x7f\x7f7)\n")
        .sees("42")
        .sees(">>> ");
    // It says once that it runs.
    person.types("said = 0\n").sees(">>> ");
    person.types("while True: said = said or print('go' 'ing') or 1\n\n");
    person.sees("going");
    person.types(CTRL_C).sees("KeyboardInterrupt").sees(">>> ");
    person.types(CTRL_D).sees("outer> ");
}

fn vim_edits_a_file_and_the_screen_is_restored(on: Backend) {
    let sandbox = Sandbox::on(on);
    let file = sandbox.workspace().join("note");
    let mut person = Person::sits_down(sandbox);
    let before = tcgetattr(&person.master).unwrap().local_modes;
    person
        .types("$B run -- vim -u NONE -n note\n")
        .sees("\"note\"");
    person.types("ihello from vim\x1b");
    person.types(":wq\n").sees("outer> ");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "hello from vim\n");
    // The shell has taken the terminal into its line editor's modes once its prompt stands there.
    person.types("echo back\n").sees("back\r\n").sees("outer> ");
    assert_eq!(tcgetattr(&person.master).unwrap().local_modes, before);
}

fn a_pager_at_the_end_of_a_pipe_takes_keys(on: Backend) {
    let mut person = Person::sits_down(Sandbox::on(on));
    person.types("seq 1000 | $B run -- less\n").sees("23");
    person.types(" ").sees("45");
    person.types("q").sees("outer> ");
    // Inside, and in a run that is entered.
    person
        .types("$B run -- sh -c 'seq 1000 | less'\n")
        .sees("23");
    person.types(" ").sees("45");
    person.types("q").sees("outer> ");
}

fn a_pager_that_enters_a_run_takes_keys(on: Backend) {
    let sandbox = Sandbox::on(on);
    let words = ["run", "--name", "box", "-c", "echo up; cat"];
    let _run = Background::start(&sandbox, words, "up");
    let mut person = Person::sits_down(sandbox);
    person.types("seq 1000 | $B exec box -- less\n").sees("23");
    person.types(" ").sees("45");
    person.types("q").sees("outer> ");
}

#[test]
fn without_namespaces_there_is_a_terminal_of_its_own_too() {
    let mut person = Person::sits_down(Sandbox::new());
    person.types(
        "unshare -r sh -c 'echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv \
         --bounding-set=-all --inh-caps=-all $B run --best-effort -c \"test -t 1 && stty size\"'; \
         echo code=$?\n",
    );
    person.sees("24 80\r\n").sees("code=0");
}

fn what_a_terminal_shows_counts_as_output(on: Backend) {
    let policy = "extends = [\"default\"]\n[limits]\noutput = \"20KB\"\n";
    let sandbox = Sandbox::on(on).policy(policy);
    let file = sandbox.scratch().root().join("policy-1.toml");
    let mut person = Person::sits_down(sandbox);
    let line = format!("$B run --policy {} -- yes; echo code=$?\n", file.display());
    person
        .types(&line)
        .sees("y\r\ny\r\n")
        .sees("by limits.output")
        .sees("code=137")
        .sees("outer> ");
    person.types("stty -a | grep -c icanon\n").sees("1\r\n");
}

fn a_stream_that_is_no_terminal_stays_none(on: Backend) {
    let mut person = Person::sits_down(Sandbox::on(on));
    person.types(
        "$B run -- sh -c 'test -t 0 && test ! -t 1 && test -t 2 && echo as it should' | cat\n",
    );
    person.sees("as it should\r\n").sees("outer> ");
    person.types("$B run -- sh -c 'test ! -t 0 && test -t 1 && echo no input' < /dev/null\n");
    person.sees("no input\r\n");
}

fn without_a_terminal_stream_there_is_no_terminal_at_all(on: Backend) {
    let mut person = Person::sits_down(Sandbox::on(on));
    person
        .types("$B run -- sh -c 'exec 2>&1; (: < /dev/tty) || echo none' < /dev/null 2>&1 | cat\n");
    person.sees("none\r\n").sees("outer> ");
    person.types(&format!("$B run -- {JOB} < /dev/null 2>&1 | cat\n"));
    person.sees("going\r\n");
    person.types(CTRL_Z).sees("Stopped").sees("outer> ");
    person.types("fg\n").sees("sleep 1000").sees("onward\r\n");
    person.types(CTRL_C).sees("outer> ");
}

fn no_descriptor_of_the_callers_terminal_is_inside(on: Backend) {
    let mut person = Person::sits_down(Sandbox::on(on));
    let outer = ptsname(&person.master, Vec::new())
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let number = outer.rsplit('/').next().unwrap().to_owned();
    person
        .types("$B run -- sh -c 'tty; ls /dev/pts; echo end'\n")
        .sees("/dev/pts/0")
        .sees("end");
    assert!(
        number == "0"
            || !person
                .seen
                .lock()
                .unwrap()
                .contains(&format!("/dev/pts/{number}\r"))
    );
}

fn what_is_typed_while_nobody_reads_does_not_keep_the_run_from_its_end(on: Backend) {
    let mut person = Person::sits_down(Sandbox::on(on));
    let file = |name: &str| person.sandbox.workspace().join(name);
    let (closed, typed) = (file("closed"), file("typed"));
    person
        .types(
            "$B run -- sh -c 'echo be\"\"fore; exec <&- >&- 2>&-; : > closed; \
             until test -e typed; do sleep 0.05; done; echo aft\"\"er > /dev/tty'\n",
        )
        .sees("before\r\n");
    wait::until("nobody reads", || closed.exists());
    person.types("typed early\n");
    std::fs::write(typed, "").unwrap();
    person.sees("after\r\n").sees("outer> ");
}

fn a_run_that_is_brought_to_the_foreground_gets_the_keys(on: Backend) {
    let mut person = Person::sits_down(Sandbox::on(on));
    person.types("$B run -- cat &\n").sees("outer> ");
    person.types("fg\n").sees("run -- cat").hands_over();
    person.types("typed\n").sees("typed\r\n").sees("typed\r\n");
    person.types(CTRL_D).sees("outer> ");
}

#[test]
fn what_a_run_has_left_is_shown_whatever_its_command_has_switched_on() {
    let mut person = Person::sits_down(Sandbox::new());
    let concealed = "$B run -- sh -c 'echo > Makefile; printf \"\\033[8m\\033(0\\033]0;title\"'\n";
    let plain = "\u{1b}\\\u{f}\u{1b}(B\u{1b}[m";
    person
        .types(concealed)
        .sees(&format!("{plain}bailiwick: made or changed a file"));
}
