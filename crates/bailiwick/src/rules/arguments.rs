//! The part of the table of subcommands that is about rules.

use crate::cli::SessionArgument;
use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct RulesArguments {
    #[command(subcommand)]
    pub(crate) command: RulesCommand,
}

#[derive(Subcommand)]
pub(crate) enum RulesCommand {
    /// Look for mistakes in packs (.toml) and Sigma rules (.yml)
    Check(RuleFiles),
    /// Run the examples that rules carry
    ///
    /// Exit codes: 0 every example is as its rule says; 1 one is not.
    Test(RuleFiles),
    /// Ask what rules would have done about recorded events
    Backtest(BacktestArguments),
    /// Find the recorded events that a condition is true of
    Hunt(HuntArguments),
    /// Show what each part of a rule's condition says about an event
    Explain {
        /// The rule; `#RULE` may be left out where the file has only one
        #[arg(value_name = "FILE#RULE")]
        rule: OsString,
        /// A line of a corpus (FILE:LINE), a row of a session (SESSION:NUMBER), or the event as JSON
        event: String,
    },
    /// Print a session's events as a corpus, one JSON object per line
    Export(SessionArgument),
    /// Print the pack that a file of Sigma rules becomes
    Convert {
        /// The Sigma rules
        file: PathBuf,
    },
    /// List the fields that a condition can ask for
    Fields {
        /// Only those of one type of event: http.request, dns.request, …
        #[arg(value_name = "TYPE")]
        event_type: Option<String>,
    },
    /// List the functions that a condition can call
    Functions,
    /// Show the rules of a run that goes on, and how often each was true
    List {
        #[command(flatten)]
        session: LiveSession,
        /// JSON instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Add the rules of files to a run that goes on: all of them, or none
    Add(LiveFiles),
    /// Put the rules of files in the place of those of their names; what they counted goes on
    Update(LiveFiles),
    /// Take rules out of a run that goes on
    Rm(LiveNames),
    /// Put rules of a run that goes on into force
    Enable(LiveNames),
    /// Put rules of a run that goes on out of force, without taking them away
    Disable(LiveNames),
}

#[derive(Args)]
pub(crate) struct LiveSession {
    /// The run's name (`run --name`), or its session's id or the beginning of it
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: String,
}

#[derive(Args)]
pub(crate) struct LiveFiles {
    #[command(flatten)]
    pub(crate) session: LiveSession,
    #[command(flatten)]
    pub(crate) files: RuleFiles,
}

#[derive(Args)]
pub(crate) struct LiveNames {
    #[command(flatten)]
    pub(crate) session: LiveSession,
    /// Names of rules
    #[arg(required = true, value_name = "RULE")]
    pub(crate) names: Vec<String>,
}

#[derive(Args)]
pub(crate) struct RuleFiles {
    /// Packs (.toml) and Sigma rules (.yml, .yaml)
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Args)]
pub(crate) struct BacktestArguments {
    #[command(flatten)]
    pub(crate) files: RuleFiles,
    /// Files of recorded events (JSONL), or sessions
    #[arg(long, required = true, num_args = 1.., value_name = "PATH|SESSION")]
    pub(crate) corpus: Vec<OsString>,
    #[command(flatten)]
    pub(crate) report: ReportArguments,
}

#[derive(Args)]
pub(crate) struct HuntArguments {
    /// The condition: 'dns.request.qname.domain("example.com")'
    #[arg(value_name = "EXPR")]
    pub(crate) condition: String,
    /// Files of recorded events (JSONL), or sessions
    #[arg(required = true, value_name = "PATH|SESSION")]
    pub(crate) corpus: Vec<OsString>,
    #[command(flatten)]
    pub(crate) report: ReportArguments,
}

#[derive(Args)]
pub(crate) struct ReportArguments {
    /// The most rows; what is not shown is counted
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: u32,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Pass over lines that are no events, and count them, instead of stopping at the first
    #[arg(long)]
    pub(crate) keep_going: bool,
}
