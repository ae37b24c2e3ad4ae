//! The keys of a recorded event, as a tree.
//!
//! Decision: a key is found by one look and one comparison, whatever its level holds. Each level's
//! table of places is made once, with a factor under which no two of its names fall together.

use super::Field;
use std::sync::LazyLock;

/// A key: what stands below it, or the field that it ends.
#[derive(Debug, Default)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) field: Option<Field>,
    pub(super) below: Vec<Key>,
    /// By [`place`] the number of the key in `below`; a number beyond its end where there is none.
    places: Vec<u8>,
    factor: u32,
}

impl Key {
    /// The key of that name right below this one.
    #[inline]
    pub(super) fn find(&self, name: &str) -> Option<&Self> {
        let at = *self
            .places
            .get(place(name, self.factor, self.places.len()))?;
        let found = self.below.get(usize::from(at))?;
        (found.name == name).then_some(found)
    }

    /// Makes the tables of this level and those below.
    fn settle(&mut self) {
        self.below.iter_mut().for_each(Self::settle);
        let mut size = self.below.len().next_power_of_two();
        while !self.below.is_empty() && self.places.is_empty() {
            // Few factors for a small table before a larger one is tried.
            for factor in (0..512).map(|n| 0x9e37_79b1_u32.wrapping_mul(2 * n + 1)) {
                if let Some(places) = self.apart(factor, size) {
                    (self.places, self.factor) = (places, factor);
                    break;
                }
            }
            size *= 2;
        }
    }

    /// The table of that size, if the factor keeps all names apart.
    fn apart(&self, factor: u32, size: usize) -> Option<Vec<u8>> {
        let mut places = vec![u8::MAX; size];
        for (number, key) in (0..u8::MAX).zip(&self.below) {
            let at = places.get_mut(place(key.name, factor, size))?;
            if *at != u8::MAX {
                return None;
            }
            *at = number;
        }
        Some(places)
    }
}

/// Where a name stands in a table of that size, which is a power of two.
#[inline]
fn place(name: &str, factor: u32, size: usize) -> usize {
    let mix = match name.as_bytes() {
        [first, second, .., last] => {
            let length = name.len().to_le_bytes()[0];
            u32::from_le_bytes([*first, *second, *last, length])
        }
        short => short.iter().fold(1, |sum, b| sum * 256 + u32::from(*b)),
    };
    let mixed = mix.wrapping_mul(factor);
    (mixed ^ (mixed >> 15)) as usize >> 8 & size.wrapping_sub(1)
}

/// The whole tree.
pub(super) fn keys() -> &'static Key {
    static KEYS: LazyLock<Key> = LazyLock::new(|| {
        let mut root = Key::default();
        for info in Field::ALL {
            let mut at = &mut root;
            for name in info.path.split('.') {
                let found = at.below.iter().position(|key| key.name == name);
                let number = found.unwrap_or_else(|| {
                    at.below.push(Key {
                        name,
                        ..Key::default()
                    });
                    at.below.len() - 1
                });
                at = &mut at.below[number];
            }
            at.field = Some(info.field);
        }
        root.settle();
        root
    });
    &KEYS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_found_and_nothing_else() {
        fn look(key: &Key) {
            for below in &key.below {
                assert_eq!(key.find(below.name).unwrap().name, below.name);
                assert!(key.find(&format!("{}x", below.name)).is_none());
                let part = &below.name[1..];
                assert_eq!(
                    key.find(part).is_some(),
                    key.below.iter().any(|k| k.name == part)
                );
                look(below);
            }
            assert!(key.find("").is_none() && key.find("no such key").is_none());
            assert!(key.places.len() <= 4 * key.below.len().next_power_of_two());
        }
        look(keys());
    }
}
