//! A row about machines: how it is measured, on the ground that all of them share.

use super::ground::Ground;
use crate::conditions::Conditions;
use crate::gate::record::BoundaryRow;
use crate::gate::row::{Description, Draft};
use crate::verdict::Verdict;

/// How a row is measured; what it finds wrong is its verdict.
type Measure = Box<dyn Fn(&Ground<'_>, &mut Draft) -> Result<(), Verdict>>;

/// One row.
pub(crate) struct Row {
    pub description: Description,
    pub measure: Measure,
}

impl Row {
    /// Measures it, unless something that it needs does not hold.
    pub(crate) fn take(
        &self,
        conditions: &Conditions,
        load: f64,
        ground: &Ground<'_>,
        broken: Option<&Verdict>,
    ) -> BoundaryRow {
        let mut draft = Draft::default();
        let measured = match broken {
            Some(verdict) => Err(verdict.clone()),
            None => (self.measure)(ground, &mut draft),
        };
        draft.judged(
            &self.description,
            measured,
            conditions,
            load,
            ground.amounts.quick,
        )
    }
}
