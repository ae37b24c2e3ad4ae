//! A machine that waits for its command (`bailiwick serve`): complete, and warm. What a translated
//! processor pays for the first of everything was paid before anybody asked.

use crate::booted;
use crate::jail;
use crate::making::{QUICK, warm_up};
use crate::orders::{Order, Told};
use crate::running::Vm;
use crate::setting::same_machine;
use crate::shape::MachineShape;
use crate::source::Source;
use crate::start::Start;
use bailiwick_channel::schema::Setting;
use bailiwick_event::Failure;
use bailiwick_policy::Effective;
use bailiwick_process::guest::{Granted, granted};
use bailiwick_sandbox::{Launch, Running};
use rustix::fd::BorrowedFd;
use std::time::Duration;

/// What it was made from.
pub(crate) struct Spare {
    shape: MachineShape,
    mark: String,
    source: Source,
    setting: Setting,
    /// How long its command may take.
    wall: Option<Duration>,
}

/// What a launch asks of a machine of this shape, whose monitor is held to a policy.
pub(crate) fn asked(
    shape: &MachineShape,
    launch: &Launch<'_>,
    policy: Effective,
) -> Result<(Start, Granted), Failure> {
    let granted = granted(&policy, launch.private)?;
    let limit = launch.policy.limits.memory.as_ref();
    if let Some(limit) = limit
        && limit.value < MachineShape::LEAST
        && shape.memory.is_none()
    {
        return Err(Failure::usage(format!(
            "{}: a memory of {} MiB is too little for a virtual machine: {}MiB is the least\nhelp: raise \
             memory under [limits] there, or give the machine its own with --memory",
            limit.origin,
            limit.value >> 20,
            MachineShape::LEAST >> 20
        )));
    }
    let memory = limit.map(|limit| limit.value);
    let private = launch.private.to_path_buf();
    let start = shape.start(policy, memory, private, launch.best_effort)?;
    Ok((start, granted))
}

/// Has a machine that waits for its session run what every session starts with, and only then gives it that:
/// nothing of the user's is there before, and nothing of what ran is the session's to hear.
pub(crate) fn begin_warm(vm: &mut Vm, setting: &Setting) -> Result<(), Failure> {
    let order = |vm: &Vm, order| {
        let given = vm.desk.order(order);
        given.map_err(|error| Failure::fault(format!("the channel: {error}")))
    };
    warm_up(vm, QUICK)?;
    order(vm, Order::Begin(Box::new(setting.clone())))?;
    booted::wait(vm, |told| matches!(told, Told::Ready(_)))?;
    order(vm, Order::Hold { sync: false })?;
    // Nothing was to be written.
    let _ = vm.wait_until_held()?;
    vm.unheard.clear();
    order(vm, Order::GoOn)
}

impl Spare {
    /// Of a machine that has come with this setting.
    pub(crate) fn new(
        shape: MachineShape,
        start: &Start,
        source: Source,
        setting: Setting,
        wall: Option<Duration>,
    ) -> Result<Self, Failure> {
        // Whether a waiting machine fits is asked while a run waits: nothing is tried then.
        let accelerator = Some(start.machine.accelerator);
        Ok(Self {
            shape: MachineShape {
                accelerator,
                ..shape
            },
            mark: start.mark()?,
            source,
            setting,
            wall,
        })
    }

    /// Whether a machine that is made for this launch now would be the same.
    pub(crate) fn is_still(
        &self,
        launch: &Launch<'_>,
        monitor: &dyn Running,
        any: BorrowedFd<'_>,
    ) -> Result<bool, Failure> {
        // A run would build an image that is gone, and show that.
        if !self.shape.has_image() {
            return Ok(false);
        }
        let wall = launch.policy.limits.wall.as_ref().map(|limit| limit.value);
        let (mut start, granted) = asked(&self.shape, launch, jail::policy(launch.policy))?;
        start.waits = true;
        Ok(wall == self.wall
            && start.mark()? == self.mark
            && same_machine(launch, &granted, &self.setting) == self.setting
            && start.fits(monitor, self.source.behind(), any)?)
    }

    /// How long the command may take that enters.
    pub(crate) fn wall(&self) -> Option<Duration> {
        self.wall
    }
}
