//! The table of what a process holds.
//!
//! Decision: an id is an index and a generation, so that the id of what was given up does not come
//! to mean something else: a program that kept it is told that it is stale. An index has 256 lives
//! and is never used again after them, and what is kept of it is nothing: memory grows with what a
//! process holds at once and not with how often it takes and releases. A move to another process has
//! two steps, so that it can be undone, and the id answers in between that it is on its way: nothing
//! is lost or there twice.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// A generation (8 bits) above an index (24 bits). No id is 0.
pub type CapId = u32;

const INDEX: u32 = 0x00ff_ffff;

/// Why an id names nothing that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// It was never given out.
    NotFound,
    /// What it named was given up.
    Stale,
    /// What it names is being moved to another table.
    Pending,
}

/// The table holds as much as it may, or has given out every id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

enum State<T> {
    Free,
    Held(T),
    Reserved(T),
}

struct Slot<T> {
    generation: u8,
    state: State<T>,
}

/// What is held, by id.
pub struct Table<T> {
    /// By index; those with no lives left are not in it.
    slots: BTreeMap<u32, Slot<T>>,
    /// Indices of the slots that are free.
    free: Vec<u32>,
    /// The first index that was never used. 0 is not used.
    next: u32,
    held: usize,
    limit: usize,
}

impl<T> Table<T> {
    /// An empty table for so many at once.
    pub fn new(limit: usize) -> Self {
        Self {
            slots: BTreeMap::new(),
            free: Vec::new(),
            next: 1,
            held: 0,
            limit,
        }
    }

    /// How many are held; those that are being moved count.
    pub fn len(&self) -> usize {
        self.held
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// How many more may be held.
    pub fn room(&self) -> usize {
        self.limit.saturating_sub(self.held)
    }

    /// Takes nothing any more.
    pub fn close(&mut self) {
        self.limit = 0;
    }

    /// Takes `value` into the table.
    pub fn insert(&mut self, value: T) -> Result<CapId, Full> {
        if self.held >= self.limit {
            return Err(Full);
        }
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.next > INDEX => return Err(Full),
            None => {
                self.next += 1;
                self.next - 1
            }
        };
        let slot = self.slots.entry(index).or_insert(Slot {
            generation: 0,
            state: State::Free,
        });
        slot.state = State::Held(value);
        self.held += 1;
        Ok(u32::from(slot.generation) << 24 | index)
    }

    /// What an id names.
    pub fn get(&self, id: CapId) -> Result<&T, Lookup> {
        let known = self.known(id);
        match self.slots.get(&(id & INDEX)).filter(|slot| slot.is(id)) {
            Some(Slot {
                state: State::Held(value),
                ..
            }) => Ok(value),
            Some(Slot {
                state: State::Reserved(_),
                ..
            }) => Err(Lookup::Pending),
            Some(_) => Err(Lookup::NotFound),
            None => Err(known),
        }
    }

    /// What an id names, to change it.
    pub fn get_mut(&mut self, id: CapId) -> Result<&mut T, Lookup> {
        match &mut self.slot(id)?.state {
            State::Held(value) => Ok(value),
            State::Reserved(_) => Err(Lookup::Pending),
            State::Free => Err(Lookup::NotFound),
        }
    }

    /// Takes what an id names out of the table. The id is stale from then on.
    pub fn remove(&mut self, id: CapId) -> Result<T, Lookup> {
        self.get(id)?;
        self.vacate(id).ok_or(Lookup::NotFound)
    }

    /// Begins to move what an id names: the id is [`Lookup::Pending`] until [`Table::cancel`] or
    /// [`Table::take_reserved`].
    pub fn reserve(&mut self, id: CapId) -> Result<(), Lookup> {
        self.get(id)?;
        let slot = self.slot(id)?;
        if let State::Held(value) = core::mem::replace(&mut slot.state, State::Free) {
            slot.state = State::Reserved(value);
        }
        Ok(())
    }

    /// Ends a move without having moved. Whether there was one.
    pub fn cancel(&mut self, id: CapId) -> bool {
        let Ok(slot) = self.slot(id) else {
            return false;
        };
        match core::mem::replace(&mut slot.state, State::Free) {
            State::Reserved(value) => {
                slot.state = State::Held(value);
                true
            }
            other => {
                slot.state = other;
                false
            }
        }
    }

    /// What is being moved, to look at it.
    pub fn reserved(&self, id: CapId) -> Option<&T> {
        match self.slots.get(&(id & INDEX)).filter(|slot| slot.is(id)) {
            Some(Slot {
                state: State::Reserved(value),
                ..
            }) => Some(value),
            _ => None,
        }
    }

    /// Ends a move: takes what was reserved. The id is stale from then on.
    pub fn take_reserved(&mut self, id: CapId) -> Option<T> {
        self.reserved(id)?;
        self.vacate(id)
    }

    /// Takes out what an id names, whether it is being moved or not: at any time it is one of the two, so
    /// that whoever takes it away does not miss it between them. The id is stale from then on.
    pub fn evict(&mut self, id: CapId) -> Option<T> {
        match self.slot(id).ok()?.state {
            State::Free => None,
            _ => self.vacate(id),
        }
    }

    /// Everything that is held, in the order of indices; also what is being moved.
    pub fn iter(&self) -> impl Iterator<Item = (CapId, &T)> {
        self.slots
            .iter()
            .filter_map(|(index, slot)| match &slot.state {
                State::Held(value) | State::Reserved(value) => {
                    Some((u32::from(slot.generation) << 24 | index, value))
                }
                State::Free => None,
            })
    }

    /// Why an id that has no slot of its generation names nothing.
    fn known(&self, id: CapId) -> Lookup {
        let index = id & INDEX;
        if index == 0 || index >= self.next {
            Lookup::NotFound
        } else {
            Lookup::Stale
        }
    }

    fn slot(&mut self, id: CapId) -> Result<&mut Slot<T>, Lookup> {
        let known = self.known(id);
        self.slots
            .get_mut(&(id & INDEX))
            .filter(|slot| slot.is(id))
            .ok_or(known)
    }

    /// Empties a slot and begins its next life, if it has one.
    fn vacate(&mut self, id: CapId) -> Option<T> {
        let index = id & INDEX;
        let slot = self.slots.get_mut(&index)?;
        let state = core::mem::replace(&mut slot.state, State::Free);
        match slot.generation.checked_add(1) {
            Some(generation) => {
                slot.generation = generation;
                self.free.push(index);
            }
            None => {
                self.slots.remove(&index);
            }
        }
        self.held -= 1;
        match state {
            State::Held(value) | State::Reserved(value) => Some(value),
            State::Free => None,
        }
    }
}

impl<T> Slot<T> {
    fn is(&self, id: CapId) -> bool {
        u32::from(self.generation) == id >> 24
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
