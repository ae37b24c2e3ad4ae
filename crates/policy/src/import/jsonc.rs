//! JSON with comments and trailing commas, with the place of every value. Stricter than its
//! writers in one thing: a key that stands twice is a mistake here, since one of the two rules
//! would silently not hold.

use super::tree::{Node, Value};
use crate::diagnostic::Diagnostic;
use crate::source_text::SourceText;
use bailiwick_event::Text;
use std::ops::Range;
use std::sync::Arc;

/// How deep lists and tables may lie in one another: a hostile file must not exhaust the stack.
const MAX_DEPTH: usize = 64;

/// Reads a file's text.
pub(crate) fn read(source: &Arc<SourceText>) -> Result<Node, Diagnostic> {
    let mut reader = Reader {
        text: &source.text,
        at: if source.text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        },
        depth: 0,
    };
    let read = |reader: &mut Reader<'_>| {
        let node = reader.value()?;
        reader.blanks()?;
        match reader.peek() {
            None => Ok(node),
            Some(_) => Err(reader.wrong("something stands behind the end", "remove it")),
        }
    };
    read(&mut reader).map_err(|w| Diagnostic::error(source, w.span, w.message, w.help))
}

struct Wrong {
    span: Range<usize>,
    message: String,
    help: &'static str,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn wrong(&self, message: impl Into<String>, help: &'static str) -> Wrong {
        let len = self.peek().map_or(0, char::len_utf8);
        Wrong {
            span: self.at..self.at + len,
            message: message.into(),
            help,
        }
    }

    fn take(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    /// Passes over white space and comments.
    fn blanks(&mut self) -> Result<(), Wrong> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n']);
            let skipped = rest.len() - trimmed.len();
            if trimmed.starts_with("//") {
                self.at += skipped + trimmed.find('\n').unwrap_or(trimmed.len());
            } else if let Some(comment) = trimmed.strip_prefix("/*") {
                let Some(end) = comment.find("*/") else {
                    self.at += skipped;
                    return Err(self.wrong("this comment has no end", "close it with */"));
                };
                self.at += skipped + end + 4;
            } else {
                self.at += skipped;
                return Ok(());
            }
        }
    }

    fn value(&mut self) -> Result<Node, Wrong> {
        self.blanks()?;
        let start = self.at;
        let value = match self.peek() {
            Some('{') => self.nested(Self::table)?,
            Some('[') => self.nested(Self::list)?,
            Some('"') => Value::Text(self.string()?),
            Some('-' | '0'..='9') => self.number()?,
            Some(c) if c.is_ascii_alphabetic() => self.word()?,
            Some('\'') => {
                return Err(self.wrong("a text stands between double quotes", "write \"…\""));
            }
            Some(_) => return Err(self.wrong("this is no value", "write a value of JSON")),
            None => return Err(self.wrong("the file ends too early", "close what is open")),
        };
        Ok(Node {
            value,
            span: start..self.at,
        })
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Value, Wrong>,
    ) -> Result<Value, Wrong> {
        if self.depth == MAX_DEPTH {
            return Err(self.wrong(
                format!("more than {MAX_DEPTH} lists and tables lie in one another"),
                "take a flatter file",
            ));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    /// What stands behind an element: true where another one may follow.
    fn another(&mut self, close: char) -> Result<bool, Wrong> {
        self.blanks()?;
        if self.take(close) {
            return Ok(false);
        }
        if !self.take(',') {
            return Err(match self.peek() {
                None => self.wrong("the file ends too early", "close what is open"),
                Some(_) => self.wrong(
                    format!("a comma or \"{close}\" is missing here"),
                    "write it before this",
                ),
            });
        }
        self.blanks()?;
        Ok(!self.take(close))
    }

    fn list(&mut self) -> Result<Value, Wrong> {
        let mut nodes = Vec::new();
        self.blanks()?;
        if self.take(']') {
            return Ok(Value::List(nodes));
        }
        loop {
            nodes.push(self.value()?);
            if !self.another(']')? {
                return Ok(Value::List(nodes));
            }
        }
    }

    fn table(&mut self) -> Result<Value, Wrong> {
        let mut pairs: Vec<(String, Node)> = Vec::new();
        self.blanks()?;
        if self.take('}') {
            return Ok(Value::Table(pairs));
        }
        loop {
            let start = self.at;
            if self.peek() != Some('"') {
                return Err(match self.peek() {
                    None => self.wrong("the file ends too early", "close what is open"),
                    Some(_) => self.wrong("a key is missing here", "write it in double quotes"),
                });
            }
            let name = self.string()?;
            if pairs.iter().any(|(n, _)| *n == name) {
                return Err(Wrong {
                    span: start..self.at,
                    message: format!("the key \"{}\" stands here twice", Text::from(name)),
                    help: "remove one of the two",
                });
            }
            self.blanks()?;
            if !self.take(':') {
                return Err(self.wrong("a \":\" is missing here", "write it behind the key"));
            }
            pairs.push((name, self.value()?));
            if !self.another('}')? {
                return Ok(Value::Table(pairs));
            }
        }
    }

    fn word(&mut self) -> Result<Value, Wrong> {
        let rest = self.rest();
        let len = rest
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(rest.len());
        let value = match rest.get(..len) {
            Some("true") => Value::Flag(true),
            Some("false") => Value::Flag(false),
            Some("null") => Value::Null,
            word => {
                return Err(Wrong {
                    span: self.at..self.at + len,
                    message: format!("\"{}\" is no value", word.unwrap_or_default()),
                    help: "write true, false, null, or a text in double quotes",
                });
            }
        };
        self.at += len;
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, Wrong> {
        let rest = self.rest();
        let len = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)))
            .unwrap_or(rest.len());
        let text = rest.get(..len).unwrap_or_default();
        // The grammar of JSON's numbers, as the library that the product already has reads it.
        if serde_json::from_str::<serde_json::Number>(text).is_err() {
            return Err(Wrong {
                span: self.at..self.at + len,
                message: "this is no number".to_owned(),
                help: "write it like 8080",
            });
        }
        let value = Value::Number(text.to_owned());
        self.at += len;
        Ok(value)
    }

    fn string(&mut self) -> Result<String, Wrong> {
        let start = self.at;
        let mut escaped = false;
        for (i, c) in self.rest().char_indices().skip(1) {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => {
                    self.at += i + 1;
                    let text = self.text.get(start..self.at).unwrap_or_default();
                    return serde_json::from_str(text).map_err(|_| Wrong {
                        span: start..start + i + 1,
                        message: "this text has an escape that JSON does not know".to_owned(),
                        help: "write a backslash as \\\\",
                    });
                }
                '\n' => break,
                _ => {}
            }
        }
        Err(self.wrong("this text has no end on its line", "close it with \""))
    }
}

#[cfg(test)]
#[path = "jsonc_tests.rs"]
mod tests;
