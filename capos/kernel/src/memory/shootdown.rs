//! Frames that processors may still reach by old translations: they are given back only when every
//! processor that could has forgotten them.
//!
//! Decision: whoever waits here holds no lock, and looks into its own mailbox meanwhile, so that two
//! processors can wait for each other.

use super::frames;
use crate::cpu;
use alloc::vec::Vec;

/// Has the processors of the mask (bit = number) forget their translations, and waits for it.
pub(crate) fn forget(mask: u64) {
    let asked: Vec<_> = cpu::all()
        .filter(|cpu| mask & 1 << cpu.number != 0)
        .map(|cpu| (cpu, cpu.forget()))
        .collect();
    for (cpu, wanted) in asked {
        while !cpu.has_forgotten(wanted) {
            cpu::look_into_mailbox();
            core::hint::spin_loop();
        }
    }
}

/// Gives frames back that were mapped on these processors.
pub(crate) fn release(mask: u64, given: Vec<u64>) {
    forget(mask);
    given.into_iter().for_each(frames::give);
}
