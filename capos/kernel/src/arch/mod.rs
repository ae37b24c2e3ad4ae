//! What only this processor architecture has: instructions, tables, interrupt controllers. Nothing in here
//! decides anything about programs.

pub(crate) mod acpi;
pub(crate) mod apic;
pub(crate) mod context;
pub(crate) mod descriptors;
pub(crate) mod paging;
pub(crate) mod pvh;
pub(crate) mod serial;

use core::arch::{asm, global_asm};

global_asm!(include_str!("../boot.s"));
global_asm!(include_str!("../entry.s"));

/// Model-specific registers (Intel SDM vol. 4).
pub(crate) mod msr {
    pub(crate) const APIC_BASE: u32 = 0x1b;
    pub(crate) const STAR: u32 = 0xc000_0081;
    pub(crate) const LSTAR: u32 = 0xc000_0082;
    pub(crate) const FMASK: u32 = 0xc000_0084;
    pub(crate) const FS_BASE: u32 = 0xc000_0100;
    pub(crate) const GS_BASE: u32 = 0xc000_0101;
    pub(crate) const KERNEL_GS_BASE: u32 = 0xc000_0102;
    pub(crate) const TSC_AUX: u32 = 0xc000_0103;
}

/// Writes a byte to a port.
///
/// # Safety
/// The device behind it does nothing to memory that is in use.
pub(crate) unsafe fn out8(port: u16, value: u8) {
    // SAFETY: the instruction touches no memory of ours; the rest is the caller's promise.
    unsafe {
        asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack, preserves_flags))
    }
}

/// Writes four bytes to a port.
///
/// # Safety
/// See [`out8`].
pub(crate) unsafe fn out32(port: u16, value: u32) {
    // SAFETY: see `out8`.
    unsafe {
        asm!("out dx, eax", in("dx") port, in("eax") value, options(nomem, nostack, preserves_flags))
    }
}

/// Reads a byte from a port.
///
/// # Safety
/// See [`out8`].
pub(crate) unsafe fn in8(port: u16) -> u8 {
    let value;
    // SAFETY: see `out8`.
    unsafe {
        asm!("in al, dx", in("dx") port, out("al") value, options(nomem, nostack, preserves_flags))
    }
    value
}

/// Writes a model-specific register.
///
/// # Safety
/// The processor has it, and the value is one that the kernel can go on with.
pub(crate) unsafe fn write_msr(number: u32, value: u64) {
    let (low, high) = (value as u32, (value >> 32) as u32);
    // SAFETY: the caller's promise.
    unsafe {
        asm!("wrmsr", in("ecx") number, in("eax") low, in("edx") high, options(nostack, preserves_flags))
    }
}

/// Reads a model-specific register.
///
/// # Safety
/// The processor has it.
pub(crate) unsafe fn read_msr(number: u32) -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: the caller's promise; reading changes nothing.
    unsafe {
        asm!("rdmsr", in("ecx") number, out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags))
    }
    u64::from(high) << 32 | u64::from(low)
}

/// The time-stamp counter, in ticks.
pub(crate) fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The address that the last page fault was about.
pub(crate) fn fault_address() -> u64 {
    let address;
    // SAFETY: reading CR2 changes nothing.
    unsafe { asm!("mov {}, cr2", out(reg) address, options(nomem, nostack, preserves_flags)) }
    address
}

/// The page table in force, by its physical address.
pub(crate) fn page_table() -> u64 {
    let table;
    // SAFETY: reading CR3 changes nothing.
    unsafe { asm!("mov {}, cr3", out(reg) table, options(nomem, nostack, preserves_flags)) }
    table
}

/// Puts a page table into force, and forgets every translation.
///
/// # Safety
/// It is a complete top table, whose upper half is the kernel's.
pub(crate) unsafe fn set_page_table(table: u64) {
    // SAFETY: the kernel's code, stack and data stay where they are, by the caller's promise.
    unsafe { asm!("mov cr3, {}", in(reg) table, options(nostack, preserves_flags)) }
}

/// Saves what programs have in their floating-point and vector registers.
pub(crate) fn save_vectors(into: &mut context::Vectors) {
    // SAFETY: FXSAVE writes 512 bytes to a place aligned to 16, which `Vectors` is; the kernel has no
    // state of its own in these registers.
    unsafe { asm!("fxsave64 [{}]", in(reg) into, options(nostack, preserves_flags)) }
}

/// Loads them.
pub(crate) fn load_vectors(from: &context::Vectors) {
    // SAFETY: as for FXSAVE; what is loaded was saved, or is `Vectors::NEW`, so that MXCSR is valid.
    unsafe { asm!("fxrstor64 [{}]", in(reg) from, options(nostack, preserves_flags)) }
}

/// Ends the machine; `code` becomes QEMU's exit status `2 * code + 1` (isa-debug-exit).
pub(crate) fn exit(code: u8) -> ! {
    serial::drain();
    // SAFETY: the device at this port only ends QEMU.
    unsafe { out32(0xf4, code.into()) }
    loop {
        // SAFETY: waits without interrupts, for ever.
        unsafe { asm!("cli", "hlt", options(nomem, nostack)) }
    }
}
