//! What a machine was made of. A time of a virtual machine means nothing without the kernel that
//! started, the image that was read and what ran the instructions, so all of it is named by hash.

use bailiwick_capos::BareCapos;
use bailiwick_event::Failure;
use bailiwick_vm::image::Role;
use bailiwick_vm::{Accelerator, Bare, guest_binary};
use serde::Serialize;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;

/// The machine of a suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct MachineRecord {
    /// `kvm` or `tcg`.
    pub accelerator: String,
    /// The image's name.
    pub image: String,
    /// BLAKE3 of its manifest, in hex.
    pub image_hash: String,
    /// The version of the guest's kernel.
    pub kernel: String,
    /// BLAKE3 of it, in hex.
    pub kernel_hash: String,
    /// The format of the root file system.
    pub rootfs: String,
    /// BLAKE3 of it, in hex.
    pub rootfs_hash: String,
    /// BLAKE3 of the guest's binary, in hex.
    pub guest_hash: String,
    pub memory_bytes: u64,
    pub cpus: u32,
    /// What QEMU says of its version.
    pub qemu: String,
    /// Bytes that QEMU may keep of translated instructions; none where it translates none.
    pub translation_buffer_bytes: Option<u64>,
    /// BLAKE3 of the capability kernel and of the program that measures on it, in hex, where those are
    /// measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capos: Option<[String; 2]>,
}

fn hash_of(path: &Path) -> Result<String, Failure> {
    let contents = std::fs::read(path)
        .map_err(|error| Failure::fault(format!("{}: {error}", path.display())))?;
    Ok(blake3::hash(&contents).to_hex().to_string())
}

impl MachineRecord {
    /// Of the machines beside this bare one.
    ///
    /// # Errors
    /// A [`Failure`] where the guest's binary cannot be read.
    pub(crate) fn of(bare: &Bare) -> Result<Self, Failure> {
        let part = |role| bare.image.manifest.part(role);
        let hash = |role| part(role).map_or(String::new(), |part| part.blake3.clone());
        let qemu: OsString = bare.qemu.clone().into();
        let unknown = || "unknown".to_owned();
        Ok(Self {
            accelerator: bare.accelerator.to_string(),
            image: bare.image.name.clone(),
            image_hash: bare.image.id.clone(),
            kernel: bare.image.manifest.kernel.version.clone(),
            kernel_hash: hash(Role::Kernel),
            rootfs: part(Role::Rootfs).map_or_else(unknown, |part| part.format.clone()),
            rootfs_hash: hash(Role::Rootfs),
            guest_hash: hash_of(&guest_binary()?)?,
            memory_bytes: bare.memory,
            cpus: bare.cpus,
            qemu: crate::system::version(&qemu, "--version", Path::new("/"))
                .unwrap_or_else(unknown),
            translation_buffer_bytes: bare.translation_buffer(),
            capos: None,
        })
    }

    /// With the capability kernel, which is measured beside it.
    ///
    /// # Errors
    /// A [`Failure`] where its files cannot be read.
    pub(crate) fn with_capos(self, capos: &BareCapos) -> Result<Self, Failure> {
        Ok(Self {
            capos: Some([hash_of(&capos.kernel)?, hash_of(&capos.costs)?]),
            ..self
        })
    }
}

/// The class of results that are taken on such a machine: what runs the guest's instructions decides,
/// and whether the machine below is hardware.
pub(crate) fn class(accelerator: Accelerator, virtualisation: &str) -> &'static str {
    match (accelerator, virtualisation) {
        (Accelerator::Tcg, "none") => "local-tcg",
        (Accelerator::Tcg, _) => "nested-tcg",
        (Accelerator::Kvm, "none") => "local-kvm",
        (Accelerator::Kvm, _) => "nested",
    }
}

impl fmt::Display for MachineRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |hash: &str| hash.get(..12).unwrap_or(hash).to_owned();
        write!(
            f,
            "machine: {}, {} CPU, {} MiB, image {} ({}, {} {}), kernel {} ({}), {}",
            self.accelerator,
            self.cpus,
            self.memory_bytes >> 20,
            self.image,
            short(&self.image_hash),
            self.rootfs,
            short(&self.rootfs_hash),
            self.kernel,
            short(&self.kernel_hash),
            self.qemu
        )?;
        if let Some(bytes) = self.translation_buffer_bytes {
            write!(f, ", up to {} MiB of translations", bytes >> 20)?;
        }
        if let Some([kernel, costs]) = &self.capos {
            write!(
                f,
                ", capability kernel {} ({})",
                short(kernel),
                short(costs)
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
