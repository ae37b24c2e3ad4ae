//! Conversions (CEL specification, *List of Standard Definitions*): a value that does not fit is
//! an error.

use super::compare::double_to_whole;
use super::network::{self, Cidr};
use super::time::{in_time_range, parse_duration, parse_timestamp, show_duration, show_time};
use super::{ErrorKind, EvalError, Value};
use crate::check::Function;
use std::borrow::Cow;
use std::cmp::Ordering;

fn overflow(to: &str) -> EvalError {
    EvalError::new(
        ErrorKind::Overflow,
        format!("the value does not fit into {to}"),
    )
}

fn bad(text: &str, to: &str) -> EvalError {
    let shown: String = text.chars().take(40).collect();
    EvalError::new(ErrorKind::BadConversion, format!("\"{shown}\" is no {to}"))
}

fn said(why: String) -> EvalError {
    EvalError::new(ErrorKind::BadConversion, why)
}

/// A conversion; none where the function does not take such a value.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "doubles are compared with the bounds before; the nearest double is what is meant"
)]
pub(super) fn convert<'a>(
    function: Function,
    value: Value<'a>,
) -> Option<Result<Value<'a>, EvalError>> {
    let within = |double: f64, low: i128, high: i128| {
        double_to_whole(double, low) == Some(Ordering::Greater)
            && double_to_whole(double, high) == Some(Ordering::Less)
    };
    Some(Ok(match (function, value) {
        (Function::Int, Value::Int(n)) => Value::Int(n),
        (Function::Int, Value::Uint(n)) => match i64::try_from(n) {
            Ok(n) => Value::Int(n),
            Err(_) => return Some(Err(overflow("int"))),
        },
        // Both ends are excluded: the conversion of a double at them may have rounded.
        (Function::Int, Value::Double(n))
            if within(n, i128::from(i64::MIN), i128::from(i64::MAX)) =>
        {
            Value::Int(n as i64)
        }
        (Function::Int, Value::Double(_)) => return Some(Err(overflow("int"))),
        (Function::Int, Value::Text(text)) => match plain(&text).and_then(|t| t.parse().ok()) {
            Some(n) => Value::Int(n),
            None => return Some(Err(bad(&text, "int"))),
        },
        (Function::Int, Value::Time(nanos)) => Value::Int(nanos.div_euclid(1_000_000_000) as i64),
        (Function::Uint, Value::Uint(n)) => Value::Uint(n),
        (Function::Uint, Value::Int(n)) => match u64::try_from(n) {
            Ok(n) => Value::Uint(n),
            Err(_) => return Some(Err(overflow("uint"))),
        },
        (Function::Uint, Value::Double(n)) if n == 0.0 || within(n, -1, i128::from(u64::MAX)) => {
            if n < 0.0 {
                return Some(Err(overflow("uint")));
            }
            Value::Uint(n as u64)
        }
        (Function::Uint, Value::Double(_)) => return Some(Err(overflow("uint"))),
        (Function::Uint, Value::Text(text)) => match plain(&text).and_then(|t| t.parse().ok()) {
            Some(n) => Value::Uint(n),
            None => return Some(Err(bad(&text, "uint"))),
        },
        (Function::Double, Value::Double(n)) => Value::Double(n),
        (Function::Double, Value::Int(n)) => Value::Double(n as f64),
        (Function::Double, Value::Uint(n)) => Value::Double(n as f64),
        (Function::Double, Value::Text(text)) => match text.parse() {
            Ok(n) => Value::Double(n),
            Err(_) => return Some(Err(bad(&text, "double"))),
        },
        (Function::Text, Value::Text(text)) => Value::Text(text),
        (Function::Text, Value::Bytes(bytes)) => match String::from_utf8(bytes.into_owned()) {
            Ok(text) => Value::text(text),
            Err(_) => return Some(Err(said("the bytes are no UTF-8".into()))),
        },
        (
            Function::Text,
            value @ (Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::Bool(_)
            | Value::Time(_)
            | Value::Duration(_)
            | Value::Ip(_)
            | Value::Cidr(_)),
        ) => Value::text(shown(&value)),
        (Function::Bytes, Value::Bytes(bytes)) => Value::Bytes(bytes),
        (Function::Bytes, Value::Text(text)) => Value::Bytes(match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        }),
        (Function::Bool, Value::Bool(yes)) => Value::Bool(yes),
        (Function::Bool, Value::Text(text)) => match &*text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Value::Bool(true),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Value::Bool(false),
            _ => return Some(Err(bad(&text, "bool"))),
        },
        (Function::Timestamp, Value::Time(nanos)) => Value::Time(nanos),
        (Function::Timestamp, Value::Int(seconds)) => {
            return Some(in_time_range(i128::from(seconds) * 1_000_000_000));
        }
        (Function::Timestamp, Value::Text(text)) => {
            return Some(parse_timestamp(&text).map(Value::Time).map_err(said));
        }
        (Function::Duration, Value::Duration(nanos)) => Value::Duration(nanos),
        (Function::Duration, Value::Text(text)) => {
            return Some(parse_duration(&text).map(Value::Duration).map_err(said));
        }
        (Function::Ip, Value::Ip(ip)) => Value::Ip(ip),
        (Function::Ip, Value::Text(text)) => {
            return Some(network::ip(&text).map(Value::Ip).map_err(said));
        }
        (Function::Cidr, Value::Cidr(cidr)) => Value::Cidr(cidr),
        (Function::Cidr, Value::Text(text)) => {
            return Some(Cidr::parse(&text).map(Value::Cidr).map_err(said));
        }
        (Function::Dyn, value) => value,
        (Function::Type, value) => Value::Type(value.type_name()),
        _ => return None,
    }))
}

/// A number's text, unless it has a plus, which Rust reads and the language does not.
fn plain(text: &str) -> Option<&str> {
    (!text.starts_with('+')).then_some(text)
}

/// A value that is no list, map, text, null or bytes, as `string()` has it.
pub(super) fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Bool(yes) => yes.to_string(),
        Value::Int(n) => n.to_string(),
        Value::Uint(n) => n.to_string(),
        Value::Double(n) if n.is_nan() => "NaN".into(),
        Value::Double(n) if n.is_infinite() => if *n > 0.0 { "+Inf" } else { "-Inf" }.into(),
        Value::Double(n) => {
            let (plain, short) = (n.to_string(), format!("{n:e}"));
            // An exponent below -4 or from 21 on is written as one.
            let exponent = short
                .rsplit_once('e')
                .and_then(|(_, e)| e.parse::<i32>().ok());
            match exponent {
                Some(e) if !(-4..21).contains(&e) => {
                    let digits = short.split('e').next().unwrap_or_default();
                    let sign = if e < 0 { '-' } else { '+' };
                    format!("{digits}e{sign}{:02}", e.abs())
                }
                _ => plain,
            }
        }
        Value::Time(nanos) => show_time(*nanos),
        Value::Duration(nanos) => show_duration(*nanos),
        Value::Type(name) => (*name).into(),
        Value::Ip(ip) => ip.to_string(),
        Value::Cidr(cidr) => cidr.to_string(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Text(text) => text.to_string(),
        Value::Null => "null".into(),
        Value::List(_) | Value::Map(_) => String::new(),
    }
}
