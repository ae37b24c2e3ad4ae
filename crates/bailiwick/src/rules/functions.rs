//! `bailiwick rules functions`.

use crate::{Done, output};
use bailiwick_rules::check::{FUNCTIONS, Overload};

/// Lists the functions, each way of calling one in a line.
pub(super) fn functions() -> Done {
    let mut table = output::table();
    table.set_header(["function", "gives", "what it does"]);
    for overload in FUNCTIONS {
        table.add_row([
            call(overload),
            overload.gives.ty().to_string(),
            overload.doc.to_owned(),
        ]);
    }
    output::print(&format!("{}\n", table.trim_fmt()))?;
    Ok(0)
}

/// How it is called, with types in place of values.
fn call(overload: &Overload) -> String {
    let takes: Vec<_> = overload
        .takes
        .iter()
        .map(|sig| sig.ty().to_string())
        .collect();
    let name = overload.function.name();
    match takes.split_first() {
        Some((target, rest)) if overload.member => {
            format!("{target}.{name}({})", rest.join(", "))
        }
        _ => format!("{name}({})", takes.join(", ")),
    }
}
