//! The command line: one file per subcommand, no logic of its own.

mod bench;
mod cli;
mod completions;
mod doctor;
mod log;
mod manual;
mod output;
mod policy;
mod run;
mod selection;
mod sessions;
mod why;

use bailiwick_event::Failure;
use clap::Parser;
use cli::{Cli, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let done = match cli.command {
        Command::Run(arguments) => run::run(arguments),
        Command::Shell(arguments) => run::shell(arguments),
        Command::Log(arguments) => log::log(&arguments),
        Command::Why(arguments) => why::why(&arguments),
        Command::Sessions(arguments) => sessions::sessions(&arguments),
        Command::Policy(arguments) => policy::policy(arguments),
        Command::Doctor => doctor::doctor(),
        Command::Bench(arguments) => bench::bench(arguments),
        Command::Completions { shell } => completions::completions(shell),
        Command::Manual => manual::manual(),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            output::complain(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

/// What every subcommand returns: the exit code, or why there is none.
type Done = Result<u8, Failure>;
