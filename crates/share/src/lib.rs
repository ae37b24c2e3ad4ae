//! The host's files as a virtual machine sees them: what the FUSE client of its kernel asks
//! (linux/fuse.h, protocol 7.41) comes as a stream of requests and is answered from one folder.
//!
//! Decision: whoever serves decides nothing. It runs in a sandbox that shows what the policy grants, and
//! does what it is asked with the rights that it has there. The guest is hostile: a request names a file
//! by a number that was told before, or by one name below such a file, so that no path of the guest's is
//! ever resolved here.
//!
//! The guest's kernel keeps what it was told, and asks no more. Everything that is told to be kept is
//! watched on the host (inotify(7)) before it is read, and a change by anybody else is told to the guest.

mod attributes;
mod command;
mod data;
mod folders;
mod names;
mod nodes;
mod owners;
mod port;
mod server;
mod slow;
mod watch;
mod wire;
mod xattrs;

pub use command::{NO_REQUEST, run};
pub use server::serve;
pub use watch::Watching;
