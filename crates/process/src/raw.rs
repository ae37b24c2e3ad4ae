//! What a command's process asks of the kernel before it is the command, where it shares the memory of
//! pid 1, which goes on meanwhile: system calls that leave nothing behind in that memory. A C library
//! keeps the number of an error in a variable of the thread, and by that of pid 1's.

use rustix::io::Errno;
use std::ffi::{CStr, c_char, c_long};

/// Makes a system call.
///
/// # Safety
/// What the call does with these arguments must be sound: see its manual page.
unsafe fn call(number: c_long, arguments: [usize; 5]) -> Result<usize, Errno> {
    let [a, b, c, d, e] = arguments;
    let result: isize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the kernel's calling convention (syscall(2)): it changes rax, rcx and r11, and memory
    // only as the caller has vouched for.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the kernel's calling convention (syscall(2)): it changes x0, and memory only as the
    // caller has vouched for.
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") number as isize,
            inlateout("x0") a as isize => result,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e,
            options(nostack),
        );
    }
    match usize::try_from(result) {
        Ok(result) => Ok(result),
        Err(_) => Err(Errno::from_raw_os_error(-(result as i32))),
    }
}

/// Executes a program; returns only where that failed.
///
/// # Safety
/// `argv` and `environment` are lists of pointers to C strings, which end in a null pointer; they and
/// the strings live through the call.
pub(crate) unsafe fn exec(
    path: &CStr,
    argv: *const *const c_char,
    environment: *const *const c_char,
) -> Errno {
    let arguments = [
        path.as_ptr() as usize,
        argv as usize,
        environment as usize,
        0,
        0,
    ];
    // SAFETY: a C string and two such lists, which the kernel copies; where it succeeds nothing of
    // this program is left.
    match unsafe { call(libc::SYS_execve, arguments) } {
        Ok(_) => Errno::IO,
        Err(errno) => errno,
    }
}

/// Marks every descriptor from `first` on to be closed at the next exec.
pub(crate) fn close_on_exec_from(first: u32) -> Result<(), Errno> {
    let flags = libc::CLOSE_RANGE_CLOEXEC as usize;
    // SAFETY: numbers only; no descriptor changes its owner.
    unsafe {
        call(
            libc::SYS_close_range,
            [first as usize, u32::MAX as usize, flags, 0, 0],
        )
    }
    .map(drop)
}

/// Closes a descriptor, in a process whose table is its own.
pub(crate) fn close(descriptor: i32) {
    // SAFETY: a number only; no descriptor of this program's memory is in that table.
    let _ = unsafe { call(libc::SYS_close, [descriptor as usize, 0, 0, 0, 0]) };
}

/// Waits until the other end of a pipe is closed, of which nothing is read.
pub(crate) fn wait_for_end(pipe: i32) {
    let mut byte = 0_u8;
    let arguments = [pipe as usize, (&raw mut byte) as usize, 1, 0, 0];
    // SAFETY: one byte is written, to a live variable of this function's.
    while let Ok(1) | Err(Errno::INTR) = unsafe { call(libc::SYS_read, arguments) } {}
}

/// The head of the calls for capabilities: their version 3, and this thread (capget(2)).
pub(crate) const CAPABILITIES: [u32; 2] = [0x2008_0522, 0];

/// Makes these the capabilities of this thread: effective, permitted and inheritable, the low words
/// first.
pub(crate) fn set_capabilities(sets: [u32; 6]) -> Result<(), Errno> {
    // SAFETY: version 3 reads a header and two triples of 32-bit words (capset(2)); both live
    // through the call.
    unsafe {
        call(
            libc::SYS_capset,
            [
                CAPABILITIES.as_ptr() as usize,
                sets.as_ptr() as usize,
                0,
                0,
                0,
            ],
        )
    }
    .map(drop)
}

/// Attaches a seccomp filter to this thread, and so to all that it starts. What the kernel returns:
/// with `SECCOMP_FILTER_FLAG_NEW_LISTENER` a new descriptor.
pub(crate) fn attach(program: &[libc::sock_filter], flags: usize) -> Result<usize, Errno> {
    let filter = libc::sock_fprog {
        len: u16::try_from(program.len()).map_err(|_| Errno::INVAL)?,
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: `filter` points to `len` instructions that live through the call; the kernel copies and
    // does not write them.
    unsafe {
        call(
            libc::SYS_seccomp,
            [
                libc::SECCOMP_SET_MODE_FILTER as usize,
                flags,
                (&raw const filter) as usize,
                0,
                0,
            ],
        )
    }
}

#[cfg(test)]
#[path = "raw_tests.rs"]
mod tests;
