//! What `bailiwick bench` is told.

use super::machine::{ChannelBench, DiskBench, HttpBench, MachineBench};
use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct BenchArguments {
    #[command(subcommand)]
    pub(crate) command: BenchCommand,
}

#[derive(Subcommand)]
pub(crate) enum BenchCommand {
    /// Compare the time of commands without and with a sandbox, ours and every other on PATH
    ///
    /// Exit codes: 0 every row passed; 1 a row failed; 3 nothing failed, but a row is inconclusive.
    Overhead {
        /// The binary to measure [default: this one]
        #[arg(long, value_name = "PATH")]
        binary: Option<PathBuf>,
        /// Samples per row and system
        #[arg(long, default_value_t = 50)]
        runs: u32,
        /// Few samples, for a first look; never for publication
        #[arg(long)]
        quick: bool,
        /// Where the evidence goes
        #[arg(long, default_value = "./benchmarks")]
        out: PathBuf,
        /// Measure a request to a loopback server as well
        #[arg(long)]
        network: bool,
        /// Measure another build of this program in turns with the binary, and nothing else
        #[arg(long, value_name = "PATH", conflicts_with = "peer")]
        against: Option<PathBuf>,
        /// Only these other sandboxes; may be given again [default: all on PATH]
        #[arg(long, value_name = "NAME")]
        peer: Vec<String>,
        /// Only rows and limits with this in their name; may be given again [default: all]
        #[arg(long, value_name = "NAME")]
        row: Vec<String>,
        /// Count programs, system calls, context switches and page faults as well, in further runs
        /// that are not timed; with --runs 0 count alone
        #[arg(long)]
        counters: bool,
    },
    /// Measure what the gate costs programs: HTTPS that it looks into, crowds, names
    ///
    /// Client and server are on this machine's loopback, and what goes through the gate takes turns
    /// with the same client without a sandbox. Exit codes: as those of `bench overhead`.
    Gate {
        /// The binary to measure [default: this one]
        #[arg(long, value_name = "PATH")]
        binary: Option<PathBuf>,
        /// Few samples, for a first look; never for publication
        #[arg(long, conflicts_with = "full")]
        quick: bool,
        /// Also the rows that take minutes: a body of 10 GB, 10,000 connections
        #[arg(long)]
        full: bool,
        /// Where the evidence goes
        #[arg(long, default_value = "./benchmarks")]
        out: PathBuf,
        /// Only rows with this in their name; may be given again [default: all but those of --full]
        #[arg(long, value_name = "NAME")]
        row: Vec<String>,
    },
    /// Measure refusals by a rule that is added to a run while it goes on
    ///
    /// Each is counted four times, and all counts must be exactly the same: by the program that was
    /// refused, by the rule, in the ledger, and in the log. Exit codes: as those of `bench overhead`.
    Enforce {
        /// What is refused
        what: EnforceWhat,
        /// The binary to measure [default: this one]
        #[arg(long, value_name = "PATH")]
        binary: Option<PathBuf>,
        /// Fresh processes that are refused, after one that warms up
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(8..=10_000))]
        runs: u32,
        /// Few samples, for a first look; never for publication
        #[arg(long)]
        quick: bool,
        /// Where the evidence goes
        #[arg(long, default_value = "./benchmarks")]
        out: PathBuf,
    },
    /// Measure starts of machines beside the bare kernel's
    ///
    /// A bare machine has the same QEMU, board and kernel, no device, and a first program that says a
    /// word. Exit codes: as those of `bench overhead`.
    Boot(MachineBench),
    /// Measure a session's life: provision, first command, exec, delete, memory, copies of a template
    ///
    /// Exit codes: as those of `bench overhead`.
    Lifecycle(MachineBench),
    /// Measure copies of a session that runs: how long until they answer, how long it stands still
    ///
    /// Exit codes: as those of `bench overhead`.
    Fork(MachineBench),
    /// Measure files of the workspace: natively, in a process sandbox, in machines, beside bare 9P and
    /// virtiofsd
    ///
    /// Exit codes: as those of `bench overhead`.
    Disk(DiskBench),
    /// Measure the system's own files: natively, in a process sandbox, in a machine
    ///
    /// Exit codes: as those of `bench overhead`.
    Rootfs(MachineBench),
    /// Measure starts of python3, node, claude, gemini and codex: natively, in a process sandbox, in a
    /// machine
    ///
    /// Exit codes: as those of `bench overhead`.
    Startup(MachineBench),
    /// Measure requests through the gate: on the host, in a process sandbox, in a machine
    ///
    /// Succeeded and failed requests of each side are in the evidence. Exit codes: as those of `bench
    /// overhead`.
    Http(HttpBench),
    /// Measure the capability kernel's start and primitives, beside those of the kernel of virtual machines
    ///
    /// Both under the same QEMU, in one run. Exit codes: as those of `bench overhead`.
    Capos(MachineBench),
    /// Measure a machine's channel, and a download through the gate beside it
    ///
    /// Exit codes: as those of `bench overhead`.
    Throughput(MachineBench),
    /// Load the channel of one machine (used by `bench throughput`)
    #[command(hide = true)]
    Channel(ChannelBench),
    /// Compare two evidence files
    Compare {
        /// The first
        a: PathBuf,
        /// The second
        b: PathBuf,
    },
    /// Time a command from inside a sandbox (used by `bench overhead`)
    #[command(hide = true)]
    Inside {
        /// How often
        #[arg(long)]
        runs: u32,
        /// The command
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Time a command that enters a run through one connection (used by `bench overhead`)
    #[command(hide = true)]
    Connected {
        /// How often
        #[arg(long)]
        runs: u32,
        /// The run
        session: String,
        /// The command
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Count what a command does (used by `bench overhead --counters`)
    #[command(hide = true)]
    Count {
        /// `calls` or `switches`
        kind: String,
        /// The command
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Be a client of servers and name servers (used by `bench gate` and `bench enforce`)
    #[command(hide = true)]
    Load {
        /// Something else than to take jobs from standard input
        role: Vec<OsString>,
    },
    /// Do one act many times (used by `bench overhead`)
    #[command(hide = true)]
    Act {
        /// `read` or `create`
        kind: String,
        /// How often
        count: usize,
        /// The file that is read, or the folder of what is created
        path: OsString,
    },
}

/// What `bench enforce` has refused.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum EnforceWhat {
    /// Names that are looked up
    Dns,
    /// Requests within TLS
    Http,
    /// Commands that enter by `bailiwick exec`
    Exec,
}
