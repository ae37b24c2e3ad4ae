//! `bailiwick manual`.

use crate::Done;
use crate::cli::Cli;
use crate::output;
use bailiwick_event::Failure;
use clap::CommandFactory;

/// Prints the manual page: the program, then each subcommand.
pub(crate) fn manual() -> Done {
    let mut page = Vec::new();
    let mut command = Cli::command();
    command.build();
    let rendered = clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .and_then(|()| {
            command
                .get_subcommands()
                .filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
                .try_for_each(|sub| clap_mangen::Man::new(sub.clone()).render(&mut page))
        });
    rendered.map_err(|e| Failure::fault(format!("the manual page: {e}")))?;
    output::print(&String::from_utf8_lossy(&page))?;
    Ok(0)
}
