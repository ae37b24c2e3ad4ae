//! Reads a list member by member and keeps none of it, so that a long conversation takes no more
//! memory than its longest message.

use super::tree::{Budget, Seed, Tree};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Hands out each member with what reading it met; a text or an object that stands where a list
/// could is its only member, and another value is an empty list.
pub(super) struct Each<'a>(pub(super) &'a mut dyn FnMut(&Tree, &Budget));

impl<'de> DeserializeSeed<'de> for Each<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Each<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        loop {
            let mut budget = Budget::default();
            match list.next_element_seed(Seed(&mut budget))? {
                Some(member) => self.0(&member, &budget),
                None => return Ok(()),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        let mut budget = Budget::default();
        let member = Seed(&mut budget).visit_map(map)?;
        self.0(&member, &budget);
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        let mut budget = Budget::default();
        let member = Seed(&mut budget).visit_str(text)?;
        self.0(&member, &budget);
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
}
