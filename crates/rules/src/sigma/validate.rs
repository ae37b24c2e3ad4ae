//! Whether a detection can be a condition: its groups hold something, its fields belong to the
//! event type and have the type that the test needs, its networks and regular expressions can be
//! read, and its size and depth are bounded.

use super::detection::{Condition, Detection, MAX_DEPTH, MAX_PARTS, SCHEMA};
use super::detection_parts::{How, Match, Operand};
use super::detection_read::{InvalidDetection, Path};
use super::pcre;
use bailiwick_event::fields::{EventType, Family, Field, FieldType};
use std::net::IpAddr;

type Checked = Result<(), InvalidDetection>;

impl Detection {
    /// Checks what it says.
    ///
    /// # Errors
    /// [`InvalidDetection`] with the path within its JSON of what is wrong.
    pub fn validate(&self) -> Checked {
        let whole = Path::Whole;
        if self.schema != SCHEMA {
            return Err(Path::Key(&whole, "schema").error(format!("this is schema {SCHEMA}")));
        }
        if self.title.trim().is_empty() {
            return Err(Path::Key(&whole, "title").error("a rule has a title"));
        }
        let path = Path::Key(&whole, "condition");
        if self.condition.parts() > MAX_PARTS {
            let why =
                format!("a condition has at most {MAX_PARTS} parts; make several rules of it");
            return Err(path.error(why));
        }
        self.condition(&self.condition, &path, 1)
    }

    fn condition(&self, condition: &Condition, path: &Path<'_>, depth: usize) -> Checked {
        if depth > MAX_DEPTH {
            return Err(path.error(format!("a condition has at most {MAX_DEPTH} levels")));
        }
        let (key, all) = match condition {
            Condition::All(all) => ("all", all),
            Condition::Any(all) => ("any", all),
            Condition::Not(of) => return self.condition(of, &Path::Key(path, "not"), depth + 1),
            Condition::Match(test) => return self.test(test, &Path::Key(path, "match")),
        };
        let path = Path::Key(path, key);
        if all.is_empty() {
            return Err(path.error("a group has at least one part"));
        }
        for (n, part) in all.iter().enumerate() {
            self.condition(part, &Path::At(&path, n), depth + 1)?;
        }
        Ok(())
    }

    fn test(&self, test: &Match, path: &Path<'_>) -> Checked {
        if test.len() == 0 {
            return Err(Path::Key(path, "values").error("a test has at least one value"));
        }
        let value_path = |n: usize, check: &dyn Fn(&Path<'_>) -> Checked| {
            if test.len() == 1 {
                check(&Path::Key(path, "value"))
            } else {
                check(&Path::At(&Path::Key(path, "values"), n))
            }
        };
        let ty = match test.operand() {
            None => None,
            Some(operand) => Some(type_of(operand, self.on, path)?),
        };
        let need = |wanted: FieldType| match ty {
            Some(ty) if ty != wanted => Err(path.error(format!(
                "this test needs a value of the type {}, and that field has the type {}",
                wanted.cel(),
                ty.cel()
            ))),
            _ => Ok(()),
        };
        match test {
            Match::Text { .. } | Match::Wildcard { .. } => need(FieldType::Text),
            Match::Keyword { .. } => match keyword_fields(self.on).next() {
                Some(_) => Ok(()),
                None => Err(path.error("no field of this event type is a text")),
            },
            Match::Number { .. } => need(FieldType::Int),
            Match::Exists { .. } | Match::Null { .. } => Ok(()),
            Match::Regex { values, flags, .. } => {
                need(FieldType::Text)?;
                for (n, value) in values.iter().enumerate() {
                    if let Err(why) = pcre::check(value, *flags) {
                        return value_path(n, &|path| Err(path.error(&*why)));
                    }
                }
                Ok(())
            }
            Match::Cidr { values, .. } => {
                need(FieldType::Text)?;
                for (n, value) in values.iter().enumerate() {
                    if network(value).as_ref() != Ok(value) {
                        let why = format!("{value:?} is no network, which is written 10.0.0.0/8");
                        return value_path(n, &|path| Err(path.error(&*why)));
                    }
                }
                Ok(())
            }
            Match::FieldRef {
                other, how, case, ..
            } => {
                let other = type_of(other, self.on, &Path::Key(path, "ref"))?;
                need(other)?;
                match other {
                    FieldType::Text => Ok(()),
                    FieldType::Int if *how == How::Equals && !case => Ok(()),
                    _ => Err(path.error("these values cannot be compared so")),
                }
            }
        }
    }
}

/// The type of what is tested, where events of that type can have it.
fn type_of(
    operand: &Operand,
    on: EventType,
    path: &Path<'_>,
) -> Result<FieldType, InvalidDetection> {
    match operand {
        Operand::Field(field) => {
            let info = field.info();
            if on.families().contains(&info.family) {
                return Ok(info.ty);
            }
            let why = format!("{on} events have no field {}", info.path);
            Err(Path::Key(path, "field").error(why))
        }
        Operand::Header(name) => {
            let path = Path::Key(path, "header");
            if !on.families().contains(&Family::HttpRequest) {
                return Err(path.error(format!("{on} events have no headers")));
            }
            let plain = |c: u8| {
                c.is_ascii_lowercase() || c.is_ascii_digit() || b"!#$%&'*+-.^_`|~".contains(&c)
            };
            if name.is_empty() || !name.bytes().all(plain) {
                return Err(path.error("a header's name is written in lower case"));
            }
            Ok(FieldType::Text)
        }
    }
}

/// The fields that keywords are looked for in: the texts that say what happened, not those that
/// say in which session.
pub(super) fn keyword_fields(on: EventType) -> impl Iterator<Item = Field> {
    let of = move |family: Family| family != Family::Common && on.families().contains(&family);
    Field::ALL
        .iter()
        .filter(move |info| info.ty == FieldType::Text && of(info.family))
        .map(|info| info.field)
}

/// A network in its one spelling; an address alone is the network of itself.
///
/// # Errors
/// Why it is none.
pub(super) fn network(text: &str) -> Result<String, String> {
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (text, None),
    };
    let none = |_| format!("{text:?} is no network, which is written 10.0.0.0/8");
    let address: IpAddr = address.parse().map_err(|_| none(()))?;
    let (bits, width) = match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()) << 96, 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    };
    let length: u32 = match length {
        None => width,
        Some(length) if length.bytes().all(|b| b.is_ascii_digit()) => {
            length.parse().map_err(|_| none(()))?
        }
        Some(_) => return Err(none(())),
    };
    if length > width {
        return Err(none(()));
    }
    if length < 128 && bits << length != 0 {
        return Err(format!(
            "{text:?} has bits after its first {length}; write the network alone"
        ));
    }
    Ok(format!("{address}/{length}"))
}
