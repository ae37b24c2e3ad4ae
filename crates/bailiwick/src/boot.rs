//! `bailiwick boot`: one start of a machine, and where its time went.

use crate::Done;
use crate::machine;
use crate::output;
use bailiwick_event::Failure;
use bailiwick_policy::{Effective, Request};
use bailiwick_vm::{Boot, BootStage, MachineShape, Side};
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a single stage may take.
pub(crate) const BUDGET: Duration = Duration::from_millis(500);
/// The longest bar, in characters.
const WIDTH: u128 = 40;

#[derive(Args)]
pub(crate) struct BootArguments {
    /// The image that the machine starts from
    #[arg(long, value_name = "NAME", default_value = "code")]
    image: String,
    /// The machine's memory [default: 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = machine::size)]
    memory: Option<u64>,
    /// How many processors the machine has
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    cpus: u32,
    /// Show this folder in the machine, with everything else that a run with the policy `default` shows
    /// [default: nothing is shown]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Show each stage, by the host's clock and by that of the guest's kernel, and flag those that take
    /// more than 500 ms
    #[arg(long)]
    trace: bool,
    /// Start a kernel even where a template of the machine can be copied
    #[arg(long)]
    cold: bool,
    /// Print all of it as one JSON object
    #[arg(long, conflicts_with = "trace")]
    json: bool,
}

/// Starts a machine and ends it.
pub(crate) fn boot(arguments: &BootArguments) -> Done {
    let shape = MachineShape {
        image: arguments.image.clone(),
        memory: arguments.memory,
        cpus: arguments.cpus,
        cold: arguments.cold,
        ..MachineShape::default()
    };
    let boot = match &arguments.workspace {
        None => {
            let nothing = Effective::empty("/".into(), "/root".into());
            bailiwick_vm::boot(&shape, &nothing, Path::new("/"))
        }
        Some(workspace) => {
            let request = Request::from_environment(Vec::new(), workspace.clone());
            let loaded = bailiwick_policy::load(&request)?;
            for notice in &loaded.notices {
                output::note(notice);
            }
            let private = tempfile::tempdir()
                .map_err(|e| Failure::fault(format!("a folder for private paths: {e}")))?;
            bailiwick_vm::boot(&shape, &loaded.effective, private.path())
        }
    }?;
    for notice in &boot.notices {
        output::note(notice);
    }
    output::print(&match (arguments.json, arguments.trace) {
        (true, _) => bailiwick_event::json::of(&value(&boot)) + "\n",
        (false, true) => table(&boot) + &summary(&boot),
        (false, false) => summary(&boot),
    })?;
    Ok(0)
}

/// Whether a stage took more than it may.
pub(crate) fn is_over(stage: &BootStage) -> bool {
    stage.work && stage.took > BUDGET
}

/// The host's name or the guest's.
pub(crate) fn side(stage: &BootStage) -> &'static str {
    match stage.side {
        Side::Host => "host",
        Side::Guest => "guest",
    }
}

/// Milliseconds with one digit behind the point.
pub(crate) fn milliseconds(took: Duration) -> String {
    format!("{}.{} ms", took.as_millis(), took.as_micros() % 1000 / 100)
}

fn summary(boot: &Boot) -> String {
    let how = match boot.warm {
        true => "a copy of its template",
        false => "a kernel that was started",
    };
    let over = boot.stages.iter().filter(|stage| is_over(stage)).count();
    let over = match over {
        0 => String::new(),
        1 => "; 1 stage over 500 ms".to_owned(),
        over => format!("; {over} stages over 500 ms"),
    };
    format!(
        "ready after {} ({}, {how}, image {}){over}\n",
        milliseconds(boot.total),
        boot.accelerator,
        boot.image
    )
}

fn table(boot: &Boot) -> String {
    let longest = boot.stages.iter().map(|stage| stage.took.as_micros()).max();
    let longest = longest.unwrap_or_default().max(1);
    let mut text = String::new();
    let mut last = None;
    for stage in &boot.stages {
        let lane = match last.replace(stage.side) == Some(stage.side) {
            true => "",
            false => side(stage),
        };
        // What took any time has a bar.
        let length = (stage.took.as_micros() * WIDTH).div_ceil(longest);
        let mark = if stage.work { "█" } else { "░" };
        let bar = mark.repeat(usize::try_from(length).unwrap_or_default());
        let flag = if is_over(stage) { "  OVER 500 ms" } else { "" };
        let took = milliseconds(stage.took);
        text += &format!("{lane:<6} {:<10} {took:>12}  {bar}{flag}\n", stage.name);
    }
    if boot.stages.iter().any(|stage| !stage.work) {
        text += "░ is a wait for the other side, whose stages are its parts\n";
    }
    text
}

fn value(boot: &Boot) -> Value {
    let ms = |took: Duration| (took.as_micros() as f64) / 1000.0;
    let stages = boot.stages.iter().map(|stage| {
        json!({
            "side": side(stage),
            "name": stage.name,
            "ms": ms(stage.took),
            "work": stage.work,
            "over": is_over(stage),
        })
    });
    json!({
        "image": boot.image,
        "accelerator": boot.accelerator.to_string(),
        "warm": boot.warm,
        "total_ms": ms(boot.total),
        "budget_ms": ms(BUDGET),
        "stages": stages.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
#[path = "boot_tests.rs"]
mod tests;
