//! Frames that can be mapped into any address space whose process holds them. They are given back when
//! nobody holds them and nothing maps them.

use super::with_params;
use crate::call::{Call, Exception, Reply};
use crate::hold::Object;
use crate::memory::frames;
use crate::memory::space::{Kind, Rights, Unmappable};
use crate::park;
use crate::process::Process;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use bailiwick_capos_core::interfaces;
use bailiwick_capos_core::layout::PAGE;
use bailiwick_capos_core::message::Builder;

/// The frames, and whose quota they are of.
pub(crate) struct Memory {
    frames: Vec<u64>,
    of: Weak<Process>,
}

impl Memory {
    /// So many zeroed frames side by side; none where the process may not have them or there are none.
    pub(crate) fn take(process: &Arc<Process>, count: usize) -> Option<Self> {
        if !process.quota.frames.take(count) {
            return None;
        }
        let Some(first) = frames::take_contiguous(count) else {
            process.quota.frames.give(count);
            return None;
        };
        Some(Self {
            frames: (0..count as u64)
                .map(|number| first + number * PAGE)
                .collect(),
            of: Arc::downgrade(process),
        })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(process) = self.of.upgrade() {
            process.quota.frames.give(self.frames.len());
        }
        self.frames.drain(..).for_each(frames::give);
    }
}

/// The object.
pub(crate) struct MemoryObject(pub(crate) Arc<Memory>);

impl MemoryObject {
    /// Whether a range shows its frames.
    fn is_of(&self, kind: &Kind) -> bool {
        let own = Arc::as_ptr(&self.0).cast::<()>();
        matches!(kind, Kind::Shared(of) if Arc::as_ptr(of).cast::<()>() == own)
    }

    fn is_held_by(&self, process: &Process) -> bool {
        let table = process.table.lock();
        let mut held = table.iter().filter_map(|(_, hold)| hold.object.as_memory());
        held.any(|memory| Arc::ptr_eq(memory, &self.0))
    }
}

/// What a failed mapping is told as.
pub(crate) fn unmappable(error: Unmappable) -> Reply {
    let (kind, why) = match error {
        Unmappable::Range => (
            Exception::InvalidArgument,
            "no range of a program's whole pages",
        ),
        Unmappable::Taken => (Exception::InvalidArgument, "the range holds something else"),
        Unmappable::Memory => (Exception::Overloaded, "there is no memory for it"),
    };
    Reply::raised(kind, why)
}

/// What unknown rights are told as.
pub(crate) fn no_rights() -> Reply {
    let why =
        "a page is not written and run at once, and there are no other rights than 1, 2 and 4";
    Reply::raised(Exception::InvalidArgument, why)
}

impl Object for MemoryObject {
    fn interface(&self) -> u64 {
        interfaces::MEMORY_OBJECT.id
    }

    fn label(&self) -> &'static str {
        "memory object"
    }

    fn takes_back(&self, method: u16) -> bool {
        matches!(method, 2)
    }

    fn as_memory(&self) -> Option<&Arc<Memory>> {
        Some(&self.0)
    }

    /// Unmaps it, unless it is held by another id as well. Whoever lets go of it keeps what is mapped.
    fn revoked(&self, from: &Arc<Process>) {
        if self.is_held_by(from) {
            return;
        }
        for (start, end) in from.space.unmap_all(|kind| self.is_of(kind)) {
            park::interrupt(from.number.into(), start, end);
        }
    }

    fn call(&self, call: Call) {
        let frames = &self.0.frames;
        match call.method {
            0 => {
                let mut builder = Builder::new(2, 0);
                let root = builder.root();
                builder.set_u32(root, 0, frames.len() as u32);
                builder.set_u64(root, 8, frames.len() as u64 * PAGE);
                call.answer(Reply::Done(builder.finish(), Vec::new()));
            }
            1 => with_params(call, |params, call| {
                let (hint, offset, size) = (params.u64(0), params.u64(8), params.u64(16));
                let Some(rights) = Rights::of(params.u32(24)) else {
                    return Ok(no_rights());
                };
                let first = (offset / PAGE) as usize;
                let last = first.checked_add(size.div_ceil(PAGE) as usize);
                let part = last.and_then(|last| frames.get(first..last));
                let Some(part) = part.filter(|part| offset % PAGE == 0 && !part.is_empty()) else {
                    return Ok(unmappable(Unmappable::Range));
                };
                let process = &call.process;
                let space = &process.space;
                let mapped = space.map_shared(hint, part, rights, self.0.clone());
                // It may have been taken away after it was looked at.
                self.revoked(process);
                Ok(mapped.map_or_else(unmappable, |at| Reply::numbers(&[at])))
            }),
            2 | 3 => with_params(call, |params, call| {
                let process = &call.process;
                let (start, size) = (params.u64(0), params.u64(8));
                let is = |kind: &Kind| self.is_of(kind);
                let done = if call.method == 2 {
                    process.space.unmap(start, size, is).map(|_| {
                        let end = start.saturating_add(size.next_multiple_of(PAGE));
                        park::interrupt(process.number.into(), start, end);
                    })
                } else {
                    let Some(rights) = Rights::of(params.u32(16)) else {
                        return Ok(no_rights());
                    };
                    process.space.protect(start, size, rights, is)
                };
                Ok(done.map_or_else(unmappable, |()| Reply::nothing()))
            }),
            _ => call.answer(Reply::no_method()),
        }
    }
}
