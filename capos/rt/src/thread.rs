//! Threads of the program.

use crate::call::{Cap, Failed};
use alloc::boxed::Box;
use alloc::vec;

/// Bytes of a thread's stack.
const STACK: usize = 32 * 1024;

/// Begins a thread: `entry` gets `argument` and the thread's number, and ends by
/// [`end`]. Its stack is never taken back.
pub fn begin(
    spawner: Cap,
    entry: extern "C" fn(u64, u32) -> !,
    argument: u64,
) -> Result<Cap, Failed> {
    let stack = Box::leak(vec![0_u128; STACK / 16].into_boxed_slice());
    begin_on(
        spawner,
        entry,
        argument,
        stack.as_mut_ptr_range().end as u64,
    )
}

/// The same on a stack that ends at `top` and is the thread's alone.
pub fn begin_on(
    spawner: Cap,
    entry: extern "C" fn(u64, u32) -> !,
    argument: u64,
    top: u64,
) -> Result<Cap, Failed> {
    crate::ring::share();
    let answer = spawner.numbers(0, &[entry as usize as u64, top, argument, 0, 0])?;
    answer.caps.first().copied().ok_or(Failed {
        code: 0,
        exception: None,
    })
}

/// Ends this thread.
pub fn end(control: Cap, code: i64) -> ! {
    loop {
        let _ = control.numbers(2, &[code.cast_unsigned()]);
    }
}

/// Waits for a thread's end; its code.
pub fn join(handle: Cap) -> Result<i64, Failed> {
    handle
        .call(0, &[])
        .map(|answer| answer.u64(0).cast_signed())
}
