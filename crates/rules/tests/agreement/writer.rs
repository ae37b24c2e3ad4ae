//! What writes conditions: the state, and what every part of the language is written with. A part
//! stands between parentheses where it is an operand; they do not last longer than the parse.

use crate::pool::{self, KEYS};
use crate::random::Random;
use bailiwick_event::fields::{EventType, Field, FieldInfo, FieldType};
use bailiwick_rules::check::Sig;
use bailiwick_rules::expr::quoted;

/// The type of a part, as far as what is written for it differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Null,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Time,
    Duration,
    Type,
    Ip,
    Cidr,
    Ints,
    Texts,
    /// A list of anything.
    Mixed,
    /// A map from texts to texts.
    Pairs,
    /// A map from texts to numbers.
    Numbers,
    /// A map from texts to lists of texts.
    Headers,
    Dyn,
}

impl Of {
    pub(crate) const ALL: [Self; 19] = [
        Self::Null,
        Self::Bool,
        Self::Int,
        Self::Uint,
        Self::Double,
        Self::Text,
        Self::Bytes,
        Self::Time,
        Self::Duration,
        Self::Type,
        Self::Ip,
        Self::Cidr,
        Self::Ints,
        Self::Texts,
        Self::Mixed,
        Self::Pairs,
        Self::Numbers,
        Self::Headers,
        Self::Dyn,
    ];

    /// The types that a function takes or gives.
    pub(crate) fn sig(sig: Sig) -> &'static [Self] {
        match sig {
            Sig::Any => &Self::ALL,
            Sig::Bool => &[Self::Bool],
            Sig::Int => &[Self::Int],
            Sig::Uint => &[Self::Uint],
            Sig::Double => &[Self::Double],
            Sig::Text => &[Self::Text],
            Sig::Bytes => &[Self::Bytes],
            Sig::Time => &[Self::Time],
            Sig::Duration => &[Self::Duration],
            Sig::Type => &[Self::Type],
            Sig::List => &[Self::Ints, Self::Texts, Self::Mixed],
            Sig::Texts => &[Self::Texts],
            Sig::Map => &[Self::Pairs, Self::Numbers, Self::Headers],
            Sig::Ip => &[Self::Ip],
            Sig::Cidr => &[Self::Cidr],
        }
    }
}

/// Writes one condition.
pub(crate) struct Writer<'r> {
    pub(crate) random: &'r mut Random,
    pub(crate) on: Option<EventType>,
    pub(crate) scope: Vec<(&'static str, Of)>,
    /// The calls that were written: the place in the table of functions, and whether the first
    /// argument stands before a dot.
    pub(crate) calls: Vec<(usize, bool)>,
    /// Parts that may still be written.
    pub(crate) left: usize,
}

impl Writer<'_> {
    /// A part of that type, to be an operand of something.
    pub(crate) fn operand(&mut self, of: Of, depth: usize) -> String {
        format!("({})", self.write(of, depth))
    }

    /// The same; now and then of another type, which only the event shows.
    pub(crate) fn argument(&mut self, of: Of, depth: usize) -> String {
        if self.random.one_in(40) {
            let other = self.random.pick(&Of::ALL);
            return format!("dyn({})", self.write(other, depth.min(1)));
        }
        self.operand(of, depth)
    }

    pub(crate) fn fields(&self, ty: FieldType) -> Vec<&'static FieldInfo> {
        let families = |info: &&FieldInfo| {
            let on = self.on;
            on.is_none_or(|on| on.families().contains(&info.family))
        };
        let all = Field::ALL.iter().filter(families);
        all.filter(|info| info.ty == ty).collect()
    }

    /// A field of that type, where such an event can have one.
    pub(crate) fn field(&mut self, ty: FieldType) -> Option<&'static str> {
        let all = self.fields(ty);
        (!all.is_empty()).then(|| all[self.random.below(all.len())].path)
    }

    /// A variable of that type; one that is hidden by another is none.
    pub(crate) fn variable(&mut self, of: Of) -> Option<&'static str> {
        let seen =
            |n: usize, name: &str| self.scope[n + 1..].iter().all(|(other, _)| *other != name);
        let all = self.scope.iter().enumerate();
        let all: Vec<_> = all
            .filter(|(n, (name, is))| *is == of && seen(*n, name))
            .map(|(_, (name, _))| *name)
            .collect();
        (!all.is_empty()).then(|| self.random.pick(&all))
    }

    /// A text as a literal, in one of the ways in which it can be written.
    pub(crate) fn quote(&mut self, text: &str) -> String {
        let plain = !text.contains(['\\', '\'', '"', '\n', '\r']);
        match self.random.below(8) {
            0 if plain => format!("'{text}'"),
            1 if plain => format!("r\"{text}\""),
            2 if plain => format!("'''{text}'''"),
            3 => {
                text.chars().fold("\"".to_owned(), |all, c| {
                    format!("{all}\\U{:08x}", c as u32)
                }) + "\""
            }
            _ => quoted(text),
        }
    }

    pub(crate) fn text(&mut self) -> String {
        let text = pool::text(self.random);
        self.quote(&text)
    }

    /// `http.request.header(name)`, where such an event has headers.
    pub(crate) fn header(&mut self, depth: usize) -> Option<String> {
        let field = self.field(FieldType::Headers)?;
        let name = match self.random.one_in(8) {
            true => self.argument(Of::Text, depth),
            false => {
                let name = self.random.pick(&pool::HEADERS);
                self.quote(name)
            }
        };
        Some(format!("{}({name})", field.strip_suffix('s').unwrap()))
    }

    /// A place in a field of JSON, at least `least` keys deep.
    pub(crate) fn json(&mut self, least: usize) -> Option<String> {
        let mut path = self.field(FieldType::Tree)?.to_owned();
        for _ in 0..least + self.random.below(3) {
            let key = self.random.pick(&KEYS);
            path += &match self.random.below(3) {
                0 => format!("[{}]", self.quote(key)),
                1 => format!(".`{key}`"),
                _ => self.dotted(key),
            };
        }
        Some(path)
    }

    /// A key after a dot; between backticks where it is no name.
    pub(crate) fn dotted(&mut self, key: &str) -> String {
        if key.contains('-') {
            return format!(".`{key}`");
        }
        format!(".{key}")
    }
}
