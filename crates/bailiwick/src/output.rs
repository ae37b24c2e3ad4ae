//! Output to people and to pipes. A reader that went away ends the output, not the program.

use bailiwick_event::Failure;
use std::io::{ErrorKind, IsTerminal, Write, stderr, stdout};

/// Writes to stdout.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::fault(format!("stdout cannot be written: {e}")))
        }
        _ => Ok(()),
    }
}

/// Says on stderr why there is no result.
pub(crate) fn complain(failure: &Failure) {
    let _ = writeln!(stderr().lock(), "bailiwick: {failure}");
}

/// Says on stderr what is not the result.
pub(crate) fn note(text: &str) {
    let _ = writeln!(stderr().lock(), "{text}");
}

/// The width of a table: the terminal's, or wide enough for a log file.
pub(crate) fn table() -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    if stdout().is_terminal() {
        table.set_content_arrangement(comfy_table::ContentArrangement::Dynamic);
    }
    table
}
