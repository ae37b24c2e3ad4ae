//! A run that stops at a stage of its start, for the tests that kill it there.
//! Deaths at random instants find what is frequent; these find what is possible.

use super::Sandbox;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

/// The binary that stops, which is the one that was built with the tests, or a copy of it that another user can
/// reach: what is shipped cannot be stopped.
fn binary() -> OsString {
    std::env::var_os("BAILIWICK_TEST_BUILD")
        .unwrap_or_else(|| env!("CARGO_BIN_EXE_bailiwick").into())
}

/// The places of a start, from the program's own table: where each stage begins and where it ends.
/// A stage begins where the one before it in its lane has ended.
pub(crate) fn places(sandbox: &Sandbox) -> Vec<String> {
    let words = ["run", "--trace-startup"].map(OsString::from);
    let command = ["--", "true"].map(OsString::from);
    let words = words.iter().chain(sandbox.options()).chain(&command);
    let table = sandbox.bailiwick(words).success().stderr();
    let mut places = Vec::new();
    let head = |line: &&str| line.starts_with("stage ");
    for row in table.lines().skip_while(|line| !head(line)).skip(1) {
        let (stage, lane) = (row[..20].trim(), row[22..34].trim());
        // Before the first stage and after the last one there is no process.
        if lane.is_empty() || stage == "end" {
            continue;
        }
        let known = |place: &String| place.contains(&format!(" {lane}/"));
        if !places.iter().any(known) && stage != "load" {
            places.push(format!("before {lane}/{stage}"));
        }
        places.push(format!("after {lane}/{stage}"));
    }
    places
}

/// The places of commands that enter and of sandboxes that wait that lie in one of these lanes.
pub(crate) fn places_in(lanes: &[&str]) -> Vec<String> {
    let mut command = Command::new(binary());
    let list = command.env("BAILIWICK_STOP_AT", "?").output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    let lane = |place: &&str| {
        let lane = place.trim_start_matches("at ").split('/').next();
        lane.is_some_and(|lane| lanes.contains(&lane))
    };
    list.lines().filter(lane).map(str::to_owned).collect()
}

/// A program that stands at a place, or will.
pub(crate) struct Stopped {
    place: String,
    child: Child,
    reached: File,
    /// None where whoever comes to the place goes on.
    go_on: Option<File>,
}

impl Stopped {
    /// Starts a run of this script and waits until it is there.
    #[track_caller]
    pub(crate) fn at(place: &str, sandbox: &Sandbox, script: &str) -> Self {
        let workspace = sandbox.workspace().into_os_string();
        let begin = ["run", "--trace-startup", "--workspace"].map(OsString::from);
        let words = begin.into_iter().chain([workspace.clone()]);
        let words = words.chain(sandbox.options().iter().cloned());
        let command = ["--", "sh", "-c", script].map(OsString::from);
        let words = words.chain(command).chain([workspace]);
        let mut stopped = Self::start(place, sandbox, words);
        stopped.wait();
        stopped
    }

    /// Starts it with these words; it stops when it gets there.
    pub(crate) fn start<I>(place: &str, sandbox: &Sandbox, words: I) -> Self
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        let [reached_path, go_on_path] = ["reached", "go-on"].map(|name| fifo(sandbox, name));
        let reached = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&reached_path)
            .unwrap();
        let like = sandbox.command_of(&binary());
        let mut command = Command::new("sh");
        command.env_clear();
        for (name, value) in like.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        let child = command
            .current_dir(sandbox.workspace())
            .env("BAILIWICK_STOP_AT", place)
            .args(["-c", r#"exec 8<>"$1" 9<"$2"; shift 2; exec "$@""#, "sh"])
            .args([&reached_path, &go_on_path])
            .arg(like.get_program())
            .args(like.get_args())
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Waits until the shell has opened it, who would wait for ever after a release before that.
        let go_on = File::options().write(true).open(&go_on_path).unwrap();
        Self {
            place: place.to_owned(),
            child,
            reached,
            go_on: Some(go_on),
        }
    }

    /// Waits until it is there.
    #[track_caller]
    pub(crate) fn wait(&mut self) {
        if !self.is_there(60) {
            let _ = self.child.kill();
            let said = self.output();
            panic!("{} was not reached: {said:?}", self.place);
        }
    }

    /// Whether it is there some moments later.
    pub(crate) fn is_there(&self, moments: i64) -> bool {
        let patience = Timespec {
            tv_sec: moments,
            tv_nsec: 0,
        };
        let mut ready = [PollFd::new(&self.reached, PollFlags::IN)];
        poll(&mut ready, Some(&patience)).unwrap() > 0
    }

    /// The process that was started.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it goes on.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// The first line that it prints.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        // What it prints after it may be lost.
        let mut said = BufReader::new(self.child.stdout.as_mut().unwrap());
        said.read_line(&mut line).unwrap();
        line
    }

    /// Kills the process that was started, and nothing else.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Whoever stopped goes on, and whoever comes there does not stop.
    pub(crate) fn release(&mut self) {
        self.go_on = None;
    }

    /// Kills the sandbox's pid 1 where there is one, and lets the supervisor go on.
    pub(crate) fn kill_pid_1(mut self) -> Output {
        kill_children(self.pid());
        self.release();
        self.output()
    }

    /// Its end.
    pub(crate) fn output(&mut self) -> Output {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let _ = self.child.stdout.take().unwrap().read_to_end(&mut stdout);
        let _ = self.child.stderr.take().unwrap().read_to_end(&mut stderr);
        Output {
            status: self.child.wait().unwrap(),
            stdout,
            stderr,
        }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.release();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The children of a process.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let list = list.unwrap_or_default();
    list.split_whitespace()
        .map(|id| id.parse().unwrap())
        .collect()
}

/// Kills the children of a process.
pub(crate) fn kill_children(pid: u32) {
    for child in children(pid) {
        let pid = rustix::process::Pid::from_raw(child.cast_signed()).unwrap();
        // It may have gone by itself.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// A named pipe of the test's own.
fn fifo(sandbox: &Sandbox, name: &str) -> PathBuf {
    let path = sandbox.scratch().root().join(name);
    let _ = std::fs::remove_file(&path);
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    path
}
