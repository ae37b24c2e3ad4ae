//! The micro-VM backend: a command runs under a kernel of its own, in a machine that has no network
//! card, and whose monitor is itself a sandboxed program.
//!
//! Decision: the monitor (QEMU) runs as the command of a process sandbox. What the policy keeps from a
//! command is thereby kept from the monitor, by the same code: its files are the policy's, its network
//! leads to the gate. A guest that broke out of its kernel and of the monitor would be where every
//! command of the process backend is.

mod accelerator;
mod again;
mod applier;
mod backend;
mod bare;
mod boot;
mod booted;
mod channel_load;
mod closing;
mod control;
mod counter;
mod disk;
mod disk_machine;
mod disk_state;
mod files;
mod host;
pub mod image;
mod initrd;
mod jail;
mod kept;
mod machine;
mod making;
mod orders;
mod own_disk;
mod pace;
mod packer;
mod pages;
mod relay;
mod running;
mod said;
mod save;
mod saved;
mod setting;
mod shape;
mod source;
mod spare;
mod start;
mod stdio;
mod template;
mod warm;

pub use accelerator::{Accelerator, Found};
pub use applier::{Applier, Keeper, Unpacking};
pub use backend::{Keep, VmBackend};
pub use bare::{Bare, BareMachine};
pub use boot::{Boot, BootStage, Side, boot, kernel_words};
pub use channel_load::{ChannelLoad, ChannelTimes, load_channel};
pub use counter::kilohertz;
pub use disk::copy_path as copy_disk;
pub use disk_machine::DiskMachine;
pub use disk_state::DiskState;
pub use initrd::{beside, guest_binary};
pub use jail::{closed, libraries, monitor, readable};
pub use kept::{BASE, DISK, MACHINE, RAM, SESSION, STATE};
pub use making::{make_template, probe};
pub use packer::GUEST;
pub use save::SUSPENDED;
pub use saved::Saved;
pub use shape::MachineShape;
