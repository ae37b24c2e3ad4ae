//! Names to fields, calls to functions, and the type of every part.

use super::functions::{self, FUNCTIONS, Function, Overload};
use super::types::Ty;
use super::{constants, suggest};
use crate::eval::Patterns;
use crate::expr::{Ast, Literal, MacroKind, Node, NodeId, SyntaxError, UnaryOp};
use bailiwick_event::closest;
use bailiwick_event::fields::{EventType, Field, FieldType};

/// Mistakes that are told at once.
const MOST_MISTAKES: usize = 20;

/// What the check found out.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The type of the whole.
    pub ty: Ty,
    /// What is allowed and hardly meant.
    pub warnings: Vec<SyntaxError>,
    /// The patterns that stand in it.
    pub(crate) patterns: Patterns,
}

/// Checks a condition about events of a type (none: of any), and replaces names by fields and
/// calls by functions.
///
/// # Errors
/// Every [`SyntaxError`] that it has: unknown names, types that cannot be, patterns that are none.
pub fn check(ast: &mut Ast, on: Option<EventType>) -> Result<Checked, Vec<SyntaxError>> {
    let mut checker = Checker {
        ast,
        on,
        variables: Vec::new(),
        found: Vec::new(),
        warnings: Vec::new(),
        patterns: Patterns::default(),
    };
    let root = checker.ast.root();
    let ty = checker.node(root);
    let Checker {
        found,
        warnings,
        patterns,
        ..
    } = checker;
    if found.is_empty() {
        Ok(Checked {
            ty,
            warnings,
            patterns,
        })
    } else {
        Err(found)
    }
}

pub(super) struct Checker<'a> {
    ast: &'a mut Ast,
    on: Option<EventType>,
    variables: Vec<(Box<str>, Ty)>,
    found: Vec<SyntaxError>,
    warnings: Vec<SyntaxError>,
    patterns: Patterns,
}

