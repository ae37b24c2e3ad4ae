//! Equality and order (CEL specification, *Equality* and *Ordering*): numbers compare by what they
//! say, whatever their type; values of other types are never equal, and have no order.

use super::Value;
use std::cmp::Ordering;

impl Value<'_> {
    /// Whether two values are equal.
    #[must_use]
    pub fn equals(&self, other: &Value<'_>) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Text(a), Value::Text(b)) => a == b,
            (Value::Bytes(a), Value::Bytes(b)) => a == b,
            (Value::Time(a), Value::Time(b)) | (Value::Duration(a), Value::Duration(b)) => a == b,
            (Value::Type(a), Value::Type(b)) => a == b,
            (Value::Ip(a), Value::Ip(b)) => a.to_canonical() == b.to_canonical(),
            (Value::Cidr(a), Value::Cidr(b)) => a == b,
            (Value::List(a), Value::List(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.equals(&b))
            }
            (Value::Map(a), Value::Map(b)) => {
                a.len() == b.len()
                    && a.iter()
                        .iter()
                        .all(|(key, value)| b.get(key).is_some_and(|other| value.equals(&other)))
            }
            _ => numbers(self, other) == Some(Ordering::Equal),
        }
    }

    /// Which of two values is the smaller. None where values of such types have no order; the
    /// order is none where they have one and these do not, as not-a-number.
    #[must_use]
    pub fn order(&self, other: &Value<'_>) -> Option<Option<Ordering>> {
        Some(Some(match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Text(a), Value::Text(b)) => a.cmp(b),
            (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
            (Value::Time(a), Value::Time(b)) | (Value::Duration(a), Value::Duration(b)) => a.cmp(b),
            _ if self.is_number() && other.is_number() => return Some(numbers(self, other)),
            _ => return None,
        }))
    }

    /// Whether it is a number.
    #[must_use]
    pub fn is_number(&self) -> bool {
        matches!(self, Value::Int(_) | Value::Uint(_) | Value::Double(_))
    }
}

fn numbers(a: &Value<'_>, b: &Value<'_>) -> Option<Ordering> {
    match (a, b) {
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
        (Value::Double(a), b) => double_to_whole(*a, whole(b)?),
        (a, Value::Double(b)) => double_to_whole(*b, whole(a)?).map(Ordering::reverse),
        (a, b) => Some(whole(a)?.cmp(&whole(b)?)),
    }
}

fn whole(value: &Value<'_>) -> Option<i128> {
    match value {
        Value::Int(number) => Some(i128::from(*number)),
        Value::Uint(number) => Some(i128::from(*number)),
        _ => None,
    }
}

/// A double against a whole number, exactly: a conversion either way could round them together.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the double is within ±2^65 there"
)]
pub(crate) fn double_to_whole(double: f64, whole: i128) -> Option<Ordering> {
    const BEYOND: f64 = 36_893_488_147_419_103_232.0;
    if double.is_nan() {
        return None;
    }
    if double >= BEYOND {
        return Some(Ordering::Greater);
    }
    if double <= -BEYOND {
        return Some(Ordering::Less);
    }
    let floor = double.floor();
    Some((floor as i128).cmp(&whole).then(match double > floor {
        true => Ordering::Greater,
        false => Ordering::Equal,
    }))
}
