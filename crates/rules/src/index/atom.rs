//! The literal texts that a condition needs.

use crate::lower::{OfText, Place, Test, TextTest};
use std::collections::BTreeSet;

/// How a text is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Way {
    /// The value is the text.
    Whole,
    /// The value is the domain or a host below it.
    Domain,
    /// The value contains the text.
    Part,
}

/// A literal text at a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Atom<'t> {
    pub(super) place: &'t Place,
    pub(super) folded: bool,
    pub(super) way: Way,
    pub(super) text: &'t str,
}

/// Most alternatives of one need: beyond that a lookup would not pay.
const MOST: usize = 64;

/// The needs of a condition: of each at least one atom is true where the condition is.
pub(super) fn needs(test: &Test) -> Vec<Vec<Atom<'_>>> {
    match test {
        Test::Text(of) => of_text(of).into_iter().collect(),
        Test::All(all) => all.iter().flat_map(needs).collect(),
        Test::Any(all) => {
            let mut alternatives = Vec::new();
            for part in all {
                // The best that the part has; a part without a need could be true of anything.
                match needs(part).into_iter().min_by_key(Vec::len) {
                    Some(need) => alternatives.extend(need),
                    None => return Vec::new(),
                }
            }
            let few = !alternatives.is_empty() && alternatives.len() <= MOST;
            few.then_some(alternatives).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn of_text(of: &OfText) -> Option<Vec<Atom<'_>>> {
    if !matches!(of.place, Place::Field(_) | Place::Header(..)) {
        return None;
    }
    let atom = |way, text| Atom {
        place: &of.place,
        folded: of.folded,
        way,
        text,
    };
    let part = |text| (!str::is_empty(text)).then(|| vec![atom(Way::Part, text)]);
    match &of.test {
        TextTest::Equals(text) => Some(vec![atom(Way::Whole, text)]),
        TextTest::In(all) if all.len() <= MOST && !all.is_empty() => {
            let all: BTreeSet<&str> = all.iter().map(|text| &**text).collect();
            Some(all.into_iter().map(|text| atom(Way::Whole, text)).collect())
        }
        TextTest::Contains(needle) => part(needle.as_str()),
        TextTest::StartsWith(text) | TextTest::EndsWith(text) => part(text),
        TextTest::Domain(domain) => Some(vec![atom(Way::Domain, domain.as_str())]),
        _ => None,
    }
}
