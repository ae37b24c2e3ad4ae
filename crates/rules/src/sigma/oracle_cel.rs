//! As much of the language of conditions as detections use, evaluated strictly: a field that is
//! missing is an error, as it would be for a rule, so that a test of it has to ask first.

use super::oracle::{Event, Val, within};
use crate::expr::{Ast, BinaryOp, Literal, Node, NodeId, UnaryOp};

#[derive(Clone, Debug, PartialEq)]
enum V {
    Bool(bool),
    Int(i64),
    Text(String),
    List(Vec<V>),
}

type Eval<T> = Result<T, String>;

pub(super) fn evaluate(ast: &Ast, event: &Event) -> Eval<bool> {
    Cel { ast, event }.truth(ast.root())
}

struct Cel<'a> {
    ast: &'a Ast,
    event: &'a Event,
}

impl Cel<'_> {
    fn truth(&self, id: NodeId) -> Eval<bool> {
        match self.value(id)? {
            V::Bool(yes) => Ok(yes),
            other => Err(format!("{other:?} is no truth")),
        }
    }

    fn text(&self, id: NodeId) -> Eval<String> {
        match self.value(id)? {
            V::Text(text) => Ok(text),
            other => Err(format!("{other:?} is no text")),
        }
    }

    fn path(&self, id: NodeId) -> Option<String> {
        match self.ast.node(id) {
            Node::Name(name) => Some(name.to_string()),
            Node::Select { of, name } => Some(format!("{}.{name}", self.path(*of)?)),
            _ => None,
        }
    }

    fn find(&self, name: &str) -> Eval<V> {
        match self.event.get(name) {
            Some(Val::Text(text)) => Ok(V::Text(text.clone())),
            Some(Val::Int(number)) => Ok(V::Int(*number)),
            None => Err(format!("there is no {name}")),
        }
    }

    fn value(&self, id: NodeId) -> Eval<V> {
        Ok(match self.ast.node(id) {
            Node::Literal(Literal::Bool(yes)) => V::Bool(*yes),
            Node::Literal(Literal::Int(number)) => V::Int(*number),
            Node::Literal(Literal::Text(text)) => V::Text(text.to_string()),
            Node::Name(_) | Node::Select { .. } => self.find(&self.path(id).unwrap())?,
            Node::Has { of, name } => {
                let path = format!("{}.{name}", self.path(*of).unwrap());
                // Headers were seen, if only none of them.
                V::Bool(path == "http.request.headers" || self.event.contains_key(&path))
            }
            Node::And(all) => {
                for one in all {
                    if !self.truth(*one)? {
                        return Ok(V::Bool(false));
                    }
                }
                V::Bool(true)
            }
            Node::Or(all) => {
                for one in all {
                    if self.truth(*one)? {
                        return Ok(V::Bool(true));
                    }
                }
                V::Bool(false)
            }
            Node::Unary(UnaryOp::Not, of) => V::Bool(!self.truth(*of)?),
            Node::Unary(UnaryOp::Negate, of) => match self.value(*of)? {
                V::Int(number) => V::Int(-number),
                other => return Err(format!("-{other:?}")),
            },
            Node::List(all) => V::List(
                all.iter()
                    .map(|one| self.value(*one))
                    .collect::<Eval<_>>()?,
            ),
            Node::Binary(op, a, b) => {
                V::Bool(self.relation(*op, self.value(*a)?, self.value(*b)?)?)
            }
            Node::Call {
                name,
                target,
                arguments,
            } => self.call(name, *target, arguments)?,
            other => return Err(format!("{other:?} is not known here")),
        })
    }

    fn relation(&self, op: BinaryOp, a: V, b: V) -> Eval<bool> {
        Ok(match (op, &a, &b) {
            (BinaryOp::In, a, V::List(all)) => all.contains(a),
            (BinaryOp::Equal, V::Text(a), V::Text(b)) => a == b,
            (BinaryOp::Equal, V::Int(a), V::Int(b)) => a == b,
            (BinaryOp::Less, V::Int(a), V::Int(b)) => a < b,
            (BinaryOp::LessEqual, V::Int(a), V::Int(b)) => a <= b,
            (BinaryOp::Greater, V::Int(a), V::Int(b)) => a > b,
            (BinaryOp::GreaterEqual, V::Int(a), V::Int(b)) => a >= b,
            _ => return Err(format!("{a:?} {op:?} {b:?}")),
        })
    }

    fn call(&self, name: &str, target: Option<NodeId>, arguments: &[NodeId]) -> Eval<V> {
        let Some(target) = target else {
            return match (name, arguments) {
                ("isIP", [of]) => Ok(V::Bool(self.text(*of)?.parse::<std::net::IpAddr>().is_ok())),
                _ => Err(format!("{name} is not known here")),
            };
        };
        if name == "header" && self.path(target).as_deref() == Some("http.request") {
            return self.find(&format!("header:{}", self.text(arguments[0])?));
        }
        if let Node::Call {
            name: inner,
            arguments: of,
            ..
        } = self.ast.node(target)
        {
            if name == "exists" && &**inner == "header" {
                let header = format!("header:{}", self.text(of[0])?);
                return Ok(V::Bool(self.event.contains_key(&header)));
            }
            if name == "containsIP" && &**inner == "cidr" {
                let address = self.text(arguments[0])?;
                if address.parse::<std::net::IpAddr>().is_err() {
                    return Err(format!("{address:?} is no address"));
                }
                return Ok(V::Bool(within(&self.text(of[0])?, &address)));
            }
        }
        let text = self.text(target)?;
        if name == "lowerAscii" {
            return Ok(V::Text(text.to_ascii_lowercase()));
        }
        let other = self.text(arguments[0])?;
        Ok(V::Bool(match name {
            "contains" => text.contains(&other),
            "startsWith" => text.starts_with(&other),
            "endsWith" => text.ends_with(&other),
            "matches" => regex::Regex::new(&other)
                .map_err(|e| e.to_string())?
                .is_match(&text),
            _ => return Err(format!("{name} is not known here")),
        }))
    }
}
