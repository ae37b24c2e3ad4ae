//! Where the work is done: what tells one machine from another.

use super::answer::{Answer, Done};

/// Kernel, names and user.
pub(super) fn about() -> Done {
    let uname = rustix::system::uname();
    let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    Ok(Answer::default()
        .text("kernel", &uname.release().to_string_lossy())
        .text("host", &uname.nodename().to_string_lossy())
        .text("machine", machine.trim())
        .number("user", rustix::process::getuid().as_raw().into()))
}
