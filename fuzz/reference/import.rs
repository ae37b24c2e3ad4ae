//! Another reader of the tools' configurations. It shares nothing with the importer but the
//! canonical spelling of machines.

#[path = "import/glob.rs"]
mod glob;
#[path = "import/plain.rs"]
mod plain;
#[path = "import/says.rs"]
mod says;

pub use glob::{Glob, HOME, WORKSPACE};
pub use plain::plain;
pub use says::{Entry, Machine, Says};
