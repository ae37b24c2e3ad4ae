//! What a pointer's word says.
//!
//! Decision: a word becomes an enum before anything looks at it, with every field already of its
//! width, so that signs and shifts are in one place.

/// A pointer, by its two lowest bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pointer {
    Null,
    /// `offset` in words from the end of the pointer; sizes in words.
    Struct {
        offset: i32,
        data: u16,
        pointers: u16,
    },
    /// `size` is one of [`size`]; `count` elements, or words where elements are structs.
    List {
        offset: i32,
        size: u8,
        count: u32,
    },
    /// To a landing pad of one word, or of two where it is `double`.
    Far {
        double: bool,
        offset: u32,
        segment: u32,
    },
    /// A capability, or what the specification keeps for later.
    Other,
}

/// Sizes of a list's elements that are used here.
pub(super) mod size {
    pub(crate) const BYTE: u8 = 2;
    pub(crate) const STRUCT: u8 = 7;
}

impl Pointer {
    pub(super) fn read(word: u64) -> Self {
        let low = word as u32;
        let high = (word >> 32) as u32;
        let offset = low.cast_signed() >> 2;
        match low & 3 {
            _ if word == 0 => Self::Null,
            0 => Self::Struct {
                offset,
                data: high as u16,
                pointers: (high >> 16) as u16,
            },
            1 => Self::List {
                offset,
                size: (high & 7) as u8,
                count: high >> 3,
            },
            2 => Self::Far {
                double: low & 4 != 0,
                offset: low >> 3,
                segment: high,
            },
            _ => Self::Other,
        }
    }

    /// The word; the reverse of [`Pointer::read`]. Of a far pointer there is none to write.
    pub(super) fn write(self) -> u64 {
        let (low, high) = match self {
            Self::Struct {
                offset,
                data,
                pointers,
            } => (
                offset.cast_unsigned() << 2,
                u32::from(data) | u32::from(pointers) << 16,
            ),
            Self::List {
                offset,
                size,
                count,
            } => (
                offset.cast_unsigned() << 2 | 1,
                u32::from(size) | count << 3,
            ),
            Self::Null | Self::Far { .. } | Self::Other => (0, 0),
        };
        u64::from(low) | u64::from(high) << 32
    }
}
