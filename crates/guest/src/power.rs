//! The end of the machine.

use rustix::system::{RebootCommand, reboot};

/// Powers off; `reboot` makes the monitor end, which was told not to start again.
pub(crate) fn off() -> ! {
    rustix::fs::sync();
    let _ = reboot(RebootCommand::Restart);
    loop {
        std::thread::park();
    }
}
