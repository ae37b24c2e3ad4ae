//! What a machine is asked to be, and what follows from that here.

use crate::accelerator::{self, Accelerator, Found};
use crate::again;
use crate::image::{self, Image};
use crate::initrd;
use crate::jail;
use crate::machine::{Machine, Ram};
use crate::start::Start;
use crate::template::Place;
use bailiwick_event::Failure;
use bailiwick_policy::Effective;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// What a machine is asked to be.
#[derive(Clone, Debug)]
pub struct MachineShape {
    /// The image's name.
    pub image: String,
    /// Bytes of memory; none for the policy's limit, or [`MachineShape::MEMORY`].
    pub memory: Option<u64>,
    /// Processors.
    pub cpus: u32,
    /// Whether it boots even where a template could be copied.
    pub cold: bool,
    /// Bytes of a disk of its own, where it has one.
    pub disk: Option<u64>,
    /// What it runs on; none for what was found to run guests here.
    pub accelerator: Option<Accelerator>,
}

impl MachineShape {
    /// Bytes of memory where nobody says how many.
    pub const MEMORY: u64 = 1 << 30;

    /// Bytes of memory that a machine has at least.
    pub const LEAST: u64 = 128 << 20;

    /// Bytes of a machine's own disk where nobody says how many; only what is written is used.
    pub const DISK: u64 = 8 << 30;

    /// What such machines run on here, and why.
    ///
    /// # Errors
    /// A [`Failure`] where there is no image or no QEMU to try it with.
    pub fn found(&self) -> Result<Found, Failure> {
        let cache = image::cache_folder()?;
        accelerator::find(&cache, &self.image(&cache)?, &jail::monitor()?)
    }

    /// What a machine of this shape is started with.
    pub(crate) fn start(
        &self,
        policy: Effective,
        memory: Option<u64>,
        private: PathBuf,
        best_effort: bool,
    ) -> Result<Start, Failure> {
        let memory = self.memory.or(memory).unwrap_or(Self::MEMORY);
        fits(memory)?;
        let qemu = jail::monitor()?;
        let cache = image::cache_folder()?;
        let image = self.image(&cache)?;
        let accelerator = match self.accelerator {
            Some(accelerator) => accelerator,
            None => accelerator::find(&cache, &image, &qemu)?.accelerator,
        };
        Ok(Start {
            image,
            initrd: initrd::made(&cache)?,
            machine: Machine {
                accelerator,
                memory,
                cpus: self.cpus,
                ram: Ram::Anonymous,
                disk: self.disk,
                reads_disk: false,
            },
            qemu,
            policy,
            private,
            best_effort,
            waits: false,
        })
    }

    /// What tells its machines apart from others of the same policy.
    pub(crate) fn kind(&self) -> String {
        let (image, cpus) = (&self.image, self.cpus);
        let memory = self.memory.unwrap_or_default();
        format!("{cpus} processors, {memory} bytes, {image}")
    }

    /// Whether the image is there.
    pub(crate) fn has_image(&self) -> bool {
        image::cache_folder().is_ok_and(|cache| image::open(&cache, &self.image).is_ok())
    }

    /// The image, built where it is not there yet: that takes minutes, and is shown.
    fn image(&self, cache: &Path) -> Result<Image, Failure> {
        let not_opened = match image::open(cache, &self.image) {
            Ok(image) => return Ok(image),
            Err(failure) => failure,
        };
        let listed = image::list(cache)?;
        let missing = listed.iter().all(|listed| listed.name != self.image);
        if !missing || !image::shipped().any(|name| name == self.image) {
            return Err(not_opened);
        }
        say_that_it_takes_long(&self.image);
        let built = again::image(&["build", &self.image])?.status();
        if !built.is_ok_and(|status| status.success()) {
            return Err(Failure::fault(format!(
                "the image \"{0}\" could not be built\n  remedy: see above, and try `bailiwick \
                 image build {0}`",
                self.image
            )));
        }
        image::open(cache, &self.image)
    }

    /// Where the template of such machines is.
    pub(crate) fn place(&self, start: &Start) -> Result<Place, Failure> {
        let Start {
            image,
            initrd,
            machine,
            qemu,
            ..
        } = start;
        Place::of(&image::cache_folder()?, image, initrd, machine, qemu)
    }
}

impl Default for MachineShape {
    fn default() -> Self {
        Self {
            image: "code".to_owned(),
            memory: None,
            cpus: 1,
            cold: false,
            disk: None,
            accelerator: None,
        }
    }
}

/// Whether the host can have a machine with so many bytes of memory at all.
fn fits(memory: u64) -> Result<(), Failure> {
    let host = rustix::system::sysinfo();
    let most = (host.totalram as u64)
        .saturating_add(host.totalswap as u64)
        .saturating_mul(host.mem_unit.into());
    match memory <= most {
        true => Ok(()),
        false => Err(Failure::usage(format!(
            "a virtual machine with {} MiB of memory does not fit in this one, which has {} MiB\nhelp: give \
             it less, with --memory or `memory` under [limits]",
            memory >> 20,
            most >> 20
        ))),
    }
}

fn say_that_it_takes_long(image: &str) {
    // A closed stderr is no reason to end a run.
    let _ = writeln!(
        std::io::stderr(),
        "bailiwick: the image \"{image}\" is not there yet; it is built now, once, which takes some \
         minutes and the network"
    );
}
