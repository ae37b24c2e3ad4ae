//! What another tool's file says, whatever its syntax: values with the place where each stands.
//! Every later complaint can then name a line, as for a policy of our own.

use crate::diagnostic::Diagnostic;
use crate::source_text::SourceText;
use bailiwick_event::{Origin, Text};
use std::ops::Range;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Flag(bool),
    /// As it is written.
    Number(String),
    Text(String),
    List(Vec<Node>),
    /// In the order of the file.
    Table(Vec<(String, Node)>),
}

impl Value {
    /// The type in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Flag(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// A value and the bytes that it stands at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) span: Range<usize>,
}

/// A value with the name that leads to it (`network.allowedDomains[2]`).
#[derive(Clone, Debug)]
pub(crate) struct Item<'a> {
    pub(crate) source: &'a Arc<SourceText>,
    pub(crate) path: String,
    pub(crate) node: &'a Node,
}

impl<'a> Item<'a> {
    /// The whole file.
    pub(crate) fn whole(source: &'a Arc<SourceText>, node: &'a Node) -> Self {
        Self {
            source,
            path: String::new(),
            node,
        }
    }

    /// The keys of a table; none of anything else.
    pub(crate) fn keys(&self) -> Vec<(&'a str, Item<'a>)> {
        let Value::Table(pairs) = &self.node.value else {
            return Vec::new();
        };
        let full = |name: &str| match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        pairs
            .iter()
            .map(|(name, node)| (name.as_str(), self.below(full(name), node)))
            .collect()
    }

    /// One key of a table.
    pub(crate) fn key(&self, name: &str) -> Option<Item<'a>> {
        self.keys()
            .into_iter()
            .find(|(n, _)| *n == name)
            .map(|(_, item)| item)
    }

    /// The elements of a list; none of anything else.
    pub(crate) fn elements(&self) -> Vec<Item<'a>> {
        let Value::List(nodes) = &self.node.value else {
            return Vec::new();
        };
        nodes
            .iter()
            .enumerate()
            .map(|(i, node)| self.below(format!("{}[{i}]", self.path), node))
            .collect()
    }

    fn below(&self, path: String, node: &'a Node) -> Item<'a> {
        Item {
            source: self.source,
            path,
            node,
        }
    }

    /// The value, where it is a text.
    pub(crate) fn text(&self) -> Option<&'a str> {
        match &self.node.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Where it stands.
    pub(crate) fn origin(&self) -> Origin {
        self.source.origin(self.node.span.start)
    }

    /// A complaint about it.
    pub(crate) fn error(&self, message: impl Into<String>, help: impl Into<String>) -> Diagnostic {
        Diagnostic::error(self.source, self.node.span.clone(), message, help)
    }
}

/// Reads TOML.
pub(crate) fn read_toml(source: &Arc<SourceText>) -> Result<Node, Vec<Diagnostic>> {
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    if errors.is_empty() {
        return Ok(Node {
            value: toml_table(table.get_ref()),
            span: 0..source.text.len(),
        });
    }
    let complain = |error: toml::de::Error| {
        let message = Text::from(error.message()).to_string();
        let span = error.span().unwrap_or(0..0);
        Diagnostic::error(source, span, message, "mend the TOML, then import it again")
    };
    Err(errors.into_iter().map(complain).collect())
}

fn toml_table(table: &DeTable<'_>) -> Value {
    let mut pairs: Vec<_> = table.iter().collect();
    pairs.sort_by_key(|(key, _)| key.span().start);
    let node = |item: &toml::Spanned<DeValue<'_>>| Node {
        value: toml_value(item.get_ref()),
        span: item.span(),
    };
    let pairs = pairs.into_iter();
    Value::Table(
        pairs
            .map(|(key, item)| (key.get_ref().to_string(), node(item)))
            .collect(),
    )
}

fn toml_value(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Integer(number) => Value::Number(number.as_str().to_owned()),
        DeValue::Float(number) => Value::Number(number.as_str().to_owned()),
        DeValue::Datetime(date) => Value::Number(date.to_string()),
        DeValue::Table(table) => toml_table(table),
        DeValue::Array(array) => Value::List(
            array
                .iter()
                .map(|item| Node {
                    value: toml_value(item.get_ref()),
                    span: item.span(),
                })
                .collect(),
        ),
    }
}
