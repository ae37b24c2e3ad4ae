//! A policy with files of its own, and a program in Python as the monitor that shows them.

use bailiwick_event::{Act, Failure, Origin};
use bailiwick_gate::{Inside, Sockets};
use bailiwick_policy::{Effective, PathEntry, PathPattern, ProtectAbsent, Sourced};
use bailiwick_process::ProcessBackend;
use bailiwick_sandbox::{Backend, Invocation, Launch, Monitor, News, Own, OwnAccess, Started};
use rustix::event::{PollFd, PollFlags, poll};
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the monitor shows the policy's files.
pub(crate) const SHARE: &str = "/share";

pub(crate) struct World {
    dir: tempfile::TempDir,
    pub(crate) policy: Effective,
    pub(crate) own: Vec<Own>,
}

/// What became of a monitor.
pub(crate) struct Ended {
    /// What it said on its second stream.
    pub(crate) output: String,
    /// What it said on its third.
    pub(crate) errors: String,
    /// Paths that it was refused, as the record names them, with the rules.
    pub(crate) refused: Vec<(String, String)>,
    pub(crate) code: u8,
}

/// A monitor that runs.
pub(crate) struct Live {
    started: Started,
    /// Its first stream.
    pub(crate) input: UnixStream,
    /// Its second.
    pub(crate) output: UnixStream,
    errors: File,
}

impl World {
    /// Files of the workspace, with their content.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for (file, content) in files
            .iter()
            .chain(&[("home/keep", ""), ("secret", "secret")])
        {
            let path = top.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        fs::create_dir_all(top.join("ws")).unwrap();
        let policy = Effective::empty(top.join("ws"), top.join("home"));
        let read = ["/usr", "/lib", "/lib64", "/bin"];
        let own = read.map(|path| own(Path::new(path), path, OwnAccess::Read));
        let mut world = Self {
            dir,
            policy,
            own: own.into(),
        };
        let ws = world.entry("ws");
        world.policy.filesystem.write.push(ws);
        world
    }

    pub(crate) fn top(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub(crate) fn entry(&self, path: &str) -> PathEntry {
        PathEntry {
            pattern: PathPattern::Path(self.top().join(path)),
            origin: Origin::new("bailiwick.toml", 7, 3),
        }
    }

    pub(crate) fn read(mut self, path: &str) -> Self {
        let entry = self.entry(path);
        self.policy.filesystem.read.push(entry);
        self
    }

    pub(crate) fn private(mut self, path: &str) -> Self {
        let entry = self.entry(path);
        self.policy.filesystem.private.push(entry);
        self
    }

    pub(crate) fn protect(mut self, path: &str) -> Self {
        let entry = self.entry(path);
        self.policy.filesystem.protect.push(entry);
        self
    }

    pub(crate) fn deny(mut self, path: &str) -> Self {
        let entry = self.entry(path);
        self.policy.filesystem.deny.push(entry);
        self
    }

    /// Names that are not there yet are not kept.
    pub(crate) fn without_broker(mut self) -> Self {
        self.policy.filesystem.protect_absent = Some(Sourced {
            value: ProtectAbsent::Off,
            origin: Origin::new("bailiwick.toml", 8, 1),
        });
        self
    }

    pub(crate) fn own(mut self, path: &str, at: &str, access: OwnAccess) -> Self {
        let source = self.top().join(path);
        self.own.push(own(&source, at, access));
        self
    }

    /// Runs a script to its end.
    pub(crate) fn run(&self, script: &str) -> Ended {
        self.start(script).unwrap().end()
    }

    /// Starts a script. `TOP` is the folder of the world's files as the host has it, `SHARED` the same
    /// where the monitor shows it.
    pub(crate) fn start(&self, script: &str) -> Result<Live, Failure> {
        let python = ["python3", "-I", "-c", script].map(Into::into);
        self.start_with(&ProcessBackend::for_monitor(), &python, Path::new(SHARE))
    }

    pub(crate) fn start_with(
        &self,
        backend: &dyn Backend,
        argv: &[std::ffi::OsString],
        share: &Path,
    ) -> Result<Live, Failure> {
        let top = self.top();
        let shared = share.join(top.strip_prefix("/").unwrap());
        let environment = [
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("TOP".into(), top.clone().into()),
            ("SHARED".into(), shared.into()),
        ];
        let (input, stdin) = UnixStream::pair().unwrap();
        let (output, stdout) = UnixStream::pair().unwrap();
        let errors = tempfile::tempfile().unwrap();
        let prepared = backend.prepare(None)?;
        let mut begun = prepared.begin(&Launch {
            policy: &self.policy,
            command: Some(Invocation {
                argv,
                cwd: Path::new("/"),
                environment: &environment,
            }),
            open: false,
            private: &top.join("private"),
            best_effort: false,
            trust: None,
            streams: [
                Some(stdin.as_fd()),
                Some(stdout.as_fd()),
                Some(errors.as_fd()),
            ],
            monitor: Some(Monitor {
                share,
                own: &self.own,
                waits: false,
            }),
        })?;
        // Of a sandbox that could not be had, it is told when it is ready.
        let _ = begun.go();
        Ok(Live {
            started: begun.ready()?,
            input,
            output,
            errors,
        })
    }
}

impl Live {
    pub(crate) fn inside(&self) -> Arc<dyn Inside> {
        Arc::clone(&self.started.inside)
    }

