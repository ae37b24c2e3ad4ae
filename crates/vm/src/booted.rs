//! Waits for a machine to be complete, and says what went wrong where it does not become that.

use crate::orders::Told;
use crate::running::Vm;
use crate::save::UNHEARD;
use bailiwick_event::Failure;
use bailiwick_sandbox::News;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::time::{Duration, Instant};

/// How long a machine may take that runs at all: a busy host translates slowly.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the monitor's end may come after that of the channel.
const LAST: Duration = Duration::from_secs(2);

/// Waits until the guest has said what is awaited; that.
///
/// # Errors
/// A [`Failure`] with what the machine said last.
pub(crate) fn wait(vm: &mut Vm, is: impl Fn(&Told) -> bool) -> Result<Told, Failure> {
    wait_for(vm, PATIENCE, is)
}

/// The same, no longer than this.
pub(crate) fn wait_for(
    vm: &mut Vm,
    patience: Duration,
    is: impl Fn(&Told) -> bool,
) -> Result<Told, Failure> {
    wait_unless(vm, patience, &|| false, is)
}

/// The same, unless whoever asked for it gives up: what makes `given_up` true interrupts a wait (a signal).
pub(crate) fn wait_unless(
    vm: &mut Vm,
    patience: Duration,
    given_up: &dyn Fn() -> bool,
    is: impl Fn(&Told) -> bool,
) -> Result<Told, Failure> {
    let began = Instant::now();
    let mut weight = 0;
    loop {
        if given_up() {
            return Err(Failure::fault("interrupted before the command was started"));
        }
        let left = patience.saturating_sub(began.elapsed());
        let timeout = Timespec::try_from(left).ok();
        let mut fds = [PollFd::new(&vm.both, PollFlags::IN)];
        match poll(&mut fds, timeout.as_ref()) {
            // Also where it says something else all the time.
            Ok(ready) if ready == 0 || left.is_zero() => {
                let tail = vm.said.tail(8);
                return Err(Failure::fault(format!(
                    "the virtual machine is not up after {} seconds{tail}",
                    patience.as_secs()
                )));
            }
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(Failure::fault(format!("poll: {error}"))),
        }
        vm.desk.hear();
        while let Some(told) = vm.desk.told() {
            match told {
                told if is(&told) => {
                    vm.desk.ring();
                    return Ok(told);
                }
                Told::Failed { what, errno } => {
                    let error = std::io::Error::from_raw_os_error(errno);
                    return Err(Failure::fault(format!(
                        "the virtual machine cannot be completed: {what}: {error}"
                    )));
                }
                // What its end was is known by the monitor's.
                Told::Over(why) if !vm.has_monitor_news(LAST) => {
                    return Err(Failure::fault(format!(
                        "the virtual machine cannot be talked to: {why}{}",
                        vm.said.tail(8)
                    )));
                }
                // It is told when there is somebody to hear it.
                other => {
                    weight += other.weight();
                    vm.unheard.push_back(other);
                }
            }
            if weight > UNHEARD {
                return Err(Failure::fault(
                    "the virtual machine says too much before it is complete",
                ));
            }
        }
        if vm.has_monitor_news(Duration::ZERO) {
            let ended =
                |tail: String| Failure::fault(format!("the virtual machine did not start{tail}"));
            match vm.monitor.news() {
                Ok(Some(News::ExecFailed { errno, .. })) => {
                    let error = std::io::Error::from_raw_os_error(errno);
                    return Err(Failure::fault(format!("QEMU cannot be executed: {error}")));
                }
                Ok(Some(News::Exited(_))) | Ok(None) | Err(_) => {
                    return Err(ended(vm.said.tail(8)));
                }
                Ok(Some(_)) => {}
            }
        }
    }
}
