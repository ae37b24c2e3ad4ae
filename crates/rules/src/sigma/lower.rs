//! A detection as a condition of the rule language.
//!
//! Decision: every part decides by what stands around it whether it needs parentheses, so that no
//! list of values can fall apart under `&&` or `!`; and every test of a value that may be missing
//! asks first whether it is there, so that evaluation never fails and a missing value matches
//! nothing. Values enter through [`crate::expr::quoted`] alone.

use super::atom;
use super::detection::{Condition, Detection};

/// What stands around a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    Nothing,
    And,
    Or,
    Not,
}

/// What a part is made of, at its outermost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Call,
    Relation,
    And,
    Or,
}

/// Writes a part, between parentheses where what stands around it asks for them.
pub(super) fn part(
    out: &mut String,
    around: Around,
    shape: Shape,
    write: impl FnOnce(&mut String),
) {
    let bare = match (around, shape) {
        (Around::Nothing, _)
        | (_, Shape::Call)
        | (Around::And, Shape::And | Shape::Relation)
        | (Around::Or, Shape::Or | Shape::Relation) => true,
        (Around::And | Around::Or | Around::Not, _) => false,
    };
    if bare {
        return write(out);
    }
    out.push('(');
    write(out);
    out.push(')');
}

impl Detection {
    /// The condition that matches what the detection says; of a detection that is not valid, one
    /// that may not be read.
    #[must_use]
    pub fn to_cel(&self) -> String {
        let mut out = String::with_capacity(64 + 64 * self.condition.parts());
        self.write(&mut out, &self.condition, Around::Nothing);
        out
    }

    fn write(&self, out: &mut String, condition: &Condition, around: Around) {
        match condition {
            Condition::All(all) => match &**all {
                [] => out.push_str("true"),
                [one] => self.write(out, one, around),
                all => part(out, around, Shape::And, |out| {
                    self.chain(out, all, " && ", Around::And);
                }),
            },
            Condition::Any(all) => match &**all {
                [] => out.push_str("false"),
                [one] => self.write(out, one, around),
                all => part(out, around, Shape::Or, |out| {
                    self.chain(out, all, " || ", Around::Or);
                }),
            },
            Condition::Not(of) => {
                out.push('!');
                self.write(out, of, Around::Not);
            }
            Condition::Match(test) => atom::write(out, self.on, test, around),
        }
    }

    fn chain(&self, out: &mut String, all: &[Condition], between: &str, around: Around) {
        for (n, one) in all.iter().enumerate() {
            out.push_str(if n > 0 { between } else { "" });
            self.write(out, one, around);
        }
    }
}
