//! The index of one field or header.

use super::atom::{Atom, Way};
use crate::lower::Place;
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use bailiwick_event::fields::{Slot, Subject};
use foldhash::fast::FixedState;
use std::borrow::Cow;
use std::collections::HashMap;

/// Rules by a text. The texts come from rules, so that nobody who sends events can choose which of
/// them fall together.
type ByText = HashMap<Box<str>, Vec<u32>, FixedState>;

/// Values up to this length are put into lower case without an allocation.
const SHORT: usize = 256;

#[derive(Debug)]
pub(super) struct Group {
    place: Place,
    folded: bool,
    whole: ByText,
    domains: ByText,
    parts: Option<Parts>,
    /// Every rule of the group: they are asked where the value is absent.
    all: Vec<u32>,
}

#[derive(Debug)]
struct Parts {
    finder: AhoCorasick,
    /// The rules of each text, by its number.
    slots: Vec<Vec<u32>>,
}

pub(super) struct GroupBuilder<'t> {
    pub(super) place: &'t Place,
    pub(super) folded: bool,
    whole: ByText,
    domains: ByText,
    parts: HashMap<&'t str, Vec<u32>>,
    all: Vec<u32>,
}

impl<'t> GroupBuilder<'t> {
    pub(super) fn new(place: &'t Place, folded: bool) -> Self {
        Self {
            place,
            folded,
            whole: ByText::default(),
            domains: ByText::default(),
            parts: HashMap::new(),
            all: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, atom: &Atom<'t>, slot: u32) {
        match atom.way {
            Way::Whole => self.whole.entry(atom.text.into()).or_default().push(slot),
            Way::Domain => self.domains.entry(atom.text.into()).or_default().push(slot),
            Way::Part => self.parts.entry(atom.text).or_default().push(slot),
        }
        if self.all.last() != Some(&slot) {
            self.all.push(slot);
        }
    }

    /// The group; where no automaton can be built, its rules are to be asked always.
    pub(super) fn build(self, always: &mut Vec<u32>) -> Group {
        let (texts, slots): (Vec<_>, Vec<_>) = self.parts.into_iter().unzip();
        let built = (!texts.is_empty()).then(|| {
            AhoCorasick::builder()
                .match_kind(MatchKind::Standard)
                .kind(Some(AhoCorasickKind::ContiguousNFA))
                .ascii_case_insensitive(self.folded)
                .build(&texts)
        });
        let parts = match built {
            Some(Ok(finder)) => Some(Parts { finder, slots }),
            Some(Err(_)) => {
                always.extend(slots.into_iter().flatten());
                None
            }
            None => None,
        };
        Group {
            place: self.place.clone(),
            folded: self.folded,
            whole: self.whole,
            domains: self.domains,
            parts,
            all: self.all,
        }
    }
}

impl Group {
    #[inline]
    pub(super) fn look_up(&self, subject: &Subject<'_>, each: &mut impl FnMut(u32)) {
        match &self.place {
            Place::Field(field) => match subject.get(*field) {
                Slot::Text(text) => self.find(text, each),
                _ => self.all.iter().copied().for_each(each),
            },
            Place::Header(field, name) => {
                let value = match subject.get(*field) {
                    Slot::Headers(headers) => headers.find(name),
                    _ => None,
                };
                match value {
                    Some(value) => self.find(&value, each),
                    None => self.all.iter().copied().for_each(each),
                }
            }
            Place::Element | Place::Json(..) => self.all.iter().copied().for_each(each),
        }
    }

    fn find(&self, text: &str, each: &mut impl FnMut(u32)) {
        if !self.whole.is_empty() || !self.domains.is_empty() {
            let mut buffer = [0; SHORT];
            let whole = match self.folded {
                true => lower(text, &mut buffer),
                false => Cow::Borrowed(text),
            };
            if let Some(slots) = self.whole.get(&*whole) {
                slots.iter().copied().for_each(&mut *each);
            }
        }
        if !self.domains.is_empty() {
            self.find_domains(text, each);
        }
        if let Some(parts) = &self.parts {
            self.find_parts(parts, text, each);
        }
    }

    /// The host name and each domain that it lies below.
    fn find_domains(&self, host: &str, each: &mut impl FnMut(u32)) {
        let mut buffer = [0; SHORT];
        let host = lower(host.strip_suffix('.').unwrap_or(host), &mut buffer);
        let mut rest = Some(&*host);
        while let Some(name) = rest {
            if let Some(slots) = self.domains.get(name) {
                slots.iter().copied().for_each(&mut *each);
            }
            rest = name.split_once('.').map(|(_, above)| above);
        }
    }

    fn find_parts(&self, parts: &Parts, text: &str, each: &mut impl FnMut(u32)) {
        // A text that is made of nothing but matches is not looked through to its end.
        let mut left = 64 + 4 * parts.slots.len();
        for hit in parts.finder.find_overlapping_iter(text) {
            parts.slots[hit.pattern().as_usize()]
                .iter()
                .copied()
                .for_each(&mut *each);
            left -= 1;
            if left == 0 {
                self.all.iter().copied().for_each(each);
                return;
            }
        }
    }
}

/// A text with its ASCII letters in lower case; in the buffer where it fits.
fn lower<'b>(text: &'b str, buffer: &'b mut [u8; SHORT]) -> Cow<'b, str> {
    if !text.bytes().any(|b| b.is_ascii_uppercase()) {
        return Cow::Borrowed(text);
    }
    let Some(part) = buffer.get_mut(..text.len()) else {
        return Cow::Owned(text.to_ascii_lowercase());
    };
    part.copy_from_slice(text.as_bytes());
    part.make_ascii_lowercase();
    // Letters in lower case are as much UTF-8 as they were before.
    String::from_utf8_lossy(part)
}
