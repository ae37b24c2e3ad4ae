//! An event that a rule must be true of, or must not: a rule carries its own test.

use bailiwick_event::fields::{EventType, Record, RecordError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An event and what a rule must say of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// Whether the rule must be true of it.
    pub matches: bool,
    /// The event as a line of a corpus; the rule's type is added where it names none.
    pub event: String,
}

impl Example {
    /// An example from what somebody wrote.
    #[must_use]
    pub fn new(matches: bool, mut event: Value, on: EventType) -> Self {
        if let Some(event) = event.as_object_mut() {
            let common = event
                .entry("common")
                .or_insert_with(|| Value::Object(serde_json::Map::new()));
            if let Some(common) = common.as_object_mut() {
                common.entry("type").or_insert_with(|| on.name().into());
            }
        }
        Self {
            matches,
            event: event.to_string(),
        }
    }

    /// The event.
    ///
    /// # Errors
    /// [`RecordError`] where it is none.
    pub fn record(&self) -> Result<Record<'_>, RecordError> {
        Record::read(&self.event)
    }
}
