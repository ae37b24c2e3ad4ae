//! The table, by what an escape is after.

mod absent;
mod debugging;
mod files;
mod git;
pub(crate) mod kernel;
pub(crate) mod keys;
mod machine;
mod network;
mod optional;
mod processes;
mod protected;
mod resources;
mod sharing;
#[path = "../../support/wait.rs"]
mod wait;
mod writing;

use crate::row::Row;

/// Every row.
pub(crate) fn rows() -> Vec<Row> {
    [
        files::rows(),
        writing::rows(),
        protected::rows(),
        absent::rows(),
        git::rows(),
        processes::rows(),
        debugging::rows(),
        kernel::rows(),
        keys::rows(),
        optional::rows(),
        machine::rows(),
        sharing::rows(),
        network::rows(),
        resources::rows(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
