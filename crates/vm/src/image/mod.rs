//! Images: a kernel and a root file system, made from what a distribution signs.
//!
//! Decision: an image is a manifest that names its parts by their BLAKE3; the parts lie under that
//! name and are never changed. Whoever starts a machine opens the image here and so never boots a
//! part that is not what was built: an interrupted build, a full disk, a bit that fell over and a
//! file that somebody edited are noticed before the guest's first instruction. It is no defence
//! against who can write the cache: that is the user himself.
//!
//! Nothing here is downloaded by us: packages come by mmdebstrap and apt, which check the
//! distribution's signature.

mod build;
mod cache;
mod collect;
mod elf;
mod hash;
mod hold;
mod inventory;
mod kernel;
mod log;
mod manifest;
mod mirrors;
mod progress;
mod root;
mod spec;
mod stamp;
mod tools;

pub use build::{Built, Options, build};
pub use cache::cache_folder;
pub use collect::{Collected, collect};
pub use hold::Hold;
pub use inventory::{Listed, list, verify};
pub use manifest::{Kernel, Manifest, Package, Part, Role};
pub use progress::Progress;
pub use spec::{Spec, shipped};
pub(crate) use tools::path_of_program;

use bailiwick_event::Failure;
use cache::Cache;
use std::path::{Path, PathBuf};

/// An image whose parts were checked.
#[derive(Clone, Debug)]
pub struct Image {
    /// Its name, as `bailiwick image build` was given it.
    pub name: String,
    /// The kernel: an uncompressed ELF file that is entered through PVH.
    pub kernel: PathBuf,
    /// The root file system, in the format that its part in the manifest names.
    pub rootfs: PathBuf,
    /// The BLAKE3 of the manifest in hexadecimal digits. Two machines that made the same image from
    /// the same packages with the same tools have the same.
    pub id: String,
    /// What it was made from and what it consists of.
    pub manifest: Manifest,
}

/// Finds a built image in the cache and checks its parts.
///
/// A part that lies there as it did when it was last hashed is not hashed again (see `stamp`);
/// otherwise it is, in full.
///
/// # Errors
/// A fault that names the remedy, if the image is not built, a part is missing, or a part is not
/// what the manifest names; a mistake in usage, if it cannot be the name of an image.
pub fn open(cache: &Path, name: &str) -> Result<Image, Failure> {
    let cache = Cache::at(cache);
    let (manifest, id) = manifest::read(&cache, name)?;
    let kernel = stamp::checked(&cache, &manifest, Role::Kernel)?;
    let rootfs = stamp::checked(&cache, &manifest, Role::Rootfs)?;
    Ok(Image {
        name: manifest.name.clone(),
        kernel,
        rootfs,
        id,
        manifest,
    })
}

#[cfg(test)]
mod fake;
