//! The certificate authority of an installation: what the programs of a sandbox trust beside the
//! machine's own authorities, so that the gate can look into the TLS that a policy asks it to look
//! into.
//!
//! Decision: each installation makes its own, on first use. A key that came with the product would
//! be everybody's, and who has it could read what any sandbox sends. The key never leaves the file
//! that holds it, which lies in the state folder (no sandbox can name that); the certificate is made
//! to be copied.

mod authority;
mod file;
mod leaves;

pub use authority::Authority;
pub use file::{AuthorityError, FILE};
pub use leaves::Leaves;
