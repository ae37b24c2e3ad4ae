//! The command line: one file per subcommand, no logic of its own.
//!
//! Decision: the C library calls `main` itself. The standard library's start-up reads
//! `/proc/self/maps` to name a stack overflow, which would be a fiftieth of a whole run.
#![cfg_attr(not(test), no_main)]

mod apply;
mod bench;
mod boot;
mod ca;
mod cli;
mod completions;
#[cfg(all(any(test, target_env = "musl"), target_arch = "x86_64"))]
mod copying;
mod cp;
mod doctor;
mod fork;
mod har;
mod image;
mod inside;
mod keep;
mod log;
mod machine;
mod manual;
#[cfg(all(not(test), target_env = "gnu"))]
mod mathematics;
// The tests' own heap too, so that it is tested and linted wherever the tests are.
#[cfg(any(test, target_env = "musl"))]
#[cfg_attr(
    not(target_env = "musl"),
    allow(dead_code, unused_imports, reason = "what only `main` calls")
)]
mod memory;
mod output;
mod policy;
mod question;
mod rules;
mod run;
mod selection;
mod sessions;
mod setup;
mod why;

use bailiwick_event::Failure;
use bailiwick_sandbox::startup;
use clap::Parser;
use cli::{Cli, Command};
use std::ffi::OsString;

/// What the C library calls.
#[cfg(not(test))]
#[unsafe(no_mangle)]
extern "C" fn main(count: std::ffi::c_int, words: *const *const std::ffi::c_char) -> i32 {
    #[cfg(target_env = "musl")]
    memory::survive_forks();
    #[cfg(target_env = "musl")]
    memory::give_database();
    // Not every C library hands the words to the standard library before this.
    // SAFETY: the C library gives as many pointers as it counts, each to a word that ends in 0 and
    // stays as it is as long as the process lives.
    let words = (0..usize::try_from(count).unwrap_or(0))
        .map(|at| unsafe { std::ffi::CStr::from_ptr(*words.add(at)) })
        .map(|word| std::os::unix::ffi::OsStringExt::from_vec(word.to_bytes().to_vec()));
    i32::from(start(words.collect()))
}

/// Does what the command line says; returns the exit code.
#[cfg_attr(test, allow(dead_code))]
fn start(words: Vec<OsString>) -> u8 {
    startup::begin();
    let early = run::early(&words);
    let read = cli::quickly(words.iter().cloned()).map_or_else(|| Cli::try_parse_from(&words), Ok);
    let command = match read {
        Ok(cli) => cli.command,
        Err(error) => {
            let _ = error.print();
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
        Command::Suspend(arguments) => keep::suspend(&arguments),
        Command::Resume(arguments) => keep::resume(arguments),
        Command::Fork(arguments) => fork::fork(&arguments),
        Command::Cp(arguments) => cp::cp(&arguments),
        Command::Apply(arguments) => apply::apply(&arguments),
        Command::Stop(arguments) => keep::stop(&arguments),
        Command::Rm(arguments) => keep::rm(&arguments),
        Command::Serve(arguments) => run::serve(arguments, words),
        Command::Log(arguments) => log::log(&arguments),
        Command::Why(arguments) => why::why(&arguments),
        Command::Sessions(arguments) => sessions::sessions(&arguments),
        Command::Policy(arguments) => policy::policy(arguments),
        Command::Rules(arguments) => rules::rules(&arguments),
        Command::Image(arguments) => image::image(&arguments),
        Command::Boot(arguments) => boot::boot(&arguments),
        Command::Ca { command } => ca::ca(&command),
        Command::Doctor(arguments) => doctor::doctor(&arguments),
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