impl Checker<'_> {
    pub(super) fn error(
        &mut self,
        id: NodeId,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Ty {
        if self.found.len() < MOST_MISTAKES {
            let span = self.ast.span(id);
            self.found.push(SyntaxError::new(span, message, help));
        }
        Ty::Dyn
    }

    fn variable(&self, name: &str) -> Option<&Ty> {
        let found = self.variables.iter().rev().find(|(n, _)| **n == *name);
        found.map(|(_, ty)| ty)
    }

    fn node(&mut self, id: NodeId) -> Ty {
        // Taken out while its children are looked at, and put back as it is or as what it means.
        let node = std::mem::replace(&mut self.ast.nodes[id as usize], Node::List(Box::new([])));
        let (node, ty) = self.typed(id, node);
        self.ast.nodes[id as usize] = node;
        ty
    }

    fn typed(&mut self, id: NodeId, node: Node) -> (Node, Ty) {
        let ty = match node {
            Node::Literal(ref literal) => of_literal(literal),
            Node::Name(name) => return self.name(id, name),
            Node::Select { of, name } => return self.select(id, of, name),
            Node::Has { of, name } => return self.has(id, of, name),
            Node::Call {
                name,
                target,
                arguments,
            } => return self.call(id, name, target, arguments),
            Node::Index { of, at } => {
                let (of_ty, at_ty) = (self.node(of), self.node(at));
                self.index(at, &of_ty, &at_ty)
            }
            Node::Unary(op, of) => {
                let ty = self.node(of);
                match (op, ty) {
                    (UnaryOp::Not, Ty::Bool | Ty::Dyn) => Ty::Bool,
                    (UnaryOp::Not, ty) => self.error(id, format!("! takes bool, not {ty}"), ""),
                    (UnaryOp::Negate, ty @ (Ty::Int | Ty::Double | Ty::Dyn)) => ty,
                    (UnaryOp::Negate, ty) => {
                        self.error(id, format!("- takes int or double, not {ty}"), "")
                    }
                }
            }
            Node::Binary(op, left, right) => {
                let (a, b) = (self.node(left), self.node(right));
                self.binary(id, op, &a, &b)
            }
            Node::And(ref all) | Node::Or(ref all) => {
                for part in all {
                    self.truth(*part);
                }
                Ty::Bool
            }
            Node::Ternary {
                test,
                then,
                otherwise,
            } => {
                self.truth(test);
                let (a, b) = (self.node(then), self.node(otherwise));
                if !a.meets(&b) {
                    self.error(
                        id,
                        format!("one side is {a}, the other {b}"),
                        "use dyn(…) to mean both",
                    );
                }
                a.join(&b)
            }
            Node::List(ref all) => Ty::list(self.common(all.iter().copied())),
            Node::Map(ref pairs) => {
                let key = self.common(pairs.iter().map(|(key, _)| *key));
                let value = self.common(pairs.iter().map(|(_, value)| *value));
                Ty::Map(key.into(), value.into())
            }
            Node::Macro {
                kind,
                range,
                ref variable,
                test,
                body,
            } => self.over(id, kind, range, variable, test, body),
            Node::Field(field) => Ty::of_field(field.info().ty),
            Node::HasField(_) | Node::HasHeader { .. } => Ty::Bool,
            Node::Header { .. } => Ty::Text,
            Node::Apply { .. } => Ty::Dyn,
        };
        (node, ty)
    }

    fn common(&mut self, ids: impl Iterator<Item = NodeId>) -> Ty {
        let mut ty: Option<Ty> = None;
        for id in ids {
            let next = self.node(id);
            ty = Some(match ty {
                Some(ty) => ty.join(&next),
                None => next,
            });
        }
        ty.unwrap_or(Ty::Dyn)
    }

    fn truth(&mut self, id: NodeId) {
        match self.node(id) {
            Ty::Bool | Ty::Dyn => {}
            ty => {
                self.error(
                    id,
                    format!("a condition is true or false; this is {ty}"),
                    "compare it with something",
                );
            }
        }
    }

    fn name(&mut self, id: NodeId, name: Box<str>) -> (Node, Ty) {
        if let Some(ty) = self.variable(&name) {
            let ty = ty.clone();
            return (Node::Name(name), ty);
        }
        if let Some(name) = type_name(&name) {
            return (Node::Literal(Literal::Type(name)), Ty::Type);
        }
        let ty = self.unknown(id, &name);
        (Node::Name(name), ty)
    }

    fn unknown(&mut self, id: NodeId, path: &str) -> Ty {
        let group = format!("{path}.");
        let inside: Vec<_> = Field::ALL
            .iter()
            .filter_map(|info| info.path.strip_prefix(&group))
            .collect();
        if !inside.is_empty() {
            let help = format!("it has {}", inside.join(", "));
            return self.error(
                id,
                format!("`{path}` is a group of fields, not a value"),
                help,
            );
        }
        let help = match suggest::field(path, self.on) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`bailiwick rules fields` lists the fields".to_owned(),
        };
        self.error(id, format!("no field is called `{path}`"), help)
    }

    /// The dotted name that a node is, unless its first part is a variable.
    fn path(&self, id: NodeId, out: &mut String) -> bool {
        match self.ast.node(id) {
            Node::Name(name) => {
                out.push_str(name);
                self.variable(name).is_none()
            }
            Node::Select { of, name } => {
                let named = self.path(*of, out);
                out.push('.');
                out.push_str(name);
                named
            }
            _ => false,
        }
    }

    /// The field of that name; what such an event never has is reported.
    fn field(&mut self, id: NodeId, path: &str) -> Option<Field> {
        let field = Field::named(path)?;
        let family = &field.info().family;
        if let Some(on) = self.on.filter(|on| !on.families().contains(family)) {
            let known: Vec<_> = on
                .families()
                .iter()
                .map(|f| format!("{}.*", f.prefix()))
                .collect();
            self.error(
                id,
                format!("an event of type {on} never has `{path}`"),
                format!("it has {}", known.join(", ")),
            );
        }
        Some(field)
    }

    fn select(&mut self, id: NodeId, of: NodeId, name: Box<str>) -> (Node, Ty) {
        let mut path = String::with_capacity(32);
        if self.path(of, &mut path) {
            path.push('.');
            path.push_str(&name);
            if let Some(field) = self.field(id, &path) {
                return (Node::Field(field), Ty::of_field(field.info().ty));
            }
            if let Some(name) = type_name(&path) {
                return (Node::Literal(Literal::Type(name)), Ty::Type);
            }
            // A part of it may be a field that has parts of its own.
            let inner = path
                .match_indices('.')
                .any(|(dot, _)| Field::named(&path[..dot]).is_some());
            if !inner {
                let ty = self.unknown(id, &path);
                return (Node::Select { of, name }, ty);
            }
        }
        let ty = match self.node(of) {
            Ty::Map(_, value) => (*value).clone(),
            Ty::Dyn => Ty::Dyn,
            ty => self.error(id, format!("{ty} has no part \"{name}\""), ""),
        };
        (Node::Select { of, name }, ty)
    }

    fn has(&mut self, id: NodeId, of: NodeId, name: Box<str>) -> (Node, Ty) {
        let select = Node::Select {
            of,
            name: name.clone(),
        };
        self.ast.nodes[id as usize] = select;
        match self.node(id) {
            _ if matches!(self.ast.node(id), Node::Field(_)) => {
                let Node::Field(field) = *self.ast.node(id) else {
                    return (Node::Has { of, name }, Ty::Bool);
                };
                if field.info().always && self.on.is_some() {
                    let message = format!("every such event has `{}`", field.info().path);
                    let warning = SyntaxError::new(self.ast.span(id), message, "leave has() out");
                    self.warnings.push(warning);
                }
                (Node::HasField(field), Ty::Bool)
            }
            _ => (Node::Has { of, name }, Ty::Bool),
        }
    }

    fn index(&mut self, at: NodeId, of: &Ty, at_ty: &Ty) -> Ty {
        match of {
            Ty::List(element) => {
                if !(at_ty.is_number() || *at_ty == Ty::Dyn) {
                    return self.error(
                        at,
                        format!("a place in a list is a number, not {at_ty}"),
                        "",
                    );
                }
                (**element).clone()
            }
            Ty::Map(key, value) => {
                if !key.meets(at_ty) {
                    return self.error(at, format!("the keys are {key}, not {at_ty}"), "");
                }
                (**value).clone()
            }
            Ty::Dyn => Ty::Dyn,
            other => self.error(at, format!("{other} has no elements"), ""),
        }
    }

    fn over(
        &mut self,
        id: NodeId,
        kind: MacroKind,
        range: NodeId,
        variable: &str,
        test: Option<NodeId>,
        body: NodeId,
    ) -> Ty {
        let element = match self.node(range) {
            Ty::List(of) => (*of).clone(),
            Ty::Map(key, _) => (*key).clone(),
            Ty::Dyn => Ty::Dyn,
            ty => self.error(
                range,
                format!("`{}` goes over a list or a map, not {ty}", kind.name()),
                "",
            ),
        };
        if variable.contains('.')
            || Field::ALL
                .iter()
                .any(|f| f.path.split('.').next() == Some(variable))
        {
            self.error(
                id,
                format!("\"{variable}\" is the name of fields"),
                "give the variable another name",
            );
        }
        self.variables.push((variable.into(), element.clone()));
        if let Some(test) = test {
            self.truth(test);
        }
        let ty = match kind {
            MacroKind::Map => Ty::list(self.node(body)),
            MacroKind::Filter => {
                self.truth(body);
                Ty::list(element)
            }
            _ => {
                self.truth(body);
                Ty::Bool
            }
        };
        self.variables.pop();
        ty
    }

    /// `http.request.header(name)` and its like: the field that holds the headers.
    fn headers(&mut self, id: NodeId, target: NodeId) -> Option<Field> {
        let mut path = String::with_capacity(32);
        if !self.path(target, &mut path) {
            return None;
        }
        path.push_str(".headers");
        self.field(id, &path)
            .filter(|field| field.info().ty == FieldType::Headers)
    }

    fn call(
        &mut self,
        id: NodeId,
        name: Box<str>,
        target: Option<NodeId>,
        arguments: Box<[NodeId]>,
    ) -> (Node, Ty) {
        match (&*name, target, &*arguments) {
            ("header", Some(target), [header]) => {
                if let Some(field) = self.headers(id, target) {
                    let header = *header;
                    match self.node(header) {
                        Ty::Text | Ty::Dyn => {}
                        ty => {
                            self.error(header, format!("a header's name is a text, not {ty}"), "");
                        }
                    }
                    return (
                        Node::Header {
                            field,
                            name: header,
                        },
                        Ty::Text,
                    );
                }
            }
            ("exists", Some(target), []) => {
                self.node(target);
                let there = match *self.ast.node(target) {
                    Node::Header { field, name } => Some(Node::HasHeader { field, name }),
                    Node::Field(field) => Some(Node::HasField(field)),
                    _ => None,
                };
                return match there {
                    Some(node) => (node, Ty::Bool),
                    None => {
                        self.error(
                            id,
                            "exists() asks whether a field or a header is there",
                            "write list.exists(x, …) to look for an element",
                        );
                        (
                            Node::Call {
                                name,
                                target: Some(target),
                                arguments,
                            },
                            Ty::Bool,
                        )
                    }
                };
            }
            _ => {}
        }
        let member = target.is_some();
        let all: Box<[NodeId]> = target
            .into_iter()
            .chain(arguments.iter().copied())
            .collect();
        let types: Vec<Ty> = all.iter().map(|id| self.node(*id)).collect();
        match self.overload(id, &name, member, &types) {
            Some(overload) => {
                let function = overload.function;
                self.constants(id, function, &all);
                let ty = match function {
                    Function::Dyn => Ty::Dyn,
                    _ => overload.gives.ty(),
                };
                let node = Node::Apply {
                    function,
                    member,
                    arguments: all,
                };
                (node, ty)
            }
            None => (
                Node::Call {
                    name,
                    target,
                    arguments,
                },
                Ty::Dyn,
            ),
        }
    }

    /// Reads the constants of a call. What stands in a condition that has mistakes enough to tell
    /// is not read any more: to find that a pattern is too large takes time.
    fn constants(&mut self, id: NodeId, function: Function, arguments: &[NodeId]) {
        if self.found.len() >= MOST_MISTAKES {
            return;
        }
        match constants::check(self.ast, function, arguments) {
            Ok(None) => {}
            Ok(Some((at, pattern))) => {
                if let Err((message, instead)) = self.patterns.add(at, pattern) {
                    self.error(id, message, instead);
                }
            }
            Err((at, why)) => {
                self.error(at, why, "");
            }
        }
    }

    fn overload(
        &mut self,
        id: NodeId,
        name: &str,
        member: bool,
        types: &[Ty],
    ) -> Option<&'static Overload> {
        let named = functions::named(name);
        let styled = || {
            named
                .iter()
                .filter(|f| if member { f.member } else { f.global })
        };
        let takes = |f: &&Overload| {
            f.takes.len() == types.len() && f.takes.iter().zip(types).all(|(sig, ty)| sig.takes(ty))
        };
        if let Some(found) = styled().find(takes) {
            return Some(found);
        }
        let given: Vec<_> = types.iter().map(ToString::to_string).collect();
        let (message, help) = if named.is_empty() {
            let near = closest(name, FUNCTIONS.iter().map(|f| f.function.name()));
            let help = near.map_or_else(
                || "`bailiwick rules functions` lists the functions".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            (format!("no function is called `{name}`"), help)
        } else if styled().next().is_none() {
            let help = match member {
                true => format!("write {name}(…)"),
                false => format!("write value.{name}(…)"),
            };
            (format!("`{name}` is not called like this"), help)
        } else {
            let ways: Vec<_> = styled().map(|f| show(f, member)).collect();
            (
                format!("`{name}` does not take ({})", given.join(", ")),
                format!("it is {}", ways.join(" or ")),
            )
        };
        self.error(id, message, help);
        None
    }
}

