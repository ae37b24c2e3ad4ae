//! What is in the cache, and whether it is still what was built.

use super::cache::Cache;
use super::manifest::{self, Manifest, Part};
use super::stamp;
use bailiwick_event::Failure;
use std::path::Path;

/// An image of the cache, or why it cannot be used.
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its manifest and identity.
    pub image: Result<(Manifest, String), Failure>,
}

/// The images of the cache, by name. Parts are not looked at.
///
/// # Errors
/// A fault, if the cache cannot be read.
pub fn list(cache: &Path) -> Result<Vec<Listed>, Failure> {
    let cache = Cache::at(cache);
    let listed = manifest::names(&cache)?.into_iter().map(|name| Listed {
        image: manifest::read(&cache, &name),
        name,
    });
    Ok(listed.collect())
}

/// Hashes every part of an image in full; the parts, which are all as they should be.
///
/// # Errors
/// As [`super::open`].
pub fn verify(cache: &Path, name: &str) -> Result<Vec<Part>, Failure> {
    let cache = Cache::at(cache);
    let (manifest, _) = manifest::read(&cache, name)?;
    for part in &manifest.parts {
        stamp::hashed(&cache, name, part)?;
    }
    Ok(manifest.parts)
}
