//! What the kernel says of a program that has a fault: which one, what fault, where, and which capability
//! it lacked, if it said so or asked for one that it does not hold.

use crate::arch::context::Context;
use crate::arch::fault_address;
use crate::process::Process;
use crate::say;
use crate::thread::Thread;
use bailiwick_capos_core::capset;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};

const INVALID_OPCODE: u64 = 6;
const PAGE_FAULT: u64 = 14;

/// What people call an exception.
pub(crate) fn name(vector: u64) -> &'static str {
    match vector {
        0 => "divide error",
        1 => "debug exception",
        3 => "breakpoint",
        4 => "overflow",
        5 => "bound range",
        INVALID_OPCODE => "invalid opcode",
        7 => "no such device",
        11 => "segment not present",
        12 => "stack segment fault",
        13 => "general protection fault",
        PAGE_FAULT => "page fault",
        16 | 19 => "floating-point error",
        17 => "alignment check",
        21 => "control protection",
        _ => "exception",
    }
}

/// The last id by which a process asked for what it does not hold.
pub(crate) struct Refused(AtomicU64);

impl Refused {
    const NONE: u64 = u64::MAX;

    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(Self::NONE))
    }

    pub(crate) fn note(&self, id: u32) {
        self.0.store(id.into(), Ordering::Relaxed);
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.load(Ordering::Relaxed) {
            Self::NONE => Ok(()),
            id => write!(to, "; it had asked for what it does not hold: {id:#x}"),
        }
    }
}

/// The name of the capability for want of which a program ended itself ([`capset::MISSING`]). It is the
/// program's word: only what may stand in a name is told of it.
fn missing(process: &Process, context: &Context, name: &mut [u8; capset::NAME]) -> Option<usize> {
    if context.vector != INVALID_OPCODE || context.rax != capset::MISSING {
        return None;
    }
    let length = usize::try_from(context.rsi).ok()?;
    let text = name.get_mut(..length)?;
    let is_told = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(byte);
    let is_name = process.space.read(context.rdi, text) && text.iter().all(is_told);
    (is_name && length > 0).then_some(length)
}

/// Says which program has a fault, and where: it ends alone.
pub(crate) fn report(thread: &Thread, context: &Context) {
    let process = &thread.process;
    let mut bytes = [0; capset::NAME];
    let lacked = missing(process, context, &mut bytes);
    let lacked = lacked.and_then(|length| core::str::from_utf8(bytes.get(..length)?).ok());
    let (who, number) = (&process.name, process.number);
    if let Some(lacked) = lacked {
        say!(
            "capos: crash: process {who} ({number}), thread {}: it was not given \"{lacked}\", at {:#x}",
            thread.number,
            context.rip,
        );
        return;
    }
    let at = match context.vector {
        PAGE_FAULT => fault_address(),
        _ => 0,
    };
    say!(
        "capos: crash: process {who} ({number}), thread {}: {} at {:#x}, error {:#x}, address {at:#x}{}",
        thread.number,
        name(context.vector),
        context.rip,
        context.error,
        process.refused,
    );
}
