//! The address space of the process that calls: fresh pages, their rights, and addresses for later.

use super::memory_object::{no_rights, unmappable};
use super::with_params;
use crate::call::{Call, Exception, Reply};
use crate::hold::Object;
use crate::memory::PAGE;
use crate::memory::space::{Kind, Rights, pages};
use crate::park;
use crate::process::Process;
use alloc::sync::Arc;
use bailiwick_capos_core::interfaces;
use bailiwick_capos_core::message::Struct;

/// The address space.
pub(crate) struct VirtualMemory;

fn is_own(kind: &Kind) -> bool {
    matches!(kind, Kind::Own)
}

fn full() -> Reply {
    Reply::raised(
        Exception::Overloaded,
        "the process has as many pages as it may have",
    )
}

/// Takes from a quota, does something, and gives back where that failed.
fn counted(
    left: &crate::quota::Left,
    count: u64,
    act: impl FnOnce() -> Result<Reply, Reply>,
) -> Reply {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if !left.take(count) {
        return full();
    }
    act().unwrap_or_else(|failed| {
        left.give(count);
        failed
    })
}

/// Whole pages are gone, of which the range was.
fn interrupt(process: &Process, start: u64, size: u64) {
    let size = size.next_multiple_of(PAGE);
    park::interrupt(process.number.into(), start, start.saturating_add(size));
}

fn method(number: u16, params: &Struct<'_, '_>, process: &Arc<Process>) -> Reply {
    let (first, second) = (params.u64(0), params.u64(8));
    let (space, quota) = (&process.space, &process.quota);
    let rights = Rights::of(params.u32(16));
    let is_range = |start: u64| pages(start, second).map_err(unmappable);
    match number {
        0 => {
            let Some(rights) = rights else {
                return no_rights();
            };
            let count = second.div_ceil(4096);
            counted(&quota.frames, count, || {
                let at = space
                    .map(first, second, rights, Kind::Own)
                    .map_err(unmappable)?;
                Ok(Reply::numbers(&[at]))
            })
        }
        1 => match space.unmap(first, second, |kind| is_own(kind) || is_reserved(kind)) {
            Ok(unmapped) => {
                quota.frames.give(unmapped.frames);
                if unmapped.was_reserved {
                    quota.reserved.give(unmapped.pages);
                }
                interrupt(process, first, second);
                Reply::nothing()
            }
            Err(error) => unmappable(error),
        },
        2 => {
            let Some(rights) = rights else {
                return no_rights();
            };
            let is = |kind: &Kind| is_own(kind) || is_reserved(kind);
            space
                .protect(first, second, rights, is)
                .map_or_else(unmappable, |()| Reply::nothing())
        }
        3 => counted(&quota.reserved, second.div_ceil(4096), || {
            let at = space.reserve(first, second).map_err(unmappable)?;
            Ok(Reply::numbers(&[at]))
        }),
        4 => {
            let Some(rights) = rights else {
                return no_rights();
            };
            match is_range(first) {
                Ok(count) => counted(&quota.frames, count, || {
                    space.commit(first, second, rights).map_err(unmappable)?;
                    Ok(Reply::nothing())
                }),
                Err(reply) => reply,
            }
        }
        5 => match space.decommit(first, second) {
            Ok(count) => {
                quota.frames.give(count);
                interrupt(process, first, second);
                Reply::nothing()
            }
            Err(error) => unmappable(error),
        },
        _ => Reply::no_method(),
    }
}

fn is_reserved(kind: &Kind) -> bool {
    matches!(kind, Kind::Reserved)
}

impl Object for VirtualMemory {
    fn interface(&self) -> u64 {
        interfaces::VIRTUAL_MEMORY.id
    }

    fn label(&self) -> &'static str {
        "virtual memory"
    }

    fn takes_back(&self, method: u16) -> bool {
        matches!(method, 1 | 5)
    }

    fn call(&self, call: Call) {
        with_params(call, |params, call| {
            Ok(method(call.method, params, &call.process))
        });
    }
}
