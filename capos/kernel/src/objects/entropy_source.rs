//! Randomness. Decision: from the processor's generator alone, and where it has none, or it does not
//! answer, none is given: a guess would be worse than an error.

use super::with_params;
use crate::call::{Call, Reply};
use crate::hold::Object;
use alloc::vec::Vec;
use bailiwick_capos_core::interfaces;
use bailiwick_capos_core::message::Builder;
use core::arch::asm;

/// The most that one call gives, in bytes.
const MOST: usize = 4096;
/// How often a word is asked for (Intel's guide to RDRAND: 10 times).
const TRIES: usize = 10;

/// The source.
pub(crate) struct EntropySource;

fn word() -> Option<u64> {
    // CPUID leaf 1, ECX bit 30.
    if core::arch::x86_64::__cpuid(1).ecx & 1 << 30 == 0 {
        return None;
    }
    (0..TRIES).find_map(|_| {
        let (word, is_valid): (u64, u8);
        // SAFETY: the processor has the instruction; it touches registers and flags alone.
        unsafe { asm!("rdrand {}", "setc {}", out(reg) word, out(reg_byte) is_valid, options(nomem, nostack)) }
        (is_valid == 1).then_some(word)
    })
}

fn bytes(count: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        bytes.extend_from_slice(&word()?.to_le_bytes());
    }
    bytes.truncate(count);
    Some(bytes)
}

impl Object for EntropySource {
    fn interface(&self) -> u64 {
        interfaces::ENTROPY_SOURCE.id
    }

    fn label(&self) -> &'static str {
        "entropy source"
    }

    fn call(&self, call: Call) {
        match call.method {
            0 => with_params(call, |params, _| {
                let count = params.u32(0) as usize;
                let data = (count <= MOST).then(|| bytes(count)).flatten();
                let mut builder = Builder::new(1, 1);
                let root = builder.root();
                builder.set_u16(root, 0, u16::from(data.is_none()));
                builder.set_data(root, 0, data.as_deref().unwrap_or_default());
                Ok(Reply::Done(builder.finish(), Vec::new()))
            }),
            _ => call.answer(Reply::no_method()),
        }
    }
}
