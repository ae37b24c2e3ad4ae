//! The local interrupt controller of each processor: its timer, and interrupts from one processor to
//! another (Intel SDM vol. 3, chapter 11). Decision: the x2APIC, registers of which are model-specific
//! ones, where the processor has it; else the pages of the xAPIC.

use super::{msr, read_msr, write_msr};
use crate::cpu;
use crate::memory::direct;
use core::sync::atomic::{AtomicBool, Ordering};

/// Vectors (entry.s has one entry for each).
pub(crate) const TIMER: u8 = 64;
pub(crate) const RESCHEDULE: u8 = 65;
pub(crate) const SHOOTDOWN: u8 = 66;
pub(crate) const SPURIOUS: u8 = 255;

const BASE: u64 = 0xfee0_0000;
const ID: u32 = 0x20;
const END: u32 = 0xb0;
const SPURIOUS_REGISTER: u32 = 0xf0;
const COMMAND: u32 = 0x300;
const COMMAND_HIGH: u32 = 0x310;
const TIMER_REGISTER: u32 = 0x320;
const INITIAL: u32 = 0x380;
const DIVIDE: u32 = 0x3e0;

/// Ticks of the timer in a second: QEMU's runs at 1 GHz, divided by 16.
const RATE: u64 = 1_000_000_000 / 16;

static IS_X2: AtomicBool = AtomicBool::new(false);

fn write(register: u32, value: u32) {
    if IS_X2.load(Ordering::Relaxed) {
        // SAFETY: the processor has said that it has these registers, and the values are valid ones.
        unsafe { write_msr(0x800 + (register >> 4), value.into()) }
    } else {
        let at = direct(BASE + u64::from(register)).cast::<u32>();
        // SAFETY: the controller's page is in the direct map, and no memory lies there.
        unsafe { at.write_volatile(value) }
    }
}

fn read(register: u32) -> u32 {
    if IS_X2.load(Ordering::Relaxed) {
        // SAFETY: see `write`.
        unsafe { read_msr(0x800 + (register >> 4)) as u32 }
    } else {
        // SAFETY: see `write`.
        unsafe {
            direct(BASE + u64::from(register))
                .cast::<u32>()
                .read_volatile()
        }
    }
}

/// Switches this processor's on.
pub(crate) fn init() {
    // CPUID leaf 1, ECX bit 21.
    let has_x2 = core::arch::x86_64::__cpuid(1).ecx & 1 << 21 != 0;
    if has_x2 {
        // SAFETY: it has the mode, and from xAPIC mode it may be entered at any time.
        unsafe { write_msr(msr::APIC_BASE, read_msr(msr::APIC_BASE) | 0xc00) }
        IS_X2.store(true, Ordering::Relaxed);
    }
    write(SPURIOUS_REGISTER, 0x100 | u32::from(SPURIOUS));
    write(DIVIDE, 3);
    write(TIMER_REGISTER, TIMER.into());
    write(INITIAL, 0);
}

/// This processor's identifier.
pub(crate) fn id() -> u32 {
    match IS_X2.load(Ordering::Relaxed) {
        true => read(ID),
        false => read(ID) >> 24,
    }
}

/// An interrupt was taken.
pub(crate) fn taken() {
    write(END, 0);
}

/// Has the timer tell once, in so many nanoseconds; 0 is never.
pub(crate) fn tell_in(nanoseconds: u64) {
    let ticks = nanoseconds.min(60_000_000_000) * (RATE / 1_000_000) / 1000;
    let ticks = match nanoseconds {
        0 => 0,
        _ => ticks.max(1),
    };
    write(INITIAL, u32::try_from(ticks).unwrap_or(u32::MAX));
}

fn command(to: u32, what: u32) {
    if IS_X2.load(Ordering::Relaxed) {
        // SAFETY: see `write`; the target is in the upper half.
        unsafe {
            write_msr(
                0x800 + (COMMAND >> 4),
                u64::from(to) << 32 | u64::from(what),
            )
        }
    } else {
        write(COMMAND_HIGH, to << 24);
        write(COMMAND, what);
        while read(COMMAND) & 1 << 12 != 0 {
            cpu::look_into_mailbox();
            core::hint::spin_loop();
        }
    }
}

/// Interrupts another processor.
pub(crate) fn interrupt(to: u32, vector: u8) {
    command(to, 0x4000 | u32::from(vector));
}

/// Resets another processor; it waits for [`start`].
pub(crate) fn reset(to: u32) {
    command(to, 0xc500);
}

/// Starts a processor that was reset, at this page of the first MiB.
pub(crate) fn start(to: u32, page: u8) {
    command(to, 0x4600 | u32::from(page));
}
