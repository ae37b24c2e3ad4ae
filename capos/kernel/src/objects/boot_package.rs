//! The manifest that the machine was started with, to read.

use super::with_params;
use crate::call::{Call, Reply};
use crate::hold::Object;
use bailiwick_capos_core::interfaces;

/// The most that one call reads, in bytes.
const MOST: usize = 64 * 1024;

/// The manifest.
pub(crate) struct BootPackage(pub(crate) &'static [u8]);

impl Object for BootPackage {
    fn interface(&self) -> u64 {
        interfaces::BOOT_PACKAGE.id
    }

    fn label(&self) -> &'static str {
        "boot package"
    }

    fn call(&self, call: Call) {
        match call.method {
            0 => call.answer(Reply::numbers(&[self.0.len() as u64])),
            1 => with_params(call, |params, _| {
                let from = usize::try_from(params.u64(0)).unwrap_or(usize::MAX);
                let rest = self.0.get(from..).unwrap_or_default();
                let length = rest.len().min(params.u32(8) as usize).min(MOST);
                Ok(Reply::data(rest.get(..length).unwrap_or_default()))
            }),
            _ => call.answer(Reply::no_method()),
        }
    }
}
