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
mod wrong;

pub use wrong::{Invalid, Wrong};

use crate::interfaces::{ENDPOINT, KernelSource};
use alloc::vec::Vec;

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

/// Whether a capability may be expected to have another interface than its source: who serves an
/// endpoint says what its calls mean.
fn serves_any(interface: u64) -> bool {
    interface == ENDPOINT.id
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
