//! The functions, by the types of what they are given.

use super::arithmetic::no_overload;
use super::convert::convert;
use super::network::{self, Domain};
use super::time::{part, part_of_duration};
use super::{ErrorKind, EvalError, Value, secrets, text};
use crate::check::Function;
use std::net::IpAddr;

#[allow(clippy::cast_possible_wrap, reason = "nothing has 2^63 elements")]
fn count<'a>(n: usize) -> Value<'a> {
    Value::Int(n as i64)
}

/// The value of a function. `matches` and `glob` are the evaluator's own.
pub(super) fn call<'a>(function: Function, given: Vec<Value<'a>>) -> Result<Value<'a>, EvalError> {
    if let [_] = &*given
        && let Some(converted) = converted(function, &given)
    {
        return converted;
    }
    let bad = |why: String| EvalError::new(ErrorKind::BadArgument, why);
    Ok(match (function, &*given) {
        (Function::Size, [Value::Text(t)]) => Value::Int(text::length(t)),
        (Function::Size, [Value::Bytes(b)]) => count(b.len()),
        (Function::Size, [Value::List(list)]) => count(list.len()),
        (Function::Size, [Value::Map(map)]) => count(map.len()),
        (Function::Contains, [Value::Text(a), Value::Text(b)]) => Value::Bool(a.contains(&**b)),
        (Function::StartsWith, [Value::Text(a), Value::Text(b)]) => {
            Value::Bool(a.starts_with(&**b))
        }
        (Function::EndsWith, [Value::Text(a), Value::Text(b)]) => Value::Bool(a.ends_with(&**b)),
        (Function::LowerAscii, [Value::Text(t)]) => Value::text(t.to_ascii_lowercase()),
        (Function::UpperAscii, [Value::Text(t)]) => Value::text(t.to_ascii_uppercase()),
        (Function::Trim, [Value::Text(t)]) => Value::text(t.trim().to_owned()),
        (Function::Reverse, [Value::Text(t)]) => Value::text(t.chars().rev().collect::<String>()),
        (Function::CharAt, [Value::Text(t), Value::Int(at)]) => Value::text(text::char_at(t, *at)?),
        (Function::IndexOf, [Value::Text(t), Value::Text(part)]) => {
            Value::Int(text::index_of(t, part, 0)?)
        }
        (Function::IndexOf, [Value::Text(t), Value::Text(part), Value::Int(from)]) => {
            Value::Int(text::index_of(t, part, *from)?)
        }
        (Function::LastIndexOf, [Value::Text(t), Value::Text(part)]) => {
            Value::Int(text::last_index_of(t, part, None)?)
        }
        (Function::LastIndexOf, [Value::Text(t), Value::Text(part), Value::Int(to)]) => {
            Value::Int(text::last_index_of(t, part, Some(*to))?)
        }
        (Function::Substring, [Value::Text(t), Value::Int(from)]) => {
            Value::text(text::substring(t, *from, None)?)
        }
        (Function::Substring, [Value::Text(t), Value::Int(from), Value::Int(to)]) => {
            Value::text(text::substring(t, *from, Some(*to))?)
        }
        (Function::Replace, [Value::Text(t), Value::Text(old), Value::Text(new)]) => {
            Value::text(text::replace(t, old, new, -1))
        }
        (
            Function::Replace,
            [
                Value::Text(t),
                Value::Text(old),
                Value::Text(new),
                Value::Int(n),
            ],
        ) => Value::text(text::replace(t, old, new, *n)),
        (Function::Split, [Value::Text(t), Value::Text(by)]) => text::split(t, by, -1),
        (Function::Split, [Value::Text(t), Value::Text(by), Value::Int(n)]) => {
            text::split(t, by, *n)
        }
        (Function::Join, [Value::List(_)]) => join(&given, "")?,
        (Function::Join, [Value::List(_), Value::Text(between)]) => join(&given, between)?,
        (function, [Value::Time(nanos)]) if is_part(function) => {
            Value::Int(part(function, *nanos, None)?)
        }
        (function, [Value::Time(nanos), Value::Text(zone)]) if is_part(function) => {
            Value::Int(part(function, *nanos, Some(zone))?)
        }
        (function, [Value::Duration(nanos)]) if is_part(function) => {
            match part_of_duration(function, *nanos) {
                Some(n) => Value::Int(n),
                None => return Err(no_overload(function.name(), &given)),
            }
        }
        (Function::Domain, [Value::Text(host)]) => Value::text(network::registrable(host)),
        (Function::Domain, [Value::Text(host), Value::Text(domain)]) => {
            Value::Bool(Domain::parse(domain).map_err(bad)?.covers(host))
        }
        (Function::IsIp, [Value::Text(t)]) => Value::Bool(network::ip(t).is_ok()),
        (Function::IsCidr, [Value::Text(t)]) => Value::Bool(network::Cidr::parse(t).is_ok()),
        (Function::ContainsIp, [Value::Cidr(net), Value::Ip(ip)]) => Value::Bool(net.contains(*ip)),
        (Function::ContainsIp, [Value::Cidr(net), Value::Text(t)]) => {
            let ip = network::ip(t).map_err(|why| EvalError::new(ErrorKind::BadConversion, why))?;
            Value::Bool(net.contains(ip))
        }
        (Function::Family, [Value::Ip(ip)]) => Value::Int(match ip.to_canonical() {
            IpAddr::V4(_) => 4,
            IpAddr::V6(_) => 6,
        }),
        (Function::IsLoopback, [Value::Ip(ip)]) => Value::Bool(ip.to_canonical().is_loopback()),
        (Function::IsPrivate, [Value::Ip(ip)]) => Value::Bool(network::is_private(*ip)),
        (Function::PrefixLength, [Value::Cidr(net)]) => Value::Int(i64::from(net.bits())),
        (Function::Entropy, [Value::Text(t)]) => Value::Double(bailiwick_event::fields::entropy(t)),
        (Function::Secrets, [Value::Text(t)]) => {
            Value::list(secrets::find(t).into_iter().map(Value::text).collect())
        }
        _ => return Err(no_overload(function.name(), &given)),
    })
}

