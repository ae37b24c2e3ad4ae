//! A machine for a disk whose session has ended: it runs nothing but its own binary.

use crate::backend::sandbox;
use crate::booted;
use crate::host;
use crate::kept::Kept;
use crate::orders::{Order, Told};
use crate::running::{Vm, exec};
use crate::saved::Saved;
use crate::setting::{self, Place};
use crate::shape::MachineShape;
use crate::start::{Behind, Start};
use crate::warm::Warm;
use bailiwick_channel::Ends;
use bailiwick_event::Failure;
use bailiwick_policy::Effective;
use bailiwick_process::guest::Granted;
use bailiwick_sandbox::{Invocation, Launch, Running as _, Started};
use rustix::fd::OwnedFd;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long one of its programs may take.
const PATIENCE: Duration = Duration::from_secs(900);

/// The machine; it ends when it is dropped.
pub struct DiskMachine {
    vm: Vm,
    job: u32,
    // Nobody else may use the disk.
    _kept: Kept,
}

impl DiskMachine {
    /// Starts one for the disk in a session's folder, which appears at `workspace` and stays as it is,
    /// whatever the machine does. The calling process has one thread.
    ///
    /// # Errors
    /// A [`Failure`] where it does not start, or another uses the disk.
    pub fn start(folder: &Path, workspace: &Path) -> Result<Self, Failure> {
        let mut kept = Kept::open(folder.to_path_buf());
        let saved: Saved = kept.shape()?;
        kept.lock()?;
        let shape = MachineShape {
            accelerator: None,
            ..saved.shape()
        };
        let policy = Effective::empty(workspace.to_path_buf(), "/root".into());
        let start = shape.start(policy, None, PathBuf::from("/"), false)?;
        let disk = kept.disk();
        let warm = Warm::find(&shape, &start, &mut Vec::new())?;
        let come = machine(&start, warm.as_ref(), &disk, workspace);
        let vm = match (come, &warm) {
            (come, None) => come?,
            (Ok(vm), Some(warm)) => {
                warm.served();
                vm
            }
            (Err(_), Some(warm)) => {
                warm.failed();
                machine(&start, None, &disk, workspace)?
            }
        };
        Ok(Self {
            vm,
            job: 1,
            _kept: kept,
        })
    }

    /// Runs a program to its end; its exit code.
    ///
    /// # Errors
    /// A [`Failure`] where the machine ends before it.
    pub fn run(
        &mut self,
        argv: &[OsString],
        stdin: OwnedFd,
        stdout: OwnedFd,
    ) -> Result<u8, Failure> {
        let job = self.job;
        self.job += 1;
        let command = Invocation {
            argv,
            cwd: Path::new("/"),
            environment: &[],
        };
        let order = Order::Exec {
            exec: Box::new(exec(job, &command, 0o022)),
            streams: [Some(Ends::source(stdin)), Some(Ends::sink(stdout)), None].into(),
            terminal: None,
        };
        let given = self.vm.desk.order(order);
        given.map_err(|error| Failure::fault(format!("the channel: {error}")))?;
        let told = booted::wait_for(&mut self.vm, PATIENCE, |told| {
            matches!(told, Told::Ended { .. } | Told::ExecFailed { .. })
        })?;
        match told {
            Told::Ended { code, .. } => Ok(code),
            _ => Ok(127),
        }
    }
}

/// A machine that has a disk, at `workspace`; a copy of a template, where there is one.
fn machine(
    start: &Start,
    warm: Option<&Warm>,
    disk: &Path,
    workspace: &Path,
) -> Result<Vm, Failure> {
    let behind = Behind {
        disk: Some(disk),
        // Its file system plays its journal when it is mounted: that of a suspended session is not this
        // machine's, and one that was not closed stays what it is.
        reads_disk: true,
        ..warm.map_or(Behind::NOTHING, Warm::behind)
    };
    let (mut begun, mut wires) = start.begin(sandbox()?, behind)?;
    // Where it is gone already, `ready` knows why.
    let _ = begun.go();
    let Started {
        running, inside, ..
    } = begun.ready()?;
    if let Some(warm) = warm {
        warm.restore(&mut wires.control)?;
    }
    let granted = Granted {
        paths: vec![(workspace.to_path_buf(), true)],
        links: Vec::new(),
    };
    let launch = Launch::of_nothing(&start.policy);
    let setting = setting::of(&launch, &granted, Place::Disk)?;
    let memory = start.machine.memory;
    let (mut vm, counter) = Vm::new(running, wires.console, wires.control, memory)?;
    host::serve(wires.channel, counter, inside, Some(setting), None)
        .map_err(|error| Failure::fault(format!("the channel: {error}")))?;
    vm.hold = Some(start.image.hold()?);
    booted::wait(&mut vm, |told| matches!(told, Told::Ready(_)))?;
    Ok(vm)
}

impl Drop for DiskMachine {
    fn drop(&mut self) {
        self.vm.kill();
    }
}
