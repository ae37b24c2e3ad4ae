//! Sizes and lengths of time as people write them. A number without a unit is refused where it
//! could be taken for another unit: a limit that is a thousand times too high is no limit.

use std::time::Duration;

const SIZES: &[(&str, u64)] = &[
    ("B", 1),
    ("kB", 1000),
    ("KB", 1000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

const TIMES: &[(&str, u64)] = &[
    ("ms", 1),
    ("s", 1000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// Reads `4GiB`, `1.5 GB`, `512 MiB`; in bytes. Units are read as they are written: `Gb` is a
/// gigabit to some and a gigabyte to others, eight times as much.
///
/// # Errors
/// What is wrong with it, for a person.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text.trim());
    let Some((_, factor)) = SIZES.iter().find(|(name, _)| *name == unit) else {
        return Err(match unit {
            "" => "the unit is missing; write it like \"4GiB\" or \"512MiB\"".to_owned(),
            _ => unknown_size(number, unit),
        });
    };
    scale(number, *factor).ok_or_else(|| {
        "write a number above 0 and below 8 EiB, like \"4GiB\" or \"512MiB\"".to_owned()
    })
}

/// What is said of a unit that is none: which ones are, and those that were probably meant.
fn unknown_size(number: &str, unit: &str) -> String {
    const ALL: &str = "the units are B, kB, MB, GB, TB and KiB, MiB, GiB, TiB, in these letters";
    let unit = unit.to_ascii_lowercase();
    let short = unit.strip_suffix('b').unwrap_or(&unit);
    // `Gb` and `G` leave open which of the two it is, `gib` does not.
    let meant = |name: &str| {
        let name = name.to_ascii_lowercase();
        let short = (short.len() == 1).then_some(short);
        name == unit || short.is_some_and(|letter| name.starts_with(letter))
    };
    let mut found: Vec<_> = SIZES.iter().filter(|(name, _)| meant(name)).collect();
    // One spelling of each is enough.
    found.dedup_by_key(|(_, factor)| *factor);
    let shown = |(name, factor): &&(&str, u64)| match number {
        "" => format!("\"{name}\" ({factor} bytes)"),
        _ => format!("\"{number}{name}\" ({name} is {factor} bytes)"),
    };
    match found.is_empty() {
        true => format!("{ALL}; write it like \"4GiB\" or \"512MiB\""),
        false => {
            let found: Vec<String> = found.iter().map(shown).collect();
            format!("{ALL}; write {}", found.join(" or "))
        }
    }
}

/// Reads `90s`, `1h30m`, `500ms`.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    const HOW: &str = "write it like \"90s\", \"15m\" or \"1h30m\"";
    let mut rest = text.trim();
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (number, tail) = split(rest);
        let end = tail
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(tail.len());
        let (unit, next) = tail.split_at(end);
        if unit.is_empty() && !number.is_empty() {
            return Err(format!("the unit is missing; {HOW}"));
        }
        let factor = TIMES.iter().find(|(name, _)| *name == unit).ok_or(HOW)?.1;
        let part = scale(number, factor).ok_or(HOW)?;
        total = total.checked_add(part).ok_or(HOW)?;
        rest = next.trim_start();
    }
    match total {
        0 => Err(HOW.to_owned()),
        ms => Ok(Duration::from_millis(ms)),
    }
}

/// Splits a number from what follows it.
fn split(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    (number, rest.trim_start())
}

/// `number` times `factor`, exactly, with up to six decimals; None where that is 0 or too much.
fn scale(number: &str, factor: u64) -> Option<u64> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || decimals.is_empty() || decimals.len() > 6 {
        return None;
    }
    let part: u128 = decimals.parse::<u32>().ok()?.into();
    let unit = 10u128.pow(u32::try_from(decimals.len()).ok()?);
    let whole = u128::from(whole.parse::<u64>().ok()?);
    let total = (whole * unit + part) * u128::from(factor) / unit;
    u64::try_from(total)
        .ok()
        .filter(|n| (1..=1 << 63).contains(n))
}

/// A size in the largest unit that shows it exactly.
pub(crate) fn show_size(bytes: u64) -> String {
    for (name, factor) in SIZES
        .iter()
        .rev()
        .filter(|(n, f)| *f == 1 || n.contains('i'))
    {
        if bytes >= *factor && bytes.is_multiple_of(*factor) {
            return format!("{}{name}", bytes / factor);
        }
    }
    format!("{bytes}B")
}

/// A length of time, to the millisecond.
pub(crate) fn show_time(time: Duration) -> String {
    let mut rest = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let mut shown = String::new();
    for (name, factor) in TIMES.iter().rev() {
        if rest >= *factor {
            shown.push_str(&format!("{}{name}", rest / factor));
            rest %= factor;
        }
    }
    shown
}

#[cfg(test)]
#[path = "quantity_tests.rs"]
mod tests;
