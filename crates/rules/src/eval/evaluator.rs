//! The evaluator: the tree, part by part, in the specification's words.

use super::arithmetic::{apply, negate, no_overload};
use super::call::{call, made_steps};
use super::pattern::{Pattern, Patterns, glob, regex};
use super::{ErrorKind, EvalError, List, MAX_STEPS, Map, Steps, Value};
use crate::check::Function;
use crate::expr::{Ast, BinaryOp, Literal, MacroKind, Node, NodeId, UnaryOp};
use bailiwick_event::fields::{Field, Slot, Subject};
use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Ordering;

/// Steps that it takes to read a pattern which does not stand in the condition, and each byte of it.
const PATTERN_STEPS: usize = 5_000;
const PATTERN_BYTE_STEPS: usize = 64;
/// Bytes of such a pattern.
const LONGEST_MADE: usize = 1024;

/// Evaluates the parts of one condition for one event.
#[derive(Debug)]
pub struct Evaluator<'e> {
    ast: &'e Ast,
    subject: &'e Subject<'e>,
    patterns: Option<&'e Patterns>,
    steps: Steps,
    /// How many steps there were at first.
    allowed: u32,
    scope: RefCell<Vec<(&'e str, Value<'e>)>>,
}

type Evaluated<'e> = Result<Value<'e>, EvalError>;

impl<'e> Evaluator<'e> {
    /// An evaluator of a checked condition for an event.
    #[must_use]
    pub fn new(ast: &'e Ast, subject: &'e Subject<'e>) -> Self {
        Self {
            ast,
            subject,
            patterns: None,
            steps: Steps::of_event().of_evaluation(),
            allowed: MAX_STEPS,
            scope: RefCell::new(Vec::new()),
        }
    }

    /// The same with patterns that were read before.
    pub(crate) fn with_patterns(mut self, patterns: &'e Patterns) -> Self {
        self.patterns = Some(patterns);
        self
    }

    /// The same with no more steps than an event has left.
    pub(crate) fn within(mut self, steps: &Steps) -> Self {
        self.steps = steps.of_evaluation();
        self.allowed = self.steps.left();
        self
    }

    /// Takes the steps that were taken from those of an event.
    pub(crate) fn take_from(&self, steps: &Steps) {
        steps.take_of(&self.steps, self.allowed);
    }

    /// Whether the condition is true.
    ///
    /// # Errors
    /// [`EvalError`] where it has no value, or one that is neither true nor false.
    pub fn condition(&self) -> Result<bool, EvalError> {
        self.truth(self.ast.root())
    }

    /// Whether a part is true.
    ///
    /// # Errors
    /// As [`Evaluator::condition`].
    pub fn truth(&self, id: NodeId) -> Result<bool, EvalError> {
        match self.value(id)? {
            Value::Bool(yes) => Ok(yes),
            other => Err(EvalError::new(
                ErrorKind::NoSuchOverload,
                format!(
                    "a condition is true or false; this is {}",
                    other.type_name()
                ),
            )),
        }
    }

    /// Counts steps.
    pub(super) fn spend(&self, steps: usize) -> Result<(), EvalError> {
        match self.steps.take(steps) {
            true => Ok(()),
            false => Err(self.too_expensive()),
        }
    }

    #[cold]
    fn too_expensive(&self) -> EvalError {
        let message = match self.allowed {
            MAX_STEPS => format!(
                "the evaluation took more than {MAX_STEPS} steps; go over fewer elements, or ask \
                 with `in`, contains() or matches() and not with a macro within a macro"
            ),
            left => format!(
                "the evaluation took more than the {left} steps that the rules before it had left \
                 of the event's"
            ),
        };
        EvalError::new(ErrorKind::TooExpensive, message)
    }

