//! What not every kernel is built with: what loads code into it, or stops it at once.

use super::kernel::past;
use crate::act::open;
use crate::row::{Row, Shown, bare, bare_root, full, root, row};
use crate::sys::{Word, call};

/// Rights over the machine.
const MACHINE: &[Shown] = &[
    root("seccomp,capabilities,identity"),
    bare_root("seccomp,capabilities"),
];

const SYSTEM_FILE: &[Shown] = &[
    root("identity,capabilities,landlock,broker"),
    bare_root("landlock,broker"),
];

/// Either filter ends who comes by another table of calls.
#[cfg(target_arch = "x86_64")]
const BOTH_FILTERS: &[Shown] = &[full("seccomp,broker"), bare("seccomp,broker")];

/// The rows. None of the calls does anything: what they are given is wrong in a way that is found out
/// after the check of rights, and the file is opened and not written.
pub(super) fn rows() -> Vec<Row> {
    let mut rows = vec![
        row("kexec", "has another kernel started (kexec_load)", |_| {
            let no_such_flags = Word::N(0xdead);
            let words = &mut [Word::N(0), Word::N(0), Word::N(0), no_such_flags];
            past(call(libc::SYS_kexec_load, words), libc::EINVAL)
        })
        .of_root("EPERM")
        .lacking("ENOSYS")
        .engine_refuses("EPERM")
        .shown(MACHINE)
        .full("EPERM")
        .bare("EPERM"),
        row("init-module", "loads a module into the kernel", |_| {
            let words = &mut [Word::N(0), Word::N(0), Word::T(c"")];
            past(call(libc::SYS_init_module, words), libc::ENOEXEC)
        })
        .of_root("EPERM")
        .lacking("ENOSYS")
        .engine_refuses("EPERM")
        .shown(MACHINE)
        .full("EPERM")
        .bare("EPERM"),
        row("delete-module", "takes a module from the kernel", |_| {
            let words = &mut [Word::T(c"absent"), Word::N(libc::O_NONBLOCK.into())];
            past(call(libc::SYS_delete_module, words), libc::ENOENT)
        })
        .of_root("EPERM")
        .lacking("ENOSYS")
        .engine_refuses("EPERM")
        .shown(MACHINE)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "sysrq",
            "stops the machine at once (/proc/sysrq-trigger)",
            |_| open("/proc/sysrq-trigger", libc::O_WRONLY).map(drop),
        )
        .of_root("EACCES")
        .lacking("ENOENT")
        .not_of_container_root("EROFS")
        .shown(SYSTEM_FILE)
        .full("EACCES ENOENT")
        .bare("EACCES ENOENT"),
    ];
    #[cfg(target_arch = "x86_64")]
    rows.push(
        row(
            "x32",
            "makes a call of the x32 table, which the kernel may not have",
            |_| past(call(0x4000_0000 | libc::SYS_getpid, &mut []), libc::ENOSYS),
        )
        .engine_refuses("SIGSYS")
        .shown(BOTH_FILTERS)
        .full("SIGSYS")
        .bare("SIGSYS"),
    );
    rows
}
