//! The guest's kernel, from the distribution's source with our patch and options.
//!
//! Decision: an option that did not take effect ends the build. What the fragment says is a promise
//! about what a guest can and cannot ask of its kernel, and configuration drops silently what lacks
//! a dependency.
//!
//! Nothing in it tells where, when or by whom it was built: the same source, patch, options
//! and compiler make the same file.

use super::build::Work;
use super::cache::fault;
use super::log::{Lines, PATH, first_line};
use super::manifest::{Kernel, Part, Role, read};
use super::progress::Progress;
use super::root::mmdebstrap;
use super::{elf, hash, manifest, stamp};
use bailiwick_event::Failure;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Our options.
pub(super) const OPTIONS: &str = include_str!("../../../../images/kernel.config");

/// What we mend in it.
pub(super) const PATCH: &str = include_str!("../../../../images/kernel.patch");

/// A step of which no line is progress.
const SILENT: Lines = Lines {
    prefixes: &[],
    expected: 0,
};

/// A kernel: what it was made from, and its parts.
pub(super) struct Made {
    pub(super) kernel: Kernel,
    pub(super) parts: Vec<Part>,
}

/// Makes the kernel, or finds one in the cache that was made of the same.
pub(super) fn make(work: &mut Work<'_>) -> Result<Made, Failure> {
    (work.tell)(Progress::Step("looking at the kernel's source"));
    let archive = source(work)?;
    let content = hash::file(&archive).map_err(|e| fault("read", &archive, &e))?;
    let epoch = work.spec.epoch.to_string();
    let compiler = ["gcc", "ld"].map(|tool| work.tools.get(tool).map_or("", String::as_str));
    let inputs = hash::all([&content, OPTIONS, PATCH, &epoch, compiler[0], compiler[1]]);
    if let Some(made) = from_cache(work, &inputs) {
        (work.tell)(Progress::Note(
            "the kernel in the cache was made of the same source, patch, options and compiler",
        ));
        return Ok(made);
    }
    let tree = unpack(work, &archive)?;

    (work.tell)(Progress::Step("configuring the kernel"));
    let options = work.scratch.join("kernel.options");
    fs::write(&options, OPTIONS).map_err(|e| fault("written", &options, &e))?;
    let stamp = built_at(&epoch)?;
    let mut configure = compile(&tree, &stamp);
    configure
        .arg("allnoconfig")
        .env("KCONFIG_ALLCONFIG", &options);
    work.log
        .run("configuring the kernel", configure, &SILENT, work.tell)?;
    let config = tree.join(".config");
    let effective = fs::read_to_string(&config).map_err(|e| fault("read", &config, &e))?;
    let lost = without_effect(OPTIONS, &effective);
    if !lost.is_empty() {
        return Err(Failure::fault(format!(
            "the kernel cannot be configured as images/kernel.config says: without effect are {}\n  \
             remedy: give them what they depend on, or take them out",
            lost.join(", ")
        )));
    }

    (work.tell)(Progress::Step("compiling the kernel"));
    let mut version = compile(&tree, &stamp);
    version.args(["--silent", "kernelversion"]);
    let version = first_line(version)?;
    let mut build = compile(&tree, &stamp);
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    build.arg(format!("-j{jobs}")).arg("vmlinux");
    let lines = Lines {
        prefixes: &["CC ", "AS ", "AR "],
        expected: 1_700,
    };
    work.log
        .run("compiling the kernel", build, &lines, work.tell)?;
    let kernel = work.scratch.join("vmlinux");
    let mut strip = Command::new("strip");
    strip
        .arg("--strip-all")
        .arg("-o")
        .arg(&kernel)
        .arg(tree.join("vmlinux"))
        .env("PATH", PATH);
    work.log.run(
        "taking the kernel's symbols away",
        strip,
        &SILENT,
        work.tell,
    )?;
    let bytes = fs::read(&kernel).map_err(|e| fault("read", &kernel, &e))?;
    if !elf::has_pvh_entry(&bytes) {
        return Err(Failure::fault(
            "the kernel that was built has no entry for PVH; is CONFIG_PVH still in images/kernel.config?",
        ));
    }
    let parts = vec![
        work.install(&kernel, Role::Kernel, "elf")?,
        work.install(&config, Role::KernelConfig, "text")?,
    ];
    // It is more than a gigabyte, and the root file system needs room.
    let _ = fs::remove_dir_all(&tree);
    let kernel = Kernel {
        source: work.spec.kernel.clone(),
        version,
        inputs,
    };
    Ok(Made { kernel, parts })
}

