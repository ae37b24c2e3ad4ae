//! Reading a message.
//!
//! Decision: a struct is a pair of slices, cut out when its pointer was followed. Whatever is read
//! from it afterwards is inside, and what an older writer did not write reads as zero.

use super::pointer::{Pointer, size};
use super::{Malformed, NESTING, SEGMENTS, TRAVERSAL, TRAVERSAL_LEAST};
use crate::bytes::{array, u16_at, u32_at, u64_at};
use alloc::vec::Vec;
use core::cell::Cell;

/// A message: its segments, and how much of it may still be read.
pub struct Message<'a> {
    segments: Vec<&'a [u8]>,
    budget: Cell<u64>,
}

/// Where a pointer led: its segment, the first word there, and the pointer that says what it is.
struct Target<'a> {
    segment: &'a [u8],
    at: usize,
    pointer: Pointer,
    index: u32,
}

impl<'a> Message<'a> {
    /// Reads the framing of a stream: the number of segments less one, their words, the segments.
    /// Bytes that follow are not looked at.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let last = u32::from_le_bytes(array(bytes, 0).ok_or(Malformed::Framing)?);
        if last >= SEGMENTS as u32 {
            return Err(Malformed::Segments);
        }
        let count = last as usize + 1;
        let mut at = (4 + 4 * count).next_multiple_of(8);
        let mut segments = Vec::with_capacity(count);
        let mut words = 0u64;
        for index in 0..count {
            let size = array(bytes, 4 + 4 * index).ok_or(Malformed::Framing)?;
            let size = u32::from_le_bytes(size);
            words += u64::from(size);
            let end = usize::try_from(u64::from(size) * 8)
                .ok()
                .and_then(|size| at.checked_add(size))
                .ok_or(Malformed::Framing)?;
            segments.push(bytes.get(at..end).ok_or(Malformed::Framing)?);
            at = end;
        }
        let budget = Cell::new((words * 8).clamp(TRAVERSAL_LEAST, TRAVERSAL));
        Ok(Self { segments, budget })
    }

    /// The struct that the message is.
    pub fn root(&self) -> Result<Struct<'_, 'a>, Malformed> {
        self.structure(0, 0, NESTING)
    }

    fn segment(&self, index: u32) -> Option<&'a [u8]> {
        self.segments.get(index as usize).copied()
    }

    /// Takes the cost of what a pointer points at, in words.
    fn spend(&self, words: u64) -> Result<(), Malformed> {
        let left = self
            .budget
            .get()
            .checked_sub(words)
            .ok_or(Malformed::Traversal)?;
        self.budget.set(left);
        Ok(())
    }

    /// Follows the pointer in a word of a segment; `None` where it is null.
    fn follow(&self, index: u32, word: usize) -> Result<Option<Target<'a>>, Malformed> {
        let segment = self.segment(index).ok_or(Malformed::Bounds)?;
        let pointer = pointer_at(segment, word).ok_or(Malformed::Bounds)?;
        if let Pointer::Far {
            double,
            offset,
            segment: index,
        } = pointer
        {
            return self.landed(index, offset as usize, double).map(Some);
        }
        Ok(near(pointer, word).transpose()?.map(|at| Target {
            segment,
            at,
            pointer,
            index,
        }))
    }

    /// What a landing pad says.
    fn landed(&self, index: u32, pad: usize, double: bool) -> Result<Target<'a>, Malformed> {
        let segment = self.segment(index).ok_or(Malformed::Far)?;
        let first = pointer_at(segment, pad).ok_or(Malformed::Far)?;
        self.spend(if double { 2 } else { 1 })?;
        if !double {
            let at = near(first, pad).ok_or(Malformed::Far)??;
            return Ok(Target {
                segment,
                at,
                pointer: first,
                index,
            });
        }
        let tag = pointer_at(segment, pad + 1).ok_or(Malformed::Far)?;
        let (
            Pointer::Far {
                double: false,
                offset,
                segment: index,
            },
            Some(offset_of_tag),
        ) = (first, offset_of(tag))
        else {
            return Err(Malformed::Far);
        };
        if offset_of_tag != 0 {
            return Err(Malformed::Far);
        }
        let segment = self.segment(index).ok_or(Malformed::Far)?;
        Ok(Target {
            segment,
            at: offset as usize,
            pointer: tag,
            index,
        })
    }

    fn structure(&self, index: u32, word: usize, depth: u32) -> Result<Struct<'_, 'a>, Malformed> {
        let depth = depth.checked_sub(1).ok_or(Malformed::Depth)?;
        let Some(target) = self.follow(index, word)? else {
            return Ok(Struct {
                message: self,
                data: &[],
                pointers: &[],
                index,
                first: 0,
                depth,
            });
        };
        let Pointer::Struct { data, pointers, .. } = target.pointer else {
            return Err(Malformed::Kind);
        };
        self.spend(u64::from(data) + u64::from(pointers))?;
        let first = target.at + usize::from(data);
        Ok(Struct {
            message: self,
            data: words(target.segment, target.at, data.into()).ok_or(Malformed::Bounds)?,
            pointers: words(target.segment, first, pointers.into()).ok_or(Malformed::Bounds)?,
            index: target.index,
            first,
            depth,
        })
    }

    fn bytes(&self, index: u32, word: usize) -> Result<Option<&'a [u8]>, Malformed> {
        let Some(target) = self.follow(index, word)? else {
            return Ok(None);
        };
        let Pointer::List {
            size: size::BYTE,
            count,
            ..
        } = target.pointer
        else {
            return Err(Malformed::Kind);
        };
        self.spend(u64::from(count).div_ceil(8))?;
        let count = count as usize;
        let list = words(target.segment, target.at, count.div_ceil(8)).ok_or(Malformed::Bounds)?;
        list.get(..count).map(Some).ok_or(Malformed::Bounds)
    }

    fn list(&self, index: u32, word: usize, depth: u32) -> Result<List<'_, 'a>, Malformed> {
        let depth = depth.checked_sub(1).ok_or(Malformed::Depth)?;
        let Some(target) = self.follow(index, word)? else {
            let (data, pointers) = (0, 0);
            return Ok(List {
                message: self,
                body: &[],
                first: 0,
                index,
                count: 0,
                data,
                pointers,
                depth,
            });
        };
        let Pointer::List {
            size: size::STRUCT,
            count: size,
            ..
        } = target.pointer
        else {
            return Err(Malformed::Kind);
        };
        let tag = pointer_at(target.segment, target.at).ok_or(Malformed::Bounds)?;
        let first = target.at + 1;
        let body = words(target.segment, first, size as usize).ok_or(Malformed::Bounds)?;
        // An empty list of empty structs has a tag of zero.
        let (count, data, pointers) = match tag {
            Pointer::Struct {
                offset,
                data,
                pointers,
            } => (offset.cast_unsigned() & 0x3fff_ffff, data, pointers),
            Pointer::Null => (0, 0, 0),
            _ => return Err(Malformed::List),
        };
        let each = u64::from(data) + u64::from(pointers);
        if u64::from(count) * each > u64::from(size) {
            return Err(Malformed::List);
        }
        // Structs without words would be free, and a billion of them fit into two words.
        self.spend(1 + u64::from(size).max(u64::from(count)))?;
        Ok(List {
            message: self,
            body,
            first,
            index: target.index,
            count,
            data,
            pointers,
            depth,
        })
    }
}

