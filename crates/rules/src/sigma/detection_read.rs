//! JSON to a detection. The JSON comes from files that anybody may have written: what is no part
//! of the form is an error with its path, and nothing is guessed.

use super::detection::{Condition, Detection, Level, MAX_DEPTH, SCHEMA};
use super::detection_parts::{Flags, How, Match, Operand, Relation};
use super::pattern::{Pattern, Token};
use bailiwick_event::fields::{EventType, Field, FieldType};
use serde_json::{Map, Value};
use std::fmt;

/// Why a text or a value is no detection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidDetection {
    /// Where, as `condition.all[1].match.values[0]`; empty for the whole.
    pub path: String,
    /// What is wrong and how to mend it.
    pub message: String,
}

impl fmt::Display for InvalidDetection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}
impl std::error::Error for InvalidDetection {}

/// A place within the JSON; written out only for an error.
#[derive(Clone, Copy)]
pub(super) enum Path<'p> {
    Whole,
    Key(&'p Path<'p>, &'p str),
    At(&'p Path<'p>, usize),
}

impl Path<'_> {
    pub(super) fn error(&self, message: impl Into<String>) -> InvalidDetection {
        InvalidDetection {
            path: self.to_string(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Key(Path::Whole, key) => f.write_str(key),
            Self::Key(up, key) => write!(f, "{up}.{key}"),
            Self::At(up, at) => write!(f, "{up}[{at}]"),
        }
    }
}

type Read<T> = Result<T, InvalidDetection>;

impl Detection {
    /// Reads the JSON and checks what it says.
    ///
    /// # Errors
    /// [`InvalidDetection`] with the path of what is wrong.
    pub fn parse(json: &str) -> Read<Self> {
        let value: Value = serde_json::from_str(json)
            .map_err(|error| Path::Whole.error(format!("the text is no JSON: {error}")))?;
        let detection = Self::try_from(value)?;
        detection.validate()?;
        Ok(detection)
    }
}

impl TryFrom<Value> for Detection {
    type Error = InvalidDetection;

    fn try_from(value: Value) -> Read<Self> {
        let path = Path::Whole;
        let mut map = Fields::of(value, &path)?;
        let schema = match map.need("schema")? {
            Value::Number(number) if number.as_u64() == Some(SCHEMA.into()) => SCHEMA,
            other => {
                let why = format!("this version reads schema {SCHEMA}, not {other}");
                return Err(Path::Key(&path, "schema").error(why));
            }
        };
        let on_path = Path::Key(&path, "on");
        let name = text(map.need("on")?, &on_path)?;
        let Some(on) = EventType::named(&name) else {
            return Err(on_path.error(format!("no event has the type {name:?}")));
        };
        let level = map.text("level")?.map(|name| {
            let why = || Path::Key(&path, "level").error(format!("{name:?} is no level"));
            Level::named(&name).ok_or_else(why)
        });
        let detection = Self {
            schema,
            id: map.text("id")?,
            title: text(map.need("title")?, &Path::Key(&path, "title"))?,
            description: map.text("description")?.unwrap_or_default(),
            level: level.transpose()?,
            tags: map.texts("tags")?,
            status: map.text("status")?,
            author: map.text("author")?,
            date: map.text("date")?,
            references: map.texts("references")?,
            falsepositives: map.texts("falsepositives")?,
            fields: map.texts("fields")?,
            on,
            condition: condition(map.need("condition")?, &Path::Key(&path, "condition"), 1)?,
        };
        map.end()?;
        Ok(detection)
    }
}

/// The keys of an object that were not yet taken.
struct Fields<'p> {
    map: Map<String, Value>,
    path: &'p Path<'p>,
}

impl<'p> Fields<'p> {
    fn of(value: Value, path: &'p Path<'p>) -> Read<Self> {
        match value {
            Value::Object(map) => Ok(Self { map, path }),
            other => Err(wrong(&other, "an object", path)),
        }
    }

