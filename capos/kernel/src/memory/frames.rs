//! Frames: pages of physical memory. Every one that is given out is zeroed, so that no program reads what
//! another has left, and every one is counted: a kernel that ends has as many as it began with.

use super::{DIRECT_SIZE, PAGE, direct};
use crate::arch::pvh::Range;
use crate::sync::SpinLock;
use alloc::boxed::Box;
use alloc::vec;
use bailiwick_capos_core::frames::Bitmap;
use core::ops::Range as Span;
use core::ptr;

static FRAMES: SpinLock<Option<Bitmap<'static>>> = SpinLock::new(None);

/// Takes over all usable memory but these spans of physical addresses.
pub(crate) fn init(memory: &[Range], kept: &[Span<u64>]) {
    let usable = memory.iter().filter(|range| range.is_usable());
    let end = |range: &Range| (range.at + range.size).min(DIRECT_SIZE);
    let top = usable.clone().map(end).max().unwrap_or(0);
    let frames = (top / PAGE) as usize;
    let words = Box::leak(vec![0; frames.div_ceil(64)].into_boxed_slice());
    let mut map = Bitmap::new(words, frames);
    for range in usable {
        let first = range.at.div_ceil(PAGE);
        for frame in first..end(range) / PAGE {
            let (from, to) = (frame * PAGE, (frame + 1) * PAGE);
            if !kept.iter().any(|kept| from < kept.end && kept.start < to) {
                let _ = map.give(frame as usize);
            }
        }
    }
    *FRAMES.lock() = Some(map);
}

/// How many are free.
pub(crate) fn available() -> usize {
    FRAMES.lock().as_ref().map_or(0, Bitmap::available)
}

/// A frame of nobody else's, zeroed; its physical address.
pub(crate) fn take() -> Option<u64> {
    let frame = FRAMES.lock().as_mut()?.take()? as u64 * PAGE;
    clear(frame, 1);
    Some(frame)
}

/// So many frames side by side, zeroed; the first one's physical address.
pub(crate) fn take_contiguous(count: usize) -> Option<u64> {
    let frame = FRAMES.lock().as_mut()?.take_contiguous(count)? as u64 * PAGE;
    clear(frame, count);
    Some(frame)
}

fn clear(frame: u64, count: usize) {
    // SAFETY: the frames were just taken, so that nobody else reaches them; they are in the direct map.
    unsafe { ptr::write_bytes(direct(frame), 0, count * PAGE as usize) }
}

/// Gives one back.
///
/// # Panics
/// It was not taken: the kernel has lost count.
pub(crate) fn give(frame: u64) {
    let given = FRAMES
        .lock()
        .as_mut()
        .map(|map| map.give((frame / PAGE) as usize));
    assert!(
        matches!(given, Some(Ok(()))),
        "frame {frame:#x} was given back twice"
    );
}