/// Steps of making what may be larger than what it is made of.
pub(super) fn made_steps(function: Function, given: &[Value<'_>]) -> usize {
    let count = |n: &Value<'_>| match n {
        Value::Int(n) => usize::try_from(*n).unwrap_or(usize::MAX),
        _ => usize::MAX,
    };
    let found = |text: &str, part: &str, most: Option<&Value<'_>>| {
        let most = most.map_or(usize::MAX, count);
        text.matches(part).take(most).count()
    };
    match (function, given) {
        (
            Function::Replace,
            [
                Value::Text(t),
                Value::Text(old),
                Value::Text(new),
                most @ ..,
            ],
        ) => found(t, old, most.first()).saturating_mul(new.len()) / 64,
        (Function::Split, [Value::Text(t), Value::Text(by), most @ ..]) => {
            found(t, by, most.first())
        }
        (Function::Join, [Value::List(list), between @ ..]) => {
            let between = match between {
                [Value::Text(between)] => between.len(),
                _ => 0,
            };
            let parts = list.iter().map(|part| match part {
                Value::Text(part) => part.len().saturating_add(between),
                _ => 0,
            });
            parts.fold(0usize, usize::saturating_add) / 64
        }
        (Function::Secrets | Function::Entropy, [Value::Text(text)]) => text.len() / LOOKED_AT,
        _ => 0,
    }
}

/// Bytes of a text in which credentials are looked for, or whose characters are counted, that take
/// as long as a step.
pub(crate) const LOOKED_AT: usize = 16;

fn converted<'a>(function: Function, given: &[Value<'a>]) -> Option<Result<Value<'a>, EvalError>> {
    use Function as F;
    let converts = matches!(
        function,
        F::Int
            | F::Uint
            | F::Double
            | F::Text
            | F::Bytes
            | F::Bool
            | F::Timestamp
            | F::Duration
            | F::Ip
            | F::Cidr
            | F::Dyn
            | F::Type
    );
    given
        .first()
        .filter(|_| converts)
        .and_then(|value| convert(function, value.clone()))
}

fn is_part(function: Function) -> bool {
    use Function as F;
    matches!(
        function,
        F::FullYear
            | F::Month
            | F::Date
            | F::DayOfMonth
            | F::DayOfWeek
            | F::DayOfYear
            | F::Hours
            | F::Minutes
            | F::Seconds
            | F::Milliseconds
    )
}

fn join<'a>(given: &[Value<'a>], between: &str) -> Result<Value<'a>, EvalError> {
    let Some(Value::List(list)) = given.first() else {
        return Err(no_overload("join", given));
    };
    let mut out = String::new();
    for (n, element) in list.iter().enumerate() {
        let Value::Text(text) = element else {
            return Err(no_overload("join", given));
        };
        if n > 0 {
            out.push_str(between);
        }
        out.push_str(&text);
    }
    Ok(Value::text(out))
}