/// A struct of a message. What is not in it reads as zero or empty.
#[derive(Clone, Copy)]
pub struct Struct<'m, 'a> {
    message: &'m Message<'a>,
    data: &'a [u8],
    pointers: &'a [u8],
    /// The segment, and the word in it where the pointers begin.
    index: u32,
    first: usize,
    depth: u32,
}

impl<'m, 'a> Struct<'m, 'a> {
    /// The byte at this offset.
    pub fn u8(&self, at: usize) -> u8 {
        self.data.get(at).copied().unwrap_or(0)
    }

    /// The number at this offset in bytes.
    pub fn u16(&self, at: usize) -> u16 {
        u16_at(self.data, at)
    }

    /// The number at this offset in bytes.
    pub fn u32(&self, at: usize) -> u32 {
        u32_at(self.data, at)
    }

    /// The number at this offset in bytes.
    pub fn u64(&self, at: usize) -> u64 {
        u64_at(self.data, at)
    }

    /// The number at this offset in bytes.
    pub fn i64(&self, at: usize) -> i64 {
        self.u64(at).cast_signed()
    }

    /// The bit of this number.
    pub fn bool(&self, bit: usize) -> bool {
        self.u8(bit / 8) >> (bit % 8) & 1 != 0
    }

    /// Whether the pointer is there and not null.
    pub fn has(&self, index: usize) -> bool {
        self.pointers
            .chunks_exact(8)
            .nth(index)
            .is_some_and(|word| word.iter().any(|b| *b != 0))
    }

