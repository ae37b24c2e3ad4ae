//! What a process holds, for whoever manages it: to see, and to take away.

use super::with_params;
use crate::call::{Call, Exception, Reply};
use crate::hold::Object;
use crate::process::Process;
use alloc::sync::Weak;
use alloc::vec::Vec;
use bailiwick_capos_core::interfaces;
use bailiwick_capos_core::message::Builder;

/// The manager of one process, which it does not keep.
pub(crate) struct CapabilityManager(pub(crate) Weak<Process>);

impl Object for CapabilityManager {
    fn interface(&self) -> u64 {
        interfaces::CAPABILITY_MANAGER.id
    }

    fn label(&self) -> &'static str {
        "capability manager"
    }

    fn takes_back(&self, _: u16) -> bool {
        true
    }

    fn call(&self, call: Call) {
        let process = self.0.upgrade();
        let Some(process) = process.filter(|process| !process.is_ending()) else {
            let why = "the process has ended";
            return call.answer(Reply::raised(Exception::Disconnected, why));
        };
        match call.method {
            0 => {
                let table = process.table.lock();
                let held: Vec<_> = table
                    .iter()
                    .map(|(id, hold)| (id, hold.interface(), hold.object.label()))
                    .collect();
                drop(table);
                let mut builder = Builder::new(0, 1);
                let root = builder.root();
                let list = builder.list(root, 0, held.len(), (2, 1));
                for (number, (id, interface, label)) in held.into_iter().enumerate() {
                    let row = list.get(number);
                    builder.set_u32(row, 0, id);
                    builder.set_u64(row, 8, interface);
                    builder.set_text(row, 0, label);
                }
                call.answer(Reply::Done(builder.finish(), Vec::new()));
            }
            1 => with_params(call, |params, _| {
                Ok(match process.revoke(params.u32(0)) {
                    Some(hold) => {
                        hold.object.revoked(&process);
                        Reply::nothing()
                    }
                    None => {
                        let why = "the process holds nothing by this id";
                        Reply::raised(Exception::InvalidArgument, why)
                    }
                })
            }),
            _ => call.answer(Reply::no_method()),
        }
    }
}
