//! Parts of a checked condition to tests. Whatever is not certain to mean the same is left to the
//! evaluator.

use super::needle::Needle;
use super::test::{Compare, OfText, Place, Test, TextTest};
use crate::check::Function;
use crate::eval::network::{Cidr, Domain};
use crate::eval::{Evaluator, Patterns, Steps};
use crate::expr::{Ast, BinaryOp, Literal, MacroKind, Node, NodeId, UnaryOp};
use bailiwick_event::fields::{EventType, Field, FieldType, Subject};
use std::sync::Arc;

/// Doubles up to here are whole numbers exactly.
const EXACT: i64 = 1 << 53;

/// The tests of a checked condition.
pub(super) fn lower(ast: &Ast, patterns: &Patterns) -> Test {
    let steps = Steps::of_compilation();
    let lowering = Lowering {
        ast,
        patterns,
        steps: &steps,
        element: None,
    };
    lowering.test(ast.root())
}

#[derive(Clone, Copy)]
struct Lowering<'a> {
    ast: &'a Ast,
    patterns: &'a Patterns,
    /// What may be spent on parts that no event changes.
    steps: &'a Steps,
    /// The name of the element of the macro that this is in.
    element: Option<&'a str>,
}

/// A text at a place, in lower case or as it is.
struct Asked {
    place: Place,
    folded: bool,
}

impl<'a> Lowering<'a> {
    fn test(&self, id: NodeId) -> Test {
        if let Some(yes) = self.constant(id) {
            return Test::Constant(yes);
        }
        self.known(id).unwrap_or(Test::General(id))
    }

    /// The value of a part that no event changes; none where it has none, or is not truth.
    fn constant(&self, id: NodeId) -> Option<bool> {
        match self.ast.node(id) {
            Node::Literal(Literal::Bool(yes)) => return Some(*yes),
            // These are read again part by part, so that nothing is looked at twice.
            Node::And(_) | Node::Or(_) | Node::Literal(_) | Node::Field(_) => return None,
            _ if self.depends(id) => return None,
            _ => {}
        }
        let subject = Subject::new(EventType::File);
        let evaluator = Evaluator::new(self.ast, &subject)
            .with_patterns(self.patterns)
            .within(self.steps);
        let truth = evaluator.truth(id).ok();
        evaluator.take_from(self.steps);
        truth
    }

    /// Whether a part has a field or a variable in it.
    fn depends(&self, id: NodeId) -> bool {
        match self.ast.node(id) {
            Node::Field(_) | Node::HasField(_) | Node::Header { .. } | Node::HasHeader { .. } => {
                true
            }
            // A name within a macro that is a constant itself is bound there; it is not looked into.
            Node::Name(_) | Node::Macro { .. } => true,
            _ => {
                let mut found = false;
                self.ast.children(id, |child| found |= self.depends(child));
                found
            }
        }
    }

    fn known(&self, id: NodeId) -> Option<Test> {
        match self.ast.node(id) {
            Node::And(all) => Some(self.junction(all, false)),
            Node::Or(all) => Some(self.junction(all, true)),
            Node::Unary(UnaryOp::Not, of) => Some(match self.test(*of) {
                // The evaluator's own `!` says the same of what it does.
                Test::General(_) => return None,
                Test::Constant(yes) => Test::Constant(!yes),
                Test::Not(of) => *of,
                of => Test::Not(Box::new(of)),
            }),
            Node::Ternary {
                test,
                then,
                otherwise,
            } => {
                let parts = [self.test(*test), self.test(*then), self.test(*otherwise)];
                Some(match parts {
                    [Test::Constant(true), then, _] => then,
                    [Test::Constant(false), _, otherwise] => otherwise,
                    parts => Test::If(Box::new(parts)),
                })
            }
            Node::Field(field) if field.info().ty == FieldType::Bool => Some(Test::Truth(*field)),
            Node::HasField(field) => Some(Test::Has(*field)),
            Node::HasHeader { field, name } => {
                Some(Test::HasHeader(*field, self.text(*name)?.into()))
            }
            Node::Has { of, name } => {
                let (field, mut keys) = self.json(*of)?;
                keys.push((**name).into());
                Some(Test::HasJson(field, keys.into()))
            }
            Node::Binary(op, left, right) => self.binary(*op, *left, *right),
            Node::Apply {
                function,
                arguments,
                ..
            } => self.call(*function, arguments),
            Node::Macro {
                kind: kind @ (MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne),
                range,
                variable,
                body,
                ..
            } => {
                let field = self.texts(*range)?;
                let inner = Lowering {
                    element: Some(variable),
                    ..*self
                };
                let body = inner.test(*body);
                body.is_quick()
                    .then(|| Test::Over(field, *kind, Box::new(body)))
            }
            _ => None,
        }
    }