/// The source with our patch. One that it does not fit ends the build: without it files are lost.
fn unpack(work: &mut Work<'_>, archive: &Path) -> Result<PathBuf, Failure> {
    (work.tell)(Progress::Step("unpacking the kernel's source"));
    let tree = work.scratch.join("kernel");
    fs::create_dir_all(&tree).map_err(|e| fault("made", &tree, &e))?;
    let mut tar = Command::new("tar");
    tar.args([
        "--extract",
        "--strip-components=1",
        "--no-same-owner",
        "--file",
    ])
    .arg(archive)
    .arg("--directory")
    .arg(&tree)
    .env("PATH", PATH);
    work.log
        .run("unpacking the kernel's source", tar, &SILENT, work.tell)?;

    let file = work.scratch.join("kernel.patch");
    fs::write(&file, PATCH).map_err(|e| fault("written", &file, &e))?;
    let mut patch = Command::new("patch");
    patch
        .args(["--batch", "--forward", "--fuzz=0", "--strip=1", "--input"])
        .arg(&file)
        .current_dir(&tree)
        .env("PATH", PATH);
    let what = "applying images/kernel.patch to the kernel's source";
    work.log.run(what, patch, &SILENT, work.tell)?;
    Ok(tree)
}

/// The archive of the source: the one that is installed here, or the distribution's.
fn source(work: &mut Work<'_>) -> Result<PathBuf, Failure> {
    let name = format!("{}.tar.xz", work.spec.kernel);
    let installed = Path::new("/usr/src").join(&name);
    if installed.is_file() {
        return Ok(installed);
    }
    (work.tell)(Progress::Step("fetching the kernel's source"));
    let fetched = work.scratch.join(&name);
    let mut command = mmdebstrap();
    command
        .arg("--variant=extract")
        .arg(format!("--include={}", work.spec.kernel))
        .arg(format!(
            "--extract-hook=download /usr/src/{name} {}",
            fetched.display()
        ))
        .args([&work.spec.suite, "/dev/null"])
        .args(work.mirrors);
    let lines = Lines {
        prefixes: &["Get:"],
        expected: 30,
    };
    work.log
        .run("fetching the kernel's source", command, &lines, work.tell)?;
    Ok(fetched)
}

/// A kernel of an image of the cache that was made of the same, and is what was made.
fn from_cache(work: &Work<'_>, inputs: &str) -> Option<Made> {
    for name in manifest::names(work.cache).ok()? {
        let Ok((found, _)) = read(work.cache, &name) else {
            continue;
        };
        if found.kernel.inputs != inputs {
            continue;
        }
        let parts = [Role::Kernel, Role::KernelConfig].map(|role| {
            let part = found.part(role)?.clone();
            stamp::hashed(work.cache, &name, &part).ok().map(|_| part)
        });
        if let [Some(kernel), Some(config)] = parts {
            return Some(Made {
                kernel: found.kernel,
                parts: vec![kernel, config],
            });
        }
    }
    None
}

/// `make` in the source, of which nothing of this machine's environment is seen.
fn compile(tree: &Path, stamp: &str) -> Command {
    let mut make = Command::new("make");
    make.current_dir(tree)
        .env_clear()
        .env("PATH", PATH)
        .env("LC_ALL", "C")
        .env("KBUILD_BUILD_TIMESTAMP", stamp)
        .env("KBUILD_BUILD_USER", "bailiwick")
        .env("KBUILD_BUILD_HOST", "bailiwick")
        .env("KBUILD_BUILD_VERSION", "1");
    make
}

/// The time that the kernel says it was built at.
fn built_at(epoch: &str) -> Result<String, Failure> {
    let mut date = Command::new("date");
    date.args([
        "--utc",
        &format!("--date=@{epoch}"),
        "+%a %b %e %H:%M:%S UTC %Y",
    ]);
    first_line(date)
}

/// The options that are not what the fragment says, as `NAME=wanted (is: found)`.
fn without_effect(fragment: &str, config: &str) -> Vec<String> {
    let value_in = |name: &str| {
        let line = config.lines().find_map(|line| {
            let (found, value) = line.split_once('=')?;
            (found == name).then_some(value)
        });
        line.unwrap_or("n").to_owned()
    };
    let lines = fragment.lines().filter_map(|line| line.split_once('='));
    lines
        .filter(|(name, _)| name.starts_with("CONFIG_"))
        .filter_map(|(name, wanted)| {
            let found = value_in(name);
            (found != wanted).then(|| format!("{name}={wanted} (is: {found})"))
        })
        .collect()
}

#[cfg(test)]
#[path = "kernel_tests.rs"]
mod tests;
