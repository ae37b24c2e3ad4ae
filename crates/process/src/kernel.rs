//! The few system calls that no library wraps, one function each.
//!
//! Decision: all of the backend's raw kernel interface is in this file, and in [`crate::raw`] what goes
//! past the C library as well, so that every `unsafe` can be read in one sitting. No policy here:
//! arguments go in, an error comes out.

use crate::raw;
use crate::switches::{Layer, without};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::io;

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Which signal tells of a lease that is taken away (fcntl(2); `asm-generic/fcntl.h`).
const F_SETSIG: i32 = 10;

/// Whether any descriptor, or shared mapping, has this file open for writing: then the kernel gives no lease
/// for reading (fcntl(2), *Leases*). Where it gives none to anybody (a file of another user's) the answer is no.
pub(crate) fn is_open_for_writing(file: &OwnedFd) -> bool {
    // SAFETY: the descriptor is open, and these commands take a number.
    let set = |what: i32, to: i32| unsafe { libc::fcntl(file.as_raw_fd(), what, to) };
    let lease = |kind: i32| set(libc::F_SETLEASE, kind);
    // Who opens it in that moment has the kernel send a signal, which would end this process: this one is ignored.
    set(F_SETSIG, libc::SIGURG);
    let held = lease(libc::F_RDLCK) == 0;
    let error = io::Error::last_os_error().raw_os_error();
    if held {
        lease(libc::F_UNLCK);
    }
    !held && error == Some(libc::EAGAIN)
}

/// Sets a lock of an open file description on `length` bytes at `at` (all of them from there, where it is 0),
/// without waiting (fcntl(2), `F_OFD_SETLK`); false where another has one that stands against it.
pub(crate) fn lock_range(file: &OwnedFd, kind: i32, at: i64, length: i64) -> bool {
    // SAFETY: all-zero is a valid `flock`, and the kernel demands a process of 0.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = at;
    lock.l_len = length;
    // SAFETY: the command reads one `flock`, which lives through the call; the descriptor is open.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) == 0 }
}

/// Whether another open file description has any lock on the byte at `at` (fcntl(2), `F_OFD_GETLK`).
pub(crate) fn is_locked(file: &OwnedFd, at: i64) -> bool {
    // SAFETY: all-zero is a valid `flock`, and the kernel demands a process of 0.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = at;
    lock.l_len = 1;
    // SAFETY: the command reads and writes one `flock`, which lives through the call; the descriptor is open.
    let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) } == 0;
    // Where it cannot be asked it may be.
    !asked || lock.l_type != libc::F_UNLCK as libc::c_short
}

/// Binds a socket to an address, whose path, where it is a relative one, begins at `folder` (bind(2)).
pub(crate) fn bind(socket: &OwnedFd, address: &[u8], folder: Option<&OwnedFd>) -> io::Result<()> {
    if let Some(folder) = folder {
        rustix::process::fchdir(folder)?;
    }
    let length = address.len() as libc::socklen_t;
    // SAFETY: the address is a slice of `length` bytes, of which the kernel makes a copy.
    let result = unsafe { libc::bind(socket.as_raw_fd(), address.as_ptr().cast(), length) };
    let bound = check(result.into()).map(drop);
    if folder.is_some() {
        rustix::process::chdir("/")?;
    }
    bound
}

/// Which side of a [`fork_into`] the caller is on.
pub(crate) enum Fork {
    /// The new process.
    Child,
    /// The caller: the child's id, and a descriptor of the child.
    Parent(i32, OwnedFd),
}

