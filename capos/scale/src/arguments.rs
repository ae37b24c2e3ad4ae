//! What is asked for, by words and by the environment.

use crate::host::{self, Host};
use crate::machine::System;
use clap::{Parser, ValueEnum};
use std::path::PathBuf;

/// Measures how processes and threads scale from one processor to more.
#[derive(Debug, Parser)]
#[command(name = "scale")]
pub(crate) struct Arguments {
    /// What the workers do.
    #[arg(long, value_enum, default_value = "primes")]
    pub(crate) workload: Workload,
    /// What the workers are.
    #[arg(long, value_enum, default_value = "process")]
    pub(crate) variant: Variant,
    /// Boots of each case.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
    /// How often a boot that the host disturbed is tried again.
    #[arg(long, default_value_t = 3)]
    pub(crate) tries: u32,
    /// The name of the folder for logs and figures.
    #[arg(long, default_value = "latest")]
    pub(crate) label: String,
    /// The Linux guest alone.
    #[arg(long, conflicts_with = "beside_linux")]
    pub(crate) linux: bool,
    /// Both systems in turns, and how they compare: 15 runs are needed for that.
    #[arg(long)]
    pub(crate) beside_linux: bool,
    /// Something that cannot scale, which has to fail.
    #[arg(long, value_enum)]
    pub(crate) control: Option<Control>,
    /// What the programs were built with that has to fail.
    #[arg(long, env = "CAPOS_SCALE_FEATURES", hide_env_values = true)]
    pub(crate) built_with: Option<String>,
    /// The folder of the kernel and its programs (scripts/capos-kernel).
    #[arg(long)]
    pub(crate) programs: PathBuf,
    /// The first program of the Linux guest.
    #[arg(long)]
    pub(crate) linux_init: Option<PathBuf>,
    /// Where the folders of the evidence are made.
    #[arg(long, default_value = "target")]
    pub(crate) out: PathBuf,
    /// Processors of the host that QEMU may use for the capability kernel, as taskset writes them.
    #[arg(long, env = "CAPOS_SMP_SCALE_QEMU_TASKSET_CPUS")]
    pub(crate) cpus: Option<String>,
    /// The same for Linux.
    #[arg(long, env = "LINUX_SMP_SCALE_QEMU_TASKSET_CPUS")]
    pub(crate) linux_cpus: Option<String>,
    /// The Linux guest's kernel; the newest that `make image` has built if it is not named.
    #[arg(long, env = "LINUX_SMP_SCALE_KERNEL")]
    pub(crate) linux_kernel: Option<PathBuf>,
    /// Eight processors as well, for information.
    #[arg(long, env = "CAPOS_SMP_SCALE_INCLUDE_SMT", hide_env_values = true)]
    pub(crate) include_smt: Option<String>,
    /// The same for Linux.
    #[arg(long, env = "LINUX_SMP_SCALE_INCLUDE_SMT", hide_env_values = true)]
    pub(crate) linux_include_smt: Option<String>,
}

/// See [`Arguments::workload`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// Primes are counted.
    Primes,
    /// Chunks are hashed.
    Hash,
    /// Empty entries go through each worker's ring.
    Nops,
    /// Each worker calls a server of its own.
    Pairs,
}

/// See [`Arguments::variant`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Variant {
    /// Processes.
    Process,
    /// Threads of one process.
    Thread,
}

/// See [`Arguments::control`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Control {
    /// QEMU has one thread for all processors.
    Single,
    /// QEMU may use one processor of the host.
    OneCpu,
}

impl Workload {
    /// As the guest calls it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Primes => "primes",
            Self::Hash => "hash",
            Self::Nops => "nops",
            Self::Pairs => "pairs",
        }
    }

    /// Whether a worker has nothing to do with the kernel meanwhile.
    pub(crate) const fn is_computing(self) -> bool {
        matches!(self, Self::Primes | Self::Hash)
    }
}

impl Variant {
    /// As the guest calls it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Thread => "thread",
        }
    }
}

impl Arguments {
    /// What is measured that has to fail, by name.
    pub(crate) fn controls(&self) -> String {
        let control = self.control.and_then(|control| control.to_possible_value());
        let named = control.iter().map(clap::builder::PossibleValue::get_name);
        let built = self.built_with.as_deref().filter(|text| !text.is_empty());
        let all: Vec<&str> = named.chain(built).collect();
        match all.is_empty() {
            true => "none".into(),
            false => all.join(", "),
        }
    }

    /// Which systems are booted.
    pub(crate) fn systems(&self) -> Vec<System> {
        match (self.linux, self.beside_linux) {
            (true, _) => vec![System::Linux],
            (_, true) => vec![System::Capos, System::Linux],
            _ => vec![System::Capos],
        }
    }

    /// On how many processors. Four are booted everywhere, and count where the host has them.
    pub(crate) fn processors(&self, _: &Host) -> Vec<u32> {
        let asked = match self.linux {
            true => &self.linux_include_smt,
            false => &self.include_smt,
        };
        let with_eight = asked
            .as_deref()
            .is_some_and(|word| word != "0" && !word.is_empty());
        let eight = with_eight.then_some(8);
        [1, 2, 4].into_iter().chain(eight).collect()
    }

    /// Which processors of the host QEMU may use.
    pub(crate) fn pinned(&self, system: System) -> Result<Option<Vec<usize>>, String> {
        let list = match system {
            System::Capos => &self.cpus,
            System::Linux => &self.linux_cpus,
        };
        list.as_deref().map(host::cpus_of_list).transpose()
    }
}
