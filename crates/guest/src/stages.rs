//! The stages of a start, by the clock of the guest's kernel.

use bailiwick_channel::schema::Stage;
use rustix::time::{ClockId, clock_gettime};

/// The stages so far.
#[derive(Debug, Default)]
pub(crate) struct Stages(Vec<Stage>);

impl Stages {
    /// A stage has ended now.
    pub(crate) fn mark(&mut self, name: &str) {
        self.0.push(Stage {
            name: name.to_owned(),
            at: since_start(),
        });
    }

    /// Those that were not told yet.
    pub(crate) fn take(&mut self) -> Vec<Stage> {
        std::mem::take(&mut self.0)
    }
}

/// Nanoseconds since the kernel started.
fn since_start() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or_default()
}