    /// The value of a part.
    ///
    /// # Errors
    /// [`EvalError`] where it has none.
    pub fn value(&self, id: NodeId) -> Evaluated<'e> {
        self.spend(1)?;
        match self.ast.node(id) {
            Node::Literal(literal) => Ok(of_literal(literal)),
            Node::Field(field) => {
                slot_value(self.subject.get(*field)).ok_or_else(|| EvalError::absent(*field))
            }
            Node::HasField(field) => Ok(Value::Bool(self.subject.get(*field).is_present())),
            Node::Header { field, name } => match self.header(*field, *name)? {
                Some(value) => Ok(value),
                None => Err(EvalError::new(ErrorKind::NoSuchField, self.ast.show(id))),
            },
            Node::HasHeader { field, name } => self
                .header(*field, *name)
                .map(|value| Value::Bool(value.is_some())),
            Node::Name(name) => {
                let scope = self.scope.borrow();
                let found = scope.iter().rev().find(|(n, _)| *n == &**name);
                found
                    .map(|(_, value)| value.clone())
                    .ok_or_else(|| EvalError::new(ErrorKind::NoSuchField, name.to_string()))
            }
            Node::Select { of, name } => self.select(*of, name),
            Node::Has { of, name } => match self.value(*of)? {
                Value::Map(map) => Ok(Value::Bool(map.get(&Value::text(&**name)).is_some())),
                other => Err(no_overload("has", &[other])),
            },
            Node::Index { of, at } => self.index(*of, *at),
            Node::Unary(UnaryOp::Not, of) => match self.value(*of)? {
                Value::Bool(yes) => Ok(Value::Bool(!yes)),
                other => Err(no_overload("!", &[other])),
            },
            Node::Unary(UnaryOp::Negate, of) => negate(self.value(*of)?),
            Node::Binary(op, left, right) => self.binary(*op, *left, *right),
            Node::And(all) => self.junction(all.iter().map(|id| self.truth(*id)), false),
            Node::Or(all) => self.junction(all.iter().map(|id| self.truth(*id)), true),
            Node::Ternary {
                test,
                then,
                otherwise,
            } => match self.truth(*test)? {
                true => self.value(*then),
                false => self.value(*otherwise),
            },
            Node::List(all) => {
                let all: Result<Vec<_>, _> = all.iter().map(|id| self.value(*id)).collect();
                all.map(Value::list)
            }
            Node::Map(pairs) => self.map(pairs),
            Node::Macro {
                kind,
                range,
                variable,
                test,
                body,
            } => self.over(*kind, *range, variable, *test, *body),
            Node::Apply {
                function,
                arguments,
                ..
            } => self.apply(*function, arguments),
            Node::Call { name, .. } => Err(EvalError::new(
                ErrorKind::NoSuchOverload,
                format!("no function is called `{name}`"),
            )),
        }
    }

    /// `&&` and `||`: what settles the matter settles it, whatever else is an error (CEL
    /// specification, *Logical Operators*).
    fn junction(
        &self,
        parts: impl Iterator<Item = Result<bool, EvalError>>,
        settles: bool,
    ) -> Evaluated<'e> {
        let mut first_error = None;
        for part in parts {
            match part {
                Ok(yes) if yes == settles => return Ok(Value::Bool(settles)),
                Ok(_) => {}
                // There are no steps left to find out what would settle it.
                Err(error) if error.kind == ErrorKind::TooExpensive => return Err(error),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        first_error.map_or(Ok(Value::Bool(!settles)), Err)
    }

    fn header(&self, field: Field, name: NodeId) -> Result<Option<Value<'e>>, EvalError> {
        let name = match self.value(name)? {
            Value::Text(name) => name,
            other => return Err(no_overload("header", &[other])),
        };
        let Slot::Headers(headers) = self.subject.get(field) else {
            // Whether a header was sent is not known where none was seen.
            return Err(EvalError::absent(field));
        };
        self.spend(headers.0.len())?;
        Ok(headers.find(&name).map(Value::Text))
    }

    fn select(&self, of: NodeId, name: &'e str) -> Evaluated<'e> {
        match self.value(of)? {
            Value::Map(map) => map.get(&Value::text(name)).ok_or_else(|| no_key(name)),
            other => Err(no_overload(".", &[other])),
        }
    }

    fn index(&self, of: NodeId, at: NodeId) -> Evaluated<'e> {
        let (of, at) = (self.value(of)?, self.value(at)?);
        match (of, at) {
            (Value::List(list), at) => {
                let Some(place) = place(&at) else {
                    return Err(no_overload("[]", &[Value::List(list), at]));
                };
                let found = usize::try_from(place)
                    .ok()
                    .and_then(|place| list.get(place));
                found.ok_or_else(|| {
                    EvalError::new(
                        ErrorKind::NoSuchElement,
                        format!("the list has {} elements, and none at {place}", list.len()),
                    )
                })
            }
            (Value::Map(map), key) => {
                self.spend(map_steps(&map))?;
                map.get(&key)
                    .ok_or_else(|| no_key(&super::convert::shown(&key)))
            }
            (of, at) => Err(no_overload("[]", &[of, at])),
        }
    }

    fn binary(&self, op: BinaryOp, left: NodeId, right: NodeId) -> Evaluated<'e> {
        let (a, b) = (self.value(left)?, self.value(right)?);
        self.spend(size_of(&a).min(size_of(&b)))?;
        let ordered = |wanted: &[Ordering]| match a.order(&b) {
            Some(order) => Ok(Value::Bool(
                order.is_some_and(|order| wanted.contains(&order)),
            )),
            None => Err(no_overload(op.symbol(), &[a.clone(), b.clone()])),
        };
        match op {
            BinaryOp::Equal => self.equal(&a, &b).map(Value::Bool),
            BinaryOp::NotEqual => self.equal(&a, &b).map(|yes| Value::Bool(!yes)),
            BinaryOp::Less => ordered(&[Ordering::Less]),
            BinaryOp::LessEqual => ordered(&[Ordering::Less, Ordering::Equal]),
            BinaryOp::Greater => ordered(&[Ordering::Greater]),
            BinaryOp::GreaterEqual => ordered(&[Ordering::Greater, Ordering::Equal]),
            BinaryOp::In => match &b {
                Value::List(list) => {
                    for element in list.iter() {
                        self.spend(1 + size_of(&element).min(size_of(&a)))?;
                        if self.equal(&element, &a)? {
                            return Ok(Value::Bool(true));
                        }
                    }
                    Ok(Value::Bool(false))
                }
                Value::Map(map) => {
                    self.spend(map_steps(map))?;
                    Ok(Value::Bool(map.get(&a).is_some()))
                }
                _ => Err(no_overload("in", &[a, b])),
            },
            _ => {
                self.spend(size_of(&a).saturating_add(size_of(&b)))?;
                apply(op, a, b)
            }
        }
    }

    /// Whether two values are equal, a step for each element: a list that has a list twice, which
    /// has another twice, is small to make and without end to compare.
    fn equal(&self, a: &Value<'_>, b: &Value<'_>) -> Result<bool, EvalError> {
        let element = |a: &Value<'_>, b: &Value<'_>| {
            self.spend(1 + size_of(a).min(size_of(b)))?;
            self.equal(a, b)
        };
        match (a, b) {
            (Value::List(a), Value::List(b)) if a.len() == b.len() => {
                for (a, b) in a.iter().zip(b.iter()) {
                    if !element(&a, &b)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Value::Map(a), Value::Map(b)) if a.len() == b.len() => {
                for (key, value) in a.iter() {
                    self.spend(map_steps(b))?;
                    match b.get(&key) {
                        Some(other) if element(&value, &other)? => {}
                        _ => return Ok(false),
                    }
                }
                Ok(true)
            }
            (Value::List(_), Value::List(_)) | (Value::Map(_), Value::Map(_)) => Ok(false),
            (a, b) => Ok(a.equals(b)),
        }
    }

    fn map(&self, pairs: &'e [(NodeId, NodeId)]) -> Evaluated<'e> {
        let mut all: Vec<(Value<'e>, Value<'e>)> = Vec::with_capacity(pairs.len());
        for (key, value) in pairs {
            let key = self.value(*key)?;
            if !matches!(
                key,
                Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Text(_)
            ) {
                return Err(no_overload("{}", &[key]));
            }
            self.spend(all.len())?;
            if all.iter().any(|(k, _)| k.equals(&key)) {
                return Err(EvalError::new(
                    ErrorKind::RepeatedKey,
                    format!("the key {} stands twice", key.to_json()),
                ));
            }
            all.push((key, self.value(*value)?));
        }
        Ok(Value::Map(Map::Made(all.into())))
    }

    fn over(
        &self,
        kind: MacroKind,
        range: NodeId,
        variable: &'e str,
        test: Option<NodeId>,
        body: NodeId,
    ) -> Evaluated<'e> {
        let elements: List<'e> = match self.value(range)? {
            Value::List(list) => list,
            Value::Map(map) => {
                self.spend(map.len())?;
                List::Made(map.iter().into_iter().map(|(key, _)| key).collect())
            }
            other => return Err(no_overload(kind.name(), &[other])),
        };
        let with = |element: Value<'e>, of: &dyn Fn() -> Evaluated<'e>| {
            self.scope.borrow_mut().push((variable, element));
            let value = of();
            self.scope.borrow_mut().pop();
            value
        };
        let each = |element: Value<'e>| match with(element, &|| self.truth(body).map(Value::Bool))?
        {
            Value::Bool(yes) => Ok(yes),
            _ => Ok(false),
        };
        match kind {
            MacroKind::All => self.junction(elements.iter().map(each), false),
            MacroKind::Exists => self.junction(elements.iter().map(each), true),
            MacroKind::ExistsOne => {
                let mut count = 0;
                for element in elements.iter() {
                    count += usize::from(each(element)?);
                }
                Ok(Value::Bool(count == 1))
            }
            MacroKind::Filter => {
                let mut kept = Vec::new();
                for element in elements.iter() {
                    if each(element.clone())? {
                        kept.push(element);
                    }
                }
                Ok(Value::list(kept))
            }
            MacroKind::Map => {
                let mut made = Vec::new();
                for element in elements.iter() {
                    if let Some(test) = test
                        && !matches!(
                            with(element.clone(), &|| self.truth(test).map(Value::Bool))?,
                            Value::Bool(true)
                        )
                    {
                        continue;
                    }
                    made.push(with(element, &|| self.value(body))?);
                }
                Ok(Value::list(made))
            }
        }
    }

    fn apply(&self, function: Function, arguments: &'e [NodeId]) -> Evaluated<'e> {
        let mut given = Vec::with_capacity(arguments.len());
        for id in arguments {
            let value = self.value(*id)?;
            self.spend(size_of(&value))?;
            given.push(value);
        }
        match (function, &*given) {
            (Function::Matches | Function::Glob, [Value::Text(text), Value::Text(pattern)]) => {
                let kept = self.patterns.and_then(|all| all.get(arguments[1]));
                let matched = match kept {
                    Some(pattern) => self.is_match(pattern, text)?,
                    None => {
                        let glob_or_regex = if function == Function::Glob {
                            glob
                        } else {
                            regex
                        };
                        self.is_match(&self.made(pattern, glob_or_regex)?.once(), text)?
                    }
                };
                Ok(Value::Bool(matched))
            }
            _ => {
                // Before it is made: what is made may be larger than all that it is made of.
                self.spend(made_steps(function, &given))?;
                let value = call(function, given)?;
                self.spend(size_of(&value))?;
                Ok(value)
            }
        }
    }

    fn is_match(&self, pattern: &Pattern, text: &str) -> Result<bool, EvalError> {
        let found = pattern.is_match(text, |steps| self.steps.take(steps));
        found.ok_or_else(|| self.too_expensive())
    }

    /// Reads a pattern that does not stand in the condition.
    fn made(
        &self,
        pattern: &str,
        make: fn(&str) -> Result<Pattern, String>,
    ) -> Result<Pattern, EvalError> {
        self.spend(PATTERN_STEPS.saturating_add(PATTERN_BYTE_STEPS.saturating_mul(pattern.len())))?;
        if pattern.len() > LONGEST_MADE {
            let message = format!(
                "a pattern that does not stand in the condition has at most {LONGEST_MADE} bytes"
            );
            return Err(EvalError::new(ErrorKind::BadArgument, message));
        }
        make(pattern).map_err(|why| EvalError::new(ErrorKind::BadArgument, why))
    }
}