fn show(overload: &Overload, member: bool) -> String {
    let names: Vec<_> = overload
        .takes
        .iter()
        .map(|sig| sig.ty().to_string())
        .collect();
    let name = overload.function.name();
    match names.split_first() {
        Some((target, rest)) if member => format!("{target}.{name}({})", rest.join(", ")),
        _ => format!("{name}({})", names.join(", ")),
    }
}

fn of_literal(literal: &Literal) -> Ty {
    match literal {
        Literal::Null => Ty::Null,
        Literal::Bool(_) => Ty::Bool,
        Literal::Int(_) => Ty::Int,
        Literal::Uint(_) => Ty::Uint,
        Literal::Double(_) => Ty::Double,
        Literal::Text(_) => Ty::Text,
        Literal::Bytes(_) => Ty::Bytes,
        Literal::Type(_) => Ty::Type,
    }
}

/// The type that a name is the name of.
fn type_name(name: &str) -> Option<&'static str> {
    const NAMES: [&str; 14] = [
        "bool",
        "int",
        "uint",
        "double",
        "string",
        "bytes",
        "list",
        "map",
        "null_type",
        "type",
        "google.protobuf.Timestamp",
        "google.protobuf.Duration",
        "net.IP",
        "net.CIDR",
    ];
    NAMES.into_iter().find(|known| *known == name)
}
