//! One entry of one file, typed but not yet resolved: paths are still as written, sets still
//! names. The same file means different paths in different workspaces, so resolving comes later.

use crate::keys::Key;
use crate::sets::SetName;
use crate::{HostMapping, HttpRule, InspectRule, Publish, SecretRule};
use bailiwick_event::{HostPattern, Origin};
use bailiwick_rules::Rule;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

/// What an entry says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Value {
    /// A policy, a path, a variable's name or a key, as written.
    Text(String),
    Host(HostPattern),
    Set(SetName),
    Publish(Publish),
    Mapping(HostMapping),
    Http(HttpRule),
    Variable(String, String),
    Number(u64),
    Time(Duration),
    Rule(Box<Rule>),
    Inspect(InspectRule),
    Secret(Box<SecretRule>),
    Resolver(SocketAddr),
}

/// One entry and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: &'static Key,
    pub(crate) value: Value,
    pub(crate) span: Range<usize>,
    pub(crate) origin: Origin,
}
