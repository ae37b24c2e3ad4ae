//! What a machine is asked to be, and what follows from that here.

use crate::accelerator::Accelerator;
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
        Ok(Start {
            image: image::open(&cache, &self.image)?,
            initrd: initrd::made(&cache)?,
            machine: Machine {
                accelerator: Accelerator::here(),
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
        }
    }
}