/// Forks into new namespaces (`CLONE_NEW*`), like `fork` for everything else. By the older call:
/// the filters of container engines answer ENOSYS to clone3.
pub(crate) fn fork_into(namespaces: i32) -> io::Result<Fork> {
    let mut pidfd: i32 = -1;
    let flags = namespaces | libc::CLONE_PIDFD | libc::SIGCHLD;
    // SAFETY: `pidfd`, where CLONE_PIDFD has the kernel store the descriptor (clone(2)), outlives the
    // call. There is no CLONE_VM and no new stack, so the child runs on a copy of this thread's
    // memory as after fork(2); flags and stack are the first arguments and the descriptor's address
    // the third on every architecture that this is built for. The process has one thread (the callers'
    // contract, checked by [`threads`]), so no lock can be held by a thread that does not exist
    // in the child.
    let pid = unsafe {
        libc::syscall(
            libc::SYS_clone,
            libc::c_long::from(flags),
            std::ptr::null::<u8>(),
            &raw mut pidfd,
            std::ptr::null::<u8>(),
            std::ptr::null::<u8>(),
        )
    };
    match check(pid)? {
        0 => Ok(Fork::Child),
        // SAFETY: with CLONE_PIDFD the kernel stored a new descriptor that nobody else owns.
        pid => Ok(Fork::Parent(pid as i32, unsafe {
            OwnedFd::from_raw_fd(pidfd)
        })),
    }
}

/// Starts a copy of this process; 0 in the copy.
pub(crate) fn fork() -> io::Result<i32> {
    // SAFETY: the C library's own fork leaves its locks usable in the copy, and the copy owns what
    // it has: memory and descriptors are its own.
    check(unsafe { libc::fork() }.into()).map(|pid| pid as i32)
}

/// The stack of a process that shares this one's memory.
pub(crate) struct Stack(Vec<u128>);

impl Stack {
    const BYTES: usize = 256 * 1024;

    pub(crate) fn new() -> Self {
        Self(Vec::with_capacity(Self::BYTES / size_of::<u128>()))
    }

    /// Its end, from which it grows downwards; aligned.
    fn top(&mut self) -> *mut libc::c_void {
        self.0.spare_capacity_mut().as_mut_ptr_range().end.cast()
    }
}

/// Starts a process that shares this one's memory until it executes something or exits, and
/// waits until it has done so (`vfork`): a copy of the page tables would be thrown away at once.
/// What `run` returns is the exit code of the new process.
pub(crate) fn spawn(mut run: &mut dyn FnMut() -> i32) -> io::Result<i32> {
    extern "C" fn child(argument: *mut libc::c_void) -> libc::c_int {
        // SAFETY: `spawn` passes a pointer to a live reference of exactly this type.
        let run = unsafe { &mut *argument.cast::<&mut dyn FnMut() -> i32>() };
        run()
    }
    let mut stack = Stack::new();
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack outlives the call; CLONE_VFORK suspends this thread until the child has left
    // this memory, so that nothing of this thread is used by both at a time, and `run` lives until
    // then. To other threads the child is one more thread: what is shared with them is behind locks,
    // which work across both, being addresses.
    let pid = unsafe { libc::clone(child, stack.top(), flags, (&raw mut run).cast()) };
    check(pid.into()).map(|pid| pid as i32)
}

/// Starts a process in new namespaces (`CLONE_NEW*`) that shares this one's memory until it executes something or
/// exits, and goes on at once. What `run` returns is the exit code of the new process.
///
/// # Safety
/// The stack, and what `run` reads through `argument`, stay as they are until the process has been
/// waited for. `run` neither allocates, nor panics, nor calls what keeps something in a variable of
/// the thread: it has those of this thread, and may be ended or stopped at any instruction.
pub(crate) unsafe fn start_beside(
    stack: &mut Stack,
    run: extern "C" fn(*mut libc::c_void) -> libc::c_int,
    argument: *mut libc::c_void,
    namespaces: i32,
) -> io::Result<i32> {
    let flags = namespaces | libc::CLONE_VM | libc::SIGCHLD;
    // SAFETY: the stack is this process's own and nobody else's; the rest is the caller's contract.
    let pid = unsafe { libc::clone(run, stack.top(), flags, argument) };
    check(pid.into()).map(|pid| pid as i32)
}

/// Sets attributes and an idmapping on a mount and, with `recursive`, on all below it; what the host
/// mounts there later does not appear in it.
pub(crate) fn mount_setattr(
    mount: BorrowedFd<'_>,
    set: u64,
    userns: Option<BorrowedFd<'_>>,
    recursive: bool,
) -> io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: set
            | if userns.is_some() {
                libc::MOUNT_ATTR_IDMAP
            } else {
                0
            },
        attr_clr: 0,
        propagation: libc::MS_PRIVATE,
        userns_fd: userns.map_or(0, |fd| fd.as_raw_fd() as u64),
    };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is an empty C string, `attributes` lives through the call and its size is
    // given.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    check(result).map(drop)
}