    fn take(&mut self, key: &str) -> Option<Value> {
        self.map.remove(key)
    }

    fn need(&mut self, key: &str) -> Read<Value> {
        let found = self.take(key);
        found.ok_or_else(|| self.path.error(format!("{key:?} is missing")))
    }

    fn text(&mut self, key: &str) -> Read<Option<String>> {
        let found = self.take(key);
        found
            .map(|value| text(value, &Path::Key(self.path, key)))
            .transpose()
    }

    fn texts(&mut self, key: &str) -> Read<Vec<String>> {
        match self.take(key) {
            None => Ok(Vec::new()),
            Some(value) => list(value, &Path::Key(self.path, key), text),
        }
    }

    fn case(&mut self) -> Read<bool> {
        match self.take("case") {
            None => Ok(false),
            Some(Value::Bool(case)) => Ok(case),
            Some(other) => Err(wrong(
                &other,
                "true or false",
                &Path::Key(self.path, "case"),
            )),
        }
    }

    /// `value`, or the list `values`.
    fn values<T>(&mut self, each: fn(Value, &Path<'_>) -> Read<T>) -> Read<Vec<T>> {
        match (self.take("value"), self.take("values")) {
            (Some(one), None) => Ok(vec![each(one, &Path::Key(self.path, "value"))?]),
            (None, Some(all)) => list(all, &Path::Key(self.path, "values"), each),
            (None, None) => Err(self.path.error("\"value\" or \"values\" is missing")),
            (Some(_), Some(_)) => Err(self.path.error("\"value\" excludes \"values\"")),
        }
    }

    fn operand(&mut self) -> Read<Operand> {
        match (self.take("field"), self.take("header")) {
            (Some(name), None) => {
                let path = Path::Key(self.path, "field");
                let name = text(name, &path)?;
                let field = Field::named(&name);
                let why = || path.error(format!("no event has a field {name:?}"));
                field.map(Operand::Field).ok_or_else(why)
            }
            (None, Some(name)) => {
                let name = text(name, &Path::Key(self.path, "header"))?;
                Ok(Operand::Header(name.into()))
            }
            (None, None) => Err(self.path.error("\"field\" or \"header\" is missing")),
            (Some(_), Some(_)) => Err(self.path.error("\"field\" excludes \"header\"")),
        }
    }

    /// Fails where a key is left.
    fn end(&self) -> Read<()> {
        match self.map.keys().next() {
            None => Ok(()),
            Some(key) => {
                let path = Path::Key(self.path, key);
                Err(path.error("this key has no meaning here"))
            }
        }
    }
}

fn wrong(value: &Value, wanted: &str, path: &Path<'_>) -> InvalidDetection {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    path.error(format!("{wanted} is expected and {found} stands here"))
}

fn text(value: Value, path: &Path<'_>) -> Read<String> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(wrong(&other, "a text", path)),
    }
}

fn number(value: Value, path: &Path<'_>) -> Read<i64> {
    value
        .as_i64()
        .ok_or_else(|| wrong(&value, "a whole number", path))
}

fn list<T>(value: Value, path: &Path<'_>, each: fn(Value, &Path<'_>) -> Read<T>) -> Read<Vec<T>> {
    let Value::Array(all) = value else {
        return Err(wrong(&value, "a list", path));
    };
    let each = |(at, value)| each(value, &Path::At(path, at));
    all.into_iter().enumerate().map(each).collect()
}

fn pattern(value: Value, path: &Path<'_>) -> Read<Pattern> {
    match value {
        Value::String(text) => Ok(Pattern::literal(text)),
        value @ Value::Array(_) => Ok(Pattern::new(list(value, path, token)?)),
        other => Err(wrong(
            &other,
            "a text or a list of texts and wildcards",
            path,
        )),
    }
}

