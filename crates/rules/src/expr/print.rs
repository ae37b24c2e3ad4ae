//! A tree back to text: what it says, with as few parentheses as it takes. A value that somebody
//! else wrote enters a condition only through [`quoted`], so that no value can become syntax.

use super::ast::{Ast, Literal, Node, NodeId, UnaryOp};
use bailiwick_event::harmless;
use std::fmt::{self, Write as _};

/// A text as a literal of the language.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if !harmless(c) => {
                let _ = write!(out, "\\U{:08x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(yes) => write!(f, "{yes}"),
            Self::Int(number) => write!(f, "{number}"),
            Self::Uint(number) => write!(f, "{number}u"),
            Self::Double(number) => write!(f, "{number:?}"),
            Self::Text(text) => f.write_str(&quoted(text)),
            Self::Type(name) => f.write_str(name),
            Self::Bytes(bytes) => {
                f.write_str("b\"")?;
                for byte in bytes {
                    match byte {
                        b'"' | b'\\' => write!(f, "\\{}", char::from(*byte))?,
                        b' '..=b'~' => f.write_char(char::from(*byte))?,
                        byte => write!(f, "\\x{byte:02x}")?,
                    }
                }
                f.write_str("\"")
            }
        }
    }
}

/// How strongly a node binds what stands in it.
fn strength(node: &Node) -> u8 {
    match node {
        Node::Ternary { .. } => 0,
        Node::Or(_) => 1,
        Node::And(_) => 2,
        Node::Binary(op, ..) => op.precedence(),
        Node::Unary(..) => 6,
        Node::Literal(Literal::Int(n)) if *n < 0 => 6,
        Node::Literal(Literal::Double(n)) if n.is_sign_negative() => 6,
        _ => 7,
    }
}

impl Ast {
    /// A part of the condition as text.
    #[must_use]
    pub fn show(&self, id: NodeId) -> String {
        let mut out = String::new();
        self.write(&mut out, id, 0);
        out
    }

    fn all(&self, out: &mut String, ids: &[NodeId]) {
        for (n, id) in ids.iter().enumerate() {
            if n > 0 {
                out.push_str(", ");
            }
            self.write(out, *id, 0);
        }
    }

    fn write(&self, out: &mut String, id: NodeId, least: u8) {
        let node = self.node(id);
        let open = strength(node) < least;
        if open {
            out.push('(');
        }
        match node {
            Node::Literal(literal) => {
                let _ = write!(out, "{literal}");
            }
            Node::Name(name) => out.push_str(name),
            Node::Field(field) => out.push_str(field.info().path),
            Node::HasField(field) => {
                let _ = write!(out, "has({})", field.info().path);
            }
            Node::Select { of, name } => {
                self.write(out, *of, 7);
                out.push('.');
                out.push_str(&selector(name));
            }
            Node::Has { of, name } => {
                out.push_str("has(");
                self.write(out, *of, 7);
                let _ = write!(out, ".{})", selector(name));
            }
            Node::Header { field, name } | Node::HasHeader { field, name } => {
                let path = field.info().path;
                out.push_str(path.strip_suffix('s').unwrap_or(path));
                out.push('(');
                self.write(out, *name, 0);
                out.push(')');
                if matches!(node, Node::HasHeader { .. }) {
                    out.push_str(".exists()");
                }
            }
            Node::Index { of, at } => {
                self.write(out, *of, 7);
                out.push('[');
                self.write(out, *at, 0);
                out.push(']');
            }
            Node::Unary(op, of) => {
                out.push(if *op == UnaryOp::Not { '!' } else { '-' });
                // A minus before a number would become a part of it, even of one that something
                // is taken of.
                let from = out.len();
                self.write(out, *of, 6);
                let first = out[from..].bytes().next();
                let literal = matches!(self.node(*of), Node::Literal(_));
                let number = literal || first.is_some_and(|b| b.is_ascii_digit());
                if *op == UnaryOp::Negate && number {
                    out.insert(from, '(');
                    out.push(')');
                }
            }
            Node::Binary(op, left, right) => {
                self.write(out, *left, op.precedence());
                let _ = write!(out, " {} ", op.symbol());
                self.write(out, *right, op.precedence() + 1);
            }
            Node::And(all) => self.chain(out, all, " && ", 3),
            Node::Or(all) => self.chain(out, all, " || ", 2),
            Node::Ternary {
                test,
                then,
                otherwise,
            } => {
                self.write(out, *test, 1);
                out.push_str(" ? ");
                self.write(out, *then, 1);
                out.push_str(" : ");
                self.write(out, *otherwise, 0);
            }
            Node::Call {
                name,
                target,
                arguments,
            } => {
                if let Some(target) = target {
                    self.write(out, *target, 7);
                    out.push('.');
                }
                let _ = write!(out, "{name}(");
                self.all(out, arguments);
                out.push(')');
            }
            Node::Apply {
                function,
                member,
                arguments,
            } => {
                let mut rest = &**arguments;
                if *member && let Some((target, others)) = arguments.split_first() {
                    self.write(out, *target, 7);
                    out.push('.');
                    rest = others;
                }
                let _ = write!(out, "{}(", function.name());
                self.all(out, rest);
                out.push(')');
            }
            Node::List(all) => {
                out.push('[');
                self.all(out, all);
                out.push(']');
            }
            Node::Map(pairs) => {
                out.push('{');
                for (n, (key, value)) in pairs.iter().enumerate() {
                    out.push_str(if n > 0 { ", " } else { "" });
                    self.write(out, *key, 0);
                    out.push_str(": ");
                    self.write(out, *value, 0);
                }
                out.push('}');
            }
            Node::Macro {
                kind,
                range,
                variable,
                test,
                body,
            } => {
                self.write(out, *range, 7);
                let _ = write!(out, ".{}({variable}, ", kind.name());
                if let Some(test) = test {
                    self.write(out, *test, 0);
                    out.push_str(", ");
                }
                self.write(out, *body, 0);
                out.push(')');
            }
        }
        if open {
            out.push(')');
        }
    }

    fn chain(&self, out: &mut String, all: &[NodeId], between: &str, least: u8) {
        for (n, id) in all.iter().enumerate() {
            out.push_str(if n > 0 { between } else { "" });
            self.write(out, *id, least);
        }
    }
}

/// A name after a dot; between backticks where it is no plain name.
fn selector(name: &str) -> String {
    let plain = |c: char| c == '_' || c.is_ascii_alphanumeric();
    let is_plain = name.chars().all(plain)
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !matches!(name, "in" | "true" | "false" | "null");
    if is_plain {
        name.to_owned()
    } else {
        format!("`{name}`")
    }
}
