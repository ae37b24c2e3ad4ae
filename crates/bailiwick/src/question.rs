//! A question to whoever sits at the terminal.

use crate::output;
use bailiwick_event::Failure;
use std::io::{BufRead as _, IsTerminal as _, stdin};

/// Whether a question is answered with yes.
///
/// # Errors
/// There is no terminal to ask at: `nobody` says what to do then.
pub(crate) fn agrees(question: &str, nobody: impl FnOnce() -> Failure) -> Result<bool, Failure> {
    if !stdin().is_terminal() {
        return Err(nobody());
    }
    output::print(&format!("{question} [y/N] "))?;
    let mut answer = String::new();
    let _ = stdin().lock().read_line(&mut answer);
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
