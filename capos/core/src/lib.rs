//! The logic of the capability kernel that needs no machine: the ring, messages, the manifest,
//! program images, the tables of capabilities and frames.
//!
//! Decision: whatever reads what a program wrote is here and not in the kernel, without `unsafe` and
//! without a machine. It is tested and fuzzed on the host as ordinary Rust, and kernel, programs and
//! the tool that builds manifests share one copy, so that they cannot differ about a byte.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod bytes;
pub mod capset;
pub mod elf;
pub mod exception;
pub mod frames;
pub mod interfaces;
pub mod layout;
pub mod manifest;
pub mod message;
pub mod ring;
pub mod table;
pub mod work;
