//! Writing a message of one segment.
//!
//! Decision: handles are offsets and not references, so that a tree is written in any order without
//! borrowing, and what is written is never moved. A field outside of its struct is a mistake of the
//! program and not of its input: it fails in a test (`debug_assert`) and is left out otherwise.

use super::pointer::{Pointer, size};
use crate::bytes::put;
use alloc::vec::Vec;

/// Bytes of a text or of data that a message can hold; longer is left out.
pub const LONGEST: usize = (1 << 29) - 2;

/// A message that is being written.
pub struct Builder {
    /// The framing's word, and the segment.
    bytes: Vec<u8>,
    root: StructAt,
}

/// A struct of a message that is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructAt {
    /// Its first byte.
    at: usize,
    data: u16,
    pointers: u16,
}

/// A list of structs of a message that is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListAt {
    /// The first byte of its first struct.
    at: usize,
    count: usize,
    data: u16,
    pointers: u16,
}

impl Builder {
    /// A message whose root has these words of data and these pointers.
    pub fn new(data: u16, pointers: u16) -> Self {
        let root = StructAt {
            at: 16,
            data,
            pointers,
        };
        let mut builder = Self {
            bytes: alloc::vec![0; 16],
            root,
        };
        builder.grow(root.words());
        // With an offset of 0 an empty struct's pointer would be null.
        let pointer = Pointer::Struct {
            offset: if root.words() == 0 { -1 } else { 0 },
            data,
            pointers,
        };
        put(&mut builder.bytes, 8, &pointer.write().to_le_bytes());
        builder
    }

    /// The root.
    pub fn root(&self) -> StructAt {
        self.root
    }

    /// Sets the byte at an offset.
    pub fn set_u8(&mut self, at: StructAt, offset: usize, value: u8) {
        self.set(at, offset, &[value]);
    }

    /// Sets the number at an offset in bytes.
    pub fn set_u16(&mut self, at: StructAt, offset: usize, value: u16) {
        self.set(at, offset, &value.to_le_bytes());
    }

    /// Sets the number at an offset in bytes.
    pub fn set_u32(&mut self, at: StructAt, offset: usize, value: u32) {
        self.set(at, offset, &value.to_le_bytes());
    }

    /// Sets the number at an offset in bytes.
    pub fn set_u64(&mut self, at: StructAt, offset: usize, value: u64) {
        self.set(at, offset, &value.to_le_bytes());
    }

    /// Sets the number at an offset in bytes.
    pub fn set_i64(&mut self, at: StructAt, offset: usize, value: i64) {
        self.set(at, offset, &value.to_le_bytes());
    }

    /// Sets the bit of this number.
    pub fn set_bool(&mut self, at: StructAt, bit: usize, value: bool) {
        let old = self.bytes.get(at.at + bit / 8).copied().unwrap_or(0);
        let mask = 1 << (bit % 8);
        self.set(at, bit / 8, &[if value { old | mask } else { old & !mask }]);
    }

    /// Sets the text of a pointer.
    pub fn set_text(&mut self, at: StructAt, index: u16, text: &str) {
        self.set_bytes(at, index, text.as_bytes(), 1);
    }

    /// Sets the bytes of a pointer.
    pub fn set_data(&mut self, at: StructAt, index: u16, data: &[u8]) {
        self.set_bytes(at, index, data, 0);
    }

    /// Makes a struct for a pointer.
    pub fn child(&mut self, at: StructAt, index: u16, data: u16, pointers: u16) -> StructAt {
        let child = StructAt {
            at: self.bytes.len(),
            data,
            pointers,
        };
        self.grow(child.words());
        let empty = child.words() == 0;
        self.point(at, index, child.at, |offset| Pointer::Struct {
            // With an offset of 0 an empty struct's pointer would be null.
            offset: if empty { -1 } else { offset },
            data,
            pointers,
        });
        child
    }

    /// Makes a list of structs for a pointer.
    pub fn list(
        &mut self,
        at: StructAt,
        index: u16,
        count: usize,
        (data, pointers): (u16, u16),
    ) -> ListAt {
        let words = count * (usize::from(data) + usize::from(pointers));
        debug_assert!(words < 1 << 29 && count < 1 << 29, "the list is too long");
        let tag = Pointer::Struct {
            offset: count as i32,
            data,
            pointers,
        };
        let start = self.bytes.len();
        self.grow(words + 1);
        put(&mut self.bytes, start, &tag.write().to_le_bytes());
        self.point(at, index, start, |offset| Pointer::List {
            offset,
            size: size::STRUCT,
            count: words as u32,
        });
        ListAt {
            at: start + 8,
            count,
            data,
            pointers,
        }
    }

    /// The message, with its framing.
    pub fn finish(mut self) -> Vec<u8> {
        let words = (self.bytes.len() - 8) / 8;
        debug_assert!(u32::try_from(words).is_ok(), "the message is too long");
        put(&mut self.bytes, 4, &(words as u32).to_le_bytes());
        self.bytes
    }

    fn grow(&mut self, words: usize) {
        self.bytes.resize(self.bytes.len() + words * 8, 0);
    }

    fn set(&mut self, at: StructAt, offset: usize, value: &[u8]) {
        let inside = offset + value.len() <= usize::from(at.data) * 8;
        debug_assert!(inside, "the field is outside of its struct");
        if inside {
            put(&mut self.bytes, at.at + offset, value);
        }
    }

    fn set_bytes(&mut self, at: StructAt, index: u16, bytes: &[u8], end: usize) {
        debug_assert!(bytes.len() <= LONGEST, "the text or data is too long");
        if bytes.len() > LONGEST {
            return;
        }
        let count = bytes.len() + end;
        let start = self.bytes.len();
        self.grow(count.div_ceil(8));
        put(&mut self.bytes, start, bytes);
        self.point(at, index, start, |offset| Pointer::List {
            offset,
            size: size::BYTE,
            count: count as u32,
        });
    }

    /// Has a pointer of a struct lead to `target`, a byte behind it.
    fn point(&mut self, at: StructAt, index: u16, target: usize, to: impl Fn(i32) -> Pointer) {
        debug_assert!(index < at.pointers, "the pointer is outside of its struct");
        if index >= at.pointers {
            return;
        }
        let word = at.at + (usize::from(at.data) + usize::from(index)) * 8;
        let pointer = to(((target - word) / 8 - 1) as i32);
        put(&mut self.bytes, word, &pointer.write().to_le_bytes());
    }
}

impl StructAt {
    fn words(self) -> usize {
        usize::from(self.data) + usize::from(self.pointers)
    }
}

impl ListAt {
    /// The struct of this number; the last one where there are fewer.
    pub fn get(self, number: usize) -> StructAt {
        debug_assert!(number < self.count, "the struct is outside of its list");
        let Self { data, pointers, .. } = self;
        let number = number.min(self.count.saturating_sub(1));
        let at = self.at + number * (usize::from(data) + usize::from(pointers)) * 8;
        // A list without structs has none to write to.
        if self.count == 0 {
            return StructAt {
                at,
                data: 0,
                pointers: 0,
            };
        }
        StructAt { at, data, pointers }
    }
}
