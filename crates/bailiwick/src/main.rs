//! The command line: one file per subcommand, no logic of its own.
//!
//! Decision: the C library calls `main` itself. The standard library's start-up reads
//! `/proc/self/maps` to name a stack overflow, which would be a fiftieth of a whole run.
#![cfg_attr(not(test), no_main)]

mod bench;
mod cli;
mod completions;
mod doctor;
mod log;
mod manual;
#[cfg(not(test))]
mod mathematics;
mod output;
mod policy;
mod run;
mod selection;
mod sessions;
mod setup;
mod why;

use bailiwick_event::Failure;
use bailiwick_sandbox::startup;
use clap::Parser;
use cli::{Cli, Command};

/// What the C library calls. The arguments are those of `std::env::args_os`, which on Linux does
/// not depend on the standard library's start-up.
#[cfg(not(test))]
#[unsafe(no_mangle)]
extern "C" fn main(_count: std::ffi::c_int, _words: *const *const std::ffi::c_char) -> i32 {
    i32::from(start())
}

/// Does what the command line says; returns the exit code.
#[cfg_attr(test, allow(dead_code))]
fn start() -> u8 {
    startup::begin();
    let early = run::early();
    let command = match cli::quickly(std::env::args_os()).map_or_else(Cli::try_parse, Ok) {
        Ok(cli) => cli.command,
        Err(error) => {
            let _ = error.print();
            let words: Vec<_> = std::env::args_os().collect();
            let bare = error.kind() == clap::error::ErrorKind::UnknownArgument
                && words
                    .get(1)
                    .is_some_and(|word| word == "run" || word == "shell" || word == "exec");
            if bare {
                eprintln!("\nThe command stands after `--`: bailiwick run -- npm test");
            }
            return if error.use_stderr() { 2 } else { 0 };
        }
    };
    let done = match command {
        Command::Run(arguments) => run::run(arguments, early),
        Command::Shell(arguments) => run::shell(arguments),
        Command::Exec(arguments) => run::exec(arguments),
        Command::Serve(arguments) => run::serve(arguments),
        Command::Log(arguments) => log::log(&arguments),
        Command::Why(arguments) => why::why(&arguments),
        Command::Sessions(arguments) => sessions::sessions(&arguments),
        Command::Policy(arguments) => policy::policy(arguments),
        Command::Doctor => doctor::doctor(),
        Command::Setup(arguments) => setup::setup(&arguments),
        Command::Bench(arguments) => bench::bench(arguments),
        Command::Completions { shell } => completions::completions(shell),
        Command::Manual => manual::manual(),
    };
    match done {
        Ok(code) => code,
        Err(failure) => {
            output::complain(&failure);
            failure.exit_code()
        }
    }
}

/// What every subcommand returns: the exit code, or why there is none.
type Done = Result<u8, Failure>;
