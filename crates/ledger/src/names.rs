//! Who goes on under a name: for each name a symbolic link to the folder of the session that took it
//! last. One call finds it, however many sessions there are; whether it still goes on the kernel's
//! lock says, so a link that a killed session left harms nobody.

use crate::state_dir::make_private;
use crate::{LedgerError, StateDir, journal};
use bailiwick_event::SessionId;
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::Path;

/// The session of this name that goes on, if there is one.
pub(crate) fn running(state: &StateDir, name: &str) -> Result<Option<SessionId>, LedgerError> {
    let id = holder(&state.name(name))?;
    let live =
        |id: &SessionId| journal::is_live(&state.sessions().join(id.as_str()).join("journal"));
    Ok(id.filter(live))
}

/// Gives the name to a session, whoever had it. The caller knows that nobody goes on under it, and
/// holds the lock under which names are given.
pub(crate) fn give(state: &StateDir, name: &str, id: &SessionId) -> Result<(), LedgerError> {
    let link = state.name(name);
    make_private(&state.names())?;
    let give = || {
        forgive(std::fs::remove_file(&link))?;
        symlink(Path::new("../sessions").join(id.as_str()), &link)
    };
    give().map_err(LedgerError::io("write", &link))
}

/// Takes the name back from the session that has it. To be called while its lock is held: until
/// then nobody else can have got the name.
pub(crate) fn take_back(link: &Path, id: &SessionId) -> Result<(), LedgerError> {
    match holder(link)? {
        Some(holder) if holder == *id => {
            forgive(std::fs::remove_file(link)).map_err(LedgerError::io("remove", link))
        }
        _ => Ok(()),
    }
}

/// Whom the link names, alive or not. A file that is no such link names nobody.
fn holder(link: &Path) -> Result<Option<SessionId>, LedgerError> {
    match std::fs::read_link(link) {
        Ok(target) => {
            let id = target.file_name().and_then(|id| id.to_str());
            Ok(id.and_then(|id| id.parse().ok()))
        }
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) => Ok(None),
        Err(e) => Err(LedgerError::io("read", link)(e)),
    }
}

/// That there was nothing to remove is no error.
fn forgive(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
