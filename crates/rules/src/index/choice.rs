//! The need by which each rule is entered: the one that the fewest rules share, and of those the
//! one with the longest text.

use super::atom::{Atom, Way, needs};
use super::group::{Group, GroupBuilder};
use crate::lower::Test;
use bailiwick_event::fields::Subject;
use std::collections::HashMap;

/// The rules that could be true of an event, by their slots.
#[derive(Debug, Default)]
pub(crate) struct Index {
    groups: Vec<Group>,
}

impl Index {
    /// An index of these rules, each by its slot; the slots of rules that no literal text finds,
    /// which are to be asked always, are in the list beside it.
    pub(crate) fn new<'t>(rules: impl Iterator<Item = (u32, &'t Test)>) -> (Self, Vec<u32>) {
        let rules: Vec<_> = rules.map(|(slot, test)| (slot, needs(test))).collect();
        let mut shared: HashMap<&Atom<'_>, u32> = HashMap::new();
        for atom in rules.iter().flat_map(|(_, needs)| needs.iter().flatten()) {
            *shared.entry(atom).or_default() += 1;
        }
        let mut builders: Vec<GroupBuilder<'_>> = Vec::new();
        let mut always = Vec::new();
        for (slot, needs) in &rules {
            let worth = |need: &&Vec<Atom<'_>>| {
                let share: u32 = need.iter().filter_map(|atom| shared.get(atom)).sum();
                let parts = need.iter().filter(|atom| atom.way == Way::Part).count();
                let shortest = need.iter().map(|atom| atom.text.len()).min().unwrap_or(0);
                (share, parts, std::cmp::Reverse(shortest))
            };
            let Some(need) = needs.iter().min_by_key(worth) else {
                always.push(*slot);
                continue;
            };
            for atom in need {
                let here =
                    |b: &&mut GroupBuilder<'_>| b.place == atom.place && b.folded == atom.folded;
                match builders.iter_mut().find(here) {
                    Some(builder) => builder.add(atom, *slot),
                    None => {
                        let mut builder = GroupBuilder::new(atom.place, atom.folded);
                        builder.add(atom, *slot);
                        builders.push(builder);
                    }
                }
            }
        }
        let groups = builders
            .into_iter()
            .map(|builder| builder.build(&mut always))
            .collect();
        always.sort_unstable();
        always.dedup();
        (Self { groups }, always)
    }

    /// Tells the slots of the rules that could be true; one may be told more than once.
    #[inline]
    pub(crate) fn look_up(&self, subject: &Subject<'_>, mut each: impl FnMut(u32)) {
        for group in &self.groups {
            group.look_up(subject, &mut each);
        }
    }
}
