//! What an answer says, put together from its events.

use super::text::Text;
use super::tree::Tree;
use super::usage::{Told, Usage};

/// The most calls of one answer.
const MAX_CALLS: usize = 1024;

/// A call of one of the program's tools; the provider's own, which it calls itself, are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolCall {
    /// Its id; the result in the next request has the same.
    pub(crate) id: Option<String>,
    /// The tool's name.
    pub(crate) name: Option<String>,
}

/// What an answer says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The model that answered.
    pub(crate) model: Option<String>,
    /// Why it ended, in the API's own word.
    pub(crate) stop: Option<String>,
    pub(crate) usage: Usage,
    pub(crate) calls: Vec<ToolCall>,
    /// The beginning of the text, without thoughts.
    pub(crate) text: Option<String>,
    /// The kind of error that the API answered, in its own word.
    pub(crate) error: Option<String>,
    /// It ended before its end, or there was more than is kept.
    pub(crate) truncated: bool,
    /// A part of it could not be read, or says something twice.
    pub(crate) malformed: bool,
}

/// What tells a call from the others of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// By its place: of which alternative, and where in it.
    Place(u64, u64),
    /// By its id.
    Id(String),
    /// It comes whole, and only once.
    Alone,
}

/// What was said so far.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    model: Option<String>,
    stop: Option<String>,
    error: Option<String>,
    text: Text,
    /// The part that the text belongs to.
    part: Option<u64>,
    calls: Vec<(Key, ToolCall)>,
    pub(super) usage: Told,
    /// The answer has said that it is at its end.
    pub(super) ended: bool,
    /// Something that the model wrote has come.
    pub(super) begun: bool,
    pub(super) over: bool,
    pub(super) malformed: bool,
}

impl Gathered {
    /// The model, from one of the keys where the APIs have it.
    pub(super) fn model(&mut self, tree: &Tree, key: &str) {
        if let Some(name) = tree.name(key) {
            self.model = Some(name.to_owned());
        }
    }

    pub(super) fn stop(&mut self, reason: Option<&str>) {
        if let Some(reason) = reason {
            self.stop = Some(reason.to_owned());
            self.ended = true;
        }
    }

    /// An error, which ends the answer; its first word counts.
    pub(super) fn error(&mut self, error: &Tree, keys: &[&str]) {
        let word = keys.iter().find_map(|key| match error.get(key)? {
            Tree::Number(number) => Some(number.to_string()),
            other => other.as_name().map(str::to_owned),
        });
        let word = word.unwrap_or_else(|| "error".to_owned());
        self.error.get_or_insert(word);
        self.ended = true;
    }

    /// Adds to the text of one of its parts.
    pub(super) fn text(&mut self, part: u64, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.part.replace(part) != Some(part) {
            self.text.end_part();
        }
        self.begun = true;
        self.text.push(text);
    }

    /// Takes note that the model has written something that is not kept.
    pub(super) fn thought(&mut self, text: Option<&str>) {
        self.begun |= text.is_some_and(|text| !text.is_empty());
    }

    /// A call, or more of it.
    pub(super) fn call(&mut self, key: Key, id: Option<&str>, name: Option<&str>) {
        self.begun = true;
        let known = match key {
            Key::Alone => None,
            _ => self.calls.iter_mut().find(|(known, _)| *known == key),
        };
        if let Some((_, call)) = known {
            self.malformed |= !fill(&mut call.id, id) | !fill(&mut call.name, name);
        } else if self.calls.len() < MAX_CALLS {
            let call = ToolCall {
                id: id.map(str::to_owned),
                name: name.map(str::to_owned),
            };
            self.calls.push((key, call));
        } else {
            self.over = true;
        }
    }

    /// Bytes that it keeps.
    pub(super) fn size(&self) -> usize {
        let of = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let calls = self.calls.iter().map(|(key, call)| {
            let key = match key {
                Key::Id(id) => id.len(),
                Key::Place(..) | Key::Alone => 0,
            };
            size_of::<(Key, ToolCall)>() + key + of(&call.id) + of(&call.name)
        });
        self.text.size() + calls.sum::<usize>()
    }

    pub(super) fn has_text(&self) -> bool {
        self.part.is_some()
    }

    pub(super) fn into_answer(self) -> Answer {
        Answer {
            model: self.model,
            stop: self.stop,
            usage: self.usage.into_usage(self.ended),
            calls: self.calls.into_iter().map(|(_, call)| call).collect(),
            text: self.text.into_string(),
            error: self.error,
            truncated: !self.ended || self.over,
            malformed: self.malformed,
        }
    }
}

/// Fills in what was not known; whether it is no other than what was.
fn fill(known: &mut Option<String>, told: Option<&str>) -> bool {
    match (&known, told) {
        (Some(known), Some(told)) => known == told,
        (None, Some(told)) => {
            *known = Some(told.to_owned());
            true
        }
        (_, None) => true,
    }
}
