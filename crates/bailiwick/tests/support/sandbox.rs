//! A run of `bailiwick run`, described in one sentence. Nothing of the caller's environment but
//! the search path and the home directory gets in, unless the test says so.

use super::{Backend, Outcome, Scratch, host_command, pass_on, run_to_end};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// A sandbox to be.
pub(crate) struct Sandbox {
    backend: Backend,
    scratch: Arc<Scratch>,
    /// Words between `run` and the command.
    options: Vec<OsString>,
    policies: usize,
    environment: Vec<(OsString, OsString)>,
    home: Option<PathBuf>,
    stdin: Vec<u8>,
    limit: Duration,
    /// Whether the machine gives no namespaces.
    bare: bool,
}

/// Becomes the rest of the words without capabilities, in a user namespace that may have no other
/// below it.
const LOCK: &str = "echo 0 > /proc/sys/user/max_user_namespaces && \
    exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"";

impl Sandbox {
    /// An empty workspace under the template `default`, isolated as processes are.
    pub(crate) fn new() -> Self {
        Self::on(Backend::Process)
    }

    /// The same on any backend.
    pub(crate) fn on(backend: Backend) -> Self {
        Self {
            backend,
            scratch: Arc::new(Scratch::new()),
            options: Vec::new(),
            policies: 0,
            environment: Vec::new(),
            home: None,
            stdin: Vec::new(),
            limit: backend.patience(),
            bare: false,
        }
    }

    /// A workspace that is a git repository with a commit.
    pub(crate) fn repository() -> Self {
        Self::repository_on(Backend::Process)
    }

    /// The same on any backend.
    pub(crate) fn repository_on(backend: Backend) -> Self {
        let sandbox = Self::on(backend);
        sandbox.host(
            "git init -q -b main . && git config user.name t && git config user.email t@t.test && \
             echo 1 > f && git add f && git commit -qm one",
        );
        sandbox
    }

    /// A policy by its text; its file lies outside the workspace. As `--policy` replaces the
    /// template `default`, a text that wants it says `extends = ["default"]`.
    pub(crate) fn policy(mut self, toml: &str) -> Self {
        self.policies += 1;
        let name = format!("policy-{}.toml", self.policies);
        let path = self.scratch.write(name, toml);
        self.option("--policy").option(path)
    }

    /// A policy by a template's name.
    pub(crate) fn template(self, name: &str) -> Self {
        self.option("--policy").option(name)
    }

    /// A variable inside the sandbox (`--env`).
    pub(crate) fn env(self, key: &str, value: impl AsRef<OsStr>) -> Self {
        let mut pair = OsString::from(key);
        pair.push("=");
        pair.push(value);
        self.option("--env").option(pair)
    }

