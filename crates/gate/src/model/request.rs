//! What a call asks for, read from its body or from the beginning of one.
//!
//! Decision: the body is read once from its start, and a fact counts when the bytes after it say
//! that it is whole: `"max_tokens":12` at the end of what there is may go on as `1200`. Of a
//! conversation that was cut off the last turn is not known; the names of tools that were seen
//! were offered, whatever else was.

use super::each::Each;
use super::provider::{Api, ModelCall};
use super::text::MAX_NAME;
use super::tree::{Budget, Key, Seed, Tree};
use super::turn::{ToolResult, Turn};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use std::fmt;

/// The most names of tools that are kept.
const MAX_TOOLS: usize = 1024;

/// What a call asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) model: Option<String>,
    /// Whether the answer is to come bit by bit.
    pub(crate) streaming: Option<bool>,
    /// The names of the tools that are offered; of the provider's own tools, their kind.
    pub(crate) tools: Vec<String>,
    /// The most tokens that may be written.
    pub(crate) most_tokens: Option<u64>,
    /// The texts of the last turn, results of tools among them.
    pub(crate) text: Option<String>,
    /// The results of tools in the last turn.
    pub(crate) results: Vec<ToolResult>,
    /// The bytes ended before the body did, or there was more than is kept: what is said here is
    /// so, and there may be more.
    pub(crate) cut: bool,
    /// The body is no JSON object, or says something twice.
    pub(crate) malformed: bool,
}

/// Reads a body, or the beginning of one.
pub(crate) fn read(call: &ModelCall, body: &[u8]) -> Question {
    let mut found = Found::default();
    let mut json = serde_json::Deserializer::from_slice(body);
    let top = Top {
        found: &mut found,
        field: field(call.api),
    };
    let ended = top.deserialize(&mut json).and_then(|()| json.end());
    let whole = ended.is_ok();
    let cut = ended.is_err_and(|error| is_end(&error, body));
    found.into_question(call, whole, cut)
}

/// Whether more bytes could mend it.
fn is_end(error: &serde_json::Error, body: &[u8]) -> bool {
    // `1.` and `1e` are told to be no numbers, though a digit may follow.
    let may_follow = || {
        let longer = [body, b"0"].concat();
        serde_json::from_slice::<IgnoredAny>(&longer).is_err_and(|error| error.is_eof())
    };
    let in_number = matches!(body.last(), Some(b'.' | b'e' | b'E' | b'+' | b'-'));
    error.is_eof() || in_number && may_follow()
}

/// The keys of a body that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Model,
    Stream,
    Tools,
    MaxTokens,
    /// An object that holds [`Self::MaxTokens`].
    Options,
    Conversation,
    /// An object that holds the others.
    Request,
}

/// The field that a key is in an API's body.
fn field(api: Api) -> fn(&str) -> Option<Field> {
    match api {
        Api::Messages => |key| match key {
            "max_tokens" => Some(Field::MaxTokens),
            "messages" => Some(Field::Conversation),
            _ => common(key),
        },
        Api::Chat => |key| match key {
            "max_tokens" | "max_completion_tokens" => Some(Field::MaxTokens),
            "messages" => Some(Field::Conversation),
            "functions" => Some(Field::Tools),
            _ => common(key),
        },
        Api::Responses => |key| match key {
            "max_output_tokens" => Some(Field::MaxTokens),
            "input" => Some(Field::Conversation),
            _ => common(key),
        },
        Api::Gemini => |key| match key {
            "generationConfig" | "generation_config" => Some(Field::Options),
            "contents" => Some(Field::Conversation),
            "request" => Some(Field::Request),
            _ => common(key),
        },
        Api::Ollama => |key| match key {
            "options" => Some(Field::Options),
            "messages" | "prompt" => Some(Field::Conversation),
            _ => common(key),
        },
    }
}

fn common(key: &str) -> Option<Field> {
    Some(match key {
        "model" => Field::Model,
        "stream" => Field::Stream,
        "tools" => Field::Tools,
        _ => return None,
    })
}

#[derive(Debug, Default)]
struct Found {
    /// How often each field is there.
    seen: [u8; 7],
    model: Option<Tree>,
    stream: Option<Tree>,
    most_tokens: Option<Tree>,
    tools: Vec<String>,
    turn: Turn,
    /// The conversation came to its end.
    heard: bool,
    over: bool,
    twice: bool,
}

