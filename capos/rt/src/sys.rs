//! System calls.

use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering};

/// A wait without an end.
pub const FOR_EVER: u64 = u64::MAX;
/// What `cap_enter` returns where it does nothing: malformed, another thread's entry stands first, another
/// thread takes entries or waits.
pub const REJECTED: u64 = u64::MAX;
/// See [`REJECTED`].
pub const ANOTHERS: u64 = u64::MAX - 2;
/// See [`REJECTED`].
pub const BUSY: u64 = u64::MAX - 3;

static PROCESS: AtomicU64 = AtomicU64::new(0);

pub(crate) fn set_process(number: u64) {
    PROCESS.store(number, Ordering::Relaxed);
}

/// The process's number.
pub fn process() -> u64 {
    PROCESS.load(Ordering::Relaxed)
}

/// Any system call; for tests, too, of what is none.
///
/// # Safety
/// What the kernel does for it touches no memory that is in use otherwise.
pub unsafe fn any(number: u64, first: u64, second: u64) -> u64 {
    let result;
    // SAFETY: the kernel changes RAX, RCX and R11 alone; memory is the caller's promise.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") first, in("rsi") second,
            out("rcx") _, out("r11") _, options(nostack));
    }
    result
}

/// Ends the process.
pub fn exit(code: i64) -> ! {
    // SAFETY: it does not return.
    unsafe { any(1, code.cast_unsigned(), 0) };
    loop {
        core::hint::spin_loop();
    }
}

/// Has the kernel take what was submitted, and waits until there are so many completions, or for so many
/// nanoseconds; returns how many there are.
pub fn enter(least: u64, timeout: u64) -> u64 {
    // SAFETY: the kernel writes where submissions said, which whoever submitted has kept for it.
    unsafe { any(2, least, timeout) }
}

/// The time-stamp counter.
pub fn ticks() -> u64 {
    // SAFETY: every processor has it, and the kernel leaves it to programs.
    unsafe { core::arch::x86_64::_rdtsc() }
}
