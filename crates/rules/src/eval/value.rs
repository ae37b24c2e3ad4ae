//! A value of the language. What lies in the event is borrowed from it, lists and maps too.

use super::network::Cidr;
use bailiwick_event::fields::Headers;
use serde_json::Value as Json;
use std::borrow::Cow;
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;

/// A value.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names are the types of the language")]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
    /// Nanoseconds since the Unix epoch.
    Time(i128),
    /// Nanoseconds.
    Duration(i128),
    Type(&'static str),
    Ip(IpAddr),
    Cidr(Cidr),
    List(List<'a>),
    Map(Map<'a>),
}

/// A list.
#[derive(Clone, Debug)]
pub enum List<'a> {
    /// One that was made.
    Made(Rc<[Value<'a>]>),
    /// One of the event's.
    Texts(&'a [Cow<'a, str>]),
    /// One within JSON.
    Json(&'a [Json]),
}

/// A map.
#[derive(Clone, Debug)]
pub enum Map<'a> {
    /// One that was made.
    Made(Rc<[(Value<'a>, Value<'a>)]>),
    /// One of the event's.
    Pairs(&'a [(Cow<'a, str>, Cow<'a, str>)]),
    /// Headers.
    Headers(&'a Headers<'a>),
    /// One within JSON.
    Json(&'a serde_json::Map<String, Json>),
}

impl<'a> Value<'a> {
    /// A text.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }

    /// A list.
    #[must_use]
    pub fn list(all: Vec<Self>) -> Self {
        Self::List(List::Made(all.into()))
    }

    /// What JSON says. A whole number is an `int`, or a `uint` where it does not fit.
    #[must_use]
    pub fn of_json(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(yes) => Self::Bool(*yes),
            Json::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(number), _) => Self::Int(number),
                (None, Some(number)) => Self::Uint(number),
                _ => Self::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Self::text(&**text),
            Json::Array(all) => Self::List(List::Json(all)),
            Json::Object(map) => Self::Map(Map::Json(map)),
        }
    }

    /// The name of its type.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Time(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Type(_) => "type",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::List(_) => "list",
            Self::Map(_) => "map",
        }
    }

    /// The same value as JSON, for showing: what JSON has no form for is its text.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Bool(yes) => Json::from(*yes),
            Self::Int(number) => Json::from(*number),
            Self::Uint(number) => Json::from(*number),
            Self::Double(number) => Json::from(*number),
            Self::Text(text) => Json::from(&**text),
            Self::List(list) => list.iter().map(|value| value.to_json()).collect(),
            Self::Map(map) => {
                let pairs = map.iter().into_iter();
                let name = |key: &Value<'_>| match key {
                    Value::Text(text) => text.to_string(),
                    key => key.to_json().to_string(),
                };
                Json::Object(pairs.map(|(k, v)| (name(&k), v.to_json())).collect())
            }
            other => Json::from(super::convert::shown(other)),
        }
    }
}

impl<'a> List<'a> {
    /// How many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Made(all) => all.len(),
            Self::Texts(all) => all.len(),
            Self::Json(all) => all.len(),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at a place.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<Value<'a>> {
        match self {
            Self::Made(all) => all.get(at).cloned(),
            Self::Texts(all) => all.get(at).map(|text| Value::text(&**text)),
            Self::Json(all) => all.get(at).map(Value::of_json),
        }
    }

    /// Every element.
    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> {
        (0..self.len()).filter_map(|at| self.get(at))
    }
}

impl<'a> Map<'a> {
    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Made(all) => all.len(),
            Self::Pairs(all) => all.len(),
            Self::Headers(headers) => headers.names().len(),
            Self::Json(map) => map.len(),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &Value<'_>) -> Option<Value<'a>> {
        let text = match (self, key) {
            (Self::Made(all), key) => {
                let found = all.iter().find(|(k, _)| k.equals(key));
                return found.map(|(_, value)| value.clone());
            }
            (_, Value::Text(text)) => text,
            _ => return None,
        };
        match self {
            Self::Made(_) => None,
            Self::Pairs(all) => {
                let found = all.iter().find(|(name, _)| name == text);
                found.map(|(_, value)| Value::text(&**value))
            }
            Self::Headers(headers) => {
                let values: Vec<_> = headers.values(text).map(Value::text).collect();
                let lower = !text.bytes().any(|b| b.is_ascii_uppercase());
                (lower && !values.is_empty()).then(|| Value::list(values))
            }
            Self::Json(map) => map.get(&**text).map(Value::of_json),
        }
    }

    /// Every key and its value.
    #[must_use]
    pub fn iter(&self) -> Vec<(Value<'a>, Value<'a>)> {
        match self {
            Self::Made(all) => all.to_vec(),
            Self::Pairs(all) => {
                let pair = |(k, v): &'a (Cow<'a, str>, Cow<'a, str>)| {
                    (Value::text(&**k), Value::text(&**v))
                };
                all.iter().map(pair).collect()
            }
            Self::Headers(headers) => {
                // All in one pass: to look each name up would be the square of their number.
                let mut all: HashMap<String, Vec<Value<'a>>> = HashMap::new();
                for (name, value) in &headers.0 {
                    let values = all.entry(name.to_ascii_lowercase()).or_default();
                    values.push(Value::text(&**value));
                }
                let mut pair = |name: String| {
                    let values = all.remove(&name).unwrap_or_default();
                    (Value::text(name), Value::list(values))
                };
                headers.names().into_iter().map(&mut pair).collect()
            }
            Self::Json(map) => {
                let pair = |(k, v): (&'a String, &'a Json)| (Value::text(&**k), Value::of_json(v));
                map.iter().map(pair).collect()
            }
        }
    }
}
