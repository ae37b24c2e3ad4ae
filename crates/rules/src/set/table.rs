//! The rules about one type of event, in the order in which they are asked.

use super::bits;
use crate::index::Index;
use crate::lower::Test;
use crate::rule::Compiled;
use bailiwick_event::fields::Subject;
use std::sync::Arc;

/// Fewer rules than this are asked one after the other: that is quicker than to look anything up.
const FEW: usize = 5;

/// Rules that came after the index was built are asked always; this many of them, or this part of
/// all, and a new index is built.
const LATE: usize = 16;
const LATE_PART: usize = 8;

/// Not in the index.
const NOWHERE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Entry {
    compiled: Arc<Compiled>,
    slot: u32,
}

/// The rules about one type of event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    entries: Vec<Entry>,
    index: Arc<Indexed>,
    /// The place of the rule of each slot; `NOWHERE` where it is not in force any more.
    places: Vec<u32>,
    /// The places that are always asked.
    always: Vec<u64>,
}

#[derive(Debug, Default)]
struct Indexed {
    index: Index,
    slots: u32,
    always: Vec<bool>,
}

impl Table {
    /// A table of these rules, in any order.
    pub(crate) fn new(mut rules: Vec<Arc<Compiled>>) -> Self {
        // A condition that is false of everything is never asked.
        rules.retain(|rule| !matches!(rule.program().test(), Test::Constant(false)));
        rules.sort_unstable_by(|a, b| a.rule().order(b.rule()));
        let entries = rules
            .into_iter()
            .zip(0..)
            .map(|(compiled, slot)| Entry { compiled, slot });
        let mut table = Self {
            entries: entries.collect(),
            ..Self::default()
        };
        table.build_index();
        table
    }

    /// The rules, in the order in which they are asked.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &Arc<Compiled>> {
        self.entries.iter().map(|entry| &entry.compiled)
    }

    /// The table with one rule put in the place of another of its name, or taken out.
    pub(crate) fn with(&self, id: &str, new: Option<Arc<Compiled>>) -> Self {
        let new = new.filter(|rule| !matches!(rule.program().test(), Test::Constant(false)));
        let mut entries = Vec::with_capacity(self.entries.len() + 1);
        entries.extend(
            self.entries
                .iter()
                .filter(|e| e.compiled.rule().id != id)
                .cloned(),
        );
        if let Some(compiled) = new {
            let before = |entry: &Entry| entry.compiled.rule().order(compiled.rule()).is_lt();
            let place = entries.partition_point(before);
            let slot = NOWHERE;
            entries.insert(place, Entry { compiled, slot });
        }
        let late = entries.iter().filter(|e| e.slot == NOWHERE).count();
        let mut table = Self {
            entries,
            index: Arc::clone(&self.index),
            places: Vec::new(),
            always: Vec::new(),
        };
        if late > LATE.max(table.entries.len() / LATE_PART) {
            table.build_index();
        } else {
            table.place();
        }
        table
    }

    fn build_index(&mut self) {
        for (slot, entry) in (0..).zip(&mut self.entries) {
            entry.slot = slot;
        }
        let slots = u32::try_from(self.entries.len()).unwrap_or(NOWHERE);
        let mut indexed = Indexed {
            slots,
            always: vec![self.entries.len() < FEW; self.entries.len()],
            ..Indexed::default()
        };
        if self.entries.len() >= FEW {
            let tests = self
                .entries
                .iter()
                .map(|e| (e.slot, e.compiled.program().test()));
            let (index, always) = Index::new(tests);
            for slot in always {
                indexed.always[slot as usize] = true;
            }
            indexed.index = index;
        }
        self.index = Arc::new(indexed);
        self.place();
    }

    fn place(&mut self) {
        self.places = vec![NOWHERE; self.index.slots as usize];
        self.always = vec![0; self.entries.len().div_ceil(64)];
        for (place, entry) in (0..).zip(&self.entries) {
            match self.index.always.get(entry.slot as usize) {
                Some(false) => self.places[entry.slot as usize] = place,
                Some(true) => {
                    self.places[entry.slot as usize] = place;
                    bits::set(&mut self.always, place);
                }
                None => bits::set(&mut self.always, place),
            }
        }
    }

    /// Gives the rules that could be true of an event, in order, until one is enough.
    #[inline]
    pub(crate) fn candidates<T>(
        &self,
        subject: &Subject<'_>,
        mut each: impl FnMut(&Arc<Compiled>) -> Option<T>,
    ) -> Option<T> {
        if self.entries.len() < FEW {
            return self.entries.iter().find_map(|entry| each(&entry.compiled));
        }
        bits::with_copy(&self.always, |words| {
            // A rule that was taken out has no place, and is set nowhere.
            self.index
                .index
                .look_up(subject, |slot| bits::set(words, self.places[slot as usize]));
            bits::each(words).find_map(|place| each(&self.entries[place].compiled))
        })
    }
}
