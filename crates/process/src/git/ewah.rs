//! Bitmaps as git keeps them in an index (EWAH, git's `Documentation/technical/bitmap-format.txt`).

/// How many bits are set in a bitmap.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Bits {
    pub(super) count: usize,
}

impl Bits {
    /// Reads a bitmap, and leaves what follows it.
    ///
    /// # Errors
    /// Where it says more than there is.
    pub(super) fn read(bytes: &mut &[u8]) -> Result<Self, String> {
        let word = |bytes: &mut &[u8]| -> Option<u32> {
            let (head, rest) = bytes.split_first_chunk::<4>()?;
            *bytes = rest;
            Some(u32::from_be_bytes(*head))
        };
        let broken = || "it has a bitmap that cannot be read".to_owned();
        let bits = word(bytes).ok_or_else(broken)? as usize;
        let words = word(bytes).ok_or_else(broken)? as usize;
        let length = words
            .checked_mul(8)
            .filter(|length| *length <= bytes.len())
            .ok_or_else(broken)?;
        let (body, rest) = bytes.split_at(length);
        *bytes = rest;
        // The place of the last run, which only a writer needs.
        word(bytes).ok_or_else(broken)?;
        let (words, _) = body.as_chunks::<8>();
        let count = count(words.iter().map(|word| u64::from_be_bytes(*word))).ok_or_else(broken)?;
        match count <= bits {
            true => Ok(Self { count }),
            false => Err(broken()),
        }
    }
}

/// A word says how many words of equal bits follow, and how many that stand as they are.
fn count(mut words: impl Iterator<Item = u64>) -> Option<usize> {
    let mut count = 0_usize;
    while let Some(run) = words.next() {
        let (bit, equal, literal) = (run & 1, run >> 1 & 0xffff_ffff, run >> 33);
        if bit == 1 {
            count = count.checked_add(usize::try_from(equal).ok()?.checked_mul(64)?)?;
        }
        for _ in 0..literal {
            count = count.checked_add(words.next()?.count_ones() as usize)?;
        }
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bitmap(bits: u32, words: &[u64]) -> Vec<u8> {
        let mut bytes = bits.to_be_bytes().to_vec();
        bytes.extend(u32::try_from(words.len()).unwrap().to_be_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        bytes.extend([0; 4]);
        bytes
    }

    #[test]
    fn set_bits_are_counted_and_the_rest_is_left() {
        let literal = 1 << 33;
        let mut bytes = bitmap(64, &[literal, 0b1011]);
        bytes.push(9);
        let mut rest = bytes.as_slice();
        assert_eq!(Bits::read(&mut rest), Ok(Bits { count: 3 }));
        assert_eq!(rest, [9]);
        let ones = bitmap(128, &[1 | 2 << 1]);
        assert_eq!(Bits::read(&mut ones.as_slice()), Ok(Bits { count: 128 }));
    }

    #[test]
    fn what_says_more_than_there_is_is_refused() {
        for bytes in [
            bitmap(1, &[1 | 2 << 1]),
            bitmap(64, &[2 << 33, 1]),
            bitmap(0, &[])[..7].to_vec(),
            vec![0, 0, 0, 1, 255, 255, 255, 255],
        ] {
            assert!(Bits::read(&mut bytes.as_slice()).is_err(), "{bytes:?}");
        }
    }
}
