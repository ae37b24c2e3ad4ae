//! What a machine is asked to be, and what follows from that here.

use crate::accelerator::{self, Accelerator};
use crate::image;
use crate::initrd;
use crate::jail;
use crate::machine::{Machine, Ram};
use crate::start::Start;
use crate::template::Place;
use bailiwick_event::Failure;
use bailiwick_policy::Effective;
use std::path::PathBuf;

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
    /// What it runs on; none for what was found to run guests here.
    pub accelerator: Option<Accelerator>,
}

impl MachineShape {
    /// Bytes of memory where nobody says how many.
    pub const MEMORY: u64 = 1 << 30;

    /// What a machine of this shape is started with.
    pub(crate) fn start(
        &self,
        policy: Effective,
        memory: Option<u64>,
        private: PathBuf,
        best_effort: bool,
    ) -> Result<Start, Failure> {
        let qemu = jail::monitor()?;
        let cache = image::cache_folder()?;
        let image = image::open(&cache, &self.image)?;
        let accelerator = match self.accelerator {
            Some(accelerator) => accelerator,
            None => accelerator::find(&cache, &image, &qemu)?.accelerator,
        };
        Ok(Start {
            image,
            initrd: initrd::made(&cache)?,
            machine: Machine {
                accelerator,
                memory: self.memory.or(memory).unwrap_or(Self::MEMORY),
                cpus: self.cpus,
                ram: Ram::Anonymous,
            },
            qemu,
            policy,
            private,
            best_effort,
        })
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
            accelerator: None,
        }
    }
}
