//! Times and durations (CEL specification, *Timestamps and Durations*): nanoseconds in 128 bits,
//! within the ranges of the protocol-buffer types.

use super::{ErrorKind, EvalError, Value};
use crate::check::Function;
use jiff::Timestamp;
use jiff::tz::TimeZone;

const SECOND: i128 = 1_000_000_000;
/// 0001-01-01T00:00:00Z.
const FIRST: i128 = -62_135_596_800 * SECOND;
/// 9999-12-31T23:59:59.999999999Z.
const LAST: i128 = 253_402_300_800 * SECOND - 1;
/// About 10,000 years.
const LONGEST: i128 = 315_576_000_000 * SECOND;

pub(super) fn in_time_range<'a>(nanos: i128) -> Result<Value<'a>, EvalError> {
    if (FIRST..=LAST).contains(&nanos) {
        return Ok(Value::Time(nanos));
    }
    Err(EvalError::new(
        ErrorKind::Overflow,
        "a timestamp lies between the years 1 and 9999",
    ))
}

pub(super) fn in_duration_range<'a>(nanos: i128) -> Result<Value<'a>, EvalError> {
    if nanos.abs() <= LONGEST {
        return Ok(Value::Duration(nanos));
    }
    Err(EvalError::new(
        ErrorKind::Overflow,
        "a duration is at most 315,576,000,000 seconds",
    ))
}

/// What RFC 3339 writes so.
pub(crate) fn parse_timestamp(text: &str) -> Result<i128, String> {
    let bad = || {
        let shown: String = text.chars().take(40).collect();
        format!("\"{shown}\" is no time; write 2026-11-20T08:30:00Z")
    };
    let b = text.as_bytes();
    let digits = |from: usize, to: usize| -> Option<i64> {
        let part = b.get(from..to)?;
        let digit = |n: Option<i64>, b: &u8| {
            Some(n? * 10 + i64::from(b.checked_sub(b'0').filter(|d| *d < 10)?))
        };
        part.iter().fold(Some(0), digit)
    };
    let mark = |at: usize, marks: &[u8]| b.get(at).is_some_and(|b| marks.contains(b));
    let parse = || {
        let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
        let (hour, minute, second) = (digits(11, 13)?, digits(14, 16)?, digits(17, 19)?);
        let marked =
            mark(4, b"-") && mark(7, b"-") && mark(10, b"Tt") && mark(13, b":") && mark(16, b":");
        if !marked || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let mut at = 19;
        let mut nanos = 0;
        if mark(19, b".") {
            let end = (20..b.len())
                .find(|at| !b[*at].is_ascii_digit())
                .unwrap_or(b.len());
            if end == 20 || end > 29 {
                return None;
            }
            nanos = digits(20, end)? * 10i64.pow(u32::try_from(29 - end).ok()?);
            at = end;
        }
        let offset = match b.get(at..)? {
            [b'Z' | b'z'] => 0,
            [sign @ (b'+' | b'-'), rest @ ..] if rest.len() == 5 && rest[2] == b':' => {
                let (hours, minutes) = (digits(at + 1, at + 3)?, digits(at + 4, at + 6)?);
                if hours > 23 || minutes > 59 {
                    return None;
                }
                let seconds = hours * 3600 + minutes * 60;
                if *sign == b'-' { -seconds } else { seconds }
            }
            _ => return None,
        };
        let days = days(year, month, day);
        if Civil::of(days) != (Civil { year, month, day }) {
            return None;
        }
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset;
        Some(i128::from(seconds) * SECOND + i128::from(nanos))
    };
    let nanos = parse().ok_or_else(bad)?;
    in_time_range(nanos).map_err(|e| e.to_string())?;
    Ok(nanos)
}

/// What is written as `1h30m`, `-1.5s`, `10ms`.
pub(crate) fn parse_duration(text: &str) -> Result<i128, String> {
    const UNITS: [(&str, i128); 7] = [
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", SECOND),
        ("m", 60 * SECOND),
        ("h", 3600 * SECOND),
    ];
    let bad = || {
        let shown: String = text.chars().take(40).collect();
        format!("\"{shown}\" is no duration; write 90s, 1h30m or 10ms")
    };
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(bad());
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or_else(bad)?;
        let (number, after) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let unit_end = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let unit = UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(bad)?
            .1;
        let none = whole.is_empty() && fraction.is_empty();
        if none || fraction.contains('.') || number.len() > 24 || fraction.len() > 12 {
            return Err(bad());
        }
        let count = |digits: &str| match digits {
            "" => Ok(0),
            digits => digits.parse::<i128>().map_err(|_| bad()),
        };
        let scale = 10i128.pow(u32::try_from(fraction.len()).unwrap_or(0));
        let part = count(whole)?.checked_mul(unit).ok_or_else(bad)?;
        let below = count(fraction)? * unit / scale;
        total = total.checked_add(part + below).ok_or_else(bad)?;
        rest = after;
    }
    let total = if negative { -total } else { total };
    in_duration_range(total).map_err(|e| e.to_string())?;
    Ok(total)
}

