//! The one table of subcommands and flags. Help, the manual page, completions and
//! `docs/cli.md` are made from it and from nothing else. Its parts about rules, images, benches
//! and sessions that are kept stand with what they do.

use crate::apply::ApplyArguments;
use crate::bench::BenchArguments;
use crate::boot::BootArguments;
use crate::cp::CpArguments;
use crate::fork::ForkArguments;
use crate::image::ImageArguments;
use crate::keep::{ResumeArguments, RmArguments, StopArguments, SuspendArguments};
use crate::machine::{MachineArguments, disk_size};
use crate::rules::RulesArguments;
use bailiwick_event::Boundary;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

const VERSION: &str = if cfg!(debug_assertions) {
    concat!(env!("CARGO_PKG_VERSION"), " (debug)")
} else {
    concat!(env!("CARGO_PKG_VERSION"), " (release)")
};

/// A sandbox for AI agents and any other command you do not fully trust.
///
/// Exit codes: the command's own (128 + n for signal n); 127 not found; 126 refused by policy or
/// not executable; 2 wrong usage; 125 a fault of bailiwick or the machine.
#[derive(Parser)]
#[command(name = "bailiwick", version = VERSION, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Reads `run …` or `exec …` alone: the table of every subcommand takes longer to build than such a line to
/// read. None where the line is another or has mistakes, which the whole table explains.
pub(crate) fn quickly(words: impl Iterator<Item = OsString>) -> Option<Cli> {
    let words = words.skip(1);
    let mut words = words.peekable();
    let command = match words.peek()?.to_str()? {
        "run" => Command::Run(read("run", words)?),
        "exec" => Command::Exec(read("exec", words)?),
        _ => return None,
    };
    Some(Cli { command })
}

/// Reads the arguments of one subcommand.
fn read<T: Args>(name: &'static str, words: impl Iterator<Item = OsString>) -> Option<T> {
    let table = T::augment_args(clap::Command::new(name)).disable_help_flag(true);
    let matches = table.try_get_matches_from(words).ok()?;
    T::from_arg_matches(&matches).ok()
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a command with exactly the authority that its policy gives
    Run(RunArguments),
    /// Start your shell in a sandbox
    Shell(Common),
    /// Run one more command in a sandbox that runs, with that sandbox's authority
    Exec(ExecArguments),
    /// Save a session with a disk of its own, memory and open files included, and end it
    Suspend(SuspendArguments),
    /// Let a session that was suspended go on, attached to this terminal
    Resume(ResumeArguments),
    /// Copy a session with a disk of its own while it runs; the copies run on in the background
    Fork(ForkArguments),
    /// Copy files into a machine or out of it: `bailiwick cp work:/tmp/x .`
    Cp(CpArguments),
    /// Bring what a session has changed on its disk into the workspace, as far as its policy lets it
    Apply(ApplyArguments),
    /// End a session
    Stop(StopArguments),
    /// Remove sessions, with their records and disks
    Rm(RmArguments),
    /// Keep sandboxes waiting, so that `run` with this policy and workspace starts at once
    Serve(ServeArguments),
    /// Show what a session tried and what was decided
    Log(LogArguments),
    /// Explain one row of the log
    Why(WhyArguments),
    /// List, show and remove sessions
    Sessions(SessionsArguments),
    /// Check, show, start, import and trust policies
    Policy(PolicyArguments),
    /// Check, test and convert rules, and ask them about recorded events
    Rules(RulesArguments),
    /// Build, list, check and remove the images of micro-VMs
    Image(ImageArguments),
    /// Start a machine with an empty policy, and show how long that takes
    Boot(BootArguments),
    /// Show, give away or replace the certificate authority of this installation
    ///
    /// The gate issues certificates in its name for machines whose TLS the policy asks it to look
    /// into; programs in a sandbox trust it, and nothing else does.
    Ca {
        #[command(subcommand)]
        command: CaCommand,
    },
    /// Show which layers this machine can give, and how to mend those that it cannot
    ///
    /// With `--backend vm` it starts machines and checks, from inside of them, that they are what they
    /// are said to be. Exit codes: 0 all is as it should be; 1 something is not.
    Doctor(DoctorArguments),
    /// Change what only root can change, so that every layer and limit is to be had
    ///
    /// Without root it shows what would be done.
    Setup(SetupArguments),
    /// Measure what a sandbox costs, with evidence
    Bench(BenchArguments),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page (`bailiwick manual | man -l -`)
    Manual,
}