/// Enters new namespaces (`CLONE_NEW*`).
pub(crate) fn unshare(namespaces: i32) -> io::Result<()> {
    // SAFETY: no memory is passed; with namespace flags alone no descriptor table is unshared.
    check(unsafe { libc::unshare(namespaces) }.into()).map(drop)
}

/// Gives up the caller's session keyring for one of this process's own, which is empty and has no name.
pub(crate) fn leave_keyring() -> io::Result<()> {
    const KEYCTL_JOIN_SESSION_KEYRING: libc::c_long = 1;
    // SAFETY: the operation takes a name, or null for a keyring without one.
    let keyring = unsafe {
        libc::syscall(
            libc::SYS_keyctl,
            KEYCTL_JOIN_SESSION_KEYRING,
            std::ptr::null::<u8>(),
        )
    };
    match check(keyring) {
        // A kernel that keeps no keys.
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Ok(()),
        joined => joined.map(drop),
    }
}

/// The network namespace that a socket belongs to.
pub(crate) fn network_of(socket: impl AsFd) -> io::Result<OwnedFd> {
    const SIOCGSKNS: libc::Ioctl = 0x894c;
    // SAFETY: the request takes no argument and returns a new descriptor.
    let namespace = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), SIOCGSKNS) };
    check(namespace.into())?;
    // SAFETY: the descriptor is new, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(namespace) })
}

/// The version of Landlock that the kernel has; 0 where it has none.
pub(crate) fn landlock_abi() -> i64 {
    const LANDLOCK_CREATE_RULESET_VERSION: u32 = 1;
    // SAFETY: with this flag the kernel reads no attributes; it wants them null and of size 0.
    let abi = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0_usize,
            LANDLOCK_CREATE_RULESET_VERSION,
        )
    };
    match crate::switches::landlock_abi() {
        Some(newest) => abi.clamp(0, newest),
        None => abi.max(0),
    }
}

/// `CAP_SYS_PTRACE`: in a user namespace of the sandbox's own, the right to look at its programs.
const SYS_PTRACE: u32 = 1 << 19;

/// `CAP_DAC_READ_SEARCH`: in a user namespace of the sandbox's own, the right to read whatever belongs to
/// one of its users.
const DAC_READ_SEARCH: u32 = 1 << 2;

/// What pid 1 keeps of its capabilities, where it has them; what is executed has none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kept {
    /// The right to look at other programs.
    pub(crate) looks: bool,
    /// The right to read every folder, which is used by [`reading_everything`] alone.
    pub(crate) reads: bool,
}

/// Gives up every capability of this thread but these: permitted, effective, inheritable and, as far as
/// it still may, the bounding set.
pub(crate) fn drop_capabilities(kept: Kept) -> io::Result<()> {
    if without(Layer::Capabilities) {
        return keep_capabilities();
    }
    drop_bounding_set()?;
    let may = capabilities().map_or(0, |[_, permitted, ..]| permitted);
    let effective = if kept.looks { may & SYS_PTRACE } else { 0 };
    let held = if kept.reads { may & DAC_READ_SEARCH } else { 0 };
    Ok(raw::set_capabilities([
        effective,
        effective | held,
        0,
        0,
        0,
        0,
    ])?)
}

/// This thread reads every folder until this is dropped, where pid 1 has kept that right.
#[must_use]
pub(crate) struct Reading(Option<[u32; 6]>);

/// See [`Reading`].
pub(crate) fn reading_everything() -> Reading {
    let had = capabilities().ok().filter(|&had| {
        let [effective, permitted, ..] = had;
        let mut sets = had;
        sets[0] |= permitted & DAC_READ_SEARCH;
        sets[0] != effective && raw::set_capabilities(sets).is_ok()
    });
    Reading(had)
}

impl Drop for Reading {
    fn drop(&mut self) {
        if let Some(had) = self.0 {
            // Fewer than now is always allowed; with more than it should have pid 1 does not go on.
            if raw::set_capabilities(had).is_err() {
                exit_now(125)
            }
        }
    }
}

