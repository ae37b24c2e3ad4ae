//! The manifest: what an image consists of and what it was made from.
//!
//! Decision: it holds nothing that differs between two builds of the same inputs (no time, no path,
//! no mirror), so that its own hash is the image's identity and evidence can name it.

use super::cache::{Cache, fault};
use super::spec;
use bailiwick_event::{Failure, Text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

/// The version of what stands in a manifest, and of what no image may lack any more (4: a kernel that asks for
/// the host's files by a port). An image of another is made again.
pub(super) const FORMAT: u32 = 4;

/// What an image is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The version of this form.
    pub format: u32,
    /// The image's name.
    pub name: String,
    /// The guest's processor.
    pub architecture: String,
    /// The release of Debian that the packages are from.
    pub suite: String,
    /// The hash of what was asked for: the spec, how a root is prepared, the kernel's options.
    pub asked: String,
    /// The hash of what it was made from: all that and `kernel`, `packages`, `additions`, `tools`.
    pub inputs: String,
    /// The time of every file in it, in seconds since 1970.
    pub epoch: u64,
    /// What the kernel was made from.
    pub kernel: Kernel,
    /// Every package of the root file system.
    pub packages: Vec<Package>,
    /// What was installed beyond packages.
    pub additions: Vec<String>,
    /// The programs that made it and their versions.
    pub tools: BTreeMap<String, String>,
    /// The files.
    pub parts: Vec<Part>,
}

/// What a kernel was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// The package of its source.
    pub source: String,
    /// Its own version.
    pub version: String,
    /// The hash of the source, the options and the compiler's version.
    pub inputs: String,
}

/// A package of the root file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A file of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// What it is for.
    pub role: Role,
    /// How it is to be read: `elf`, `erofs`, `text`.
    pub format: String,
    /// Its length in bytes.
    pub size: u64,
    /// The BLAKE3 of its content in hexadecimal digits.
    pub blake3: String,
}

/// What a part is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The kernel.
    Kernel,
    /// Its options, for whoever asks which it has.
    KernelConfig,
    /// The root file system.
    Rootfs,
}

impl Role {
    /// As it stands in a manifest and in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::KernelConfig => "kernel-config",
            Self::Rootfs => "rootfs",
        }
    }
}

impl Part {
    /// Its name below `parts`.
    pub(super) fn file_name(&self) -> String {
        format!("{}.{}", self.blake3, self.role.name())
    }

    /// Whether its hash can be one, and so be a file's name.
    fn is_sound(&self) -> bool {
        self.blake3.len() == 64
            && self
                .blake3
                .bytes()
                .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    }
}

impl Manifest {
    /// The part that is for this.
    #[must_use]
    pub fn part(&self, role: Role) -> Option<&Part> {
        self.parts.iter().find(|part| part.role == role)
    }

    /// As it is written.
    pub(super) fn render(&self) -> Result<String, Failure> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|e| Failure::fault(format!("the manifest cannot be written: {e}")))?;
        Ok(text + "\n")
    }
}

/// The remedy for an image that is not as it should be.
pub(super) fn remedy(name: &str) -> String {
    format!("`bailiwick image build --force {name}`")
}

/// Reads an image's manifest; with its identity.
pub(super) fn read(cache: &Cache, name: &str) -> Result<(Manifest, String), Failure> {
    spec::check_name(name).map_err(Failure::Usage)?;
    let path = cache.manifest(name);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let also = if name == "code" {
                " (or `make image`)"
            } else {
                ""
            };
            // One that cannot be built by its name either is a mistake of whoever named it.
            spec::Spec::find(name)?;
            return Err(Failure::fault(format!(
                "the image \"{name}\" is not built\n  remedy: `bailiwick image build {name}`{also}"
            )));
        }
        Err(e) => return Err(fault("read", &path, &e)),
    };
    let bad = |why: &str| {
        Failure::fault(format!(
            "the image \"{name}\" cannot be used: {}: {why}\n  remedy: {}",
            Text::from(path.as_os_str()),
            remedy(name)
        ))
    };
    let version: Format = serde_json::from_slice(&bytes).map_err(|e| bad(&e.to_string()))?;
    if version.format != FORMAT {
        return Err(bad(&format!(
            "it has format {}, and this version of bailiwick reads {FORMAT}",
            version.format
        )));
    }
    let manifest: Manifest = serde_json::from_slice(&bytes).map_err(|e| bad(&e.to_string()))?;
    if manifest.name != name {
        return Err(bad(&format!("it is the manifest of \"{}\"", manifest.name)));
    }
    if !manifest.parts.iter().all(Part::is_sound) {
        return Err(bad("it names a part by something that is no hash"));
    }
    let id = blake3::hash(&bytes).to_hex().to_string();
    Ok((manifest, id))
}

/// What stands in a manifest of any version.
#[derive(Deserialize)]
struct Format {
    format: u32,
}

/// The names of the images that have a manifest, in order.
pub(super) fn names(cache: &Cache) -> Result<Vec<String>, Failure> {
    let folder = cache.images();
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(fault("read", &folder, &e)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let path: PathBuf = entry.map_err(|e| fault("read", &folder, &e))?.path();
        let name = path.file_stem().and_then(|stem| stem.to_str());
        if let Some(name) = name
            && path.extension().is_some_and(|e| e == "json")
            && spec::check_name(name).is_ok()
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
