//! A recorded event as one line of JSON: the fields' names are the path of keys
//! (`{"common": {"type": "dns.request"}, "dns": {"request": {"qname": "a.test"}}}`). Lines come
//! from files that anybody may have written: what is no field, or has the wrong type, is an error
//! with its name and place, and nothing is guessed.

use super::keys::{self, keys};
use super::table::Time;
use super::{
    Common, DnsRequest, DnsResponse, EventType, Family, Field, FileAccess, Headers, HttpRequest,
    HttpResponse, McpRequest, McpResponse, ModelRequest, ModelResponse, ModelSession, ProcessExec,
    Slot, SocketUse, Subject,
};
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;

/// An event that was read from a line; what could be borrowed from the line is.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "each is the family of that name")]
pub struct Record<'a> {
    pub common: Common<'a>,
    pub http_request: HttpRequest<'a>,
    pub http_response: HttpResponse<'a>,
    pub dns_request: DnsRequest<'a>,
    pub dns_response: DnsResponse<'a>,
    pub mcp_request: McpRequest<'a>,
    pub mcp_response: McpResponse<'a>,
    pub model_session: ModelSession<'a>,
    pub model_request: ModelRequest<'a>,
    pub model_response: ModelResponse<'a>,
    pub process_exec: ProcessExec<'a>,
    pub file: FileAccess<'a>,
    pub socket: SocketUse<'a>,
    event_type: Option<EventType>,
}

/// Why a line is no recorded event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordError {
    /// The column in bytes, from 1; 0 where the whole line is meant.
    pub column: usize,
    /// What is wrong and how to mend it.
    pub message: String,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for RecordError {}

impl<'a> Record<'a> {
    /// An event of that type with no field but its type.
    #[must_use]
    pub fn new(event_type: EventType) -> Self {
        let mut record = Self {
            event_type: Some(event_type),
            ..Self::default()
        };
        record.common.event_type = Some(Cow::Borrowed(event_type.name()));
        record
    }

    /// Reads a line.
    ///
    /// # Errors
    /// [`RecordError`] where it is not JSON, has a key that is no field, a value of another type
    /// than its field's, a field of another event type, or no `common.type`.
    pub fn read(line: &'a str) -> Result<Self, RecordError> {
        let mut reader = RecordReader::default();
        reader.read(line)?;
        Ok(reader.record)
    }

    /// The event's type.
    #[must_use]
    pub fn event_type(&self) -> EventType {
        self.event_type.unwrap_or(EventType::Socket)
    }

    /// The event as a rule sees it.
    #[must_use]
    pub fn subject(&self) -> Subject<'_> {
        let event_type = self.event_type();
        let mut subject = Subject::new(event_type);
        for family in event_type.families() {
            match family {
                Family::Common => subject.common = Some(&self.common),
                Family::HttpRequest => subject.http_request = Some(&self.http_request),
                Family::HttpResponse => subject.http_response = Some(&self.http_response),
                Family::DnsRequest => subject.dns_request = Some(&self.dns_request),
                Family::DnsResponse => subject.dns_response = Some(&self.dns_response),
                Family::McpRequest => subject.mcp_request = Some(&self.mcp_request),
                Family::McpResponse => subject.mcp_response = Some(&self.mcp_response),
                Family::ModelSession => subject.model_session = Some(&self.model_session),
                Family::ModelRequest => subject.model_request = Some(&self.model_request),
                Family::ModelResponse => subject.model_response = Some(&self.model_response),
                Family::ProcessExec => subject.process_exec = Some(&self.process_exec),
                Family::FileAccess => subject.file = Some(&self.file),
                Family::SocketUse => subject.socket = Some(&self.socket),
            }
        }
        subject
    }

    /// The line: what [`Record::read`] reads again.
    #[must_use]
    pub fn to_line(&self) -> String {
        crate::json::of(&to_json(&self.subject()))
    }
}

/// Reads one line after the other into the same record, of which only what the last line wrote is
/// taken back: for the millions of lines of a corpus.
#[derive(Debug, Default)]
pub struct RecordReader<'a> {
    pub(super) record: Record<'a>,
    /// The families that the last line wrote to, a bit each.
    pub(super) touched: u16,
}

