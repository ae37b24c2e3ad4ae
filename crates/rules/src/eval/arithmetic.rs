//! Sums and products (CEL specification, *Arithmetic*): what does not fit is an error, never a
//! number that wrapped; doubles follow IEEE 754.

use super::time::{in_duration_range, in_time_range};
use super::{ErrorKind, EvalError, List, Value};
use crate::expr::BinaryOp;
use std::borrow::Cow;

fn overflow() -> EvalError {
    EvalError::new(ErrorKind::Overflow, "the result does not fit into its type")
}

fn zero() -> EvalError {
    EvalError::new(ErrorKind::DivisionByZero, "division by zero")
}

/// The value of `a op b` for the operators that are no relation.
pub(super) fn apply<'a>(op: BinaryOp, a: Value<'a>, b: Value<'a>) -> Result<Value<'a>, EvalError> {
    use BinaryOp as Op;
    let int = |n: Option<i64>| n.map(Value::Int).ok_or_else(overflow);
    let uint = |n: Option<u64>| n.map(Value::Uint).ok_or_else(overflow);
    match (op, a, b) {
        (Op::Divide | Op::Modulo, Value::Int(_), Value::Int(0))
        | (Op::Divide | Op::Modulo, Value::Uint(_), Value::Uint(0)) => Err(zero()),
        (Op::Add, Value::Int(a), Value::Int(b)) => int(a.checked_add(b)),
        (Op::Subtract, Value::Int(a), Value::Int(b)) => int(a.checked_sub(b)),
        (Op::Multiply, Value::Int(a), Value::Int(b)) => int(a.checked_mul(b)),
        (Op::Divide, Value::Int(a), Value::Int(b)) => int(a.checked_div(b)),
        (Op::Modulo, Value::Int(a), Value::Int(b)) => int(a.checked_rem(b)),
        (Op::Add, Value::Uint(a), Value::Uint(b)) => uint(a.checked_add(b)),
        (Op::Subtract, Value::Uint(a), Value::Uint(b)) => uint(a.checked_sub(b)),
        (Op::Multiply, Value::Uint(a), Value::Uint(b)) => uint(a.checked_mul(b)),
        (Op::Divide, Value::Uint(a), Value::Uint(b)) => uint(a.checked_div(b)),
        (Op::Modulo, Value::Uint(a), Value::Uint(b)) => uint(a.checked_rem(b)),
        (Op::Add, Value::Double(a), Value::Double(b)) => Ok(Value::Double(a + b)),
        (Op::Subtract, Value::Double(a), Value::Double(b)) => Ok(Value::Double(a - b)),
        (Op::Multiply, Value::Double(a), Value::Double(b)) => Ok(Value::Double(a * b)),
        (Op::Divide, Value::Double(a), Value::Double(b)) => Ok(Value::Double(a / b)),
        (Op::Add, Value::Text(a), Value::Text(b)) => Ok(Value::Text(a + b)),
        (Op::Add, Value::Bytes(a), Value::Bytes(b)) => {
            let mut all = a.into_owned();
            all.extend_from_slice(&b);
            Ok(Value::Bytes(Cow::Owned(all)))
        }
        (Op::Add, Value::List(a), Value::List(b)) => {
            Ok(Value::List(List::Made(a.iter().chain(b.iter()).collect())))
        }
        (Op::Add, Value::Duration(a), Value::Duration(b)) => in_duration_range(a + b),
        (Op::Subtract, Value::Duration(a), Value::Duration(b)) => in_duration_range(a - b),
        (Op::Add, Value::Time(a), Value::Duration(b))
        | (Op::Add, Value::Duration(a), Value::Time(b)) => in_time_range(a + b),
        (Op::Subtract, Value::Time(a), Value::Duration(b)) => in_time_range(a - b),
        (Op::Subtract, Value::Time(a), Value::Time(b)) => in_duration_range(a - b),
        (op, a, b) => Err(no_overload(op.symbol(), &[a, b])),
    }
}

/// `-value`.
pub(super) fn negate(value: Value<'_>) -> Result<Value<'_>, EvalError> {
    match value {
        Value::Int(number) => number.checked_neg().map(Value::Int).ok_or_else(overflow),
        Value::Double(number) => Ok(Value::Double(-number)),
        other => Err(no_overload("-", &[other])),
    }
}

/// The error of something that does not take such values.
pub(super) fn no_overload(name: &str, given: &[Value<'_>]) -> EvalError {
    let types: Vec<_> = given.iter().map(Value::type_name).collect();
    let message = format!("`{name}` does not take ({})", types.join(", "));
    EvalError::new(ErrorKind::NoSuchOverload, message)
}
