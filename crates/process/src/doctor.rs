//! Which layers this machine can give, found out by trying each in a child that ends at once:
//! what a configuration file promises is not what a kernel does.

use crate::identity::Identity;
use crate::kernel::{self, Fork};
use crate::{abi, backend, kept, layers, mounts, nftables, notify, raw, ruleset, seccomp};
use bailiwick_event::Failure;
use rustix::process::{Pid, WaitOptions, waitpid};
use std::io;
use std::path::Path;

/// What was found about one layer.
pub struct Finding {
    /// The layer's name.
    pub layer: &'static str,
    /// Whether there are no namespaces at all without it.
    pub isolates: bool,
    /// Whether it is to be had.
    pub state: State,
}

/// Whether a layer is to be had.
pub enum State {
    /// All of it.
    Works,
    /// Not all of it: what is missing, what that means, and the remedy where there is one. Runs
    /// are started.
    Weaker(String),
    /// Not at all: why, what that means, and the remedy. A run that needs it is not started.
    Missing(String),
}

/// One attempt.
struct Attempt {
    /// The layer's name.
    layer: &'static str,
    /// The stage that its failure belongs to.
    stage: &'static str,
    /// Whether it is tried in namespaces of its own.
    isolated: bool,
    attempt: fn() -> io::Result<()>,
}

const ATTEMPTS: [Attempt; 6] = [
    Attempt {
        layer: "namespaces and private root",
        stage: "mount: ",
        isolated: true,
        attempt: || Ok(mounts::can_mount()?),
    },
    Attempt {
        layer: "private /proc",
        stage: "mount: /proc",
        isolated: true,
        attempt: || Ok(mounts::can_mount_proc()?),
    },
    Attempt {
        layer: "private network",
        stage: "network",
        isolated: true,
        attempt: || {
            nftables::install(
                nftables::Ports {
                    tcp: 1,
                    dns: 53,
                    udp: 2,
                },
                true,
            )
        },
    },
    Attempt {
        layer: "landlock",
        stage: "landlock",
        isolated: false,
        attempt: || match ruleset::enforce([Path::new("/")].into_iter()) {
            Ok(true) => Ok(()),
            _ => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
        },
    },
    Attempt {
        layer: "seccomp",
        stage: "seccomp",
        isolated: false,
        attempt: || Ok(raw::attach(&seccomp::program(&seccomp::Filter::PLAIN), 0).map(drop)?),
    },
    Attempt {
        layer: "write broker",
        stage: "broker",
        isolated: false,
        attempt: || {
            Ok(notify::attach(&seccomp::broker_program(&seccomp::Brokered::PLAIN)).map(drop)?)
        },
    },
];

/// Tries every layer. The process must have one thread.
#[must_use]
pub fn examine() -> Vec<Finding> {
    // Told first: without it most of the others fail, and for no reason of their own.
    let proc = kernel::threads().err().map(|error| Finding {
        layer: "/proc of the host",
        isolates: false,
        state: State::Missing(layers::no_proc(&error).to_string()),
    });
    let mut findings: Vec<Finding> = proc.into_iter().collect();
    findings.extend(ATTEMPTS.iter().map(|tried| {
        let failure = try_in_child(tried).map_err(|error| match error.raw_os_error() {
            Some(errno) => layers::missing(tried.stage, errno),
            None => Failure::fault(error.to_string()),
        });
        let state = match failure {
            Err(failure) => State::Missing(failure.to_string()),
            Ok(()) if tried.stage == "landlock" => landlock(kernel::landlock_abi()),
            // Root needs no user namespace for the others, but for the owner of the workspace.
            Ok(()) if tried.stage == "mount: " => match backend::can_map(Identity::of_caller()) {
                Ok(()) => State::Works,
                Err(failure) => State::Missing(failure.to_string()),
            },
            Ok(()) => State::Works,
        };
        Finding {
            layer: tried.layer,
            isolates: tried.isolated,
            state,
        }
    }));
    findings.push(Finding {
        layer: "exact limits",
        isolates: false,
        state: kept::problem().map_or(State::Works, State::Weaker),
    });
    findings
}

/// What a Landlock of this version is short of.
fn landlock(abi: i64) -> State {
    let lacks = abi::consequences(abi);
    if lacks.is_empty() {
        return State::Works;
    }
    let mut text = format!("ABI {abi} of 6: use a newer kernel (Linux 6.12 has all)");
    for lack in lacks {
        for (mode, what) in [
            ("", lack.isolated),
            ("without namespaces: ", Some(lack.bare)),
        ] {
            // Said once where it is the same in both.
            let twice = !mode.is_empty() && lack.isolated == Some(lack.bare);
            if let Some(what) = what.filter(|_| !twice) {
                text += &format!("\n  {mode}{what}");
            }
        }
    }
    State::Weaker(text)
}

/// Runs an attempt in a child; its error number comes back as the exit code.
fn try_in_child(tried: &Attempt) -> io::Result<()> {
    let identity = Identity::of_caller();
    let namespaces = libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWNET;
    let flags = match (tried.isolated, identity.is_by_root()) {
        (false, _) => 0,
        (true, true) => namespaces,
        (true, false) => namespaces | libc::CLONE_NEWUSER,
    };
    match kernel::fork_into(flags)? {
        Fork::Child => {
            let isolated = || match (tried.isolated, identity.is_by_root()) {
                (false, _) => Ok(()),
                (true, true) => mounts::keep_private(),
                (true, false) => identity.map_self().and_then(|()| mounts::keep_private()),
            };
            let result = isolated()
                .and_then(|()| Ok(rustix::thread::set_no_new_privs(true)?))
                .and_then(|()| (tried.attempt)());
            kernel::exit_now(match result {
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
