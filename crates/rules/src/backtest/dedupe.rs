//! Rows of one signature as one row.

use super::Row;
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The rows, of those with one signature the first, which counts for all of them; in the order in
/// which they came. Nothing is copied.
#[must_use]
pub fn dedupe(mut rows: Vec<Row>) -> Vec<Row> {
    // A signature is the beginning of a cryptographic hash: nobody can choose which fall together.
    let mut places: HashMap<u128, usize, FixedState> =
        HashMap::with_capacity_and_hasher(rows.len().min(256), FixedState::default());
    let mut kept = 0;
    for at in 0..rows.len() {
        match places.entry(rows[at].signature) {
            Entry::Occupied(first) => {
                let count = rows[at].count;
                rows[*first.get()].count += count;
            }
            Entry::Vacant(place) => {
                place.insert(kept);
                rows.swap(kept, at);
                kept += 1;
            }
        }
    }
    rows.truncate(kept);
    rows
}
