//! systemd hands the control groups of a user's own services over to him, but on many machines
//! without the controllers that limits need.

use super::{Change, Forget, marked};
use std::path::Path;

const FILE: &str = "/etc/systemd/system/user@.service.d/bailiwick.conf";

/// The change that gives every user exact limits; none where systemd does not run.
#[must_use]
pub fn delegate() -> Option<Change> {
    if !Path::new("/run/systemd/system").exists() {
        return None;
    }
    let reload = ["systemctl", "daemon-reload"].map(str::to_owned).to_vec();
    Some(Change {
        name: "delegate",
        file: FILE.into(),
        content: marked(
            "delegate",
            "[Service]\nDelegate=cpu cpuset io memory pids\n",
        ),
        load: reload.clone(),
        forget: Forget::After(reload),
        note: "each user gets exact limits on memory, processes and cpu from the next login on"
            .to_owned(),
    })
}
