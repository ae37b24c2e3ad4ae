//! What the monitor is given of the host, and what of the policy is the guest's: the system's folders
//! are the image's, everything else that the policy grants appears at its own path.

use crate::accelerator::{Accelerator, DEVICE};
use crate::machine::{self, Ram};
use crate::packer::BINARY;
use bailiwick_event::Failure;
use bailiwick_policy::{Effective, Limits};
use bailiwick_sandbox::{Own, OwnAccess};
use std::path::{Path, PathBuf};

/// Folders that the image has itself.
const SYSTEM: [&str; 14] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/snap",
    "/sys/devices/system",
    "/var/lib/dpkg",
    "/var/lib/apt",
];

/// Where QEMU is looked for.
const PLACES: [&str; 3] = [
    "/usr/bin/qemu-system-x86_64",
    "/usr/local/bin/qemu-system-x86_64",
    "/usr/libexec/qemu-kvm",
];

/// QEMU.
///
/// # Errors
/// It is not installed.
pub fn monitor() -> Result<PathBuf, Failure> {
    let found = PLACES.iter().map(Path::new).find(|path| path.exists());
    found.map(Path::to_path_buf).ok_or_else(|| {
        Failure::fault(
            "there is no qemu-system-x86_64, which machines are run with\n  remedy: install it \
             (Debian, Ubuntu: apt-get install qemu-system-x86), or run with --backend process",
        )
    })
}

/// A file of the host that the monitor may read, and where it finds it.
pub fn readable(source: &Path, at: &str) -> Own {
    Own {
        source: source.to_path_buf(),
        at: at.into(),
        access: OwnAccess::Read,
    }
}

/// The folders with the monitor itself and what it is linked with.
pub fn libraries() -> Vec<Own> {
    ["/usr", "/lib", "/lib64", "/etc/ld.so.cache"]
        .into_iter()
        .filter(|path| Path::new(path).exists())
        .map(|path| readable(Path::new(path), path))
        .collect()
}

/// What the monitor needs for itself: the root file system and, for a machine that is not restored, kernel and
/// initial file system; and the program that answers for the policy's files.
pub(crate) fn own(
    [root, guest]: [&Path; 2],
    [kernel, initrd]: [&Path; 2],
    ram: Ram,
    accelerator: Accelerator,
) -> Vec<Own> {
    let mut all = libraries();
    all.push(readable(guest, BINARY));
    if !ram.is_restored() {
        all.push(readable(kernel, machine::KERNEL));
        all.push(readable(initrd, machine::INITRD));
    }
    all.push(readable(root, machine::ROOT));
    if accelerator == Accelerator::Kvm {
        all.push(Own {
            source: DEVICE.into(),
            at: DEVICE.into(),
            access: OwnAccess::Device,
        });
    }
    all
}

/// The policy that the monitor is held to: the files that the guest is shown. What the policy limits is
/// limited in the guest, and its time begins when the guest is complete.
pub(crate) fn policy(policy: &Effective) -> Effective {
    let mut held = policy.clone();
    held.retain_paths(|path| !SYSTEM.iter().any(|system| path == Path::new(system)));
    let limits = &policy.limits;
    held.limits = Limits {
        cpu: limits.cpu.clone(),
        disk: limits.disk.clone(),
        ..Limits::default()
    };
    held
}

/// The policy that the monitor is held to where the guest is shown nothing of the host's files.
pub fn closed(policy: &Effective) -> Effective {
    let mut held = self::policy(policy);
    held.retain_paths(|_| false);
    held
}

/// A policy that grants nothing.
pub(crate) fn nothing() -> Effective {
    Effective::empty("/".into(), "/root".into())
}

#[cfg(test)]
#[path = "jail_tests.rs"]
mod tests;
