//! What operators take. Numbers of different types are compared by what they say, and are never
//! added: a sum of two types has no type of its own.

use super::checker::Checker;
use super::types::Ty;
use crate::expr::{BinaryOp, NodeId};

impl Checker<'_> {
    /// The type of an operator's result; what it does not take is reported.
    pub(super) fn binary(&mut self, id: NodeId, op: BinaryOp, a: &Ty, b: &Ty) -> Ty {
        use BinaryOp as Op;
        let either = |ty: &Ty| a == ty || b == ty;
        match op {
            Op::Equal | Op::NotEqual => {
                if !a.meets(b) {
                    let help = match either(&Ty::Null) {
                        true => "ask whether it is there with has(…)",
                        false => "convert one of them: string(…), int(…)",
                    };
                    self.error(id, format!("{a} and {b} are never equal"), help);
                }
                Ty::Bool
            }
            Op::In => {
                let fits = match b {
                    Ty::List(of) => of.meets(a),
                    Ty::Map(key, _) => key.meets(a),
                    Ty::Dyn => true,
                    _ => {
                        let help = match b {
                            Ty::Text => "use contains(…) for a part of a text",
                            _ => "",
                        };
                        self.error(id, format!("`in` takes a list or a map, not {b}"), help);
                        return Ty::Bool;
                    }
                };
                if !fits {
                    self.error(id, format!("{a} is never in {b}"), "");
                }
                Ty::Bool
            }
            Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual => {
                let ordered = |ty: &Ty| {
                    ty.is_number()
                        || matches!(
                            ty,
                            Ty::Bool | Ty::Text | Ty::Bytes | Ty::Time | Ty::Duration | Ty::Dyn
                        )
                };
                if !(ordered(a) && ordered(b) && a.meets(b)) {
                    let symbol = op.symbol();
                    self.error(id, format!("{a} {symbol} {b} has no meaning"), "");
                }
                Ty::Bool
            }
            _ => match arithmetic(op, a, b) {
                Some(ty) => ty,
                None => {
                    let help = match a.is_number() && b.is_number() {
                        true => {
                            "numbers of two types are not mixed; convert one: int(…), double(…)"
                        }
                        false if op == Op::Add && either(&Ty::Text) => {
                            "convert the other: string(…)"
                        }
                        false => "",
                    };
                    let symbol = op.symbol();
                    self.error(id, format!("{a} {symbol} {b} has no meaning"), help)
                }
            },
        }
    }
}

fn arithmetic(op: BinaryOp, a: &Ty, b: &Ty) -> Option<Ty> {
    use BinaryOp as Op;
    let same = || Some(a.clone());
    match (op, a, b) {
        (_, Ty::Dyn, _) | (_, _, Ty::Dyn) => Some(Ty::Dyn),
        (Op::Modulo, Ty::Int, Ty::Int) | (Op::Modulo, Ty::Uint, Ty::Uint) => same(),
        (Op::Modulo, ..) => None,
        (_, Ty::Int, Ty::Int) | (_, Ty::Uint, Ty::Uint) | (_, Ty::Double, Ty::Double) => same(),
        (Op::Add, Ty::Text, Ty::Text) | (Op::Add, Ty::Bytes, Ty::Bytes) => same(),
        (Op::Add, Ty::List(x), Ty::List(y)) => Some(Ty::list((**x).clone().join(y))),
        (Op::Add | Op::Subtract, Ty::Duration, Ty::Duration) => Some(Ty::Duration),
        (Op::Add | Op::Subtract, Ty::Time, Ty::Duration) | (Op::Add, Ty::Duration, Ty::Time) => {
            Some(Ty::Time)
        }
        (Op::Subtract, Ty::Time, Ty::Time) => Some(Ty::Duration),
        _ => None,
    }
}
