//! The tests of a detection. Several values of one test are alternatives; a test of a value that
//! the event does not have matches nothing, save the one that asks for that.

use super::pattern::Pattern;
use bailiwick_event::fields::Field;

/// What is tested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A field of the event.
    Field(Field),
    /// A header of a request, by its name in lower case.
    Header(Box<str>),
}

/// How a text is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// It is the value.
    Equals,
    /// The value is somewhere in it.
    Contains,
    /// It begins with the value.
    StartsWith,
    /// It ends with the value.
    EndsWith,
}

impl How {
    /// Every way and its name.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Equals, "equals"),
        (Self::Contains, "contains"),
        (Self::StartsWith, "startswith"),
        (Self::EndsWith, "endswith"),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The way of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, known)| *known == name);
        found.map(|(how, _)| *how)
    }
}

/// How a number is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// It is the value.
    Equal,
    /// It is less.
    Less,
    /// It is at most the value.
    LessEqual,
    /// It is greater.
    Greater,
    /// It is at least the value.
    GreaterEqual,
}

impl Relation {
    /// Every relation, its name and its operator.
    pub const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::Equal, "equals", "=="),
        (Self::Less, "lt", "<"),
        (Self::LessEqual, "lte", "<="),
        (Self::Greater, "gt", ">"),
        (Self::GreaterEqual, "gte", ">="),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// As a condition writes it.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        Self::ALL[self as usize].2
    }

    /// The relation of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, known, _)| *known == name);
        found.map(|(relation, ..)| *relation)
    }
}

/// What changes how a regular expression is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags {
    /// `i`: letters match whatever their case.
    pub ignore_case: bool,
    /// `m`: `^` and `$` are the ends of lines.
    pub lines: bool,
    /// `s`: a dot stands for the end of a line too.
    pub dot_all: bool,
}

impl Flags {
    /// The flags by their letters; none where a letter is unknown or occurs twice.
    #[must_use]
    pub fn read(letters: &str) -> Option<Self> {
        let mut flags = Self::default();
        for letter in letters.chars() {
            if !flags.set(letter) {
                return None;
            }
        }
        Some(flags)
    }

    /// Adds a flag; says whether it is known and was not set.
    pub(super) fn set(&mut self, letter: char) -> bool {
        let flag = match letter {
            'i' => &mut self.ignore_case,
            'm' => &mut self.lines,
            's' => &mut self.dot_all,
            _ => return false,
        };
        !std::mem::replace(flag, true)
    }

    /// The letters of those that are set.
    #[must_use]
    pub fn letters(self) -> &'static str {
        match (self.ignore_case, self.lines, self.dot_all) {
            (false, false, false) => "",
            (true, false, false) => "i",
            (false, true, false) => "m",
            (true, true, false) => "im",
            (false, false, true) => "s",
            (true, false, true) => "is",
            (false, true, true) => "ms",
            (true, true, true) => "ims",
        }
    }
}

/// A test.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are what the form calls them")]
pub enum Match {
    /// A text is, contains, begins or ends with one of the values.
    Text {
        of: Operand,
        how: How,
        values: Vec<String>,
        case: bool,
    },
    /// A number stands in a relation to one of the values.
    Number {
        of: Operand,
        relation: Relation,
        values: Vec<i64>,
    },
    /// The whole text is what one of the patterns says.
    Wildcard {
        of: Operand,
        values: Vec<Pattern>,
        case: bool,
    },
    /// One of the regular expressions finds something.
    Regex {
        of: Operand,
        values: Vec<String>,
        flags: Flags,
    },
    /// The text is an address in one of the networks.
    Cidr { of: Operand, values: Vec<String> },
    /// The event has the value.
    Exists { of: Operand },
    /// The event does not have the value.
    Null { of: Operand },
    /// The text is, contains, begins or ends with another text of the event; or two numbers are
    /// the same.
    FieldRef {
        of: Operand,
        other: Operand,
        how: How,
        case: bool,
    },
    /// One of the texts of the event contains one of the patterns.
    Keyword { values: Vec<Pattern>, case: bool },
}

impl Match {
    /// What is tested; nothing in particular for keywords.
    #[must_use]
    pub fn operand(&self) -> Option<&Operand> {
        match self {
            Self::Text { of, .. }
            | Self::Number { of, .. }
            | Self::Wildcard { of, .. }
            | Self::Regex { of, .. }
            | Self::Cidr { of, .. }
            | Self::Exists { of }
            | Self::Null { of }
            | Self::FieldRef { of, .. } => Some(of),
            Self::Keyword { .. } => None,
        }
    }

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Text { values, .. } | Self::Regex { values, .. } | Self::Cidr { values, .. } => {
                values.len()
            }
            Self::Number { values, .. } => values.len(),
            Self::Wildcard { values, .. } | Self::Keyword { values, .. } => values.len(),
            Self::Exists { .. } | Self::Null { .. } | Self::FieldRef { .. } => 1,
        }
    }

    /// Takes the values of another test, where both differ in their values alone.
    ///
    /// # Errors
    /// The other test, where they differ in more.
    pub(super) fn join(&mut self, other: Self) -> Result<(), Self> {
        match (self, other) {
            (
                Self::Text {
                    of,
                    how,
                    values,
                    case,
                },
                Self::Text {
                    of: of2,
                    how: how2,
                    values: more,
                    case: case2,
                },
            ) if *of == of2 && *how == how2 && *case == case2 => values.extend(more),
            (
                Self::Number {
                    of,
                    relation,
                    values,
                },
                Self::Number {
                    of: of2,
                    relation: relation2,
                    values: more,
                },
            ) if *of == of2 && *relation == relation2 => values.extend(more),
            (
                Self::Wildcard { of, values, case },
                Self::Wildcard {
                    of: of2,
                    values: more,
                    case: case2,
                },
            ) if *of == of2 && *case == case2 => values.extend(more),
            (
                Self::Regex { of, values, flags },
                Self::Regex {
                    of: of2,
                    values: more,
                    flags: flags2,
                },
            ) if *of == of2 && *flags == flags2 => values.extend(more),
            (
                Self::Cidr { of, values },
                Self::Cidr {
                    of: of2,
                    values: more,
                },
            ) if *of == of2 => {
                values.extend(more);
            }
            (
                Self::Keyword { values, case },
                Self::Keyword {
                    values: more,
                    case: case2,
                },
            ) if *case == case2 => {
                values.extend(more);
            }
            (_, other) => return Err(other),
        }
        Ok(())
    }
}
