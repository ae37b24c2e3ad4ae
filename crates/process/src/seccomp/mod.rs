//! The system-call filter: a deny list by intent, closed towards the future (calls that the list
//! does not know about are answered ENOSYS), compiled to a search tree because the kernel walks
//! it for every call and emulates it once per call number when it is attached.

mod assembler;
mod sockets;
mod table;

pub(crate) use table::{Brokered, FCHMODAT2, Filter, Network, broker_program, program};
