//! From a launch to a machine.

use crate::machine::{self, CaposShape, KERNEL, MANIFEST};
use crate::program;
use crate::running::{Ends, Machine};
use bailiwick_event::Failure;
use bailiwick_process::ProcessBackend;
use bailiwick_sandbox::{
    Backend, Begun, Invocation, Launch, Monitor, Own, Prepared, Started, TerminalShape,
};
use bailiwick_vm::{beside, closed, libraries, monitor, readable};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::pipe::{PipeFlags, pipe_with};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The kernel's file.
const NAME: &str = "bailiwick-capos-kernel";

/// Machines with the capability kernel.
#[derive(Clone, Debug)]
pub struct CaposBackend {
    shape: CaposShape,
}

impl CaposBackend {
    /// A backend whose machines look like this.
    #[must_use]
    pub fn new(shape: CaposShape) -> Self {
        Self { shape }
    }
}

/// The kernel's file.
pub(crate) fn kernel() -> Result<PathBuf, Failure> {
    part(NAME, "BAILIWICK_CAPOS_KERNEL")
}

/// A file that belongs to this program, or that a variable names.
pub(crate) fn part(name: &str, variable: &str) -> Result<PathBuf, Failure> {
    let found = match std::env::var_os(variable) {
        Some(given) => Some(given.into()),
        None => beside(name)?,
    };
    let path: PathBuf = found.ok_or_else(|| {
        Failure::fault(format!(
            "{name} is not beside this program\n  remedy: copy it there from where bailiwick was built \
             (`target/release`; `scripts/build` builds it), or name it in {variable}"
        ))
    })?;
    std::fs::File::open(&path)
        .map_err(|error| Failure::fault(format!("{}: {error}", path.display())))?;
    Ok(path)
}

impl Backend for CaposBackend {
    fn name(&self) -> &'static str {
        "capos"
    }

    fn prepare(&self, _: Option<TerminalShape>) -> Result<Box<dyn Prepared>, Failure> {
        Ok(Box::new(Waiting {
            monitor: ProcessBackend::for_monitor().prepare(None)?,
            shape: self.shape.clone(),
        }))
    }
}

struct Waiting {
    monitor: Box<dyn Prepared>,
    shape: CaposShape,
}

fn written(manifest: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new()?;
    file.write_all(manifest)?;
    file.as_file().sync_data()?;
    Ok(file)
}

/// Where the program's console goes: to the caller's stdout.
fn stdout(launch: &Launch<'_>) -> io::Result<OwnedFd> {
    let own = rustix::stdio::stdout();
    let given: BorrowedFd<'_> = launch.streams[1].unwrap_or(own);
    given.try_clone_to_owned()
}

impl Prepared for Waiting {
    fn begin(self: Box<Self>, launch: &Launch<'_>) -> Result<Box<dyn Begun>, Failure> {
        let Some(command) = &launch.command else {
            return Err(Failure::usage(
                "the backend \"capos\" runs one program, which nothing enters later\nhelp: name it: \
                 bailiwick run --backend capos -- program.elf",
            ));
        };
        let [program] = command.argv else {
            return Err(Failure::usage(
                "a program of the capability kernel gets capabilities and no words\nhelp: give it by \
                 its path alone: bailiwick run --backend capos -- program.elf",
            ));
        };
        let fault = |error: io::Error| Failure::fault(format!("the machine: {error}"));
        let path = command.cwd.join(program);
        let held = program::held(launch.policy, &self.shape.capabilities);
        let manifest = program::manifest(&path, &held)?;
        let file = written(&manifest).map_err(fault)?;
        let own = own(&kernel()?, file.path());
        let words = machine::words(&monitor()?, &self.shape);
        let policy = closed(launch.policy);
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|e| fault(e.into()));
        let (console, console_inside) = pipe()?;
        let (kernel, kernel_inside) = pipe()?;
        let nothing = std::fs::File::open("/dev/null").map_err(fault)?;
        let environment: [(OsString, OsString); 1] = [("PATH".into(), "/usr/bin:/bin".into())];
        let begun = self.monitor.begin(&Launch {
            policy: &policy,
            command: Some(Invocation {
                argv: &words,
                cwd: Path::new("/"),
                environment: &environment,
            }),
            open: false,
            private: launch.private,
            best_effort: launch.best_effort,
            trust: None,
            streams: [
                Some(nothing.as_fd()),
                Some(console_inside.as_fd()),
                Some(kernel_inside.as_fd()),
            ],
            monitor: Some(Monitor {
                share: Path::new("/share"),
                own: &own,
                waits: false,
            }),
        })?;
        Ok(Box::new(Pending {
            monitor: begun,
            manifest: file,
            layer: format!(
                "capability kernel ({} processors; capabilities: {})",
                self.shape.cpus,
                held.join(", ")
            ),
            ends: Ends {
                console,
                stdout: stdout(launch).map_err(fault)?,
                kernel,
            },
        }))
    }
}

/// What the monitor needs for itself.
fn own(kernel: &Path, manifest: &Path) -> Vec<Own> {
    let mut all = libraries();
    all.push(readable(kernel, KERNEL));
    all.push(readable(manifest, MANIFEST));
    all
}

struct Pending {
    monitor: Box<dyn Begun>,
    manifest: NamedTempFile,
    layer: String,
    ends: Ends,
}

impl Begun for Pending {
    fn layers(&self) -> Vec<String> {
        let mut layers = self.monitor.layers();
        layers.push(self.layer.clone());
        layers
    }

    fn notices(&mut self) -> Vec<String> {
        self.monitor.notices()
    }

    fn go(&mut self) -> io::Result<()> {
        self.monitor.go()
    }

    fn ready(self: Box<Self>) -> Result<Started, Failure> {
        let started = self.monitor.ready()?;
        let machine = Machine::new(started.running, self.ends, self.manifest)
            .map_err(|error| Failure::fault(format!("the machine: {error}")))?;
        Ok(Started {
            running: Box::new(machine),
            ..started
        })
    }
}
