//! The suites of `bailiwick bench` that are about machines.

use super::{measured, show, tell};
use crate::Done;
use crate::machine::{Kind, MachineArguments};
use bailiwick_bench::{HttpRequests, MachineOptions, MachineSuite};
use bailiwick_event::{Failure, Text};
use clap::Args;
use std::path::PathBuf;

/// What all of them are told.
#[derive(Args)]
pub(crate) struct MachineBench {
    #[command(flatten)]
    machine: MachineArguments,
    /// The binary to measure [default: this one]
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Samples of what takes less than a second; longer ones have fewer
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: u32,
    /// Few and small samples, for a first look; never for publication
    #[arg(long)]
    quick: bool,
    /// Where the evidence goes
    #[arg(long, default_value = "./benchmarks")]
    out: PathBuf,
    /// Only rows with this in their name; may be given again [default: all]
    #[arg(long, value_name = "NAME")]
    row: Vec<String>,
}

/// What `bench disk` is told.
#[derive(Args)]
pub(crate) struct DiskBench {
    /// The large file, in MiB [default: $BAILIWICK_BENCH_SIZE_MB, else 256]
    #[arg(long = "size-mb", value_name = "N", value_parser = clap::value_parser!(u64).range(1..=65_536))]
    size: Option<u64>,
    #[command(flatten)]
    common: MachineBench,
}

/// What `bench http` is told.
#[derive(Args)]
pub(crate) struct HttpBench {
    /// What is asked for, http://… or https://…; a policy grants just its machine [default: a server
    /// that is started on this machine's loopback; so does an empty word]
    url: Option<String>,
    /// How many requests
    #[arg(default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    requests: u32,
    /// How many connections at one time
    #[arg(default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    connections: u32,
    #[command(flatten)]
    common: MachineBench,
}

/// What `bench channel` is told.
#[derive(Args)]
pub(crate) struct ChannelBench {
    #[command(flatten)]
    machine: MachineArguments,
    /// Pings
    #[arg(long)]
    pings: usize,
    /// How often bytes go each way
    #[arg(long)]
    rounds: usize,
    /// How many, in MiB
    #[arg(long = "size-mb")]
    size: u64,
}

/// Runs `bench disk`.
pub(super) fn disk(arguments: DiskBench) -> Done {
    bench(MachineSuite::Disk(size(arguments.size)?), arguments.common)
}

/// Runs `bench http`.
pub(super) fn http(arguments: HttpBench) -> Done {
    let requests = HttpRequests {
        // A word that is empty stands for the default, so that numbers can follow it.
        url: arguments.url.filter(|url| !url.is_empty()),
        count: arguments.requests,
        connections: arguments.connections.min(arguments.requests),
    };
    bench(MachineSuite::Http(requests), arguments.common)
}

/// Runs `bench channel`.
pub(super) fn channel(arguments: &ChannelBench) -> Done {
    let shape = arguments.machine.shape(true);
    let bytes = arguments.size << 20;
    bailiwick_bench::channel(&shape, arguments.pings, bytes, arguments.rounds)?;
    Ok(0)
}

/// Runs one.
pub(super) fn bench(suite: MachineSuite, arguments: MachineBench) -> Done {
    let MachineBench {
        machine,
        binary,
        runs,
        quick,
        out,
        row,
    } = arguments;
    // Says what does not belong to a process sandbox.
    drop(machine.backend(false, None)?);
    let options = MachineOptions {
        suite,
        binary: measured(binary)?,
        machine: (machine.backend == Kind::Vm).then(|| machine.shape(false)),
        runs,
        quick,
        out,
        rows: row,
    };
    show(&bailiwick_bench::machine(&options, &mut tell)?)
}

/// Where the size of the large file is taken from that no flag gives.
const SIZE: &str = "BAILIWICK_BENCH_SIZE_MB";

/// Bytes of the large file of `bench disk`.
///
/// # Errors
/// [`Failure::Usage`] for a variable that is no such number.
fn size(given: Option<u64>) -> Result<u64, Failure> {
    let mib = match (given, std::env::var(SIZE)) {
        (Some(mib), _) => mib,
        (None, Err(_)) => 256,
        (None, Ok(text)) => text
            .parse()
            .ok()
            .filter(|mib| (1..=65_536).contains(mib))
            .ok_or_else(|| {
                let text = Text::from(text.as_str()).truncated(40);
                Failure::usage(format!(
                    "{SIZE} is \"{text}\": it has to be a number of MiB from 1 to 65536"
                ))
            })?,
    };
    Ok(mib << 20)
}
