//! The serial port: the device that the kernel talks through, and programs by their console. Whole pieces of text are written under
//! one lock, so that two processors' lines do not mix.

use super::{in8, out8};
use crate::cpu;
use crate::sync::SpinLock;
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, Ordering};

const PORT: u16 = 0x3f8;
/// The line status register's bits: there is room, all is sent.
const ROOM: u8 = 0x20;
const SENT: u8 = 0x40;

static LINE: SpinLock<()> = SpinLock::new(());

/// Sets it up: 8 bits, no parity, FIFO, no interrupts.
pub(crate) fn init() {
    for (register, value) in [(1, 0), (3, 3), (2, 7), (4, 3)] {
        // SAFETY: registers of the 16550 at this port, which has no access to memory.
        unsafe { out8(PORT + register, value) }
    }
}

fn put(byte: u8) {
    // SAFETY: see `init`.
    unsafe {
        // A program may write a lot, or nobody may read it, and others wait for what this processor is to
        // forget.
        loop {
            cpu::look_into_mailbox();
            if in8(PORT + 5) & ROOM != 0 {
                break;
            }
            core::hint::spin_loop();
        }
        out8(PORT, byte);
    }
}

/// Waits until everything has been sent.
pub(crate) fn drain() {
    // SAFETY: see `init`.
    while unsafe { in8(PORT + 5) } & SENT == 0 {
        core::hint::spin_loop();
    }
}

/// Writes bytes as they are.
pub(crate) fn write(parts: &[&[u8]]) {
    let _line = LINE.lock();
    for part in parts {
        part.iter().copied().for_each(put);
    }
}

/// QEMU's port for debug output (isa-debugcon).
const APART: u16 = 0xe9;

static IS_APART: AtomicBool = AtomicBool::new(false);

/// Has what the kernel itself says go to the port for debug output, so that the serial port has what
/// programs say and nothing else.
pub(crate) fn speak_apart() {
    IS_APART.store(true, Ordering::Relaxed);
}

struct Port;

impl Write for Port {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        match IS_APART.load(Ordering::Relaxed) {
            // SAFETY: the device at this port only writes what it gets.
            true => text.bytes().for_each(|byte| unsafe { out8(APART, byte) }),
            false => text.bytes().for_each(put),
        }
        Ok(())
    }
}

/// Writes a line of the kernel's.
pub(crate) fn line(arguments: fmt::Arguments<'_>) {
    let _line = LINE.lock();
    let _ = writeln!(Port, "{arguments}");
}

/// Writes a line whoever else is writing: the kernel is about to end.
pub(crate) fn last_line(arguments: fmt::Arguments<'_>) {
    let _ = writeln!(Port, "\n{arguments}");
}

/// A line of the kernel's on the serial port.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => { $crate::arch::serial::line(format_args!($($text)*)) };
}
