//! The manifest: what the machine runs and what each of it may hold. The only source of authority.
//!
//! Decision: the kernel starts one program, init, and gives it what the manifest says; init starts
//! the rest. Whatever in a manifest is not known is refused and not passed over, for a setting that
//! nobody heeds is one that somebody relied on. The graph of who gets what from whom is checked as a
//! whole before anything runs, so a manifest that is wrong starts nothing instead of half of it. The
//! encoding and the rules are those of the published `SystemManifest`; where ours are stricter
//! (shorter names, no unknown fields, no more capabilities than the set's page holds) it is so that
//! what was accepted can also be carried out.

pub mod build;
mod check;
mod decode;
mod value;

use crate::interfaces::{ENDPOINT, KernelSource};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Bytes that a manifest may have.
pub const SIZE: usize = 5 * 1024 * 1024;
/// Binaries that it may have.
pub const BINARIES: usize = 64;
/// Services that it may have.
pub const SERVICES: usize = 64;
/// Capabilities that init or a service may be given: what fits into its set's page.
pub const CAPS: usize = crate::capset::ENTRIES;
/// Bytes of a name.
pub const NAME: usize = crate::capset::NAME;
/// The name that no binary may have; as init's binary it is a program of the kernel's own.
pub const INIT: &str = "init";

/// A manifest that was checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest<'a> {
    /// The programs.
    pub binaries: Vec<Binary<'a>>,
    /// What the kernel starts.
    pub init: Init<'a>,
    /// What init starts, in this order.
    pub services: Vec<Service<'a>>,
    /// The service whose end is the machine's.
    pub exit_when_service_exits: Option<&'a str>,
}

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binary<'a> {
    /// Its name; unique.
    pub name: &'a str,
    /// Its image, an ELF file; not looked at here.
    pub data: &'a [u8],
}

/// What the kernel starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Init<'a> {
    /// The name of its binary, or [`INIT`].
    pub binary: &'a str,
    /// What it is given, all by the kernel.
    pub caps: Vec<Cap<'a>>,
}

/// What init starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service<'a> {
    /// Its name; unique.
    pub name: &'a str,
    /// The name of its binary.
    pub binary: &'a str,
    /// When it is started again.
    pub restart: Restart,
    /// What it is given.
    pub caps: Vec<Cap<'a>>,
    /// The names of those that other services may be given by it.
    pub exports: Vec<&'a str>,
}

/// When a service is started again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restart {
    /// Not at all.
    #[default]
    Never,
    /// When it ended with another code than 0.
    OnFailure,
    /// Whenever it ended.
    Always,
}

/// A capability that is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap<'a> {
    /// What the receiver calls it; unique for the receiver.
    pub name: &'a str,
    /// Where it comes from.
    pub source: Source<'a>,
    /// What the receiver of its calls is told about who calls.
    pub badge: u64,
    /// The interface that the receiver expects; 0 for that of the export it comes from.
    pub interface: u64,
}

/// Where a capability comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// The kernel.
    Kernel(KernelSource),
    /// A service that exports it.
    Service {
        /// The service.
        service: &'a str,
        /// The name that it has there.
        export: &'a str,
    },
}

impl<'a> Cap<'a> {
    /// A capability of the kernel's.
    pub fn kernel(name: &'a str, source: KernelSource) -> Self {
        let interface = source.interface().id;
        Self {
            name,
            source: Source::Kernel(source),
            badge: 0,
            interface,
        }
    }

    /// A capability that a service exports.
    pub fn service(name: &'a str, service: &'a str, export: &'a str) -> Self {
        Self {
            name,
            source: Source::Service { service, export },
            badge: 0,
            interface: 0,
        }
    }

    /// The same with a badge.
    pub fn badge(self, badge: u64) -> Self {
        Self { badge, ..self }
    }
}

impl<'a> Manifest<'a> {
    /// Reads and checks a manifest.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Invalid> {
        decode::decode(bytes)
    }

    /// The image of a binary.
    pub fn binary(&self, name: &str) -> Option<&'a [u8]> {
        self.binaries
            .iter()
            .find(|binary| binary.name == name)
            .map(|binary| binary.data)
    }

    /// The interface that a capability has for its receiver.
    pub fn interface(&self, cap: &Cap<'_>) -> u64 {
        match cap.source {
            Source::Service { service, export } if cap.interface == 0 => {
                let service = self.services.iter().find(|other| other.name == service);
                let cap = service.and_then(|s| s.caps.iter().find(|cap| cap.name == export));
                cap.map_or(0, |cap| cap.interface)
            }
            _ => cap.interface,
        }
    }
}

impl Restart {
    /// Its name in a manifest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::OnFailure => "on-failure",
            Self::Always => "always",
        }
    }
}

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

/// Whether a capability may be expected to have another interface than its source: who serves an
/// endpoint says what its calls mean.
fn serves_any(interface: u64) -> bool {
    interface == ENDPOINT.id
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