/// A date of the Gregorian calendar, as RFC 3339 counts it before 1582 too.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Civil {
    year: i64,
    month: i64,
    day: i64,
}

/// Days from 1970-01-01 to a date. The years begin in March there, so that the leap day is the
/// last of them.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

impl Civil {
    fn of(days: i64) -> Self {
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let of_era = shifted.rem_euclid(146_097);
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        Self {
            year: year + era * 400 + i64::from(month <= 2),
            month,
            day,
        }
    }
}

/// Days since 1970-01-01, and nanoseconds of the day.
fn split(nanos: i128) -> (i64, i64) {
    const DAY: i128 = 86_400 * SECOND;
    let narrow = |n: i128| i64::try_from(n).unwrap_or(0);
    (narrow(nanos.div_euclid(DAY)), narrow(nanos.rem_euclid(DAY)))
}

/// As RFC 3339 writes it, with as many digits of the fraction as it has.
pub(super) fn show_time(nanos: i128) -> String {
    let (days, of_day) = split(nanos);
    let Civil { year, month, day } = Civil::of(days);
    let (seconds, fraction) = (of_day / 1_000_000_000, of_day % 1_000_000_000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let digits = format!(".{fraction:09}");
    let fraction = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// A time in seconds since the Unix epoch, as RFC 3339 writes it.
#[must_use]
pub fn show_seconds(seconds: i64) -> String {
    show_time(i128::from(seconds) * SECOND)
}

/// Seconds, with an `s`.
pub(super) fn show_duration(nanos: i128) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let (whole, fraction) = (nanos.abs() / SECOND, nanos.abs() % SECOND);
    if fraction == 0 {
        return format!("{sign}{whole}s");
    }
    let digits = format!("{fraction:09}");
    format!("{sign}{whole}.{}s", digits.trim_end_matches('0'))
}

/// A part of a time in a zone.
pub(super) fn part(function: Function, nanos: i128, zone: Option<&str>) -> Result<i64, EvalError> {
    let offset = match zone {
        None => 0,
        Some(name) => offset(name, nanos).ok_or_else(|| {
            let shown: String = name.chars().take(40).collect();
            let why = format!("\"{shown}\" is no time zone; write Europe/Berlin, or +01:00");
            EvalError::new(ErrorKind::BadArgument, why)
        })?,
    };
    let (days, of_day) = split(nanos + i128::from(offset) * SECOND);
    let date = Civil::of(days);
    let seconds = of_day / 1_000_000_000;
    Ok(match function {
        Function::FullYear => date.year,
        Function::Month => date.month - 1,
        Function::Date => date.day,
        Function::DayOfMonth => date.day - 1,
        // The first day of 1970 was a Thursday.
        Function::DayOfWeek => (days + 4).rem_euclid(7),
        Function::DayOfYear => days - self::days(date.year, 1, 1),
        Function::Hours => seconds / 3600,
        Function::Minutes => seconds / 60 % 60,
        Function::Seconds => seconds % 60,
        _ => of_day % 1_000_000_000 / 1_000_000,
    })
}

/// Seconds by which a zone is ahead of UTC at a time.
fn offset(name: &str, nanos: i128) -> Option<i64> {
    if matches!(name, "UTC" | "Z") {
        return Some(0);
    }
    let (sign, rest) = match name.as_bytes().first()? {
        b'-' => (-1, &name[1..]),
        b'+' => (1, &name[1..]),
        b'0'..=b'9' => (1, name),
        _ => {
            let clamped = nanos.clamp(
                Timestamp::MIN.as_nanosecond(),
                Timestamp::MAX.as_nanosecond(),
            );
            let at = Timestamp::from_nanosecond(clamped).ok()?;
            let zone = TimeZone::get(name).ok()?;
            return Some(i64::from(zone.to_offset(at).seconds()));
        }
    };
    let (hours, minutes) = rest.split_once(':')?;
    let two = |digits: &str| digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_digit());
    let number = |digits: &str| digits.parse::<i64>().ok().filter(|_| two(digits));
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// A part of a duration.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the longest duration has 3.2e14 milliseconds"
)]
pub(super) fn part_of_duration(function: Function, nanos: i128) -> Option<i64> {
    Some(match function {
        Function::Hours => (nanos / (3600 * SECOND)) as i64,
        Function::Minutes => (nanos / (60 * SECOND)) as i64,
        Function::Seconds => (nanos / SECOND) as i64,
        Function::Milliseconds => (nanos / 1_000_000 % 1000) as i64,
        _ => return None,
    })
}
