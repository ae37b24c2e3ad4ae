//! Building an image: kernel, root file system, and last of all the manifest that names them.
//!
//! Decision: until the manifest has its name nothing of a build can be used, and it gets it when
//! everything else is on the disk. Two builds at once would only do the same work twice; the second
//! waits, and then finds what it wanted.

use super::cache::Cache;
use super::collect::{Collected, sweep};
use super::log::Log;
use super::manifest::{FORMAT, Manifest, Part, Role};
use super::progress::{Progress, Tell};
use super::spec::Spec;
use super::{Image, hash, kernel, mirrors, open, root, stamp, tools};
use bailiwick_event::Failure;
use std::collections::BTreeMap;
use std::path::Path;

/// What is to be built, and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The name of a shipped image, or the path of a spec.
    pub image: String,
    /// Make it again, with the packages of today, also if there is one that was asked for in the same
    /// words.
    pub force: bool,
    /// Where packages come from: addresses, or lines as in `sources.list`. None: see `mirrors`.
    pub mirrors: Vec<String>,
}

/// An image, and whether it was made now.
#[derive(Clone, Debug)]
pub struct Built {
    /// The image.
    pub image: Image,
    /// Whether it was made, or was there as it was asked for.
    pub made: bool,
}

/// What the steps of a build share.
pub(super) struct Work<'a> {
    pub(super) cache: &'a Cache,
    pub(super) spec: &'a Spec,
    pub(super) scratch: &'a Path,
    pub(super) mirrors: &'a [String],
    pub(super) tools: &'a BTreeMap<String, String>,
    pub(super) log: Log,
    pub(super) tell: Tell<'a>,
}

/// Builds an image, unless it is there as it was asked for.
///
/// It takes minutes and some gigabytes of scratch space below the cache and `/var/tmp`, and needs the
/// network. `tell` hears how it goes.
///
/// # Errors
/// A mistake in usage, if there is no such image or the spec has mistakes (with file, line and
/// column); a fault, if the machine lacks packages, which it names, or a tool fails, whose last lines
/// it shows.
pub fn build(folder: &Path, options: &Options, tell: Tell<'_>) -> Result<Built, Failure> {
    let spec = Spec::find(&options.image)?;
    let asked = asked(&spec);
    let there = |force: bool| {
        let found = (!force).then(|| open(folder, &spec.name).ok()).flatten();
        found.filter(|image| image.manifest.asked == asked)
    };
    if let Some(image) = there(options.force) {
        return Ok(Built { image, made: false });
    }
    if !cfg!(target_arch = "x86_64") {
        return Err(Failure::fault(
            "images are built for x86-64, and on x86-64, only",
        ));
    }
    tools::check()?;
    let cache = Cache::at(folder);
    let mut waited = false;
    let _lock = cache.lock(&mut |holder| {
        waited = true;
        let note =
            format!("the cache is being changed by another bailiwick ({holder}); waiting for it");
        tell(Progress::Note(&note));
    })?;
    // What was waited for may be what was wanted.
    if let Some(image) = there(options.force && !waited) {
        return Ok(Built { image, made: false });
    }
    sweep(&cache, &mut Collected::default())?;
    let scratch = cache.begin()?;
    let tools = tools::versions()?;
    let mut work = Work {
        cache: &cache,
        spec: &spec,
        scratch: &scratch.path,
        mirrors: &mirrors::choose(&options.mirrors, &spec.suite),
        tools: &tools,
        log: Log::create(cache.log(&spec.name))?,
        tell,
    };
    let kernel = kernel::make(&mut work)?;
    let root = root::make(&mut work)?;
    let mut manifest = Manifest {
        format: FORMAT,
        name: spec.name.clone(),
        architecture: "x86_64".to_owned(),
        suite: spec.suite.clone(),
        asked,
        inputs: String::new(),
        epoch: spec.epoch,
        kernel: kernel.kernel,
        packages: root.packages,
        additions: root.additions,
        tools: tools.clone(),
        parts: kernel.parts,
    };
    manifest.parts.push(root.part);
    manifest.inputs = inputs(&manifest);
    cache.install_text(&manifest.render()?, &cache.manifest(&spec.name))?;
    Ok(Built {
        image: open(folder, &spec.name)?,
        made: true,
    })
}

/// What was asked for, in one hash: it is known before anything is fetched.
fn asked(spec: &Spec) -> String {
    let format = FORMAT.to_string();
    hash::all([
        &format,
        &spec.hash(),
        root::PREPARE,
        root::PACK,
        root::FORMAT,
        kernel::OPTIONS,
        kernel::PATCH,
    ])
}

/// What an image was made from, in one hash.
fn inputs(manifest: &Manifest) -> String {
    let mut words = vec![manifest.asked.as_str(), &manifest.kernel.inputs];
    for package in &manifest.packages {
        words.extend([package.name.as_str(), &package.version]);
    }
    words.extend(manifest.additions.iter().map(String::as_str));
    for (tool, version) in &manifest.tools {
        words.extend([tool.as_str(), version]);
    }
    hash::all(words)
}

impl Work<'_> {
    /// Puts a finished file among the parts. One that is there already, and is as it should be, stays:
    /// a running machine may hold it.
    pub(super) fn install(&self, file: &Path, role: Role, format: &str) -> Result<Part, Failure> {
        let unreadable = |e| super::cache::fault("read", file, &e);
        let part = Part {
            role,
            format: format.to_owned(),
            size: file.metadata().map_err(unreadable)?.len(),
            blake3: hash::file(file).map_err(unreadable)?,
        };
        if stamp::hashed(self.cache, &self.spec.name, &part).is_err() {
            let to = self.cache.parts().join(part.file_name());
            self.cache.install(file, &to)?;
            stamp::hashed(self.cache, &self.spec.name, &part)?;
        }
        Ok(part)
    }
}
