//! Bitmaps as git keeps them in an index (EWAH, git's `Documentation/technical/bitmap-format.txt`).

/// A bitmap.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Bits<'a> {
    /// How many bits are set.
    pub(super) count: usize,
    words: &'a [[u8; 8]],
}

impl<'a> Bits<'a> {
    /// The places of the bits that are set.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        let mut words = self.words.iter().map(|word| u64::from_be_bytes(*word));
        let (mut at, mut literal) = (0_usize, 0);
        let runs = std::iter::from_fn(move || {
            let word = words.next()?;
            let begin = at;
            if literal > 0 {
                literal -= 1;
                at = at.saturating_add(64);
                return Some((begin..at, word));
            }
            let (bit, equal) = (word & 1, word >> 1 & 0xffff_ffff);
            literal = word >> 33;
            at = at.saturating_add(
                usize::try_from(equal)
                    .unwrap_or(usize::MAX)
                    .saturating_mul(64),
            );
            Some((begin..at, if bit == 1 { u64::MAX } else { 0 }))
        });
        let runs = runs.filter(|(_, word)| *word != 0);
        runs.flat_map(|(run, word)| {
            let begin = run.start;
            run.filter(move |place| word >> ((place - begin) % 64) & 1 == 1)
        })
    }

    /// Reads a bitmap, and leaves what follows it.
    ///
    /// # Errors
    /// Where it says more than there is.
    pub(super) fn read(bytes: &mut &'a [u8]) -> Result<Self, String> {
        let word = |bytes: &mut &'a [u8]| -> Option<u32> {
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
            true => Ok(Self { count, words }),
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
    fn set_bits_are_found_and_the_rest_is_left() {
        let literal = 1 << 33;
        let mut bytes = bitmap(64, &[literal, 0b1011]);
        bytes.push(9);
        let mut rest = bytes.as_slice();
        let bits = Bits::read(&mut rest).unwrap();
        assert_eq!((bits.count, rest), (3, &[9][..]));
        assert_eq!(bits.places().collect::<Vec<_>>(), [0, 1, 3]);
        // A run of zeros, two literal words, a run of ones.
        let mixed = bitmap(512, &[3 << 1 | 2 << 33, 1 << 63, 1, 1 | 2 << 1]);
        let bits = Bits::read(&mut mixed.as_slice()).unwrap();
        let places: Vec<usize> = bits.places().collect();
        assert_eq!((bits.count, &places[..3]), (130, &[255, 256, 320][..]));
        assert_eq!((places.len(), places.last()), (130, Some(&447)));
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