impl<'a> RecordReader<'a> {
    /// Reads a line.
    ///
    /// # Errors
    /// Those of [`Record::read`].
    pub fn read(&mut self, line: &'a str) -> Result<&Record<'a>, RecordError> {
        self.clear();
        let mut json = serde_json::Deserializer::from_str(line);
        let whole = Level {
            reader: self,
            node: keys(),
        };
        let read = whole.deserialize(&mut json).and_then(|()| json.end());
        read.map_err(|error| {
            let text = error.to_string();
            let message = text
                .rsplit_once(" at line ")
                .map_or(&*text, |(what, _)| what);
            RecordError {
                column: error.column(),
                message: message.to_owned(),
            }
        })?;
        let event_type = self.event_type()?;
        self.record.event_type = Some(event_type);
        Ok(&self.record)
    }

    /// The type that the line names, if it has no field of another.
    fn event_type(&self) -> Result<EventType, RecordError> {
        let whole = |message: String| RecordError { column: 0, message };
        let Some(name) = &self.record.common.event_type else {
            return Err(whole(
                "the event has no type; add \"common\": {\"type\": …}".into(),
            ));
        };
        let Some(event_type) = EventType::named(name) else {
            let names: Vec<_> = EventType::ALL.iter().map(|ty| ty.name()).collect();
            return Err(whole(format!(
                "no event has the type {name:?}; the types are {}",
                names.join(", ")
            )));
        };
        let own = event_type.families();
        let strange = self.touched & !own.iter().fold(0, |bits, family| bits | family.bit());
        if strange != 0 {
            let first = Family::ALL.iter().find(|f| strange & f.bit() != 0);
            let known: Vec<_> = own.iter().map(|family| family.prefix()).collect();
            return Err(whole(format!(
                "an event of the type {name:?} has no {:?}; it has {}",
                first.map_or("", |family| family.prefix()),
                known.join(", ")
            )));
        }
        Ok(event_type)
    }
}

/// An event as JSON, its fields' names as the path of keys.
pub(super) fn to_json(subject: &Subject<'_>) -> Value {
    let mut whole = Map::new();
    for info in Field::ALL {
        let Some(value) = slot_to_json(&subject.get(info.field)) else {
            continue;
        };
        let mut at = &mut whole;
        let mut parts = info.path.split('.').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                at.insert(part.to_owned(), value);
                break;
            }
            let inner = at.entry(part).or_insert_with(|| Value::Object(Map::new()));
            let Value::Object(inner) = inner else { break };
            at = inner;
        }
    }
    Value::Object(whole)
}

fn slot_to_json(slot: &Slot<'_>) -> Option<Value> {
    Some(match slot {
        Slot::Absent => return None,
        Slot::Text(text) => Value::from(*text),
        Slot::Int(number) | Slot::Time(number) => Value::from(*number),
        Slot::Double(number) => Value::from(*number),
        Slot::Bool(yes) => Value::from(*yes),
        Slot::Texts(texts) => texts.iter().map(|text| Value::from(&**text)).collect(),
        Slot::Pairs(pairs) => {
            let pair = |(k, v): &(Cow<'_, str>, Cow<'_, str>)| (k.to_string(), Value::from(&**v));
            Value::Object(pairs.iter().map(pair).collect())
        }
        Slot::Headers(headers) => {
            let pair = |(k, v): &(Cow<'_, str>, Cow<'_, str>)| Value::from(vec![&**k, &**v]);
            headers.0.iter().map(pair).collect()
        }
        Slot::Tree(tree) => (*tree).clone(),
    })
}

struct Level<'r, 'a> {
    reader: &'r mut RecordReader<'a>,
    node: &'static keys::Key,
}

impl<'de: 'a, 'a> DeserializeSeed<'de> for Level<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        match self.node.field {
            Some(field) => self.reader.put(field, from),
            None => from.deserialize_map(self),
        }
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Level<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node.name {
            "" => f.write_str("an event, which is a JSON object"),
            name => write!(f, "an object for \"{name}\""),
        }
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(Key(key)) = map.next_key::<Key<'de>>()? {
            let Some(node) = self.node.find(&key) else {
                map.next_value::<IgnoredAny>()?;
                let known: Vec<_> = self.node.below.iter().map(|node| node.name).collect();
                return Err(M::Error::custom(format!(
                    "no field is called {key:?} here; known are {}",
                    known.join(", ")
                )));
            };
            map.next_value_seed(Level {
                reader: self.reader,
                node,
            })?;
        }
        Ok(())
    }
}

