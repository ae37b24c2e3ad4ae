//! Which layers this machine can give, found out by trying each in a child that ends at once:
//! what a configuration file promises is not what a kernel does.

use crate::identity::Identity;
use crate::kernel::{self, Fork};
use crate::{layers, mounts, nftables, ruleset, seccomp};
use bailiwick_event::Failure;
use rustix::process::{Pid, WaitOptions, waitpid};
use std::io;
use std::path::Path;

/// What was found about one layer.
pub struct Finding {
    /// The layer's name.
    pub layer: &'static str,
    /// Nothing where it works; else what is missing, what that means, and the remedy.
    pub problem: Option<String>,
}

/// A layer's name, the stage that its failure belongs to, and the attempt.
type Attempt = (&'static str, &'static str, fn() -> io::Result<()>);

const ATTEMPTS: [Attempt; 5] = [
    ("namespaces and private root", "mount: ", || {
        Ok(mounts::can_mount()?)
    }),
    ("private /proc", "mount: /proc", || {
        Ok(mounts::can_mount_proc()?)
    }),
    ("private network", "network", || {
        nftables::install(nftables::Ports {
            tcp: 1,
            dns: 53,
            udp: 2,
        })
    }),
    ("landlock", "landlock", || {
        match ruleset::enforce([Path::new("/")].into_iter()) {
            Ok(true) => Ok(()),
            _ => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
        }
    }),
    ("seccomp", "seccomp", || {
        kernel::seccomp(&seccomp::program(false))
    }),
];

/// Tries every layer. The process must have one thread.
#[must_use]
pub fn examine() -> Vec<Finding> {
    ATTEMPTS
        .iter()
        .map(|&(layer, stage, attempt)| Finding {
            layer,
            problem: try_in_child(attempt)
                .err()
                .map(|error| match error.raw_os_error() {
                    Some(errno) => layers::missing(stage, errno),
                    None => Failure::fault(error.to_string()),
                })
                .map(|failure| failure.to_string()),
        })
        .collect()
}

/// Runs an attempt in new namespaces; its error number comes back as the exit code.
fn try_in_child(attempt: fn() -> io::Result<()>) -> io::Result<()> {
    let identity = Identity::of_caller();
    let user = if identity == Identity::Root {
        0
    } else {
        libc::CLONE_NEWUSER
    };
    let flags = libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWNET | user;
    match kernel::fork_into(flags)? {
        Fork::Child => {
            let tried = match identity {
                Identity::Root => Ok(()),
                Identity::User { .. } => identity.map_self(),
            }
            .and_then(|()| mounts::keep_private())
            .and_then(|()| Ok(rustix::thread::set_no_new_privs(true)?))
            .and_then(|()| attempt());
            kernel::exit_now(match tried {
                Ok(()) => 0,
                Err(error) => error.raw_os_error().unwrap_or(libc::EIO),
            })
        }
        Fork::Parent(pid, _) => {
            let status = waitpid(Pid::from_raw(pid), WaitOptions::empty())?;
            match status.and_then(|(_, status)| status.exit_status()) {
                Some(0) => Ok(()),
                Some(errno) => Err(io::Error::from_raw_os_error(errno)),
                None => Err(io::Error::other("the attempt was killed")),
            }
        }
    }
}
