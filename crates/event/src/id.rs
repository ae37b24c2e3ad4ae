//! Names of sessions. They sort by time, so that a listing needs no index, and are safe as a
//! file name, so that no caller has to escape them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The name of a session: `20261120-114501-3f9a2c`, the UTC time of its start and a random part.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

/// A text that is not the name of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidSessionId(String);

impl SessionId {
    /// The name of a session that starts `seconds` after the Unix epoch; `random` tells sessions
    /// of one second apart (its low 24 bits are used).
    #[must_use]
    pub fn new(seconds: u64, random: u32) -> Self {
        let (days, rest) = (seconds / 86_400, seconds % 86_400);
        let (year, month, day) = civil(days);
        Self(format!(
            "{year:04}{month:02}{day:02}-{:02}{:02}{:02}-{:06x}",
            rest / 3600,
            rest / 60 % 60,
            rest % 60,
            random & 0xff_ffff
        ))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Days since 1970-01-01 as a date of the Gregorian calendar (year, month, day).
fn civil(days: u64) -> (u64, u64, u64) {
    // Counted from 0000-03-01, so that the leap day is the last day of a year.
    let z = days + 719_468;
    let era = z / 146_097;
    let doe = z % 146_097;
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (
        yoe + era * 400 + u64::from(month <= 2),
        month,
        doy - (153 * mp + 2) / 5 + 1,
    )
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Display for InvalidSessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\"{}\" is not the name of a session; `bailiwick sessions list` shows them",
            self.0.escape_default()
        )
    }
}
impl std::error::Error for InvalidSessionId {}

impl FromStr for SessionId {
    type Err = InvalidSessionId;

    fn from_str(s: &str) -> Result<Self, InvalidSessionId> {
        let shape = |(i, b): (usize, u8)| match i {
            8 | 15 => b == b'-',
            0..=14 => b.is_ascii_digit(),
            _ => matches!(b, b'0'..=b'9' | b'a'..=b'f'),
        };
        if s.len() == 22 && s.bytes().enumerate().all(shape) {
            Ok(Self(s.to_owned()))
        } else {
            Err(InvalidSessionId(s.to_owned()))
        }
    }
}

impl TryFrom<String> for SessionId {
    type Error = InvalidSessionId;
    fn try_from(s: String) -> Result<Self, InvalidSessionId> {
        s.parse()
    }
}
impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_named_after_the_second_it_started() {
        let id = SessionId::new(1_795_174_367, 0x3f_9a2c);
        assert_eq!(id.as_str(), "20261120-113247-3f9a2c");
        assert_eq!(id.as_str().parse::<SessionId>(), Ok(id));
        assert_eq!(
            SessionId::new(951_782_400, 0).as_str(),
            "20000229-000000-000000"
        );
    }

    #[test]
    fn a_path_is_not_the_name_of_a_session() {
        for bad in [
            "",
            "../../etc/passwd",
            "20261120-113247-3f9a2",
            "20261120-113247-3f9a2G",
        ] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad}");
        }
    }
}