fn token(value: Value, path: &Path<'_>) -> Read<Token> {
    if let Value::String(text) = value {
        return Ok(Token::Text(text));
    }
    let mut map = Fields::of(value, path)?;
    let wild = map.need("wild")?;
    map.end()?;
    match wild.as_str() {
        Some("*") => Ok(Token::Many),
        Some("?") => Ok(Token::One),
        _ => Err(Path::Key(path, "wild").error("a wildcard is \"*\" or \"?\"")),
    }
}

fn condition(value: Value, path: &Path<'_>, depth: usize) -> Read<Condition> {
    if depth > MAX_DEPTH {
        return Err(path.error(format!("a condition has at most {MAX_DEPTH} levels")));
    }
    let kinds = "one of \"all\", \"any\", \"not\" and \"match\" is expected";
    let Value::Object(map) = value else {
        return Err(wrong(&value, "an object", path));
    };
    let mut pairs = map.into_iter();
    let (Some((kind, inner)), None) = (pairs.next(), pairs.next()) else {
        return Err(path.error(kinds));
    };
    let at = Path::Key(path, &kind);
    match &*kind {
        "all" | "any" => {
            let Value::Array(all) = inner else {
                return Err(wrong(&inner, "a list", &at));
            };
            let each = |(n, value)| condition(value, &Path::At(&at, n), depth + 1);
            let all: Vec<_> = all.into_iter().enumerate().map(each).collect::<Read<_>>()?;
            Ok(if kind == "all" {
                Condition::All(all)
            } else {
                Condition::Any(all)
            })
        }
        "not" => Ok(Condition::Not(Box::new(condition(inner, &at, depth + 1)?))),
        "match" => Ok(Condition::Match(test(inner, &at)?)),
        _ => Err(at.error(kinds)),
    }
}

fn test(value: Value, path: &Path<'_>) -> Read<Match> {
    let mut map = Fields::of(value, path)?;
    let op = text(map.need("op")?, &Path::Key(path, "op"))?;
    if op == "keyword" {
        let values = map.values(pattern)?;
        let case = map.case()?;
        map.end()?;
        return Ok(Match::Keyword { values, case });
    }
    let of = map.operand()?;
    let is_number = matches!(&of, Operand::Field(field) if field.info().ty == FieldType::Int);
    let read = match &*op {
        "wildcard" => Match::Wildcard {
            of,
            values: map.values(pattern)?,
            case: map.case()?,
        },
        "re" => Match::Regex {
            of,
            values: map.values(text)?,
            flags: {
                let letters = map.text("flags")?.unwrap_or_default();
                let why = || Path::Key(path, "flags").error("the flags are \"i\", \"m\" and \"s\"");
                Flags::read(&letters).ok_or_else(why)?
            },
        },
        "cidr" => Match::Cidr {
            of,
            values: map.values(text)?,
        },
        "exists" => Match::Exists { of },
        "null" => Match::Null { of },
        "fieldref" => Match::FieldRef {
            of,
            other: {
                let at = Path::Key(path, "ref");
                let mut other = Fields::of(map.need("ref")?, &at)?;
                let operand = other.operand()?;
                other.end()?;
                operand
            },
            how: {
                let name = map.text("as")?.unwrap_or_else(|| "equals".to_owned());
                let why = || Path::Key(path, "as").error(format!("{name:?} is no comparison"));
                How::named(&name).ok_or_else(why)?
            },
            case: map.case()?,
        },
        name => match (Relation::named(name), How::named(name)) {
            (Some(relation), how) if is_number || how.is_none() => Match::Number {
                of,
                relation,
                values: map.values(number)?,
            },
            (_, Some(how)) => Match::Text {
                of,
                how,
                values: map.values(text)?,
                case: map.case()?,
            },
            _ => return Err(Path::Key(path, "op").error(format!("{name:?} is no test"))),
        },
    };
    map.end()?;
    Ok(read)
}