    /// The text of a pointer, without its NUL.
    pub fn text(&self, index: usize) -> Result<&'a str, Malformed> {
        let Some(word) = self.word(index) else {
            return Ok("");
        };
        match self.message.bytes(self.index, word)? {
            None => Ok(""),
            Some([text @ .., 0]) => core::str::from_utf8(text).map_err(|_| Malformed::Text),
            Some(_) => Err(Malformed::Text),
        }
    }

    /// The bytes of a pointer.
    pub fn data(&self, index: usize) -> Result<&'a [u8], Malformed> {
        let Some(word) = self.word(index) else {
            return Ok(&[]);
        };
        Ok(self.message.bytes(self.index, word)?.unwrap_or_default())
    }

    /// The struct of a pointer.
    pub fn child(&self, index: usize) -> Result<Struct<'m, 'a>, Malformed> {
        let Some(word) = self.word(index) else {
            return Ok(Self {
                data: &[],
                pointers: &[],
                ..*self
            });
        };
        self.message.structure(self.index, word, self.depth)
    }

    /// The list of structs of a pointer.
    pub fn list(&self, index: usize) -> Result<List<'m, 'a>, Malformed> {
        let Some(word) = self.word(index) else {
            let Self {
                message,
                index,
                depth,
                ..
            } = *self;
            let (data, pointers) = (0, 0);
            return Ok(List {
                message,
                body: &[],
                first: 0,
                index,
                count: 0,
                data,
                pointers,
                depth,
            });
        };
        self.message.list(self.index, word, self.depth)
    }

    /// The word of a pointer that is there and not null.
    fn word(&self, index: usize) -> Option<usize> {
        self.has(index).then_some(self.first + index)
    }
}

/// A list of structs of a message.
#[derive(Clone, Copy)]
pub struct List<'m, 'a> {
    message: &'m Message<'a>,
    /// The elements, and the word in the segment where they begin.
    body: &'a [u8],
    first: usize,
    index: u32,
    count: u32,
    data: u16,
    pointers: u16,
    depth: u32,
}

impl<'m, 'a> List<'m, 'a> {
    /// How many structs it has.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The struct of this number.
    pub fn get(&self, number: usize) -> Option<Struct<'m, 'a>> {
        if number >= self.len() {
            return None;
        }
        let (data, pointers) = (usize::from(self.data), usize::from(self.pointers));
        let at = number.checked_mul(data + pointers)?;
        Some(Struct {
            message: self.message,
            data: words(self.body, at, data)?,
            pointers: words(self.body, at + data, pointers)?,
            index: self.index,
            first: self.first + at + data,
            depth: self.depth.saturating_sub(1),
        })
    }

    /// All of them.
    pub fn iter(self) -> impl Iterator<Item = Struct<'m, 'a>> {
        (0..self.len()).filter_map(move |number| self.get(number))
    }
}

/// Words of a segment.
fn words(segment: &[u8], at: usize, count: usize) -> Option<&[u8]> {
    segment
        .get(at.checked_mul(8)?..)?
        .get(..count.checked_mul(8)?)
}

fn pointer_at(segment: &[u8], word: usize) -> Option<Pointer> {
    array(segment, word.checked_mul(8)?).map(|word| Pointer::read(u64::from_le_bytes(word)))
}

fn offset_of(pointer: Pointer) -> Option<i32> {
    match pointer {
        Pointer::Struct { offset, .. } | Pointer::List { offset, .. } => Some(offset),
        Pointer::Null => Some(0),
        Pointer::Far { .. } | Pointer::Other => None,
    }
}

/// The word where the target of a pointer in `word` begins. `None` of a null pointer; a kind that
/// has no target is refused.
fn near(pointer: Pointer, word: usize) -> Option<Result<usize, Malformed>> {
    let (Pointer::Struct { offset, .. } | Pointer::List { offset, .. }) = pointer else {
        return (pointer != Pointer::Null).then_some(Err(Malformed::Kind));
    };
    Some(
        (word + 1)
            .checked_add_signed(offset as isize)
            .ok_or(Malformed::Bounds),
    )
}
