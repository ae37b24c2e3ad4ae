//! Threads of the program.
//!
//! Decision: what a thread does to itself it submits as its own. Whichever thread enters the kernel takes
//! what all have submitted, and a thread's end that another one took would be that one's.

use crate::call::{Cap, Failed, numbers_message};
use crate::ring;
use alloc::boxed::Box;
use alloc::vec;
use bailiwick_capos_core::ring::{Sqe, flag, op};

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

/// Ends this thread, whose number is `thread`.
pub fn end(control: Cap, thread: u32, code: i64) -> ! {
    let message = numbers_message(&[code.cast_unsigned()]);
    // On this stack, where it is until the thread has ended; what is on the heap would stay.
    let mut params = [0_u8; 64];
    let length = message.len().min(params.len());
    params[..length].copy_from_slice(&message[..length]);
    drop(message);
    let sqe = Sqe {
        opcode: op::CALL,
        flags: flag::THREAD_OWNED,
        method_id: 2,
        cap_id: control.0,
        addr: params.as_ptr() as u64,
        len: length as u32,
        call_id: thread,
        ..Sqe::default()
    };
    loop {
        ring::run(&Sqe {
            user_data: ring::number(),
            ..sqe
        });
    }
}

/// Where this thread's FS base is.
pub fn fs_base(control: Cap, thread: u32) -> Result<u64, Failed> {
    let answer = control.call_as(thread, 0, &[])?;
    Ok(answer.u64(0))
}

/// Sets it.
pub fn set_fs_base(control: Cap, thread: u32, base: u64) -> Result<(), Failed> {
    let answer = control.call_as(thread, 1, &numbers_message(&[base]));
    answer.map(drop)
}

/// Waits for a thread's end; its code.
pub fn join(handle: Cap) -> Result<i64, Failed> {
    handle
        .call(0, &[])
        .map(|answer| answer.u64(0).cast_signed())
}
