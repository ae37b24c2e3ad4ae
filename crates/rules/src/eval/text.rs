//! Functions on texts; places are counted in characters (CEL specification, *String Extensions*).

use super::{ErrorKind, EvalError, Value};

fn out_of_range(at: i64) -> EvalError {
    EvalError::new(
        ErrorKind::BadArgument,
        format!("there is no place {at} in the text"),
    )
}

/// The byte at which a character begins; the end of the text is a place too.
fn byte_of(text: &str, at: i64) -> Result<usize, EvalError> {
    let place = usize::try_from(at).map_err(|_| out_of_range(at))?;
    let mut starts = text
        .char_indices()
        .map(|(byte, _)| byte)
        .chain([text.len()]);
    starts.nth(place).ok_or_else(|| out_of_range(at))
}

#[allow(
    clippy::cast_possible_wrap,
    reason = "a text has fewer than 2^63 characters"
)]
pub(super) fn length(text: &str) -> i64 {
    text.chars().count() as i64
}

pub(super) fn char_at(text: &str, at: i64) -> Result<String, EvalError> {
    let byte = byte_of(text, at)?;
    Ok(text[byte..]
        .chars()
        .next()
        .map(String::from)
        .unwrap_or_default())
}

pub(super) fn index_of(text: &str, part: &str, from: i64) -> Result<i64, EvalError> {
    let from = byte_of(text, from)?;
    Ok(text[from..]
        .find(part)
        .map_or(-1, |at| length(&text[..from + at])))
}

pub(super) fn last_index_of(text: &str, part: &str, to: Option<i64>) -> Result<i64, EvalError> {
    let limit = to.map_or(Ok(text.len()), |to| byte_of(text, to))?;
    let end = text.len().min(limit.saturating_add(part.len()));
    // What begins at the limit ends here at the latest; where this would cut a character, nothing
    // ends here.
    let end = (0..=end)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    Ok(text[..end].rfind(part).map_or(-1, |at| length(&text[..at])))
}

pub(super) fn substring(text: &str, from: i64, to: Option<i64>) -> Result<String, EvalError> {
    let from_byte = byte_of(text, from)?;
    let to_byte = to.map_or(Ok(text.len()), |to| byte_of(text, to))?;
    text.get(from_byte..to_byte)
        .map(str::to_owned)
        .ok_or_else(|| out_of_range(from))
}

pub(super) fn replace(text: &str, old: &str, new: &str, count: i64) -> String {
    match usize::try_from(count) {
        Ok(count) => text.replacen(old, new, count),
        Err(_) => text.replace(old, new),
    }
}

pub(super) fn split<'a>(text: &str, separator: &str, count: i64) -> Value<'a> {
    let owned = |part: &str| Value::text(part.to_owned());
    // An empty separator lies between the characters, not before the first and after the last.
    let parts: Vec<_> = match (count, separator) {
        (0, _) => Vec::new(),
        (1, _) => vec![owned(text)],
        (_, "") => {
            let limit = usize::try_from(count).unwrap_or(usize::MAX);
            let mut parts = Vec::new();
            let mut rest = text;
            while let Some(c) = rest.chars().next() {
                if parts.len() + 1 == limit {
                    break;
                }
                parts.push(owned(&rest[..c.len_utf8()]));
                rest = &rest[c.len_utf8()..];
            }
            if !rest.is_empty() {
                parts.push(owned(rest));
            }
            parts
        }
        (count, separator) => match usize::try_from(count) {
            Ok(count) => text.splitn(count, separator).map(owned).collect(),
            Err(_) => text.split(separator).map(owned).collect(),
        },
    };
    Value::list(parts)
}
