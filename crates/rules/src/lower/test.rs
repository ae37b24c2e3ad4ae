//! The tests that a condition is made of.

use super::needle::Needle;
use crate::eval::network::Domain;
use crate::eval::{Cidr, Pattern};
use crate::expr::{MacroKind, NodeId};
use bailiwick_event::fields::Field;
use std::cmp::Ordering;
use std::sync::Arc;

/// Where a text lies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// In a field.
    Field(Field),
    /// In a header.
    Header(Field, Box<str>),
    /// The element that a macro is at.
    Element,
    /// In JSON, below these keys.
    Json(Field, Box<[Box<str>]>),
}

/// What is asked of a text.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "each stands in a box of its own; a second one would be a second way to go"
)]
pub(crate) enum TextTest {
    Equals(Box<str>),
    In(Box<[Box<str>]>),
    Contains(Needle),
    StartsWith(Box<str>),
    EndsWith(Box<str>),
    /// A regular expression or a glob.
    Matches(Arc<Pattern>),
    Domain(Domain),
    InNetwork(Cidr),
    IsIp,
    HasSecrets,
    /// The number of characters against a number.
    Length(Compare, i64),
    Entropy(Compare, f64),
}

/// What is asked of two things that have an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Equal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Compare {
    #[inline]
    pub(crate) fn fits(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order == Ordering::Equal,
            Self::Less => order == Ordering::Less,
            Self::LessEqual => order != Ordering::Greater,
            Self::Greater => order == Ordering::Greater,
            Self::GreaterEqual => order != Ordering::Less,
        }
    }
}

/// A test of a text at a place.
#[derive(Debug)]
pub(crate) struct OfText {
    pub(crate) place: Place,
    /// Whether ASCII letters are taken in lower case.
    pub(crate) folded: bool,
    pub(crate) test: TextTest,
}

/// A test.
#[derive(Debug)]
pub(crate) enum Test {
    Constant(bool),
    Not(Box<Test>),
    All(Box<[Test]>),
    Any(Box<[Test]>),
    If(Box<[Test; 3]>),
    Has(Field),
    HasHeader(Field, Box<str>),
    HasJson(Field, Box<[Box<str>]>),
    Truth(Field),
    Text(Box<OfText>),
    /// A field that is a number against a number.
    Int(Field, Compare, i64),
    IntIn(Field, Box<[i64]>),
    Double(Field, Compare, f64),
    /// The number of a list's elements against a number.
    Count(Field, Compare, i64),
    /// Whether a list of texts has a text.
    HasText(Field, Box<str>),
    /// A macro over a list of texts.
    Over(Field, MacroKind, Box<Test>),
    /// A part that the evaluator does.
    General(NodeId),
}

impl Test {
    /// What it costs, roughly; the cheaper tests of a conjunction are made first.
    pub(crate) fn cost(&self) -> u32 {
        match self {
            Self::Constant(_) => 0,
            Self::Has(_) | Self::Truth(_) | Self::Int(..) | Self::Double(..) | Self::Count(..) => 1,
            Self::HasHeader(..) | Self::HasJson(..) | Self::IntIn(..) => 4,
            Self::Not(of) => of.cost(),
            Self::All(all) | Self::Any(all) => all.iter().map(Self::cost).sum(),
            Self::If(all) => all.iter().map(Self::cost).sum(),
            Self::HasText(..) => 8,
            Self::Over(_, _, body) => 4 + 8 * body.cost(),
            Self::General(_) => 1000,
            Self::Text(of) => {
                let place = match of.place {
                    Place::Field(_) | Place::Element => 0,
                    Place::Header(..) | Place::Json(..) => 4,
                };
                place
                    + match &of.test {
                        TextTest::Equals(_) | TextTest::StartsWith(_) | TextTest::EndsWith(_) => 2,
                        TextTest::Domain(_) => 4,
                        TextTest::In(_) if !of.folded => 4,
                        TextTest::In(all) => u32::try_from(4 + all.len()).unwrap_or(u32::MAX),
                        TextTest::Contains(_) if !of.folded => 8,
                        TextTest::Contains(_) | TextTest::Length(..) => 12,
                        TextTest::InNetwork(_) | TextTest::IsIp => 20,
                        TextTest::Matches(_) => 60,
                        TextTest::Entropy(..) | TextTest::HasSecrets => 100,
                    }
            }
        }
    }

    /// Whether it can be made for each element of a list: it looks at no other list, and at no
    /// more of another text than the condition says. For the rest the evaluator counts its steps.
    pub(crate) fn is_quick(&self) -> bool {
        match self {
            Self::Constant(_) | Self::Has(_) | Self::HasJson(..) | Self::Truth(_) => true,
            Self::Int(..) | Self::IntIn(..) | Self::Double(..) | Self::Count(..) => true,
            Self::Text(of) => match (&of.place, &of.test) {
                (Place::Element, _) => true,
                (Place::Header(..), _) => false,
                (_, TextTest::Equals(_) | TextTest::In(_)) => true,
                (_, TextTest::StartsWith(_) | TextTest::EndsWith(_)) => true,
                _ => false,
            },
            Self::Not(of) => of.is_quick(),
            Self::All(all) | Self::Any(all) => all.iter().all(Self::is_quick),
            Self::If(all) => all.iter().all(Self::is_quick),
            Self::HasHeader(..) | Self::HasText(..) | Self::Over(..) | Self::General(_) => false,
        }
    }

    /// Whether any part of it is left to the evaluator.
    pub(crate) fn is_general(&self) -> bool {
        match self {
            Self::General(_) => true,
            Self::Not(of) | Self::Over(_, _, of) => of.is_general(),
            Self::All(all) | Self::Any(all) => all.iter().any(Self::is_general),
            Self::If(all) => all.iter().any(Self::is_general),
            _ => false,
        }
    }
}
