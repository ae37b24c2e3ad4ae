//! The modifiers behind a field's name, in their order: first what changes the value, then how it
//! is compared. A chain that has no meaning, or one that no two readers would agree on, is an error.

use super::detection_parts::{Flags, How, Relation};
use super::skipped::Reason;

/// What changes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transform {
    Windash,
    Base64,
    Base64Offset,
    Utf16Le,
    Utf16Be,
    Utf16,
}

/// How a value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Text(How),
    Number(Relation),
    Regex(Flags),
    Cidr,
    Exists,
    FieldRef(How),
}

/// A chain of modifiers that has a meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chain {
    pub(super) transforms: Vec<Transform>,
    pub(super) op: Op,
    pub(super) cased: bool,
    pub(super) all: bool,
    pub(super) neq: bool,
}

/// Reads the words between the bars.
///
/// # Errors
/// Which modifier is at fault.
pub(super) fn read<'s>(words: impl Iterator<Item = &'s str>) -> Result<Chain, Reason> {
    let mut reader = Reader::default();
    for word in words {
        reader.word(word)?;
        reader.seen.push(word.to_owned());
    }
    reader.end()
}

#[derive(Default)]
struct Reader {
    transforms: Vec<Transform>,
    op: Option<Op>,
    how: Option<How>,
    fieldref: bool,
    cased: bool,
    all: bool,
    neq: bool,
    seen: Vec<String>,
}

fn wrong<T>(why: impl Into<String>) -> Result<T, Reason> {
    Err(Reason::Modifier(why.into()))
}

impl Reader {
    fn word(&mut self, word: &str) -> Result<(), Reason> {
        let is_encoding = matches!(word, "base64" | "utf16" | "utf16le" | "utf16be" | "wide");
        if !is_encoding && self.seen.iter().any(|before| before == word) {
            return wrong(format!("the modifier {word:?} stands there twice"));
        }
        match word {
            "contains" => self.how(How::Contains),
            "startswith" => self.how(How::StartsWith),
            "endswith" => self.how(How::EndsWith),
            "all" => self.flag(|reader| &mut reader.all),
            "cased" => self.flag(|reader| &mut reader.cased),
            "neq" => self.flag(|reader| &mut reader.neq),
            "fieldref" => self.flag(|reader| &mut reader.fieldref),
            "re" => self.op(Op::Regex(Flags::default())),
            "i" | "m" | "s" => self.regex_flag(word),
            "cidr" => self.op(Op::Cidr),
            "exists" => self.op(Op::Exists),
            "lt" => self.op(Op::Number(Relation::Less)),
            "lte" => self.op(Op::Number(Relation::LessEqual)),
            "gt" => self.op(Op::Number(Relation::Greater)),
            "gte" => self.op(Op::Number(Relation::GreaterEqual)),
            "windash" => self.transform(word, Transform::Windash),
            "base64" => self.transform(word, Transform::Base64),
            "base64offset" => self.transform(word, Transform::Base64Offset),
            "wide" | "utf16le" => self.transform(word, Transform::Utf16Le),
            "utf16be" => self.transform(word, Transform::Utf16Be),
            "utf16" => self.transform(word, Transform::Utf16),
            "expand" => wrong("the modifier \"expand\" needs values that only its reader knows"),
            "minute" | "hour" | "day" | "week" | "month" | "year" => wrong(format!(
                "the modifier {word:?} is not supported: no field is a date"
            )),
            _ => wrong(format!("the modifier {word:?} is unknown")),
        }
    }

    fn flag(&mut self, of: fn(&mut Self) -> &mut bool) -> Result<(), Reason> {
        *of(self) = true;
        Ok(())
    }

    fn how(&mut self, how: How) -> Result<(), Reason> {
        if let Some(before) = self.how.replace(how) {
            let (a, b) = (before.name(), how.name());
            return wrong(format!("the modifiers {a:?} and {b:?} exclude each other"));
        }
        Ok(())
    }

    fn op(&mut self, op: Op) -> Result<(), Reason> {
        if self.op.replace(op).is_some() {
            return wrong("two modifiers say how the value is compared; one is possible");
        }
        Ok(())
    }

    fn regex_flag(&mut self, word: &str) -> Result<(), Reason> {
        let behind = self.seen.last().map(String::as_str);
        match &mut self.op {
            Some(Op::Regex(flags)) if matches!(behind, Some("re" | "i" | "m" | "s")) => {
                word.chars().for_each(|letter| {
                    flags.set(letter);
                });
                Ok(())
            }
            _ => wrong(format!("the modifier {word:?} stands behind \"re\" only")),
        }
    }

    fn transform(&mut self, word: &str, transform: Transform) -> Result<(), Reason> {
        if transform == Transform::Windash {
            if !self.transforms.is_empty() {
                return wrong("the modifier \"windash\" stands before those that encode");
            }
        } else if let Some(how) = self.how {
            let how = how.name();
            return wrong(format!(
                "the modifier {how:?} stands behind {word:?}, not before it"
            ));
        }
        self.transforms.push(transform);
        Ok(())
    }

    fn end(self) -> Result<Chain, Reason> {
        let plain = self.op.is_none() && !self.fieldref;
        if self.fieldref && self.op.is_some() {
            return wrong("the modifier \"fieldref\" compares texts or numbers as they are");
        }
        if !plain && !self.transforms.is_empty() {
            return wrong("only a text can be encoded, not what another modifier makes of it");
        }
        if let (Some(_), Some(how)) = (self.op, self.how) {
            let how = how.name();
            return wrong(format!(
                "the modifier {how:?} compares texts and goes with no other"
            ));
        }
        if self.cased && self.op.is_some() {
            return wrong("the modifier \"cased\" is about texts that are compared as they are");
        }
        if self.op == Some(Op::Exists) && (self.all || self.neq) {
            return wrong("the modifier \"exists\" goes with no other");
        }
        if self.neq && (self.op.is_some() || self.how.is_some() || self.all) {
            return wrong("the modifier \"neq\" goes with \"cased\" and \"fieldref\" only");
        }
        if let Some(Transform::Utf16 | Transform::Utf16Be | Transform::Utf16Le) =
            self.transforms.last()
        {
            return wrong(
                "UTF-16 is found in a text only where \"base64\" or \"base64offset\" follows",
            );
        }
        let how = self.how.unwrap_or(How::Equals);
        Ok(Chain {
            transforms: self.transforms,
            op: match self.op {
                Some(op) => op,
                None if self.fieldref => Op::FieldRef(how),
                None => Op::Text(how),
            },
            cased: self.cased,
            all: self.all,
            neq: self.neq,
        })
    }
}
