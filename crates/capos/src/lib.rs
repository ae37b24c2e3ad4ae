//! The capability-kernel backend: a program runs on a kernel of our own, where it has no authority but the
//! capabilities that it was given by name.
//!
//! Decision: as with virtual machines the monitor (QEMU) is the command of a process sandbox, here of one
//! that shows it no file and no network at all. The program's console is the caller's stdout; what the
//! kernel itself says comes apart from it, so that no program can pretend to be the kernel.

mod backend;
mod bare;
mod elf;
mod machine;
mod program;
mod running;
mod words;

pub use backend::CaposBackend;
pub use bare::{BareCapos, WORD, least_kernel};
pub use elf::{ending_program, faulting_program};
pub use machine::CaposShape;
pub use program::capabilities;
