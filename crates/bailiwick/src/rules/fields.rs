//! `bailiwick rules fields`.

use crate::{Done, output};
use bailiwick_event::Failure;
use bailiwick_event::fields::{EventType, Field, FieldInfo};

/// Lists the fields, all or those of one type of event.
pub(super) fn fields(event_type: Option<&str>) -> Done {
    let families = match event_type {
        None => None,
        Some(name) => match EventType::named(name) {
            Some(event_type) => Some(event_type.families()),
            None => {
                let names: Vec<_> = EventType::ALL.iter().map(|ty| ty.name()).collect();
                return Err(Failure::usage(format!(
                    "no event has the type \"{}\"; the types are {}",
                    name.escape_default(),
                    names.join(", ")
                )));
            }
        },
    };
    let mut table = output::table();
    table.set_header(["field", "type", "there", "what it says"]);
    let wanted = |info: &&FieldInfo| families.is_none_or(|all| all.contains(&info.family));
    for info in Field::ALL.iter().filter(wanted) {
        let there = if info.always { "always" } else { "maybe" };
        table.add_row([info.path, info.ty.cel(), there, info.doc]);
    }
    output::print(&format!("{}\n", table.trim_fmt()))?;
    Ok(0)
}