/// Keeps every capability that this thread may have, over an exec as well.
fn keep_capabilities() -> io::Result<()> {
    let [_, low, _, _, high, _] = capabilities()?;
    raw::set_capabilities([low, low, low, high, high, high])?;
    for capability in 0..64 {
        // SAFETY: numbers only; what is not permitted is refused.
        unsafe {
            libc::prctl(
                libc::PR_CAP_AMBIENT,
                libc::PR_CAP_AMBIENT_RAISE,
                capability,
                0,
                0,
            )
        };
    }
    Ok(())
}

/// Effective, permitted and inheritable capabilities of this thread, the low words first.
fn capabilities() -> io::Result<[u32; 6]> {
    let mut sets = [0_u32; 6];
    // SAFETY: version 3 reads a header and writes two triples of 32-bit words (capget(2)); both live
    // through the call.
    check(unsafe {
        libc::syscall(
            libc::SYS_capget,
            raw::CAPABILITIES.as_ptr(),
            sets.as_mut_ptr(),
        )
    })?;
    Ok(sets)
}

/// Reads memory of another process of the sandbox; the number of bytes.
pub(crate) fn read_memory(process: u32, address: u64, into: &mut [u8]) -> io::Result<usize> {
    let here = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    let there = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: into.len(),
    };
    // The kernel reads whole words: an `int` would leave half of one undefined.
    let (one, flags): (libc::c_ulong, libc::c_ulong) = (1, 0);
    // SAFETY: `here` is a live buffer of that length, which the kernel writes; `there` is an address
    // of the other process, which the kernel checks and this one never follows.
    let read = unsafe {
        libc::syscall(
            libc::SYS_process_vm_readv,
            process,
            &raw const here,
            one,
            &raw const there,
            one,
            flags,
        )
    };
    check(read).map(|read| read as usize)
}

/// A descriptor of another process, as one of this process's own.
pub(crate) fn descriptor_of(process: u32, descriptor: i32) -> io::Result<OwnedFd> {
    // SAFETY: numbers only.
    let pidfd = check(unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) })?;
    // SAFETY: pidfd_open(2) returned a new descriptor.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd as i32) };
    // SAFETY: numbers only.
    let found =
        check(unsafe { libc::syscall(libc::SYS_pidfd_getfd, pidfd.as_raw_fd(), descriptor, 0) })?;
    // SAFETY: pidfd_getfd(2) returned a new descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(found as i32) })
}

/// Empties the bounding set, so that no program can give a capability back. Needs CAP_SETPCAP;
/// without it nothing changes, which is no loss: what has no capability cannot raise one.
fn drop_bounding_set() -> io::Result<()> {
    if without(Layer::Capabilities) {
        return Ok(());
    }
    for capability in 0..64 {
        // SAFETY: PR_CAPBSET_DROP takes a number and no memory.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } != 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                // EINVAL: behind the kernel's last capability.
                Some(libc::EINVAL | libc::EPERM) => Ok(()),
                _ => Err(error),
            };
        }
    }
    Ok(())
}

/// Sets the user and group ids of this thread, which must be the only one, and drops the
/// supplementary groups and the bounding set, which the new user could not drop any more.
///
/// What is permitted stays so until [`drop_capabilities`].
pub(crate) fn become_user(uid: u32, gid: u32) -> io::Result<()> {
    drop_bounding_set()?;
    // SAFETY: PR_SET_KEEPCAPS takes a number and no memory; the kernel forgets it at the next exec.
    check(unsafe { libc::prctl(libc::PR_SET_KEEPCAPS, 1, 0, 0, 0) }.into())?;
    // SAFETY: no groups are read where the length is 0.
    check(unsafe { libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<u32>()) })?;
    // SAFETY: numbers only.
    check(unsafe { libc::syscall(libc::SYS_setresgid, gid, gid, gid) })?;
    // SAFETY: numbers only.
    check(unsafe { libc::syscall(libc::SYS_setresuid, uid, uid, uid) }).map(drop)
}

/// Leaves the controlling terminal, if there is one; what this process starts has none either, and
/// cannot get one without a session of its own.
pub(crate) fn give_up_terminal() -> io::Result<()> {
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
    let terminal = match rustix::fs::open("/dev/tty", flags, rustix::fs::Mode::empty()) {
        Ok(terminal) => terminal,
        Err(rustix::io::Errno::NXIO) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    // SAFETY: TIOCNOTTY takes no argument.
    check(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCNOTTY) }.into()).map(drop)
}

