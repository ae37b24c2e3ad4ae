//! What the program was given, by name.

use crate::call::{Cap, Failed};
use alloc::vec::Vec;
use bailiwick_capos_core::capset::{self, MISSING};
use bailiwick_capos_core::interfaces::KernelSource;
use bailiwick_capos_core::layout::{CAPSET, PAGE};
use bailiwick_capos_core::message::Builder;
use core::arch::asm;

/// A capability by its name; none where the program was given no such one.
pub fn held(name: &str) -> Option<Cap> {
    // SAFETY: the kernel maps the page there, and nobody writes to it.
    let page = unsafe { core::slice::from_raw_parts(CAPSET as *const u8, PAGE as usize) };
    capset::find(page, name).map(|entry| Cap(entry.cap_id))
}

/// A capability that the program cannot do without: one that was not given it ends here, and the kernel says
/// which one it lacked.
pub fn required(name: &str) -> Cap {
    held(name).unwrap_or_else(|| {
        // SAFETY: an invalid opcode ends the process; nothing of it goes on.
        unsafe {
            asm!(
                "ud2", in("rax") MISSING, in("rdi") name.as_ptr(), in("rsi") name.len(),
                options(noreturn, nostack)
            )
        }
    })
}

/// How a capability is granted to a new process.
#[derive(Clone, Copy, Debug)]
pub enum Grant<'a> {
    /// One of the kernel's.
    Kernel(&'a str, KernelSource),
    /// A copy of one that is held.
    Copy(&'a str, Cap),
    /// One that is held, which the granter has no longer.
    Move(&'a str, Cap),
    /// The side of an endpoint that calls, with a badge.
    Client(&'a str, Cap, u64),
}

/// A process that was made.
#[derive(Debug)]
pub struct Child {
    /// Its handle: method 0 waits, 1 ends it.
    pub handle: Cap,
    /// The manager of what it holds.
    pub manager: Cap,
    /// The sides that call of endpoints that were made for it.
    pub clients: Vec<Cap>,
}

impl Child {
    /// Waits for its end; its code.
    pub fn wait(&self) -> Result<i64, Failed> {
        self.handle
            .call(0, &[])
            .map(|answer| answer.u64(0).cast_signed())
    }

    /// Ends it.
    pub fn terminate(&self) -> Result<(), Failed> {
        self.handle.call(1, &[]).map(drop)
    }
}

/// The parameters of `spawn`.
pub fn spawn_message(name: &str, binary: &str, grants: &[Grant<'_>]) -> Vec<u8> {
    let mut builder = Builder::new(0, 3);
    let root = builder.root();
    builder.set_text(root, 0, name);
    builder.set_text(root, 1, binary);
    let list = builder.list(root, 2, grants.len(), (3, 2));
    for (number, grant) in grants.iter().enumerate() {
        let row = list.get(number);
        let (name, cap, mode, badge, source) = match *grant {
            Grant::Kernel(name, source) => (name, 0, 0, 0, Some(source)),
            Grant::Copy(name, cap) => (name, cap.0, 0, 0, None),
            Grant::Move(name, cap) => (name, cap.0, 2, 0, None),
            Grant::Client(name, cap, badge) => (name, cap.0, 1, badge, None),
        };
        builder.set_text(row, 0, name);
        builder.set_u32(row, 0, cap);
        builder.set_u16(row, 4, mode);
        builder.set_u64(row, 16, badge);
        let child = builder.child(row, 1, 1, 0);
        if let Some(source) = source {
            builder.set_u16(child, 0, 1);
            builder.set_u16(child, 2, source.ordinal());
        }
    }
    builder.finish()
}

/// Makes a process, by the capability to make them.
pub fn spawn(
    spawner: Cap,
    name: &str,
    binary: &str,
    grants: &[Grant<'_>],
) -> Result<Child, Failed> {
    let answer = spawner.call(0, &spawn_message(name, binary, grants))?;
    let mut caps = answer.caps.into_iter();
    let missing = Failed {
        code: 0,
        exception: None,
    };
    Ok(Child {
        handle: caps.next().ok_or(missing)?,
        manager: caps.next().ok_or(missing)?,
        clients: caps.collect(),
    })
}
