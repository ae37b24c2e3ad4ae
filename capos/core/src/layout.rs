//! Where things lie in a process, and how much of each it may have.
//!
//! Decision: every process has the same fixed addresses, those of the published ABI (`capos-config`
//! `process_layout`, `ring` and `capset`), so that a program that was linked for it runs unchanged.
//! Limits are constants too (`capos-abi`): what a process can take from others is known beforehand.

/// Bytes of a page.
pub const PAGE: u64 = 4096;
/// Where a program's image begins.
pub const IMAGE_BASE: u64 = 0x20_0000;
/// The end of the image: 64 KiB below the stack, which nothing may map.
pub const IMAGE_LIMIT: u64 = STACK_BASE - 0x1_0000;
/// The lowest address of the first thread's stack.
pub const STACK_BASE: u64 = 0x100_0000;
/// Pages of the first thread's stack.
pub const STACK_PAGES: u64 = 16;
/// The end of the first thread's stack.
pub const STACK_TOP: u64 = STACK_BASE + STACK_PAGES * PAGE;
/// Where thread-local storage may begin.
pub const TLS_BASE: u64 = 0x110_0000;
/// The end of thread-local storage.
pub const TLS_LIMIT: u64 = RING;
/// The page of the ring.
pub const RING: u64 = 0x120_0000;
/// The page of the capability set, which the process only reads.
pub const CAPSET: u64 = 0x130_0000;
/// The first address that is not a process's.
pub const USER_LIMIT: u64 = 0x8000_0000_0000;

/// Capabilities that a process may hold.
pub const CAP_SLOTS: usize = 256;
/// Frames that a process may be granted.
pub const FRAMES: usize = 4096;
/// Pages of address space that a process may reserve.
pub const RESERVED_PAGES: usize = 262_144;
/// Timers that a process may wait for at once.
pub const SLEEPERS: usize = 8;
/// Threads of a process.
pub const THREADS: usize = 16;
/// Calls of a process that have no answer yet.
pub const CALLS: usize = 64;
/// Bytes that the kernel keeps for a process's calls in all.
pub const SCRATCH: usize = 256 * 1024;
/// Bytes that the buffers of the pipes that a process has made may have in all.
pub const PIPES: usize = 256 * 1024;
/// Processes that a machine may have at one time.
pub const PROCESSES: usize = 64;
/// Bytes that the kernel keeps for all processes' calls and pipes together.
pub const KEPT: usize = 1024 * 1024;
/// Bytes that all processors together copy at one time for the calls that they are in: four of the largest.
pub const COPIED: usize = 4 * 2 * SCRATCH;

const _: () = assert!(IMAGE_LIMIT == 0xff_0000 && STACK_TOP == 0x101_0000);
const _: () = assert!(STACK_TOP < TLS_BASE && TLS_LIMIT == 0x120_0000);
