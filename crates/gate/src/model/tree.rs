//! A JSON value, as far as somebody asks about it.
//!
//! Decision: of an object only the keys of one table are kept, so that what a value holds in
//! memory does not grow with what nobody reads; the rest is bounded besides. A key that is there
//! twice has no value: two readers could take either. Depth is bounded by `serde_json`, which
//! refuses more than 128 levels.

use super::keys::known;
use super::text::{MAX_NAME, beginning};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// The most text that is kept of one value, in bytes.
const MAX_STRING: usize = 64 * 1024;
/// The most text that is kept of a value and all that it holds, in bytes.
const MAX_STRINGS: usize = 1024 * 1024;
/// The most values that are kept within a value.
const MAX_VALUES: usize = 16 * 1024;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    Null,
    Bool(bool),
    /// A whole number that is not negative.
    Number(u64),
    /// A text, or the beginning of a longer one.
    Text {
        text: String,
        whole: bool,
    },
    List(Vec<Tree>),
    Map(Vec<(&'static str, Tree)>),
    /// Another number, something that was said twice, or more than is kept.
    Unclear,
}

/// What is left to keep, and what was met.
#[derive(Debug)]
pub(super) struct Budget {
    values: usize,
    strings: usize,
    /// A key was there twice.
    pub(super) twice: bool,
    /// Something was not kept.
    pub(super) over: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            values: MAX_VALUES,
            strings: MAX_STRINGS,
            twice: false,
            over: false,
        }
    }
}

impl Tree {
    /// Reads a whole document; none where it is no JSON.
    pub(super) fn read(document: &[u8], budget: &mut Budget) -> Option<Self> {
        let mut json = serde_json::Deserializer::from_slice(document);
        let tree = Seed(budget).deserialize(&mut json).ok()?;
        json.end().ok()?;
        Some(tree)
    }

    /// What a key holds; nothing where it is absent or null.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(entries) = self else {
            return None;
        };
        let (_, value) = entries.iter().find(|(name, _)| *name == key)?;
        (*value != Self::Null).then_some(value)
    }

    /// A text, as much as there is of it.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_text()
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            _ => None,
        }
    }

    /// A name or an id: a text that is whole, short and not empty.
    pub(super) fn name(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_name()
    }

    pub(super) fn as_name(&self) -> Option<&str> {
        match self {
            Self::Text { text, whole: true } if !text.is_empty() && text.len() <= MAX_NAME => {
                Some(text)
            }
            _ => None,
        }
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        match self.get(key)? {
            Self::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    pub(super) fn number(&self, key: &str) -> Option<u64> {
        match self.get(key)? {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The members of a list; none where the key holds something else.
    pub(super) fn list(&self, key: &str) -> &[Self] {
        match self.get(key) {
            Some(Self::List(list)) => list,
            _ => &[],
        }
    }
}

/// Reads one value.
pub(super) struct Seed<'a>(pub(super) &'a mut Budget);

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Tree;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Tree, D::Error> {
        match self.0.values.checked_sub(1) {
            Some(left) => {
                self.0.values = left;
                json.deserialize_any(self)
            }
            None => {
                self.0.over = true;
                json.deserialize_ignored_any(IgnoredAny)?;
                Ok(Tree::Unclear)
            }
        }
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Tree, E> {
        Ok(Tree::Unclear)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Tree, E> {
        Ok(Tree::Unclear)
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        let kept = beginning(value, MAX_STRING.min(self.0.strings));
        self.0.strings -= kept.len();
        let whole = kept.len() == value.len();
        self.0.over |= kept.len() < MAX_STRING && !whole;
        Ok(Tree::Text {
            text: kept.to_owned(),
            whole,
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
        let mut values = Vec::new();
        while self.0.values > 0 {
            match list.next_element_seed(Seed(self.0))? {
                Some(value) => values.push(value),
                None => return Ok(Tree::List(values)),
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            self.0.over = true;
        }
        Ok(Tree::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut entries: Vec<(&'static str, Tree)> = Vec::new();
        while let Some(key) = map.next_key_seed(Key(known))? {
            let Some(key) = key else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let value = map.next_value_seed(Seed(self.0))?;
            match entries.iter_mut().find(|(name, _)| *name == key) {
                Some((_, first)) => {
                    *first = Tree::Unclear;
                    self.0.twice = true;
                }
                None => entries.push((key, value)),
            }
        }
        Ok(Tree::Map(entries))
    }
}

/// Reads a key and looks it up, without keeping it.
pub(super) struct Key<T>(pub(super) fn(&str) -> Option<T>);

impl<'de, T> DeserializeSeed<'de> for Key<T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Option<T>, D::Error> {
        json.deserialize_str(self)
    }
}

impl<T> Visitor<'_> for Key<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Option<T>, E> {
        Ok((self.0)(key))
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
