//! A file of rules as trees with the place of every part.
//!
//! Decision: only what a rule needs of YAML. Tags other than those of plain texts, keys that occur
//! twice and keys that are no text are errors. A file is hostile input: aliases are copied, and
//! each copy counts, so that a few lines that stand for billions of nodes are an error and not a
//! full memory.

use super::skipped::{Reason, Skipped};
use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};
use std::collections::{HashMap, HashSet};

/// Bytes of the longest file.
pub(super) const MAX_LENGTH: usize = 4 * 1024 * 1024;
/// Rules of the largest file.
pub(super) const MAX_DOCUMENTS: usize = 10_000;
/// Levels of the deepest rule.
pub(super) const MAX_DEPTH: usize = 32;
/// Parts of the largest rule, aliases written out.
pub(super) const MAX_NODES: usize = 20_000;
/// Bytes of the texts of the largest rule, aliases written out.
pub(super) const MAX_TEXT: usize = 1024 * 1024;

/// A place in the file, both numbers from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl At {
    fn of(span: Span) -> Self {
        Self {
            line: span.start.line().max(1),
            column: span.start.col() + 1,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) at: At,
    pub(super) value: Value,
}

/// A value. Numbers stay the text that was written: what they are depends on the field.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) at: At,
    pub(super) name: String,
}

impl Node {
    /// The value of a key of a map.
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        match &self.value {
            Value::Map(pairs) => pairs.iter().find(|(k, _)| k.name == name).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The parts and the bytes of text of the whole tree.
    fn size(&self) -> (usize, usize) {
        let add = |a: (usize, usize), b: (usize, usize)| (a.0 + b.0, a.1 + b.1);
        match &self.value {
            Value::Null | Value::Bool(_) => (1, 0),
            Value::Text(text) => (1, text.len()),
            Value::List(list) => list.iter().map(Self::size).fold((1, 0), add),
            Value::Map(pairs) => pairs
                .iter()
                .map(|(key, value)| add((1, key.name.len()), value.size()))
                .fold((1, 0), add),
        }
    }
}

/// A list or map that is not yet complete.
struct Frame {
    at: At,
    anchor: usize,
    value: Value,
    key: Option<Key>,
}

/// The documents of a file, one after the other; nothing follows an error.
pub(super) struct Documents<'s> {
    parser: Parser<'s, StrInput<'s>>,
    stack: Vec<Frame>,
    root: Option<Node>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    text: usize,
    count: usize,
    done: bool,
    too_long: bool,
}

impl<'s> Documents<'s> {
    pub(super) fn new(text: &'s str) -> Self {
        Self {
            parser: Parser::new_from_str(if text.len() > MAX_LENGTH { "" } else { text }),
            stack: Vec::new(),
            root: None,
            anchors: HashMap::new(),
            nodes: 0,
            text: 0,
            count: 0,
            done: false,
            too_long: text.len() > MAX_LENGTH,
        }
    }

    fn read(&mut self) -> Result<Option<Node>, Skipped> {
        if self.too_long {
            let start = At { line: 1, column: 1 };
            let why = format!("a file of rules has at most {MAX_LENGTH} bytes");
            return Err(Skipped::new(start, Reason::Limit(why)));
        }
        while let Some(event) = self.parser.next_event() {
            let (event, span) = event.map_err(|error| {
                let at = At::of(Span::empty(*error.marker()));
                Skipped::new(at, Reason::Yaml(error.info().to_owned()))
            })?;
            let at = At::of(span);
            match event {
                Event::DocumentStart(_) => self.start(at)?,
                Event::DocumentEnd => {
                    if let Some(root) = self.root.take() {
                        return Ok(Some(root));
                    }
                }
                Event::Scalar(text, style, anchor, tag) => {
                    let value = scalar(&text, style, at, tag.as_deref())?;
                    self.put(Node { at, value }, anchor)?;
                }
                Event::SequenceStart(anchor, tag) => {
                    only(tag.as_deref(), "seq", at)?;
                    self.open(at, anchor, Value::List(Vec::new()))?;
                }
                Event::MappingStart(anchor, tag) => {
                    only(tag.as_deref(), "map", at)?;
                    self.open(at, anchor, Value::Map(Vec::new()))?;
                }
                Event::SequenceEnd | Event::MappingEnd => self.close()?,
                Event::Alias(anchor) => {
                    let Some(node) = self.anchors.get(&anchor) else {
                        let why = "an alias stands for what is not yet complete";
                        return Err(Skipped::new(at, Reason::Yaml(why.to_owned())));
                    };
                    let size = node.size();
                    if self.stack.len() + depth(node) > MAX_DEPTH {
                        return Err(too_deep(at));
                    }
                    self.count(at, size)?;
                    let node = Node {
                        at,
                        ..self.anchors[&anchor].clone()
                    };
                    self.put(node, 0)?;
                }
                Event::Nothing | Event::StreamStart | Event::StreamEnd => {}
            }
        }
        Ok(None)
    }