    /// A conjunction or disjunction: false settles the one, true the other, in any order.
    fn junction(&self, all: &[NodeId], or: bool) -> Test {
        let mut tests = Vec::with_capacity(all.len());
        for id in all {
            match self.test(*id) {
                Test::Constant(yes) if yes == or => return Test::Constant(or),
                Test::Constant(_) => {}
                Test::All(inner) if !or => tests.extend(inner),
                Test::Any(inner) if or => tests.extend(inner),
                test => tests.push(test),
            }
        }
        if tests.is_empty() {
            return Test::Constant(!or);
        }
        // One test alone may be a value that is neither true nor false; the junction says so.
        tests.sort_by_key(Test::cost);
        match or {
            true => Test::Any(tests.into()),
            false => Test::All(tests.into()),
        }
    }

    fn text(&self, id: NodeId) -> Option<&'a str> {
        match self.ast.node(id) {
            Node::Literal(Literal::Text(text)) => Some(text),
            _ => None,
        }
    }

    fn texts(&self, id: NodeId) -> Option<Field> {
        match self.ast.node(id) {
            Node::Field(field) if field.info().ty == FieldType::Texts => Some(*field),
            _ => None,
        }
    }

    /// A place within a field of JSON: the field and the keys.
    fn json(&self, id: NodeId) -> Option<(Field, Vec<Box<str>>)> {
        match self.ast.node(id) {
            Node::Field(field) if field.info().ty == FieldType::Tree => Some((*field, Vec::new())),
            Node::Select { of, name } => {
                let (field, mut keys) = self.json(*of)?;
                keys.push(name.clone());
                Some((field, keys))
            }
            Node::Index { of, at } => {
                let (field, mut keys) = self.json(*of)?;
                keys.push(self.text(*at)?.into());
                Some((field, keys))
            }
            _ => None,
        }
    }

    fn place(&self, id: NodeId) -> Option<Asked> {
        let plain = |place| {
            Some(Asked {
                place,
                folded: false,
            })
        };
        match self.ast.node(id) {
            Node::Field(field) if field.info().ty == FieldType::Text => plain(Place::Field(*field)),
            Node::Header { field, name } => plain(Place::Header(*field, self.text(*name)?.into())),
            Node::Name(name) if self.element == Some(name) => plain(Place::Element),
            Node::Select { .. } | Node::Index { .. } => {
                let (field, keys) = self.json(id)?;
                plain(Place::Json(field, keys.into()))
            }
            Node::Apply {
                function: Function::LowerAscii,
                arguments,
                ..
            } => {
                let [of] = **arguments else { return None };
                let inner = self.place(of)?;
                Some(Asked {
                    folded: true,
                    ..inner
                })
            }
            _ => None,
        }
    }

    fn of_text(subject: Asked, test: TextTest) -> Test {
        Test::Text(Box::new(OfText {
            place: subject.place,
            folded: subject.folded,
            test,
        }))
    }

    fn binary(&self, op: BinaryOp, left: NodeId, right: NodeId) -> Option<Test> {
        if op == BinaryOp::In {
            return self.contained(left, right);
        }
        if op == BinaryOp::NotEqual {
            return self
                .binary(BinaryOp::Equal, left, right)
                .map(|test| Test::Not(Box::new(test)));
        }
        let compare = compare(op)?;
        let literal = |id| matches!(self.ast.node(id), Node::Literal(_));
        match (literal(left), literal(right)) {
            (false, true) => self.compared(left, compare, right),
            (true, false) => self.compared(right, mirrored(compare), left),
            _ => None,
        }
    }

    fn compared(&self, subject: NodeId, compare: Compare, literal: NodeId) -> Option<Test> {
        let Node::Literal(literal) = self.ast.node(literal) else {
            return None;
        };
        if let (Literal::Text(text), Compare::Equal) = (literal, compare) {
            let place = self.place(subject)?;
            return Some(Self::of_text(place, TextTest::Equals(text.clone())));
        }
        let number = match literal {
            Literal::Int(n) => Some(*n),
            Literal::Uint(n) => i64::try_from(*n).ok(),
            _ => None,
        };
        match self.ast.node(subject) {
            Node::Field(field) => match (field.info().ty, literal) {
                (FieldType::Int, _) => Some(Test::Int(*field, compare, number?)),
                (FieldType::Double, Literal::Double(n)) => Some(Test::Double(*field, compare, *n)),
                (FieldType::Double, _) => Some(Test::Double(*field, compare, exact(number?)?)),
                (FieldType::Bool, Literal::Bool(yes)) if compare == Compare::Equal => {
                    let truth = Test::Truth(*field);
                    Some(if *yes {
                        truth
                    } else {
                        Test::Not(Box::new(truth))
                    })
                }
                _ => None,
            },
            Node::Apply {
                function: Function::Size,
                arguments,
                ..
            } => {
                let [of] = **arguments else { return None };
                if let Some(field) = self.texts(of) {
                    return Some(Test::Count(field, compare, number?));
                }
                if let Some(size) = self.secrets(of, compare, number?) {
                    return Some(size);
                }
                let place = self
                    .place(of)
                    .filter(|p| !matches!(p.place, Place::Json(..)))?;
                Some(Self::of_text(place, TextTest::Length(compare, number?)))
            }
            Node::Apply {
                function: Function::Entropy,
                arguments,
                ..
            } => {
                let [of] = **arguments else { return None };
                let than = match literal {
                    Literal::Double(n) => *n,
                    _ => exact(number?)?,
                };
                Some(Self::of_text(
                    self.place(of)?,
                    TextTest::Entropy(compare, than),
                ))
            }
            _ => None,
        }
    }

    /// `size(secrets(text)) > 0` and its like.
    fn secrets(&self, id: NodeId, compare: Compare, number: i64) -> Option<Test> {
        let Node::Apply {
            function: Function::Secrets,
            arguments,
            ..
        } = self.ast.node(id)
        else {
            return None;
        };
        let [of] = **arguments else { return None };
        let any = Self::of_text(self.place(of)?, TextTest::HasSecrets);
        match (compare, number) {
            (Compare::Greater, 0) | (Compare::GreaterEqual, 1) => Some(any),
            (Compare::Equal, 0) | (Compare::Less, 1) | (Compare::LessEqual, 0) => {
                Some(Test::Not(Box::new(any)))
            }
            _ => None,
        }
    }

    fn contained(&self, element: NodeId, list: NodeId) -> Option<Test> {
        if let (Some(text), Some(field)) = (self.text(element), self.texts(list)) {
            return Some(Test::HasText(field, text.into()));
        }
        let Node::List(all) = self.ast.node(list) else {
            return None;
        };
        let int = |id: &NodeId| match self.ast.node(*id) {
            Node::Literal(Literal::Int(n)) => Some(*n),
            _ => None,
        };
        if let Node::Field(field) = self.ast.node(element)
            && field.info().ty == FieldType::Int
        {
            let all: Option<Vec<_>> = all.iter().map(int).collect();
            return Some(Test::IntIn(*field, all?.into()));
        }
        let place = self.place(element)?;
        let texts: Option<Vec<Box<str>>> = all
            .iter()
            .map(|id| self.text(*id).map(Into::into))
            .collect();
        let mut texts = texts?;
        texts.sort_unstable();
        texts.dedup();
        Some(Self::of_text(place, TextTest::In(texts.into())))
    }

    fn call(&self, function: Function, arguments: &[NodeId]) -> Option<Test> {
        let [first, rest @ ..] = arguments else {
            return None;
        };
        if let (Function::ContainsIp, [address]) = (function, rest) {
            return self.network(*first, *address);
        }
        let subject = self.place(*first)?;
        let test = match (function, rest) {
            (Function::IsIp, []) => TextTest::IsIp,
            (Function::Contains, [part]) => TextTest::Contains(Needle::new(self.text(*part)?)),
            (Function::StartsWith, [part]) => TextTest::StartsWith(self.text(*part)?.into()),
            (Function::EndsWith, [part]) => TextTest::EndsWith(self.text(*part)?.into()),
            // In lower case these would need a copy; the evaluator makes one.
            _ if subject.folded => return None,
            (Function::Matches | Function::Glob, [part]) => {
                TextTest::Matches(Arc::clone(self.patterns.get(*part)?))
            }
            (Function::Domain, [part]) => TextTest::Domain(Domain::parse(self.text(*part)?).ok()?),
            _ => return None,
        };
        Some(Self::of_text(subject, test))
    }

    /// `cidr("…").containsIP(text)`.
    fn network(&self, network: NodeId, address: NodeId) -> Option<Test> {
        let Node::Apply {
            function: Function::Cidr,
            arguments,
            ..
        } = self.ast.node(network)
        else {
            return None;
        };
        let [text] = **arguments else { return None };
        let network = Cidr::parse(self.text(text)?).ok()?;
        // `ip(text)` fails where the text is no address, as the test itself does.
        let address = match self.ast.node(address) {
            Node::Apply {
                function: Function::Ip,
                arguments,
                ..
            } => *arguments.first()?,
            _ => address,
        };
        let place = self.place(address).filter(|p| !p.folded)?;
        Some(Self::of_text(place, TextTest::InNetwork(network)))
    }
}

/// A whole number as a double, where that is exact.
#[allow(clippy::cast_precision_loss, reason = "it is exact up to 2^53")]
fn exact(number: i64) -> Option<f64> {
    (-EXACT..=EXACT).contains(&number).then_some(number as f64)
}

fn compare(op: BinaryOp) -> Option<Compare> {
    Some(match op {
        BinaryOp::Equal => Compare::Equal,
        BinaryOp::Less => Compare::Less,
        BinaryOp::LessEqual => Compare::LessEqual,
        BinaryOp::Greater => Compare::Greater,
        BinaryOp::GreaterEqual => Compare::GreaterEqual,
        _ => return None,
    })
}

/// The same question with its sides swapped.
fn mirrored(compare: Compare) -> Compare {
    match compare {
        Compare::Equal => Compare::Equal,
        Compare::Less => Compare::Greater,
        Compare::LessEqual => Compare::GreaterEqual,
        Compare::Greater => Compare::Less,
        Compare::GreaterEqual => Compare::LessEqual,
    }
}
