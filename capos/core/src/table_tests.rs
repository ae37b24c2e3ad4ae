use super::*;
use proptest::prelude::*;
use std::collections::HashMap;
use std::vec::Vec;

#[test]
fn an_id_that_was_given_up_is_stale() {
    let mut table = Table::new(4);
    let first = table.insert('a').unwrap();
    assert_eq!(first, 1);
    assert_eq!(table.get(first), Ok(&'a'));
    assert_eq!(table.remove(first), Ok('a'));
    assert_eq!(table.get(first), Err(Lookup::Stale));
    assert_eq!(table.remove(first), Err(Lookup::Stale));
    let second = table.insert('b').unwrap();
    assert_eq!(second, 1 << 24 | 1);
    assert_eq!(table.get(first), Err(Lookup::Stale));
    *table.get_mut(second).unwrap() = 'c';
    assert_eq!(table.iter().collect::<Vec<_>>(), [(second, &'c')]);
}

#[test]
fn ids_that_were_never_given_out_are_not_found() {
    let mut table = Table::new(4);
    let id = table.insert(()).unwrap();
    for never in [0, 2, 1 << 24, u32::MAX] {
        assert_eq!(table.get(never), Err(Lookup::NotFound), "{never:#x}");
    }
    table.remove(id).unwrap();
    assert_eq!(table.get(1 << 24 | 1), Err(Lookup::NotFound));
    assert_eq!(table.get_mut(1 << 24 | 1), Err(Lookup::NotFound));
}

#[test]
fn the_limit_is_of_what_is_held_at_once() {
    let mut table = Table::new(2);
    let first = table.insert(1).unwrap();
    table.insert(2).unwrap();
    assert_eq!(table.insert(3), Err(Full));
    table.reserve(first).unwrap();
    assert_eq!(table.insert(3), Err(Full));
    assert_eq!(table.take_reserved(first), Some(1));
    assert!(table.insert(3).is_ok());
    assert_eq!((table.len(), table.room()), (2, 0));
}

#[test]
fn a_move_can_be_undone_and_is_seen_meanwhile() {
    let mut table = Table::new(2);
    let id = table.insert('a').unwrap();
    table.reserve(id).unwrap();
    assert_eq!(table.get(id), Err(Lookup::Pending));
    assert_eq!(table.get_mut(id), Err(Lookup::Pending));
    assert_eq!(table.remove(id), Err(Lookup::Pending));
    assert_eq!(table.reserve(id), Err(Lookup::Pending));
    assert_eq!(table.reserved(id), Some(&'a'));
    assert!(table.cancel(id) && !table.cancel(id));
    assert_eq!(table.get(id), Ok(&'a'));
    assert_eq!(table.take_reserved(id), None);
    table.reserve(id).unwrap();
    assert_eq!(table.take_reserved(id), Some('a'));
    assert_eq!(table.get(id), Err(Lookup::Stale));
    assert_eq!(table.take_reserved(id), None);
    assert_eq!(table.len(), 0);
}

#[test]
fn an_index_has_256_lives_and_leaves_nothing() {
    let mut table = Table::new(1);
    let mut ids = Vec::new();
    for _ in 0..1000 {
        let id = table.insert(()).unwrap();
        table.remove(id).unwrap();
        ids.push(id);
    }
    assert_eq!(ids[255], 255 << 24 | 1);
    assert_eq!(ids[256], 2);
    assert!(ids.iter().all(|id| table.get(*id) == Err(Lookup::Stale)));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 1000);
    assert_eq!(table.slots.len(), 1);
}

proptest! {
    /// The table does what a map does that never forgets an id.
    #[test]
    fn it_is_a_map_of_ids_that_never_come_back(
        acts in proptest::collection::vec((0u8..7, any::<proptest::sample::Index>()), 0..600)
    ) {
        let mut table = Table::new(8);
        let mut given: Vec<CapId> = Vec::new();
        let mut held: HashMap<CapId, (usize, bool)> = HashMap::new();
        for (step, (act, which)) in acts.into_iter().enumerate() {
            if act < 2 || given.is_empty() {
                match table.insert(step) {
                    Ok(id) => {
                        prop_assert!(!given.contains(&id) && id != 0);
                        given.push(id);
                        held.insert(id, (step, false));
                    }
                    Err(Full) => prop_assert_eq!(held.len(), 8),
                }
                continue;
            }
            let id = given[which.index(given.len())];
            // The id that the same index has next names nothing before it is given out.
            let next = id.wrapping_add(1 << 24);
            if !given.contains(&next) {
                prop_assert_eq!(table.evict(next), None);
            }
            let state = held.get(&id).copied();
            let wrong = match state {
                Some((_, true)) => Err(Lookup::Pending),
                Some((_, false)) => Ok(()),
                None => Err(Lookup::Stale),
            };
            prop_assert_eq!(table.get(id).copied(), wrong.map(|()| state.unwrap().0));
            match act {
                2 => {
                    prop_assert_eq!(table.remove(id).map(|_| ()), wrong);
                    if wrong.is_ok() {
                        held.remove(&id);
                    }
                }
                3 => {
                    prop_assert_eq!(table.reserve(id), wrong);
                    held.entry(id).and_modify(|entry| entry.1 = true);
                }
                6 => {
                    prop_assert_eq!(table.evict(id), state.map(|(value, _)| value));
                    held.remove(&id);
                }
                4 => {
                    prop_assert_eq!(table.cancel(id), wrong == Err(Lookup::Pending));
                    held.entry(id).and_modify(|entry| entry.1 = false);
                }
                _ => {
                    let moving = state.filter(|(_, moving)| *moving);
                    prop_assert_eq!(table.take_reserved(id), moving.map(|(value, _)| value));
                    if moving.is_some() {
                        held.remove(&id);
                    }
                }
            }
            prop_assert_eq!(table.len(), held.len());
            prop_assert_eq!(table.iter().count(), held.len());
            prop_assert!(table.slots.len() <= 8);
        }
    }
}