    pub(crate) fn sockets(&self) -> &Sockets {
        &self.started.sockets
    }

    /// Says a line to the monitor.
    pub(crate) fn say(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    /// A line of the monitor's.
    pub(crate) fn hear(&mut self) -> String {
        let mut line = Vec::new();
        let mut byte = [0];
        while self.output.read_exact(&mut byte).is_ok() && byte != *b"\n" {
            line.extend(byte);
        }
        String::from_utf8(line).unwrap()
    }

    /// Waits for the end.
    pub(crate) fn end(mut self) -> Ended {
        let running = &mut self.started.running;
        let mut refused = Vec::new();
        let code = loop {
            let fd = running.news_fd();
            poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], None).unwrap();
            match running.news().unwrap().expect("the sandbox is gone") {
                News::Exited(code) => break code,
                News::Refused(row) => {
                    let (Act::Write { path, .. }, decision) = *row else {
                        panic!("another act");
                    };
                    let rule = decision.rule.id;
                    refused.push((path.to_string(), rule));
                }
                // More refusals than are told, one by one.
                News::Quiet | News::Lost(_) => {}
                other => panic!("{other:?}"),
            }
        };
        let mut output = Vec::new();
        match self.output.read_to_end(&mut output) {
            // It has not read all that was said to it.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            read => drop(read.unwrap()),
        }
        let output = String::from_utf8(output).unwrap();
        let mut errors = String::new();
        self.errors.rewind().unwrap();
        self.errors.read_to_string(&mut errors).unwrap();
        Ended {
            output,
            errors,
            refused,
            code,
        }
    }
}

impl Ended {
    /// What it said, if it ended well.
    #[track_caller]
    pub(crate) fn said(&self) -> &str {
        assert_eq!(self.code, 0, "{}{}", self.output, self.errors);
        &self.output
    }

    /// The paths that it was refused, below `top`.
    pub(crate) fn refused_below(&self, top: &Path) -> Vec<&str> {
        let below = |path: &'_ String| -> bool { Path::new(path).starts_with(top) };
        let cut = top.to_str().unwrap().len() + 1;
        let mut all: Vec<&str> = Vec::new();
        for (path, _) in &self.refused {
            assert!(below(path), "{path}");
            all.push(&path[cut..]);
        }
        all
    }
}

pub(crate) fn own(source: &Path, at: &str, access: OwnAccess) -> Own {
    Own {
        source: source.to_path_buf(),
        at: at.into(),
        access,
    }
}