/// What a value's length costs to look at.
fn size_of(value: &Value<'_>) -> usize {
    match value {
        Value::Text(text) => text.len() / 64,
        Value::Bytes(bytes) => bytes.len() / 64,
        Value::List(list) => list.len(),
        Value::Map(map) => map_steps(map),
        _ => 0,
    }
}

fn map_steps(map: &Map<'_>) -> usize {
    match map {
        Map::Headers(headers) => headers.0.len(),
        map => map.len(),
    }
}

fn no_key(key: &str) -> EvalError {
    let shown: String = key.chars().take(60).collect();
    EvalError::new(
        ErrorKind::NoSuchKey,
        format!("the map has no key \"{shown}\""),
    )
}

/// A number as a place in a list.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the double is a whole number below 2^53"
)]
fn place(at: &Value<'_>) -> Option<i128> {
    match at {
        Value::Int(n) => Some(i128::from(*n)),
        Value::Uint(n) => Some(i128::from(*n)),
        Value::Double(n) if n.fract() == 0.0 && n.abs() < 9e15 => Some(*n as i128),
        _ => None,
    }
}

fn of_literal(literal: &Literal) -> Value<'_> {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(yes) => Value::Bool(*yes),
        Literal::Int(n) => Value::Int(*n),
        Literal::Uint(n) => Value::Uint(*n),
        Literal::Double(n) => Value::Double(*n),
        Literal::Text(text) => Value::text(&**text),
        Literal::Bytes(bytes) => Value::Bytes(Cow::Borrowed(bytes)),
        Literal::Type(name) => Value::Type(name),
    }
}

/// The value of a field; none where it is absent.
pub(crate) fn slot_value<'a>(slot: Slot<'a>) -> Option<Value<'a>> {
    Some(match slot {
        Slot::Absent => return None,
        Slot::Text(text) => Value::text(text),
        Slot::Int(n) => Value::Int(n),
        Slot::Double(n) => Value::Double(n),
        Slot::Bool(yes) => Value::Bool(yes),
        Slot::Time(nanos) => Value::Time(i128::from(nanos)),
        Slot::Texts(texts) => Value::List(List::Texts(texts)),
        Slot::Pairs(pairs) => Value::Map(Map::Pairs(pairs)),
        Slot::Headers(headers) => Value::Map(Map::Headers(headers)),
        Slot::Tree(tree) => Value::of_json(tree),
    })
}
