//! The attacker: tries acts, each in a process of its own, and says what came of each.

use crate::field::Field;
use crate::sys::{self, Ended};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// This executable, as a path that can be copied.
pub(crate) fn executable() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// How many milliseconds an act may take, on the busiest machine.
const PATIENCE: u64 = 60_000;

/// Tries the acts of these rows; prints `ROW`, a tab and `done` or what stopped it.
pub(crate) fn attack(field: &Path, ids: &[String]) -> i32 {
    let rows = crate::table::rows();
    let Ok(field) = Field::read(field) else {
        return 2;
    };
    say("began", "");
    for id in ids {
        let Some(row) = rows.iter().find(|row| row.id == id) else {
            return 2;
        };
        let field = field.of(id);
        let act = row.act;
        let tried = sys::fork(|| {
            let word = match act(&field) {
                Ok(()) => "done".to_owned(),
                Err(error) => match error.raw_os_error() {
                    Some(errno) => sys::name(errno),
                    None => {
                        eprintln!("{id}: {error}");
                        "nothing".to_owned()
                    }
                },
            };
            say(id, &word);
            0
        });
        match tried.map(|pid| sys::wait(pid, PATIENCE)) {
            Ok(Ended::Code(_)) => {}
            Ok(Ended::Signal(libc::SIGSYS)) => say(id, "SIGSYS"),
            Ok(Ended::Signal(signal)) => say(id, &format!("signal-{signal}")),
            Ok(Ended::TooLong) => say(id, "too long"),
            Err(_) => say(id, "no process"),
        }
    }
    0
}

/// One line, in one write: the acts share the stream.
fn say(id: &str, word: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(format!("{id}\t{word}\n").as_bytes());
    let _ = out.flush();
}
