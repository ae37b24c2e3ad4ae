//! Output to people and to pipes. A reader that went away ends the output, not the program.

use bailiwick_event::{Failure, harmless};
use std::io::{ErrorKind, IsTerminal, Write, stderr, stdout};

/// Writes to stdout.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// The same for what a stranger wrote: as it is for a file, harmless for a terminal.
pub(crate) fn print_foreign(bytes: &[u8]) -> Result<(), Failure> {
    if stdout().is_terminal() {
        let text = String::from_utf8_lossy(bytes);
        let shown = |c: char| match c {
            '\n' | '\t' => c,
            c if harmless(c) => c,
            _ => '\u{fffd}',
        };
        return print(&text.chars().map(shown).collect::<String>());
    }
    print_bytes(bytes)
}

fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
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
