//! Which processors there are: the MADT of ACPI (ACPI specification 6.5, 5.2.12). Decision: only what it
//! lists as enabled is woken, so that nothing is waited for that is not there.

use crate::memory::direct;
use core::ptr::read_unaligned;

/// The most processors that the kernel uses.
pub(crate) const MOST: usize = 16;

/// Identifiers of the local APICs of the processors, the one that runs first among them.
#[derive(Clone, Copy)]
pub(crate) struct Processors {
    pub(crate) ids: [u32; MOST],
    pub(crate) count: usize,
}

impl Processors {
    fn add(&mut self, id: u32) {
        if let Some(slot) = self.ids.get_mut(self.count) {
            *slot = id;
            self.count += 1;
        }
    }
}

fn u32_at(address: u64) -> u32 {
    // SAFETY: tables of the firmware's, in the first 4 GiB, which are in the direct map; reading them
    // changes nothing, wherever a wrong table may lead.
    unsafe { read_unaligned(direct(address & 0xffff_ffff).cast()) }
}

fn u8_at(address: u64) -> u8 {
    // SAFETY: see `u32_at`.
    unsafe { *direct(address & 0xffff_ffff) }
}

fn u64_at(address: u64) -> u64 {
    u64::from(u32_at(address)) | u64::from(u32_at(address + 4)) << 32
}

/// The table with this signature, from the root table.
fn table(rsdp: u64, signature: &[u8; 4]) -> Option<u64> {
    let has_long = u8_at(rsdp + 15) >= 2 && u64_at(rsdp + 24) != 0;
    let (root, width) = match has_long {
        true => (u64_at(rsdp + 24), 8),
        false => (u32_at(rsdp + 16).into(), 4),
    };
    let length = u64::from(u32_at(root + 4));
    (36..length).step_by(width).take(64).find_map(|offset| {
        let at = match width {
            8 => u64_at(root + offset),
            _ => u32_at(root + offset).into(),
        };
        (u32_at(at).to_le_bytes() == *signature).then_some(at)
    })
}

/// Finds the processors; only the one that asks where there is no such table.
pub(crate) fn processors(rsdp: u64, own: u32) -> Processors {
    let mut found = Processors {
        ids: [0; MOST],
        count: 0,
    };
    found.add(own);
    let Some(madt) = (rsdp != 0).then(|| table(rsdp, b"APIC")).flatten() else {
        return found;
    };
    let end = madt + u64::from(u32_at(madt + 4));
    let mut at = madt + 44;
    while at + 2 <= end {
        let length = u64::from(u8_at(at + 1));
        let id = match u8_at(at) {
            0 if u32_at(at + 4) & 1 == 1 => Some(u32::from(u8_at(at + 3))),
            9 if u32_at(at + 8) & 1 == 1 => Some(u32_at(at + 4)),
            _ => None,
        };
        if let Some(id) = id.filter(|id| *id != own) {
            found.add(id);
        }
        if length < 2 {
            break;
        }
        at += length;
    }
    found
}