/// Where a sandbox's authority comes from.
#[derive(Args, Clone, Debug)]
pub(crate) struct Common {
    /// A policy file, or the name of a template; may be given again [default: template `default`]
    #[arg(long, short, value_name = "FILE|TEMPLATE")]
    pub(crate) policy: Vec<String>,
    /// The workspace, where relative paths of templates and of the user's policy begin [default: the
    /// current folder]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// A name for the session, by which `bailiwick exec` finds it
    #[arg(long, value_name = "N")]
    pub(crate) name: Option<String>,
    /// Set a variable inside; may be given again
    #[arg(long, short, value_name = "K=V", value_parser = parse_variable)]
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Show refusals on stderr as they happen
    #[arg(long)]
    pub(crate) monitor: bool,
    /// Print the last line of the run as JSON (on stderr)
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
    /// Of `--backend vm`: give the machine a disk of its own, with a copy of the workspace, instead of
    /// the workspace itself [default size: 8GiB, of which what is written is used]
    #[arg(long, value_name = "SIZE", num_args = 0..=1, require_equals = true, value_parser = disk_size)]
    #[expect(clippy::option_option, reason = "not given, given, given with a size")]
    pub(crate) disk: Option<Option<u64>>,
    /// Do without the layers that this machine does not have; what is missing is said and recorded
    #[arg(long)]
    pub(crate) best_effort: bool,
    /// Print the stages of the start and their times on stderr, after the run
    #[arg(long)]
    pub(crate) trace_startup: bool,
    /// Make a sandbox even where one waits (see `bailiwick serve`), and start a machine even where a
    /// template of it can be copied
    #[arg(long)]
    pub(crate) cold: bool,
    /// Accept a workspace, or an entry of the policy's `write`, that is the home directory or holds bailiwick's own files
    #[arg(long)]
    pub(crate) allow_wide_workspace: bool,
}

#[derive(Args, Debug)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Run this line of shell (`sh -c`)
    #[arg(short = 'c', value_name = "STRING", conflicts_with = "command")]
    pub(crate) line: Option<OsString>,
    /// The command and its arguments
    #[arg(required_unless_present = "line", last = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args, Debug)]
pub(crate) struct ExecArguments {
    /// The run's name (`run --name`), or its session's id or the beginning of it
    pub(crate) session: String,
    /// Set a variable inside; may be given again
    #[arg(long, short, value_name = "K=V", value_parser = parse_variable)]
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Run this line of shell (`sh -c`)
    #[arg(short = 'c', value_name = "STRING", conflicts_with = "command")]
    pub(crate) line: Option<OsString>,
    /// The command and its arguments
    #[arg(required_unless_present = "line", last = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args)]
pub(crate) struct ServeArguments {
    #[command(flatten)]
    pub(crate) source: PolicySource,
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
    /// How many sandboxes wait at a time
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) keep: u16,
    /// Do without the layers that this machine does not have, for runs that do
    #[arg(long)]
    pub(crate) best_effort: bool,
    /// Accept a workspace, or an entry of the policy's `write`, that is the home directory or holds bailiwick's own files
    #[arg(long)]
    pub(crate) allow_wide_workspace: bool,
    /// Be one of the sandboxes that wait
    #[arg(long, hide = true)]
    pub(crate) spare: bool,
}

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LogArguments {
    #[command(subcommand)]
    pub(crate) command: Option<LogCommand>,
    #[command(flatten)]
    pub(crate) session: SessionArgument,
    /// Only what was refused
    #[arg(long)]
    pub(crate) denied: bool,
    /// Only files that the run has made or changed and that programs of the host obey
    #[arg(long, conflicts_with = "denied")]
    pub(crate) handover: bool,
    /// Only one boundary: exec, file, dns, http, mcp, model, socket, limit, session
    #[arg(long, value_name = "B")]
    pub(crate) boundary: Option<Boundary>,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// The HTTP requests in HAR 1.2, the format of browsers and proxies; without headers and HTTP
    /// versions, which are not recorded, and bodies but for those that are kept. A refusal is a 403
    #[arg(long, conflicts_with_all = ["denied", "handover", "boundary", "json", "follow"])]
    pub(crate) har: bool,
    /// A body that was kept (`[network] keep_bodies`), by the name that its row has
    #[arg(long, value_name = "HASH", conflicts_with_all = ["denied", "handover", "boundary", "json", "follow", "har"])]
    pub(crate) body: Option<String>,
    /// Go on until the session ends
    #[arg(long)]
    pub(crate) follow: bool,
}

#[derive(Subcommand)]
pub(crate) enum LogCommand {
    /// Prove that no row was changed, added or removed
    Verify(SessionArgument),
}

#[derive(Args)]
pub(crate) struct SessionArgument {
    /// A session's id, the beginning of it, its name, or `latest`
    #[arg(default_value = "latest")]
    pub(crate) session: String,
}

