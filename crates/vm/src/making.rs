//! Makes a template: starts a machine that shows nothing of the user's, waits until its guest does, and
//! keeps its memory and its devices' state.

use crate::backend::sandbox;
use crate::booted;
use crate::host;
use crate::jail;
use crate::machine::Ram;
use crate::orders::{Order, Told};
use crate::running::Vm;
use crate::shape::MachineShape;
use crate::start::Start;
use bailiwick_channel::schema::ToGuest;
use bailiwick_event::Failure;
use bailiwick_sandbox::{Running as _, Started};
use rustix::fd::AsFd as _;
use serde_json::json;
use std::fs::File;
use std::path::Path;

/// Makes the template of a shape, unless it is there. The calling process has one thread.
///
/// # Errors
/// A [`Failure`] where the machine does not start or cannot be kept.
pub fn make_template(shape: &MachineShape) -> Result<(), Failure> {
    let start = shape.start(jail::nothing(), None, "/".into(), false)?;
    let place = shape.place(&start)?;
    let memory = start.machine.memory;
    place
        .make(memory, |ram, state| keep(&start, ram, state))
        .map(drop)
}

fn channel(error: std::io::Error) -> Failure {
    Failure::fault(format!("the channel: {error}"))
}

fn keep(start: &Start, ram: &Path, state: &File) -> Result<(), Failure> {
    let (mut begun, wires) = start.begin(sandbox()?, Ram::Written, Some(ram))?;
    // Where it is gone already, `ready` knows why.
    let _ = begun.go();
    let Started {
        running, inside, ..
    } = begun.ready()?;
    let (mut vm, counter) = Vm::new(running, wires.console, wires.control)?;
    host::serve(wires.channel, counter, inside, None).map_err(channel)?;
    booted::wait(&mut vm, |told| matches!(told, Told::Waiting(_)))?;
    vm.desk
        .order(Order::Send(ToGuest::Quiesce))
        .map_err(channel)?;
    booted::wait(&mut vm, |told| matches!(told, Told::Quiet))?;
    let control = &mut vm.control;
    control.open()?;
    control.run("stop", json!({}))?;
    control.prepare_migration()?;
    control.give("state", state.as_fd())?;
    control.run("migrate", json!({ "uri": "fd:state" }))?;
    control.wait_for_migration()?;
    vm.kill();
    Ok(())
}
