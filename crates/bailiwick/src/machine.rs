//! Which backend a run is for, and what its machine is to be.

use bailiwick_capos::{CaposBackend, CaposShape};
use bailiwick_event::Failure;
use bailiwick_ledger::StateDir;
use bailiwick_process::ProcessBackend;
use bailiwick_sandbox::Backend;
use bailiwick_vm::{Keep, MachineShape, VmBackend};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// How a sandbox is isolated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Namespaces, Landlock and seccomp: starts in milliseconds
    #[default]
    Process,
    /// A virtual machine with a kernel of its own
    Vm,
    /// A kernel where a program has no authority but the capabilities that it is given
    Capos,
}

/// The backend and, for a virtual machine, its shape.
#[derive(Args, Clone, Debug)]
pub(crate) struct MachineArguments {
    /// How the sandbox is isolated
    #[arg(long, value_enum, default_value_t)]
    pub(crate) backend: Kind,
    /// Of `--backend vm`: the image that the machine starts from [default: code]
    #[arg(long, value_name = "NAME")]
    pub(crate) image: Option<String>,
    /// Of `--backend vm` and `capos`: the machine's memory [default: the policy's limit, or 1GiB; 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = least_size)]
    pub(crate) memory: Option<u64>,
    /// Of `--backend vm` and `capos`: how many processors the machine has [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(crate) cpus: Option<u32>,
    /// Of `--backend capos`: a capability that the program is given besides those of the policy, by its
    /// name; may be given again [default: console, where the policy names none]
    #[arg(long = "cap", value_name = "NAME")]
    pub(crate) caps: Vec<String>,
}

impl MachineArguments {
    /// The machine that is asked for.
    pub(crate) fn shape(&self, cold: bool) -> MachineShape {
        let default = MachineShape::default();
        MachineShape {
            image: self.image.clone().unwrap_or(default.image),
            memory: self.memory,
            cpus: self.cpus.unwrap_or(default.cpus),
            cold,
            ..MachineShape::default()
        }
    }

    /// The machine of the capability kernel that is asked for.
    fn capos(&self) -> Result<CaposShape, Failure> {
        bailiwick_capos::capabilities(&self.caps)?;
        Ok(CaposShape {
            memory: self.memory.unwrap_or(CaposShape::MEMORY),
            cpus: self.cpus.unwrap_or(1),
            capabilities: self.caps.clone(),
        })
    }

    /// Fails at a flag of another backend.
    fn has_no_strange_flag(&self, disk: bool) -> Result<(), Failure> {
        let (vm, capos) = (self.backend == Kind::Vm, self.backend == Kind::Capos);
        let strange = [
            ("--disk", disk && !vm),
            ("--image", self.image.is_some() && !vm),
            ("--memory", self.memory.is_some() && !vm && !capos),
            ("--cpus", self.cpus.is_some() && !vm && !capos),
        ];
        if let Some((flag, _)) = strange.iter().find(|(_, is)| *is) {
            let limits = match *flag {
                "--memory" | "--cpus" => ", or set limits in the policy ([limits] memory, cpu)",
                _ => "",
            };
            return Err(Failure::usage(format!(
                "{flag} is of virtual machines, and this is none\nhelp: add --backend vm{limits}"
            )));
        }
        if let Some(memory) = self
            .memory
            .filter(|memory| vm && *memory < MachineShape::LEAST)
        {
            let given = format!("{} MiB", memory >> 20);
            return Err(Failure::usage(format!(
                "--memory: {}\nhelp: give a virtual machine more",
                too_little(&given, MachineShape::LEAST)
            )));
        }
        if !self.caps.is_empty() && !capos {
            return Err(Failure::usage(
                "--cap is of the capability kernel, and this run is another's\nhelp: add --backend \
                 capos",
            ));
        }
        Ok(())
    }

    /// The backend; `disk` is what `--disk` says.
    ///
    /// # Errors
    /// A flag of the other backend.
    #[expect(clippy::option_option, reason = "as the flag")]
    pub(crate) fn backend(
        &self,
        cold: bool,
        disk: Option<Option<u64>>,
    ) -> Result<Box<dyn Backend>, Failure> {
        self.has_no_strange_flag(disk.is_some())?;
        match self.backend {
            Kind::Process => Ok(Box::new(ProcessBackend::new())),
            Kind::Capos => Ok(Box::new(CaposBackend::new(self.capos()?))),
            Kind::Vm => {
                let mut shape = self.shape(cold);
                let Some(size) = disk else {
                    return Ok(Box::new(VmBackend::new(shape)));
                };
                shape.disk = Some(size.unwrap_or(MachineShape::DISK));
                let keep = Keep::Below(machines()?);
                Ok(Box::new(VmBackend::with_disk(shape, keep)))
            }
        }
    }
}

/// Where the folders of sessions with a disk are until they have a record.
pub(crate) fn machines() -> Result<PathBuf, Failure> {
    Ok(StateDir::from_environment()?.path().join("machines"))
}

/// A number of bytes with a unit, enough for a disk.
pub(crate) fn disk_size(text: &str) -> Result<u64, String> {
    match bailiwick_policy::parse_size(text)? {
        bytes if bytes < 16 << 20 => Err(format!("{text} is too little: 16MiB is the least")),
        bytes => Ok(bytes),
    }
}

/// A number of bytes with a unit, enough for a virtual machine.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    match bailiwick_policy::parse_size(text)? {
        bytes if bytes < MachineShape::LEAST => Err(too_little(text, MachineShape::LEAST)),
        bytes => Ok(bytes),
    }
}

/// A number of bytes with a unit, enough for a machine of one of the backends.
fn least_size(text: &str) -> Result<u64, String> {
    match bailiwick_policy::parse_size(text)? {
        bytes if bytes < CaposShape::LEAST => Err(format!(
            "{}, and {}MiB of a virtual machine",
            too_little(text, CaposShape::LEAST),
            MachineShape::LEAST >> 20
        )),
        bytes => Ok(bytes),
    }
}

fn too_little(given: &str, least: u64) -> String {
    format!("{given} is too little: {}MiB is the least", least >> 20)
}