#[derive(Args)]
pub(crate) struct WhyArguments {
    /// The number of a row of the latest session, or SESSION/NUMBER
    pub(crate) event: String,
}

#[derive(Args)]
pub(crate) struct SessionsArguments {
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
}

#[derive(Subcommand)]
pub(crate) enum SessionsCommand {
    /// One line per session, the newest last
    List {
        /// One JSON object per line
        #[arg(long)]
        json: bool,
        /// Show the newest so many, and how many more there are [default: 50; with --json: all]
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// One session: how it went, whether its record is intact, and its policy in short
    Show {
        #[command(flatten)]
        session: SessionArgument,
        /// Print the whole policy that was in force, as TOML, and nothing else
        #[arg(long)]
        policy: bool,
    },
    /// Remove the records of sessions that have ended
    Rm {
        /// Ids, beginnings of ids, or names that one session has
        #[arg(required = true)]
        sessions: Vec<String>,
    },
}

#[derive(Args)]
pub(crate) struct PolicyArguments {
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

#[derive(Subcommand)]
pub(crate) enum PolicyCommand {
    /// Look for mistakes in policy files
    Check {
        /// The files [default: ./bailiwick.toml]
        files: Vec<PathBuf>,
    },
    /// Show the policy that a run would have, and where each line comes from
    Show {
        #[command(flatten)]
        source: PolicySource,
        /// Say whether a path or a host can be reached, and which line decides
        #[arg(long, value_name = "PATH|HOST")]
        explain: Option<OsString>,
    },
    /// Write a commented policy to start from
    New {
        /// The template that it extends
        #[arg(default_value = "default")]
        template: String,
        /// The file; `-` for stdout
        #[arg(long, short, default_value = "bailiwick.toml")]
        output: PathBuf,
    },
    /// Write a policy from another tool's configuration; what is not carried over stands on stderr
    Import {
        /// Whose configuration it is
        tool: ImportTool,
        /// The configuration
        file: PathBuf,
        /// The policy file, which must not exist [default: stdout]
        #[arg(long, short, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Print the JSON schema of policy files
    Schema,
    /// Trust the project's policy, and hosts that its files give to sets, after showing what changed
    Trust {
        #[command(flatten)]
        source: PolicySource,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// The tools whose configuration can be imported.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ImportTool {
    /// Fence: fence.json, fence.jsonc
    Fence,
    /// Claude Code: settings.json
    Claude,
    /// The sandbox runtime srt: .srt-settings.json
    Srt,
    /// Codex: config.toml
    Codex,
}

#[derive(Args)]
pub(crate) struct PolicySource {
    /// A policy file, or the name of a template; may be given again
    #[arg(long, short, value_name = "FILE|TEMPLATE")]
    pub(crate) policy: Vec<String>,
    /// The workspace [default: the current folder]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct SetupArguments {
    /// What to change
    pub(crate) what: SetupWhat,
    /// Take the change back
    #[arg(long)]
    pub(crate) remove: bool,
    /// Only show the file and the command
    #[arg(long)]
    pub(crate) print: bool,
}

/// What `setup` can change.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum SetupWhat {
    /// A profile that lets this binary make user namespaces (Ubuntu 23.10 and later)
    Apparmor,
    /// Controllers for the users' own control groups, so that their limits are exact
    Delegate,
}

/// Reads `K=V`.
fn parse_variable(text: &str) -> Result<(OsString, OsString), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => {
            Ok((OsStr::new(key).to_owned(), OsStr::new(value).to_owned()))
        }
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

#[cfg(test)]
#[path = "cli_tests.rs"]
mod tests;

#[derive(Args)]
pub(crate) struct DoctorArguments {
    /// Try instead whether the programs of this machine trust, in a sandbox, the authority in whose
    /// name the gate looks into TLS
    #[arg(long, conflicts_with_all = ["backend", "json", "junit", "only"])]
    pub(crate) tls: bool,
    #[command(flatten)]
    pub(crate) machine: MachineArguments,
    /// Of `--backend vm`: start a kernel even where a template of the machine can be copied
    #[arg(long)]
    pub(crate) cold: bool,
    /// Of `--backend vm`: only checks whose names begin so; may be given again [default: all]
    #[arg(long, value_name = "CHECK")]
    pub(crate) only: Vec<String>,
    /// Of `--backend vm`: one JSON object per check and line
    #[arg(long)]
    pub(crate) json: bool,
    /// Of `--backend vm`: write the result as JUnit XML as well
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

#[derive(Subcommand)]
pub(crate) enum CaCommand {
    /// Where it is kept and its fingerprint
    Show,
    /// Print its certificate as PEM, which holds no key; it is made where there is none
    Export,
    /// Make another one in its place
    Rotate,
}
