//! `bench boot`, `lifecycle`, `disk`, …: what a machine costs, beside the same work natively and in a
//! process sandbox. Decision: limits are ratios to the least that the same QEMU and kernel can do here
//! (a bare machine, bare 9P, virtiofsd) in the same run wherever the host decides a time; what is done
//! inside is done by one program, the guest's binary, on every side.

mod backing;
mod boot;
mod capos;
mod channel;
mod disk;
mod fork;
mod ground;
mod host_memory;
mod http;
#[allow(dead_code, reason = "the guest's binary uses the rest")]
#[path = "../../../guest/src/bench/known.rs"]
mod known;
mod lifecycle;
mod metadata;
mod peers;
mod record;
#[path = "../../../guest/src/bench/resident.rs"]
mod resident;
mod rootfs;
mod row;
mod startup;
mod suite;
mod throughput;
mod waiting;
mod worker;

pub use channel::channel;
pub use http::HttpRequests;
pub(crate) use record::MachineRecord;
pub use suite::{MachineOptions, MachineSuite, machine};