    fn start(&mut self, at: At) -> Result<(), Skipped> {
        self.anchors.clear();
        (self.nodes, self.text) = (0, 0);
        self.count += 1;
        if self.count > MAX_DOCUMENTS {
            let why = format!("a file has at most {MAX_DOCUMENTS} rules; the rest is not read");
            return Err(Skipped::new(at, Reason::Limit(why)));
        }
        Ok(())
    }

    fn count(&mut self, at: At, (nodes, text): (usize, usize)) -> Result<(), Skipped> {
        self.nodes += nodes;
        self.text += text;
        if self.nodes <= MAX_NODES && self.text <= MAX_TEXT {
            return Ok(());
        }
        let why = format!(
            "a rule has at most {MAX_NODES} parts and {MAX_TEXT} bytes of text, aliases written \
             out; the rest of the file is not read"
        );
        Err(Skipped::new(at, Reason::Limit(why)))
    }

    fn open(&mut self, at: At, anchor: usize, value: Value) -> Result<(), Skipped> {
        if self.stack.len() >= MAX_DEPTH {
            return Err(too_deep(at));
        }
        self.count(at, (1, 0))?;
        self.stack.push(Frame {
            at,
            anchor,
            value,
            key: None,
        });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Skipped> {
        let Some(frame) = self.stack.pop() else {
            return Ok(());
        };
        if let Value::Map(pairs) = &frame.value {
            let mut seen = HashSet::with_capacity(pairs.len());
            if let Some((key, _)) = pairs.iter().find(|(key, _)| !seen.insert(&*key.name)) {
                let why = format!("the key {:?} occurs twice in one map", key.name);
                return Err(Skipped::new(key.at, Reason::Yaml(why)));
            }
        }
        let node = Node {
            at: frame.at,
            value: frame.value,
        };
        self.attach(node, frame.anchor)
    }

    /// Takes a scalar or an alias, which was or is counted once.
    fn put(&mut self, node: Node, anchor: usize) -> Result<(), Skipped> {
        if let Value::Text(text) = &node.value {
            self.count(node.at, (1, text.len()))?;
        } else {
            self.count(node.at, (1, 0))?;
        }
        self.attach(node, anchor)
    }

    fn attach(&mut self, node: Node, anchor: usize) -> Result<(), Skipped> {
        if anchor > 0 {
            self.count(node.at, node.size())?;
            self.anchors.insert(anchor, node.clone());
        }
        let Some(frame) = self.stack.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut frame.value {
            Value::List(list) => list.push(node),
            Value::Map(pairs) => match frame.key.take() {
                Some(key) => pairs.push((key, node)),
                None => frame.key = Some(key(node)?),
            },
            _ => {}
        }
        Ok(())
    }
}

impl Iterator for Documents<'_> {
    type Item = Result<Node, Skipped>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let read = self.read().transpose();
        self.done = !matches!(read, Some(Ok(_)));
        read
    }
}

fn too_deep(at: At) -> Skipped {
    let why =
        format!("a rule has at most {MAX_DEPTH} levels of YAML; the rest of the file is not read");
    Skipped::new(at, Reason::Limit(why))
}

fn depth(node: &Node) -> usize {
    match &node.value {
        Value::List(list) => 1 + list.iter().map(depth).max().unwrap_or(0),
        Value::Map(pairs) => 1 + pairs.iter().map(|(_, v)| depth(v)).max().unwrap_or(0),
        _ => 0,
    }
}

fn key(node: Node) -> Result<Key, Skipped> {
    let name = match node.value {
        Value::Text(name) => name,
        Value::Bool(yes) => yes.to_string(),
        Value::Null => String::from("null"),
        Value::List(_) | Value::Map(_) => {
            let why = "a key is a text, not a list or map".to_owned();
            return Err(Skipped::new(node.at, Reason::Yaml(why)));
        }
    };
    Ok(Key { at: node.at, name })
}

/// An error where a tag is another than the one that changes nothing.
fn only(tag: Option<&Tag>, plain: &str, at: At) -> Result<(), Skipped> {
    match tag {
        Some(tag) if !(tag.is_yaml_core_schema() && tag.suffix == plain) => {
            let why = format!("the tag {tag} has no meaning in a rule");
            Err(Skipped::new(at, Reason::Yaml(why)))
        }
        _ => Ok(()),
    }
}

fn scalar(text: &str, style: ScalarStyle, at: At, tag: Option<&Tag>) -> Result<Value, Skipped> {
    only(tag, "str", at)?;
    if tag.is_some() || style != ScalarStyle::Plain {
        return Ok(Value::Text(text.to_owned()));
    }
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        text => Value::Text(text.to_owned()),
    })
}
