//! What somebody may have meant.

use bailiwick_event::closest;
use bailiwick_event::fields::{EventType, Field};

/// The field that somebody may have meant, among those that such an event can have.
pub(super) fn field(wrong: &str, on: Option<EventType>) -> Option<&'static str> {
    let can = |family| on.is_none_or(|on| on.families().contains(family));
    let fields = || Field::ALL.iter().filter(|info| can(&info.family));
    let paths = || fields().map(|info| info.path);
    // The last words alone are what people remember.
    let end = format!(".{wrong}");
    paths()
        .find(|path| path.ends_with(&end))
        .or_else(|| closest(wrong, paths()))
}
