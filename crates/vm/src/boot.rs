//! One start of a machine, with the time of each stage, for `bailiwick boot` and the doctor.
//!
//! Decision: two clocks that are never mixed. The host's stages follow each other and are the whole
//! start; the guest's are by its own kernel's clock and are the parts of what the host can only see as
//! one wait. What a guest says of itself is a report: its names are shown, bounded and harmless, and
//! nothing follows from them.

use crate::accelerator::Accelerator;
use crate::backend::sandbox;
use crate::booted;
use crate::files;
use crate::host;
use crate::jail;
use crate::orders::Told;
use crate::running::Vm;
use crate::setting::{self, Place};
use crate::shape::MachineShape;
use crate::start::Behind;
use crate::warm::Warm;
use bailiwick_channel::schema::{Share, Stage};
use bailiwick_event::Failure;
use bailiwick_policy::Effective;
use bailiwick_process::guest::granted;
use bailiwick_sandbox::{Launch, Running as _, Started};
use std::path::Path;
use std::time::{Duration, Instant};

/// Whose clock a stage is by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The host's.
    Host,
    /// That of the guest's kernel.
    Guest,
}

/// A stage of a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootStage {
    /// Whose it is.
    pub side: Side,
    /// Its name.
    pub name: String,
    /// How long it took.
    pub took: Duration,
    /// Whether it is work of its own: not the sum of others, and not a wait for the other side.
    pub work: bool,
}

/// A start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boot {
    /// What ran the guest's instructions.
    pub accelerator: Accelerator,
    /// The image's name.
    pub image: String,
    /// Whether a template was copied.
    pub warm: bool,
    /// The stages: the host's in their order, then the guest's.
    pub stages: Vec<BootStage>,
    /// From nothing to a machine that takes commands.
    pub total: Duration,
    /// What the user should know, a line each.
    pub notices: Vec<String>,
}

/// The words that the kernel of a machine is given.
#[must_use]
pub fn kernel_words(accelerator: Accelerator) -> String {
    crate::machine::append(accelerator)
}

/// Starts a machine that shows what `policy` grants, and ends it when it is complete. `private` is the
/// folder of the host behind private paths. The calling process has one thread. That a template is made
/// where there is none is not part of the start.
///
/// # Errors
/// A [`Failure`] where the machine does not start.
pub fn boot(shape: &MachineShape, policy: &Effective, private: &Path) -> Result<Boot, Failure> {
    let policy = jail::policy(policy);
    let granted = granted(&policy, private)?;
    let start = shape.start(policy, None, private.to_path_buf(), false)?;
    let mut notices = Vec::new();
    let warm = match shape.cold {
        true => None,
        false => Warm::find(shape, &start, &mut notices)?,
    };
    let mut clock = Clock::start();
    let behind = warm.as_ref().map_or(Behind::NOTHING, Warm::behind);
    let (mut begun, wires) = start.begin(sandbox()?, behind)?;
    // Where it is gone already, `ready` knows why.
    let _ = begun.go();
    let Started {
        running, inside, ..
    } = begun.ready()?;
    clock.stage("monitor", true);
    let (mut vm, counter) = Vm::new(running, wires.console, wires.control, start.machine.memory)?;
    // QEMU's first byte is the greeting of its control.
    vm.control.open()?;
    clock.stage("qemu", true);
    if let Some(warm) = &warm {
        warm.restore(&mut vm.control)?;
        clock.stage("restore", true);
    }
    let launch = Launch {
        private,
        ..Launch::of_nothing(&start.policy)
    };
    let setting = setting::of(&launch, &granted, Place::Shared)?;
    let shares = setting.share == Share::Fuse;
    let changes = shares.then(|| files::serve(&mut vm)).transpose()?;
    host::serve(wires.channel, counter, inside, Some(setting), changes)
        .map_err(|error| Failure::fault(format!("the channel: {error}")))?;
    let mut guest = Vec::new();
    if warm.is_none() {
        let told = booted::wait(&mut vm, |told| matches!(told, Told::Waiting(_)))?;
        guest.extend(stages(told));
        clock.stage("guest", false);
    }
    let told = booted::wait(&mut vm, |told| matches!(told, Told::Ready(_)))?;
    guest.extend(stages(told));
    clock.stage("session", true);
    vm.kill();
    let total = clock.total();
    let mut all = clock.stages;
    all.extend(durations(&guest, warm.is_some()));
    Ok(Boot {
        accelerator: start.machine.accelerator,
        image: start.image.name,
        warm: warm.is_some(),
        stages: all,
        total,
        notices,
    })
}

/// The host's stages so far.
struct Clock {
    began: Instant,
    last: Instant,
    stages: Vec<BootStage>,
}

impl Clock {
    fn start() -> Self {
        let now = Instant::now();
        Self {
            began: now,
            last: now,
            stages: Vec::new(),
        }
    }

    /// A stage has ended now.
    fn stage(&mut self, name: &str, work: bool) {
        let now = Instant::now();
        self.stages.push(BootStage {
            side: Side::Host,
            name: name.to_owned(),
            took: now - self.last,
            work,
        });
        self.last = now;
    }

    fn total(&self) -> Duration {
        self.last - self.began
    }
}

fn stages(told: Told) -> Vec<Stage> {
    match told {
        Told::Waiting(stages) | Told::Ready(stages) => stages,
        _ => Vec::new(),
    }
}

/// How long each stage of the guest took. In a copy of a template the first says when the copy went on,
/// by a clock that has stood still: it took nothing.
fn durations(stages: &[Stage], warm: bool) -> Vec<BootStage> {
    let mut last = stages.first().filter(|_| warm).map_or(0, |stage| stage.at);
    let shown = stages.iter().skip(usize::from(warm));
    shown
        .map(|stage| {
            let took = Duration::from_nanos(stage.at.saturating_sub(last));
            last = stage.at;
            let name = stage.name.chars().filter(char::is_ascii_graphic).take(24);
            let name: String = name.collect();
            BootStage {
                side: Side::Guest,
                took,
                work: name != "wait",
                name,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &str, at: u64) -> Stage {
        Stage {
            name: name.to_owned(),
            at,
        }
    }

    fn names(stages: &[BootStage]) -> Vec<(&str, u128)> {
        let pairs = stages.iter().map(|s| (s.name.as_str(), s.took.as_millis()));
        pairs.collect()
    }

    #[test]
    fn each_stage_of_a_guest_begins_where_the_last_ended() {
        let told = [
            stage("kernel", 300_000_000),
            stage("base", 310_000_000),
            stage("wait", 330_000_000),
        ];
        let found = durations(&told, false);
        assert_eq!(names(&found), [("kernel", 300), ("base", 10), ("wait", 20)]);
        assert_eq!(
            found.iter().map(|s| s.work).collect::<Vec<_>>(),
            [true, true, false]
        );
    }

    #[test]
    fn a_copy_is_not_charged_with_the_life_of_its_template() {
        let told = [
            stage("wait", 7_000_000_000),
            stage("session", 7_020_000_000),
        ];
        assert_eq!(names(&durations(&told, true)), [("session", 20)]);
    }

    #[test]
    fn a_guest_that_lies_is_shown_harmlessly() {
        let told = [stage("a\u{1b}[2J", 500), stage(&"x".repeat(99), 100)];
        let found = durations(&told, false);
        assert_eq!(found[0].name, "a[2J");
        assert_eq!(found[1].name.len(), 24);
        assert_eq!(found[1].took, Duration::ZERO);
    }
}
