//! Brotli (RFC 7932). Decision: a stream says how much memory its decoder takes, up to megabytes; all of
//! it is counted. The windows of a gigabyte that some encoders can make are no part of the standard, and
//! not taken.

use super::STEP;
use brotli_decompressor::{
    Allocator, BrotliDecompressStream, BrotliResult, BrotliState, SliceWrapper, SliceWrapperMut,
};
use hyper::body::{Buf as _, Bytes};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What decodes it.
pub(super) struct Brotli {
    state: BrotliState<Counted, Counted, Counted>,
    held: Arc<AtomicUsize>,
    begun: bool,
    ended: bool,
}

impl Brotli {
    pub(super) fn new() -> Self {
        let held = Arc::new(AtomicUsize::new(0));
        let counted = || Counted(Arc::clone(&held));
        Self {
            state: BrotliState::new_strict(counted(), counted(), counted()),
            held,
            begun: false,
            ended: false,
        }
    }

    /// Bytes that it keeps.
    pub(super) fn size(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Decodes some of a part, the last one where `is_end`; whether there is more to do.
    pub(super) fn step(
        &mut self,
        part: &mut Bytes,
        is_end: bool,
        new: &mut Vec<u8>,
    ) -> io::Result<bool> {
        self.begun |= !part.is_empty();
        if self.ended {
            return match part.is_empty() {
                true => Ok(false),
                false => Err(io::ErrorKind::InvalidData.into()),
            };
        }
        new.resize(STEP, 0);
        let (mut left, mut read) = (part.len(), 0);
        let (mut space, mut written, mut total) = (new.len(), 0, 0);
        let result = BrotliDecompressStream(
            &mut left,
            &mut read,
            part,
            &mut space,
            &mut written,
            new,
            &mut total,
            &mut self.state,
        );
        part.advance(read);
        new.truncate(written);
        match result {
            // It also says so where what it has does not fit.
            BrotliResult::NeedsMoreInput if space == 0 => Ok(true),
            BrotliResult::NeedsMoreInput if is_end && self.begun => {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            BrotliResult::NeedsMoreInput => Ok(false),
            BrotliResult::NeedsMoreOutput => Ok(true),
            BrotliResult::ResultSuccess => {
                self.ended = true;
                Ok(!part.is_empty())
            }
            BrotliResult::ResultFailure => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// Gives memory, and counts it.
struct Counted(Arc<AtomicUsize>);

/// Memory that is counted as long as it is there.
struct Cell<T> {
    items: Box<[T]>,
    count: Option<Arc<AtomicUsize>>,
}

impl<T> Default for Cell<T> {
    fn default() -> Self {
        Self {
            items: Box::default(),
            count: None,
        }
    }
}

impl<T> Drop for Cell<T> {
    fn drop(&mut self) {
        if let Some(count) = &self.count {
            count.fetch_sub(size_of_val(&*self.items), Ordering::Relaxed);
        }
    }
}

impl<T> SliceWrapper<T> for Cell<T> {
    fn slice(&self) -> &[T] {
        &self.items
    }
}

impl<T> SliceWrapperMut<T> for Cell<T> {
    fn slice_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<T: Clone + Default> Allocator<T> for Counted {
    type AllocatedMemory = Cell<T>;

    fn alloc_cell(&mut self, length: usize) -> Cell<T> {
        let items = vec![T::default(); length].into_boxed_slice();
        self.0.fetch_add(size_of_val(&*items), Ordering::Relaxed);
        Cell {
            items,
            count: Some(Arc::clone(&self.0)),
        }
    }

    fn free_cell(&mut self, _: Cell<T>) {}
}
