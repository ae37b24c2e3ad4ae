//! The process backend: Linux namespaces, a private root, Landlock and seccomp, set up by this
//! process and its child alone.
//!
//! Decision: no helper program is started and none is trusted. Every layer is required; where
//! one cannot be had the run stops and says what it would have stopped.

#![deny(clippy::missing_safety_doc)]

mod backend;
mod command;
mod doctor;
mod git_config;
mod identity;
mod init;
mod kernel;
mod layers;
mod limits;
mod message;
mod mounts;
mod netlink;
mod network;
mod nftables;
mod paths;
mod plan;
mod pty;
mod ruleset;
mod seccomp;
mod skeleton;
mod walk;
mod watch;

pub use backend::ProcessBackend;
pub use doctor::{Finding, examine};
