//! System calls by number: an escape is tried with exactly the call that it is about, and not with
//! what a library makes of it.

use std::ffi::CStr;
use std::io;

/// One argument of a call.
pub(crate) enum Word<'a> {
    /// A number: flags, a descriptor, a null pointer.
    N(i64),
    /// A path or another text.
    T(&'a CStr),
    /// Bytes that the kernel reads.
    R(&'a [u8]),
    /// Bytes that the kernel writes.
    W(&'a mut [u8]),
}

/// Makes a call. None of those that the table makes takes memory of this process away or gives it to
/// somebody; the others are functions of their own.
pub(crate) fn call(number: i64, words: &mut [Word<'_>]) -> io::Result<i64> {
    let mut raw = [0_i64; 6];
    for (raw, word) in raw.iter_mut().zip(words) {
        *raw = match word {
            Word::N(number) => *number,
            Word::T(text) => text.as_ptr() as i64,
            Word::R(bytes) => bytes.as_ptr() as i64,
            Word::W(bytes) => bytes.as_mut_ptr() as i64,
        };
    }
    let [a, b, c, d, e, f] = raw;
    // SAFETY: every pointer is to memory that is borrowed until the call returns, for writing where
    // the kernel writes; the buffers are as long as the calls of the table say.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    match result {
        -1 => Err(io::Error::last_os_error()),
        other => Ok(other),
    }
}

/// What `run` of a copy of this process comes to.
pub(crate) enum Ended {
    /// It returned this.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// It had not ended in time.
    TooLong,
}

/// Runs something in a copy of this process, which has one thread.
pub(crate) fn fork(run: impl FnOnce() -> i32) -> io::Result<i32> {
    // SAFETY: the process has one thread (the harness forks before it starts any), so that no lock
    // is held by a thread that the copy does not have.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code = run();
            // SAFETY: _exit(2) has no preconditions.
            unsafe { libc::_exit(code) }
        }
        pid => Ok(pid),
    }
}

/// Writes every page of a file in memory by a shared mapping.
pub(crate) fn fill_shared(file: &impl std::os::fd::AsFd, bytes: usize) -> io::Result<()> {
    use rustix::mm::{MapFlags, ProtFlags, mmap};
    rustix::fs::ftruncate(file, bytes as u64)?;
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the kernel chooses where the mapping appears.
    let at = unsafe {
        mmap(
            std::ptr::null_mut(),
            bytes,
            access,
            MapFlags::SHARED,
            file,
            0,
        )?
    };
    // SAFETY: the mapping is as long, and nobody else knows it.
    unsafe { std::ptr::write_bytes(at.cast::<u8>(), 1, bytes) };
    Ok(())
}

/// Ends a copy of this process that a call made.
pub(crate) fn leave() -> ! {
    // SAFETY: _exit(2) has no preconditions.
    unsafe { libc::_exit(0) }
}

/// Makes a call of the 32-bit table that takes no arguments; what it returns.
#[cfg(target_arch = "x86_64")]
pub(crate) fn call_32_bit(number: i32) -> i32 {
    let result: i32;
    // SAFETY: the kernel keeps every register but the one that holds the result.
    unsafe { std::arch::asm!("int 0x80", inlateout("eax") number => result) };
    result
}

/// The first bytes of a segment of shared memory.
pub(crate) fn attached(segment: i64, length: usize) -> io::Result<Vec<u8>> {
    // SAFETY: the kernel chooses where the segment appears.
    let at = unsafe { libc::shmat(segment as i32, std::ptr::null(), libc::SHM_RDONLY) };
    if at as isize == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the segment has a page, which is longer, and its owner does not write it meanwhile.
    Ok(unsafe { std::slice::from_raw_parts(at.cast::<u8>(), length) }.to_vec())
}

/// Waits for a child, and ends it after so many milliseconds.
pub(crate) fn wait(pid: i32, patience: u64) -> Ended {
    for _ in 0..patience {
        let mut status = 0;
        // SAFETY: `status` lives through the call.
        if unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG) } == pid {
            return match libc::WIFSIGNALED(status) {
                true => Ended::Signal(libc::WTERMSIG(status)),
                false => Ended::Code(libc::WEXITSTATUS(status)),
            };
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    // SAFETY: numbers only; the child has not been waited for, so that the number is still its own.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    // SAFETY: the status is not asked for.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
    Ended::TooLong
}

/// The name of an error number.
pub(crate) fn name(errno: i32) -> String {
    const NAMES: &[(i32, &str)] = &[
        (libc::EPERM, "EPERM"),
        (libc::ENOENT, "ENOENT"),
        (libc::ESRCH, "ESRCH"),
        (libc::EIO, "EIO"),
        (libc::ENXIO, "ENXIO"),
        (libc::EBADF, "EBADF"),
        (libc::EAGAIN, "EAGAIN"),
        (libc::ENOMEM, "ENOMEM"),
        (libc::EACCES, "EACCES"),
        (libc::EFAULT, "EFAULT"),
        (libc::EBUSY, "EBUSY"),
        (libc::EEXIST, "EEXIST"),
        (libc::EXDEV, "EXDEV"),
        (libc::ENODEV, "ENODEV"),
        (libc::ENOTDIR, "ENOTDIR"),
        (libc::EISDIR, "EISDIR"),
        (libc::EINVAL, "EINVAL"),
        (libc::EMFILE, "EMFILE"),
        (libc::ENOTTY, "ENOTTY"),
        (libc::EFBIG, "EFBIG"),
        (libc::ENOSPC, "ENOSPC"),
        (libc::EROFS, "EROFS"),
        (libc::EPIPE, "EPIPE"),
        (libc::ENOSYS, "ENOSYS"),
        (libc::ENOTEMPTY, "ENOTEMPTY"),
        (libc::ELOOP, "ELOOP"),
        (libc::EOVERFLOW, "EOVERFLOW"),
        (libc::EIDRM, "EIDRM"),
        (libc::EPROTONOSUPPORT, "EPROTONOSUPPORT"),
        (libc::EOPNOTSUPP, "EOPNOTSUPP"),
        (libc::EAFNOSUPPORT, "EAFNOSUPPORT"),
        (libc::EADDRNOTAVAIL, "EADDRNOTAVAIL"),
        (libc::ENETUNREACH, "ENETUNREACH"),
        (libc::EHOSTUNREACH, "EHOSTUNREACH"),
        (libc::ECONNRESET, "ECONNRESET"),
        (libc::ECONNREFUSED, "ECONNREFUSED"),
        (libc::ETIMEDOUT, "ETIMEDOUT"),
    ];
    let found = NAMES.iter().find(|(number, _)| *number == errno);
    found.map_or_else(|| format!("E{errno}"), |(_, name)| (*name).to_owned())
}