    /// A variable of `bailiwick` itself, as if the user's shell had exported it.
    pub(crate) fn host_env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((key.into(), value.as_ref().into()));
        self
    }

    /// An empty home directory of the test's own instead of the user's.
    pub(crate) fn fresh_home(mut self) -> Self {
        self.home = Some(self.scratch.home());
        self
    }

    /// Runs a line of shell in the workspace without a sandbox; what it printed.
    pub(crate) fn host(&self, script: &str) -> String {
        let output = host_command("sh")
            .args(["-c", script])
            .current_dir(self.scratch.workspace())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "on the host: {script}: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// On a machine that gives no namespaces, which the user accepts.
    pub(crate) fn without_namespaces(mut self) -> Self {
        self.bare = true;
        self.option("--best-effort")
    }

    /// Any other word before the command: `--monitor`, `--name`, …
    pub(crate) fn option(mut self, word: impl AsRef<OsStr>) -> Self {
        self.options.push(word.as_ref().into());
        self
    }

    /// A file of the workspace.
    pub(crate) fn file(self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> Self {
        self.scratch
            .write(Path::new("workspace").join(path), content);
        self
    }

    /// A program of the workspace: a script, or the bytes of a binary.
    pub(crate) fn program(self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> Self {
        self.scratch
            .program(Path::new("workspace").join(path), content);
        self
    }

    /// A program of the test's own home directory; implies [`Sandbox::fresh_home`].
    pub(crate) fn home_program(self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> Self {
        self.scratch.program(Path::new("home").join(path), content);
        self.fresh_home()
    }

    /// A file of the test's own home directory; implies [`Sandbox::fresh_home`].
    pub(crate) fn home_file(self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> Self {
        self.scratch.write(Path::new("home").join(path), content);
        self.fresh_home()
    }

    /// What the command reads; nothing if it is not set.
    pub(crate) fn stdin(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.stdin = bytes.as_ref().into();
        self
    }

    /// How long the run may take before the test fails; some minutes if it is not set.
    pub(crate) fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The words between `run` and the command.
    pub(crate) fn options(&self) -> &[OsString] {
        &self.options
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.scratch.workspace()
    }

    pub(crate) fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// Runs a line of shell.
    #[track_caller]
    pub(crate) fn run(&self, script: &str) -> Outcome {
        self.start(["-c", script])
    }

    /// Runs a program with exactly these words.
    #[track_caller]
    pub(crate) fn exec<I>(&self, argv: I) -> Outcome
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        let words = argv.into_iter().map(|word| word.as_ref().to_owned());
        self.start(std::iter::once(OsString::from("--")).chain(words))
    }

    /// Any other subcommand on the same state, configuration and home: `sessions list`, …
    #[track_caller]
    pub(crate) fn bailiwick<I>(&self, words: I) -> Outcome
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        let mut command = self.command();
        command.args(words);
        let finished = run_to_end(&mut command, &self.stdin, self.limit);
        Outcome::new(Arc::clone(&self.scratch), finished, None)
    }

    /// A script outside, in the workspace and with the variables of [`Sandbox::command`]; `$B` is the
    /// binary.
    pub(crate) fn shell(&self, script: &str) -> Command {
        let like = self.command();
        let mut shell = host_command("sh");
        shell
            .args(["-c", script])
            .current_dir(self.workspace())
            .envs(like.get_envs().filter_map(|(k, v)| Some((k, v?))))
            .env("B", self.binary());
        shell
    }

    /// The binary in the sandbox's environment, without any argument yet.
    pub(crate) fn command(&self) -> Command {
        self.command_of(&self.binary())
    }

    /// What a script or a person calls.
    pub(crate) fn binary(&self) -> OsString {
        self.backend.binary(&self.scratch)
    }

    /// The same with another build of it.
    pub(crate) fn command_of(&self, binary: &OsStr) -> Command {
        let mut command = match self.bare {
            true => host_command("unshare"),
            false => host_command(binary),
        };
        if self.bare {
            command
                .args(["--user", "--map-root-user", "sh", "-c", LOCK, "sh"])
                .arg(binary);
        }
        command
            .current_dir(self.workspace())
            // Where a run puts what it needs for a moment is none of the caller's matters.
            .env_clear()
            .env("LANG", "C.UTF-8")
            .env("XDG_STATE_HOME", self.scratch.state())
            .env("XDG_CONFIG_HOME", self.scratch.config());
        pass_on(&mut command, &["PATH", "HOME"]);
        if let Some(home) = &self.home {
            command.env("HOME", home);
        }
        command.envs(self.backend.environment());
        command.envs(self.environment.iter().map(|(k, v)| (k, v)));
        command
    }

    #[track_caller]
    fn start<I>(&self, words: I) -> Outcome
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        let before = self.scratch.sessions();
        let mut command = self.command();
        command
            .arg("run")
            .arg("--workspace")
            .arg(self.workspace())
            .args(&self.options)
            .args(words);
        let finished = run_to_end(&mut command, &self.stdin, self.limit);
        let session = self
            .scratch
            .sessions()
            .into_iter()
            .find(|name| !before.contains(name));
        Outcome::new(Arc::clone(&self.scratch), finished, session)
    }
}
