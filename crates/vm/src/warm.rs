//! A machine that is a copy of a template instead of a start.

use crate::again;
use crate::control::Control;
use crate::machine::Ram;
use crate::shape::MachineShape;
use crate::start::{Behind, Start};
use crate::template::{Identity, Place, Template};
use bailiwick_event::Failure;
use rustix::fd::AsFd as _;
use serde_json::json;
use std::fs::File;
use std::path::Path;

/// A template and where it is.
pub(crate) struct Warm {
    place: Place,
    template: Template,
    /// Whether the last machine could not become a copy of it.
    doubted: bool,
    identity: Option<Identity>,
}

impl Warm {
    /// The template of these machines, made where there is none; none where it cannot be made, which is
    /// said.
    pub(crate) fn find(
        shape: &MachineShape,
        start: &Start,
        notices: &mut Vec<String>,
    ) -> Result<Option<Self>, Failure> {
        let place = shape.place(start)?;
        if place.find().is_none()
            && let Err(why) = have_made(shape, start.machine.memory)
        {
            notices.push(format!("no template of this machine could be made: {why}"));
        }
        let template = place.find();
        if template.is_some() {
            place.touch();
        }
        let (doubted, identity) = (place.is_doubted(), place.identity());
        Ok(template.map(|template| Self {
            place,
            template,
            doubted,
            identity,
        }))
    }

    /// The file of its memory.
    pub(crate) fn behind(&self) -> Behind<'_> {
        Behind {
            ram: Ram::Copied,
            memory: Some(&self.template.ram),
            ..Behind::NOTHING
        }
    }

    /// The empty disk of such machines, where they have one.
    pub(crate) fn disk(&self) -> Option<&Path> {
        self.template.disk.as_deref()
    }

    /// Remembers that a machine could become a copy of it.
    pub(crate) fn served(&self) {
        self.place.served();
    }

    /// Remembers that a machine could not; whether it was taken away for that.
    pub(crate) fn failed(&self) -> bool {
        self.place.failed(self.doubted, self.identity)
    }

    /// Has the monitor become a copy of it, and lets that run.
    pub(crate) fn restore(&self, control: &mut Control) -> Result<(), Failure> {
        let path = &self.template.state;
        let fault = |error| Failure::fault(format!("{}: {error}", path.display()));
        restore(&File::open(path).map_err(fault)?, control)
    }

    /// What the memory of such machines begins as.
    pub(crate) fn ram(&self) -> &Path {
        &self.template.ram
    }
}

/// Has the monitor take the state in a file for its own, and lets the machine run.
pub(crate) fn restore(state: &File, control: &mut Control) -> Result<(), Failure> {
    control.open()?;
    control.prepare_migration()?;
    control.give("state", state.as_fd())?;
    control.run("migrate-incoming", json!({ "uri": "fd:state" }))?;
    control.wait_for_migration()?;
    control.run("cont", json!({}))?;
    Ok(())
}

/// Has another process of this program make a template: it starts a machine, which this one, that has a
/// sandbox waiting, does for its session.
fn have_made(shape: &MachineShape, memory: u64) -> Result<(), String> {
    let (memory, cpus) = (format!("{memory}B"), shape.cpus.to_string());
    let disk = shape.disk.map(|bytes| format!("--disk={bytes}B"));
    let mut words = vec![
        "template",
        &shape.image,
        "--memory",
        &memory,
        "--cpus",
        &cpus,
    ];
    words.extend(disk.as_deref());
    let output = again::image(&words)
        .map_err(|failure| failure.to_string())?
        .output()
        .map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}
