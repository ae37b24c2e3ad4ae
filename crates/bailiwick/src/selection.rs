//! Which session a person means.

use bailiwick_event::Failure;
use bailiwick_ledger::{SessionInfo, SessionReader, Sessions, StateDir};

/// Every session of the user.
pub(crate) fn sessions() -> Result<Sessions, Failure> {
    Ok(Sessions::open(&StateDir::from_environment()?))
}

/// A session by its id, the beginning of it, its name, or `latest`.
pub(crate) fn find(query: &str) -> Result<(SessionInfo, SessionReader), Failure> {
    let sessions = sessions()?;
    let info = sessions.find(query)?;
    let reader = sessions.reader(&info.id)?;
    Ok((info, reader))
}

/// A point in time as people write it, in UTC.
pub(crate) fn time(nanoseconds: u64) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(nanoseconds))
        .map(|t| t.strftime("%Y-%m-%d %H:%M:%S%.3f").to_string())
        .unwrap_or_default()
}