impl Found {
    /// Takes note that a field is there.
    fn sees(&mut self, field: Field) {
        let times = &mut self.seen[field as usize];
        *times = times.saturating_add(1);
        self.twice |= *times > 1;
    }

    fn times(&self, field: Field) -> u8 {
        self.seen[field as usize]
    }

    /// Takes note of what reading a value met.
    fn read_with(&mut self, budget: &Budget) {
        self.over |= budget.over;
        self.twice |= budget.twice;
    }

    fn tell(&mut self, field: Field, value: Tree) {
        match field {
            Field::Model => self.model = Some(value),
            Field::Stream => self.stream = Some(value),
            Field::MaxTokens => self.most_tokens = Some(value),
            Field::Options => {
                let inner = value.get("num_predict").or(value.get("max_output_tokens"));
                if let Some(inner) = inner {
                    self.sees(Field::MaxTokens);
                    self.most_tokens = Some(inner.clone());
                }
            }
            Field::Tools | Field::Conversation | Field::Request => {}
        }
    }

    fn offer(&mut self, tool: &Tree) {
        for declaration in tool.list("function_declarations") {
            self.offer_name(declaration.name("name"));
        }
        for own in ["google_search", "code_execution", "url_context"] {
            if tool.get(own).is_some() {
                self.offer_name(Some(own));
            }
        }
        let inner = tool.get("function").or(tool.get("custom"));
        let name = tool.name("name");
        let name = name.or(inner.and_then(|inner| inner.name("name")));
        self.offer_name(name.or(tool.name("type")));
    }

    fn offer_name(&mut self, name: Option<&str>) {
        match name {
            Some(name) if self.tools.len() < MAX_TOOLS => self.tools.push(name.to_owned()),
            Some(_) => self.over = true,
            None => {}
        }
    }

    fn into_question(self, call: &ModelCall, whole: bool, cut: bool) -> Question {
        let sure = |field, value: &Option<Tree>| match self.times(field) {
            1 => value.clone(),
            _ => None,
        };
        let by_path = call.model.clone().filter(|name| name.len() <= MAX_NAME);
        let model = match sure(Field::Model, &self.model) {
            // Where Gemini's path names one, that is what counts.
            _ if call.api == Api::Gemini && call.model.is_some() => by_path,
            Some(model) => model.as_name().map(str::to_owned),
            None if self.times(Field::Model) > 0 => None,
            None => by_path,
        };
        let streaming = match sure(Field::Stream, &self.stream) {
            _ if call.streaming.is_some() => call.streaming,
            Some(Tree::Bool(stream)) => Some(stream),
            // What is asked for where nothing is said.
            None | Some(Tree::Null) if whole && self.times(Field::Stream) < 2 => {
                Some(call.api == Api::Ollama)
            }
            _ => None,
        };
        let most_tokens = match sure(Field::MaxTokens, &self.most_tokens) {
            Some(Tree::Number(number)) => Some(number),
            _ => None,
        };
        let over = self.over || self.turn.over;
        let knows_turn = self.heard && self.times(Field::Conversation) == 1;
        let (text, results) = match knows_turn {
            true => self.turn.into_parts(),
            false => Default::default(),
        };
        Question {
            model,
            streaming,
            tools: self.tools,
            most_tokens,
            text,
            results,
            cut: cut || over,
            malformed: self.twice || !(whole || cut),
        }
    }
}

/// Reads the body's object.
struct Top<'a> {
    found: &'a mut Found,
    field: fn(&str) -> Option<Field>,
}

impl<'de> DeserializeSeed<'de> for Top<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Top<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let found = self.found;
        // A value is whole when something follows it.
        let mut last = None;
        loop {
            let key = map.next_key_seed(Key(self.field))?;
            if let Some((field, value)) = last.take() {
                found.tell(field, value);
            }
            let Some(key) = key else {
                return Ok(());
            };
            let Some(field) = key else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            found.sees(field);
            match field {
                Field::Request => map.next_value_seed(Top {
                    found: &mut *found,
                    field: self.field,
                })?,
                Field::Tools => map.next_value_seed(Each(&mut |tool, budget| {
                    found.read_with(budget);
                    found.offer(tool);
                }))?,
                Field::Conversation => {
                    map.next_value_seed(Each(&mut |message, budget| {
                        found.read_with(budget);
                        found.turn.take(message);
                    }))?;
                    found.heard = true;
                }
                _ => {
                    let mut budget = Budget::default();
                    let value = map.next_value_seed(Seed(&mut budget))?;
                    found.read_with(&budget);
                    last = Some((field, value));
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