/// Sets an integer socket option.
pub(crate) fn set_option(socket: impl AsFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    // SAFETY: the option's value is read from a live integer of the stated size.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<i32>() as u32,
        )
    };
    check(result.into()).map(drop)
}

/// A descriptor that becomes readable when one of `signals` is pending; they are blocked.
pub(crate) fn signal_descriptor(signals: &[i32]) -> io::Result<OwnedFd> {
    // SAFETY: all-zero is a valid signal set, which sigemptyset initialises anyway.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is live.
    unsafe { libc::sigemptyset(&raw mut set) };
    for &signal in signals {
        // SAFETY: `set` was initialised.
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    // SAFETY: `set` is live; the old mask is not asked for.
    let blocked =
        unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
    check(blocked.into())?;
    // SAFETY: `set` is live.
    let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    check(fd.into())?;
    // SAFETY: signalfd(2) returned a new descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Gives every signal its default action and unblocks all.
pub(crate) fn reset_signals() {
    // Neither the product nor its libraries handle or ignore a real-time signal (32 to 64).
    for signal in 1..32 {
        default_signal(signal);
    }
    unblock_signals();
}

/// Unblocks every signal.
pub(crate) fn unblock_signals() {
    // SAFETY: all-zero is a valid, empty signal set on Linux.
    let set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is live; the old mask is not asked for.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut()) };
}

/// Runs `start` with every signal blocked, which what it starts keeps.
pub(crate) fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    // SAFETY: all-zero is a valid signal set, which sigfillset initialises anyway.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    let mut before = all;
    // SAFETY: `all` is live.
    unsafe { libc::sigfillset(&raw mut all) };
    // SAFETY: both sets are live.
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const all, &raw mut before) };
    let started = start();
    // SAFETY: `before` is live; the old mask is not asked for.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
    started
}

/// Gives one signal its default action.
pub(crate) fn default_signal(signal: i32) {
    // SAFETY: SIG_DFL installs no handler; signals that cannot be set fail without effect.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Has this process killed when its parent dies, or not.
pub(crate) fn die_with_parent(on: bool) -> io::Result<()> {
    use rustix::process::{Signal, set_parent_process_death_signal};
    Ok(set_parent_process_death_signal(on.then_some(Signal::KILL))?)
}

/// Ignores one signal.
pub(crate) fn ignore_signal(signal: i32) {
    // SAFETY: SIG_IGN installs no handler.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

/// Closes every descriptor but the streams and these, in a process that has just been forked and
/// never returns to what had opened them.
pub(crate) fn close_all_but<'a>(kept: impl IntoIterator<Item = BorrowedFd<'a>>) {
    let numbers = kept.into_iter().map(|fd| fd.as_raw_fd() as u32);
    let mut kept: Vec<u32> = numbers.collect();
    kept.sort_unstable();
    let mut first = 3;
    for kept in kept {
        if first < kept {
            close_range(first, kept - 1);
        }
        first = first.max(kept + 1);
    }
    close_range(first, u32::MAX);
}

fn close_range(first: u32, last: u32) {
    // SAFETY: numbers only; the owners of these descriptors are in the parent's part of this copy of
    // its memory, where nothing runs any more (the caller's contract).
    unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
}

/// The bits of a file's flags that say how it is accessed, as the kernel has them (open(2)); the
/// `O_ACCMODE` of some C libraries has `O_PATH` as well.
pub(crate) const ACCESS: libc::c_int = libc::O_WRONLY | libc::O_RDWR;

/// Whether something, or its end, can be read now.
pub(crate) fn is_readable(fd: impl AsFd) -> bool {
    let mut fds = [PollFd::new(&fd, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

/// Ends the process without running anything.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: _exit(2) has no preconditions.
    unsafe { libc::_exit(code) }
}

/// The threads of this process, which must be one where it forks.
pub(crate) fn threads() -> io::Result<u64> {
    // /proc/self/task has one entry per thread: its link count is that number plus 2.
    Ok(rustix::fs::stat("/proc/self/task")?.st_nlink - 2)
}
