//! The policy: what a sandbox may do, as a file that a person writes and a program trusts.
//!
//! Decision: everything is resolved here, once, before anything is started: layers, templates,
//! sets, paths. What leaves this crate is [`Effective`], in which every entry knows the line that
//! made it, and no later stage reads a file again.

mod effective;

pub use effective::{
    Effective, Environment, FilesystemPolicy, HostMapping, HttpRule, Limits, NetworkPolicy,
    PathEntry, PathPattern, Publish, Sourced,
};
