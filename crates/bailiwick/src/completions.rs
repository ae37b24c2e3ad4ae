//! `bailiwick completions`.

use crate::Done;
use crate::cli::Cli;
use crate::output;
use clap::CommandFactory;
use clap_complete::Shell;

/// Prints a completion script.
pub(crate) fn completions(shell: Shell) -> Done {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "bailiwick", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
