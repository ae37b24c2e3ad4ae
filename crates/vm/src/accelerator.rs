//! What runs the guest's instructions: the processor, or QEMU in its place.
//!
//! Decision: that `/dev/kvm` can be opened says nothing. There are machines where it can and no kernel
//! runs on it, and then QEMU neither ends nor says so. So a guest is started on it once, for some
//! seconds, and what came of that is remembered for this kernel, processor, monitor and image.

use crate::image::Image;
use bailiwick_event::Failure;
use rustix::fs::{Access, access};
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The device of the processor's own virtualisation.
pub(crate) const DEVICE: &str = "/dev/kvm";

/// How a machine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// The processor's own virtualisation.
    Kvm,
    /// QEMU translates every instruction.
    Tcg,
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
        })
    }
}

/// What was found here, and why.
#[derive(Clone, Debug)]
pub struct Found {
    /// What guests run on.
    pub accelerator: Accelerator,
    /// Why, for a person.
    pub why: String,
}

/// Finds what runs this image's guests here: by what was found before, or by trying.
///
/// # Errors
/// A [`Failure`] where this program's own file cannot be started.
pub(crate) fn find(cache: &Path, image: &Image, qemu: &Path) -> Result<Found, Failure> {
    let tcg = |why: &str| Found {
        accelerator: Accelerator::Tcg,
        why: why.to_owned(),
    };
    if !Path::new(DEVICE).exists() {
        return Ok(tcg("there is no /dev/kvm"));
    }
    if access(DEVICE, Access::READ_OK | Access::WRITE_OK).is_err() {
        return Ok(tcg(
            "/dev/kvm may not be used; to change that, join the group that owns it",
        ));
    }
    let remembered = Remembered::of(cache, image, qemu);
    let runs = match remembered.read() {
        Some(runs) => runs,
        None => {
            let runs = try_it(&image.name)?;
            remembered.write(runs);
            runs
        }
    };
    Ok(match runs {
        true => Found {
            accelerator: Accelerator::Kvm,
            why: "a guest runs on /dev/kvm".to_owned(),
        },
        false => tcg("/dev/kvm is there, and no guest runs on it"),
    })
}

/// What was found before.
struct Remembered(PathBuf);

impl Remembered {
    fn of(cache: &Path, image: &Image, qemu: &Path) -> Self {
        let mut hash = blake3::Hasher::new();
        let uname = rustix::system::uname();
        let monitor = fs::metadata(qemu).map(|meta| (meta.size(), meta.mtime()));
        for part in [
            uname.release().to_bytes(),
            uname.version().to_bytes(),
            &processor(),
            image.id.as_bytes(),
            format!("{monitor:?}").as_bytes(),
        ] {
            hash.update(part);
            hash.update(&[0]);
        }
        let name = hash.finalize().to_hex();
        Self(cache.join("accelerator").join(&name[..32]))
    }

    fn read(&self) -> Option<bool> {
        match fs::read_to_string(&self.0).ok()?.as_str() {
            "kvm\n" => Some(true),
            "tcg\n" => Some(false),
            _ => None,
        }
    }

    /// What cannot be remembered is tried again.
    fn write(&self, runs: bool) {
        let folder = self.0.parent().unwrap_or(Path::new("/"));
        let _ = fs::create_dir_all(folder);
        let _ = fs::write(&self.0, if runs { "kvm\n" } else { "tcg\n" });
    }
}

/// The processor's name and abilities.
pub(crate) fn processor() -> Vec<u8> {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let of = |name: &str| {
        text.lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_default()
    };
    [of("model name"), of("flags")].concat().into_bytes()
}

/// Starts a guest on the processor, in another process of this program, and waits for it.
fn try_it(image: &str) -> Result<bool, Failure> {
    let own = std::env::current_exe()
        .map_err(|error| Failure::fault(format!("this program's own file: {error}")))?;
    let status = Command::new(own)
        .args(["image", "probe", image])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| Failure::fault(format!("this program's own file: {error}")))?;
    Ok(status.success())
}

#[cfg(test)]
#[path = "accelerator_tests.rs"]
mod tests;
