//! Doors for the fuzz targets: what the write broker decides, without a sandbox around it.
//!
//! Decision: behind a feature that no product is built with; the rules come from an effective
//! policy as they do in a run, so that the way from an entry to a rule is tried as well.

pub use crate::broker::fuzzing::{Rules, Verdict, accept_git, check_git};
