//! What can be wrong in a manifest, and how it is told.
//!
//! Decision: a mistake has a place, because a manifest is made by a program and read by nobody until
//! it is refused. Names from the manifest are told with their control characters escaped.

use super::{INIT, NAME, SIZE};
use crate::interfaces::KernelSource;
use alloc::string::String;
use core::fmt;

/// Why bytes are no manifest: where it is wrong, and what is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The place in the manifest, such as `services[1].caps[0].name`; nothing for all of it.
    pub place: String,
    /// What is wrong there.
    pub what: Wrong,
}

/// What is wrong in a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It has no bytes, or more than [`SIZE`].
    Size(usize),
    /// It is no message.
    Message(crate::message::Malformed),
    /// It is of another version than 1.
    Version(u32),
    /// There are more than may be.
    TooMany {
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// A field is not known here.
    Unknown(String),
    /// A field is there twice.
    FieldTwice(String),
    /// A field has to be there.
    Missing(&'static str),
    /// A value is of another kind.
    Kind {
        /// What it has to be.
        expected: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// A name is empty, longer than [`NAME`] bytes, or not of visible ASCII characters.
    Name(String),
    /// A name is there twice.
    Twice(String),
    /// A binary has the name that is reserved.
    Reserved,
    /// There is no such binary.
    NoBinary(String),
    /// The binary has no bytes.
    EmptyBinary(String),
    /// The kernel has no such source.
    NoSource(String),
    /// There is no such policy.
    NoRestart(String),
    /// There is no such service.
    NoService(String),
    /// The service does not export this.
    NoExport(String),
    /// An export is none of the service's capabilities.
    NoCap(String),
    /// An export comes from another service.
    Reexport(String),
    /// An export is bound to the address space of its holder.
    Bound(String),
    /// Init is given what a service exports.
    FromService,
    /// A source serves only to measure and is not given to init.
    OnlyMeasures(KernelSource),
    /// The interface is another than that of the source.
    Interface {
        /// What the receiver expects.
        expected: u64,
        /// What the source gives.
        given: u64,
    },
}

/// As much of a name as tells which one it is: a manifest can have names of megabytes, and what is
/// wrong in it is kept and told.
pub(super) fn short(name: &str) -> String {
    name.chars().take(NAME + 8).collect()
}

impl Wrong {
    pub(crate) fn at(self, place: impl Into<String>) -> Invalid {
        Invalid {
            place: place.into(),
            what: self,
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() {
            return write!(f, "manifest: {}", self.what);
        }
        write!(f, "manifest: {}: {}", self.place, self.what)
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(0) => f.write_str("it is empty"),
            Self::Size(size) => write!(f, "it has {size} bytes and may have {SIZE}"),
            Self::Message(error) => write!(f, "{error}"),
            Self::Version(version) => write!(f, "it is of version {version} and not 1"),
            Self::TooMany { count, limit } => write!(f, "there are {count} and may be {limit}"),
            Self::Unknown(name) => write!(f, "the field {name:?} is not known"),
            Self::FieldTwice(name) => write!(f, "the field {name:?} is there twice"),
            Self::Missing(name) => write!(f, "the field {name:?} is missing"),
            Self::Kind { expected, found } => write!(f, "it is {found} and has to be {expected}"),
            Self::Name(name) => {
                write!(
                    f,
                    "{name:?} is no name: one to {NAME} visible ASCII characters"
                )
            }
            Self::Twice(name) => write!(f, "{name:?} is there twice"),
            Self::Reserved => write!(f, "the name {INIT:?} is reserved for the kernel's own"),
            Self::NoBinary(name) => write!(f, "there is no binary {name:?}"),
            Self::EmptyBinary(name) => write!(f, "the binary {name:?} has no bytes"),
            Self::NoSource(name) => write!(f, "the kernel has no source {name:?}"),
            Self::NoRestart(name) => write!(f, "there is no restart policy {name:?}"),
            Self::NoService(name) => write!(f, "there is no service {name:?}"),
            Self::NoExport(name) => write!(f, "the service exports no {name:?}"),
            Self::NoCap(name) => write!(f, "the service has no capability {name:?}"),
            Self::Reexport(name) => write!(f, "{name:?} comes from another service"),
            Self::Bound(name) => write!(f, "{name:?} is bound to the address space of its holder"),
            Self::FromService => f.write_str("init is given only what is the kernel's"),
            Self::OnlyMeasures(source) => {
                write!(
                    f,
                    "{:?} serves to measure and is not given to init",
                    source.name()
                )
            }
            Self::Interface { expected, given } => {
                write!(
                    f,
                    "the interface {expected:#018x} is expected and {given:#018x} given"
                )
            }
        }
    }
}
