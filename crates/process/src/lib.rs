//! The process backend: Linux namespaces, a private root, Landlock and seccomp, set up by this
//! process and its child alone.
//!
//! Decision: no helper program is started and none is trusted. Every layer is required; where
//! one cannot be had the run stops and says what it would have stopped.

#![deny(clippy::missing_safety_doc)]

mod abi;
mod backend;
mod bare;
mod broker;
mod cgroup;
mod checkouts;
mod closed;
mod command;
mod copies;
#[cfg(test)]
mod counting;
mod cpus;
mod departure;
mod disk;
mod doctor;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod git;
mod git_config;
pub mod guest;
mod identity;
mod idmaps;
mod image;
mod indexes;
mod init;
mod kept;
mod kernel;
mod knobs;
mod layers;
mod leader;
mod limits;
mod live;
pub mod machine;
mod made;
mod meant;
mod message;
mod monitor;
mod mounts;
mod netlink;
mod network;
mod nftables;
mod notify;
mod outward;
mod paths;
mod plan;
mod programs;
mod pty;
mod raw;
mod reached;
mod rehearsal;
mod ruleset;
mod running;
mod scratch;
mod seccomp;
mod settings;
mod setup;
mod skeleton;
mod stored;
mod sweep;
mod switches;
mod unmapped;
mod walk;
mod wanted;
mod watch;

pub use backend::ProcessBackend;
pub use doctor::{Finding, State, examine};
pub use layers::{LANDLOCK_OF_SIGNALS, WITHOUT_NAMESPACES, done_without, landlock_version};
pub use rehearsal::{Rehearsal, refused_inside, rehearse};
