//! What the machines boot: kernels, programs and first file systems.

use crate::arguments::{Arguments, Variant, Workload};
use crate::cpio;
use crate::machine::System;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the coordinator holds.
const HELD: &str = "console,process_spawner,system_info,endpoint,frame_allocator";

/// The files.
#[derive(Debug, Default)]
pub(crate) struct Images {
    pub(crate) kernel: PathBuf,
    pub(crate) manifest: PathBuf,
    pub(crate) linux: PathBuf,
    pub(crate) initramfs: PathBuf,
    /// What the first program of Linux is told.
    pub(crate) words: String,
}

fn readable(path: &Path, remedy: &str) -> Result<(), String> {
    let opened = fs::File::open(path).map(drop);
    opened.map_err(|error| format!("{}: {error}; {remedy}", path.display()))
}

/// The newest kernel of Linux guests that `make image` has built.
fn newest_kernel() -> Result<PathBuf, String> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(std::env::home_dir()?.join(".cache")));
    let parts = cache.unwrap_or_default().join("bailiwick/parts");
    let entries = fs::read_dir(&parts).into_iter().flatten().flatten();
    let kernels = entries.filter(|entry| entry.path().extension().is_some_and(|e| e == "kernel"));
    let newest = kernels.max_by_key(|entry| entry.metadata().and_then(|m| m.modified()).ok());
    let missing = || {
        format!(
            "{}: no kernel for a Linux guest; build one (`make image`), or name one in \
             LINUX_SMP_SCALE_KERNEL",
            parts.display()
        )
    };
    newest.map(|entry| entry.path()).ok_or_else(missing)
}

impl Images {
    /// Makes what these systems need.
    pub(crate) fn make(arguments: &Arguments, systems: &[System]) -> Result<Self, String> {
        let folder = arguments.out.join("scale-images");
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut images = Self::default();
        if systems.contains(&System::Capos) {
            images.kernel = arguments.programs.join("kernel");
            readable(&images.kernel, "build it (`scripts/capos-kernel`)")?;
            images.manifest = manifest(arguments, &folder)?;
        }
        if systems.contains(&System::Linux) {
            images.linux = arguments
                .linux_kernel
                .clone()
                .map_or_else(newest_kernel, Ok)?;
            readable(
                &images.linux,
                "name one that you can read in LINUX_SMP_SCALE_KERNEL",
            )?;
            images.initramfs = initramfs(arguments, &folder)?;
            images.words = linux_words(arguments)?;
        }
        Ok(images)
    }
}

fn linux_words(arguments: &Arguments) -> Result<String, String> {
    let workload = match arguments.workload {
        Workload::Primes | Workload::Hash => arguments.workload.name(),
        other => {
            return Err(format!(
                "there is nothing like {} on Linux to measure",
                other.name()
            ));
        }
    };
    let variant = match arguments.variant {
        Variant::Process => "",
        Variant::Thread => " threads",
    };
    Ok(format!("{workload}{variant}"))
}

fn manifest(arguments: &Arguments, folder: &Path) -> Result<PathBuf, String> {
    let out = folder.join("scale.manifest");
    let programs = arguments.programs.display();
    let mut held = HELD.to_owned();
    if arguments.workload != Workload::Primes {
        held += &format!(",{}=system_info", arguments.workload.name());
    }
    if arguments.variant == Variant::Thread {
        held += ",threads=system_info";
    }
    // Both are built into one folder.
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let pack = own.with_file_name("pack");
    let status = Command::new(&pack)
        .arg(&out)
        .arg(format!("scale={programs}/scale:{held}"))
        .arg(format!("worker={programs}/worker"))
        .status();
    match status {
        Ok(status) if status.success() => Ok(out),
        Ok(status) => Err(format!("{}: {status}", pack.display())),
        Err(error) => Err(format!("{}: {error}", pack.display())),
    }
}

fn initramfs(arguments: &Arguments, folder: &Path) -> Result<PathBuf, String> {
    let program = arguments.linux_init.as_ref();
    let program =
        program.ok_or("the Linux guest's first program is not named: --linux-init FILE")?;
    let bytes = fs::read(program).map_err(|error| format!("{}: {error}", program.display()))?;
    let out = folder.join("linux.initramfs");
    fs::write(&out, cpio::archive(&bytes))
        .map_err(|error| format!("{}: {error}", out.display()))?;
    Ok(out)
}
