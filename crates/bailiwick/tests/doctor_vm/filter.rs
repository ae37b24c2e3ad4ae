//! A kernel without a system call: a filter that says that there is none.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

const LOAD: u16 = 0x20;
const EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7fff_0000;
const NO_SUCH_CALL: u32 = 0x0005_0000 | libc::ENOSYS as u32;

/// Has a program be started so.
pub(crate) fn without(command: &mut Command, call: i64) {
    let plain = |code, k| libc::sock_filter {
        code,
        jt: 0,
        jf: 0,
        k,
    };
    let mut program = [
        plain(LOAD, 0),
        libc::sock_filter {
            code: EQUAL,
            jt: 1,
            jf: 0,
            k: u32::try_from(call).unwrap(),
        },
        plain(RETURN, ALLOW),
        plain(RETURN, NO_SUCH_CALL),
    ];
    let attach = move || {
        let filter = libc::sock_fprog {
            len: 4,
            filter: program.as_mut_ptr(),
        };
        // SAFETY: prctl(2) with numbers.
        let bound = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
        let mode = libc::SECCOMP_MODE_FILTER;
        // SAFETY: the program is live and of the length that is said.
        let attached = unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const filter) };
        match (bound, attached) {
            (0, 0) => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: it makes two system calls and allocates nothing.
    unsafe { command.pre_exec(attach) };
}