/// A string that is borrowed where it has no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Borrowing;
        impl<'de> Visitor<'de> for Borrowing {
            type Value = Cow<'de, str>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cow<'de, str>, E> {
                Ok(Cow::Borrowed(text))
            }
            fn visit_str<E>(self, text: &str) -> Result<Cow<'de, str>, E> {
                Ok(Cow::Owned(text.to_owned()))
            }
            fn visit_string<E>(self, text: String) -> Result<Cow<'de, str>, E> {
                Ok(Cow::Owned(text))
            }
        }
        from.deserialize_str(Borrowing).map(Key)
    }
}

/// A field's value in a line; `null` is no value.
pub(super) trait Recorded<'a>: Sized {
    fn read<'de: 'a, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error>;
}

macro_rules! recorded {
    ($($of:ty => |$wire:ident: $as:ty| $value:expr;)*) => {$(
        impl<'a> Recorded<'a> for Option<$of> {
            fn read<'de: 'a, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                Ok(Option::<$as>::deserialize(from)?.map(|$wire| $value))
            }
        }
    )*};
}

recorded! {
    Cow<'a, str> => |text: Key<'a>| text.0;
    i64 => |number: i64| number;
    f64 => |number: f64| number;
    bool => |yes: bool| yes;
    Time => |time: i64| Time(time);
    Vec<Cow<'a, str>> => |texts: Vec<Key<'a>>| texts.into_iter().map(|text| text.0).collect();
    Headers<'a> => |headers: Sent<'a>| headers.0;
    Vec<(Cow<'a, str>, Cow<'a, str>)> => |pairs: Labels<'a>| pairs.0;
}

impl<'a> Recorded<'a> for Option<Value> {
    fn read<'de: 'a, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Value::deserialize(from).map(Some)
    }
}

struct Labels<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Labels<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Vec<(Cow<'de, str>, Cow<'de, str>)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of strings")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut pairs = Vec::new();
                while let Some((name, value)) = map.next_entry::<Key<'de>, Key<'de>>()? {
                    pairs.push((name.0, value.0));
                }
                Ok(pairs)
            }
        }
        from.deserialize_map(Pairs).map(Labels)
    }
}

/// Headers as pairs in the order in which they were sent (`[["accept", "a"]]`), or as a map from
/// names to a value or a list of values (`{"accept": "a"}`).
struct Sent<'a>(Headers<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for Sent<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Both;
        impl<'de> Visitor<'de> for Both {
            type Value = Headers<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("headers: [[\"name\", \"value\"], …] or {\"name\": \"value\", …}")
            }
            fn visit_seq<S: SeqAccess<'de>>(self, mut all: S) -> Result<Self::Value, S::Error> {
                let mut headers = Headers::default();
                while let Some((name, value)) = all.next_element::<(Key<'de>, Key<'de>)>()? {
                    headers.0.push((name.0, value.0));
                }
                Ok(headers)
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut headers = Headers::default();
                while let Some((name, values)) = map.next_entry::<Key<'de>, Values<'de>>()? {
                    let pair = |value| (name.0.clone(), value);
                    headers.0.extend(values.0.into_iter().map(pair));
                }
                Ok(headers)
            }
        }
        from.deserialize_any(Both).map(Sent)
    }
}

/// One value or several.
struct Values<'a>(Vec<Cow<'a, str>>);

impl<'de: 'a, 'a> Deserialize<'de> for Values<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OneOrMore;
        impl<'de> Visitor<'de> for OneOrMore {
            type Value = Vec<Cow<'de, str>>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a header's value, or a list of them")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(vec![Cow::Borrowed(text)])
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(vec![Cow::Owned(text.to_owned())])
            }
            fn visit_seq<S: SeqAccess<'de>>(self, mut all: S) -> Result<Self::Value, S::Error> {
                let mut values = Vec::new();
                while let Some(value) = all.next_element::<Key<'de>>()? {
                    values.push(value.0);
                }
                Ok(values)
            }
        }
        from.deserialize_any(OneOrMore).map(Values)
    }
}
