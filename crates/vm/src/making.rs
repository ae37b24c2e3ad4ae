//! Makes a template: starts a machine that shows nothing of the user's, waits until its guest does, and
//! keeps its memory and its devices' state.

use crate::accelerator::Accelerator;
use crate::backend::sandbox;
use crate::booted;
use crate::host;
use crate::jail;
use crate::machine::Ram;
use crate::orders::{Order, Told};
use crate::running::{Vm, exec};
use crate::shape::MachineShape;
use crate::start::{Behind, Start};
use crate::stdio::Streams;
use crate::template::Template;
use bailiwick_channel::schema::ToGuest;
use bailiwick_event::Failure;
use bailiwick_sandbox::{Invocation, Running as _, Started};
use rustix::fd::AsFd as _;
use serde_json::json;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

/// Lines of shell that run before the machine is kept: what they read is in its memory then, and no run
/// reads it again. They are what every session starts with.
const FIRST: [&str; 4] = [
    "true; cat /dev/null; ls / >/dev/null; echo",
    "git --version",
    "python3 -c pass",
    "node -e 0",
];
/// So many of them run in a machine that waits: node is translated for two seconds, and saves its run one.
pub(crate) const QUICK: usize = 3;
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How long a guest may take where a processor runs it: twenty times what it takes.
const PROBE: Duration = Duration::from_secs(4);

/// Makes the template of a shape, unless it is there. The calling process has one thread.
///
/// # Errors
/// A [`Failure`] where the machine does not start or cannot be kept.
pub fn make_template(shape: &MachineShape) -> Result<(), Failure> {
    let start = shape.start(jail::nothing(), None, "/".into(), false)?;
    let place = shape.place(&start)?;
    let memory = start.machine.memory;
    place
        .make(memory, |template, state| keep(&start, template, state))
        .map(drop)
}

/// Whether a guest runs on the processor itself. The calling process has one thread.
///
/// # Errors
/// A [`Failure`] where none does.
pub fn probe(image: &str) -> Result<(), Failure> {
    let shape = MachineShape {
        image: image.to_owned(),
        memory: Some(256 << 20),
        accelerator: Some(Accelerator::Kvm),
        ..MachineShape::default()
    };
    let start = shape.start(jail::nothing(), None, "/".into(), false)?;
    let mut vm = alone(&start, Behind::NOTHING)?;
    let said = booted::wait_for(&mut vm, PROBE, |told| matches!(told, Told::Waiting(_)));
    vm.kill();
    said.map(drop)
}

fn channel(error: std::io::Error) -> Failure {
    Failure::fault(format!("the channel: {error}"))
}

/// A machine that shows nothing of the user's, and whose guest is to wait.
fn alone(start: &Start, behind: Behind<'_>) -> Result<Vm, Failure> {
    let (mut begun, wires) = start.begin(sandbox()?, behind)?;
    // Where it is gone already, `ready` knows why.
    let _ = begun.go();
    let Started {
        running, inside, ..
    } = begun.ready()?;
    let bytes = start.machine.memory;
    let (vm, counter) = Vm::new(running, wires.console, wires.control, bytes)?;
    host::serve(wires.channel, counter, inside, None, None).map_err(channel)?;
    Ok(vm)
}

fn keep(start: &Start, template: &Template, state: &File) -> Result<(), Failure> {
    let behind = Behind {
        ram: Ram::Written,
        memory: Some(&template.ram),
        disk: template.disk.as_deref(),
        ..Behind::NOTHING
    };
    let mut vm = alone(start, behind)?;
    booted::wait(&mut vm, |told| matches!(told, Told::Waiting(_)))?;
    warm_up(&mut vm, FIRST.len())?;
    vm.desk
        .order(Order::Send(ToGuest::Quiesce))
        .map_err(channel)?;
    booted::wait(&mut vm, |told| matches!(told, Told::Quiet))?;
    vm.control.open()?;
    vm.control.run("stop", json!({}))?;
    vm.control.save(state.as_fd())?;
    vm.kill();
    Ok(())
}

/// Has a machine run the first of what every session starts with.
pub(crate) fn warm_up(vm: &mut Vm, lines: usize) -> Result<(), Failure> {
    for (job, line) in (1..).zip(FIRST).take(lines) {
        let environment = [("PATH".into(), PATH.into())];
        let command = Invocation {
            argv: &["sh".into(), "-c".into(), line.into()],
            cwd: Path::new("/"),
            environment: &environment,
        };
        let order = Order::Exec {
            exec: Box::new(exec(job, &command, 0o022)),
            streams: Streams::default(),
            terminal: None,
        };
        vm.desk.order(order).map_err(channel)?;
        // A program that the image does not have is not missed.
        booted::wait(vm, |told| matches!(told, Told::Ended { .. }))?;
    }
    Ok(())
}
