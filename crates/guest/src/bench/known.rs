//! Bytes that both sides know: pages of a generator, each with its number in it, so that no two are the
//! same, none is empty, and one that stands where another should is found by its first bytes.
//!
//! The host compiles the same file (crates/bench/src/machine/mod.rs).

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;
/// Pages of the generator, before they repeat but for their numbers.
const POOL: usize = 4096;
/// What a number is mixed with, so that it is no run of zeroes.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// The generator's step (xorshift64).
pub(crate) fn step(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// The first bytes of a page that was written for the `times`th time since the file was made.
pub(crate) fn stamp(page: u64, times: u32) -> [u8; 8] {
    ((page | u64::from(times) << 40) ^ MIX).to_le_bytes()
}

/// The pages.
pub(crate) struct Known(Vec<u8>);

impl Known {
    /// Makes them.
    pub(crate) fn new() -> Self {
        let mut state = MIX;
        let mut bytes = vec![0; POOL * PAGE];
        for word in bytes.chunks_exact_mut(8) {
            word.copy_from_slice(&step(&mut state).to_le_bytes());
        }
        Self(bytes)
    }

    /// So many pages from this one on, numbered. They must not pass the end of the generator's.
    pub(crate) fn pages(&mut self, first: u64, count: usize) -> &[u8] {
        let from = (first % POOL as u64) as usize * PAGE;
        let pages = self
            .0
            .get_mut(from..from + count * PAGE)
            .unwrap_or_default();
        for (page, number) in pages.chunks_exact_mut(PAGE).zip(first..) {
            mark(page, number, 0);
        }
        pages
    }

    /// One page, as it was written for the `times`th time.
    pub(crate) fn page(&mut self, number: u64, times: u32) -> &[u8] {
        let from = (number % POOL as u64) as usize * PAGE;
        let page = self.0.get_mut(from..from + PAGE).unwrap_or_default();
        mark(page, number, times);
        page
    }
}

fn mark(page: &mut [u8], number: u64, times: u32) {
    if let Some(first) = page.first_chunk_mut() {
        *first = stamp(number, times);
    }
}

/// Whether these are the first bytes of this page.
pub(crate) fn begins(page: &[u8], number: u64, times: u32) -> bool {
    page.first_chunk() == Some(&stamp(number, times))
}

/// Which pages random work is done at, in its order.
pub(crate) fn places(pages: u64, count: u64, seed: u64) -> impl Iterator<Item = u64> {
    // Odd, because zero would stay zero.
    let mut state = (seed << 1) ^ MIX;
    (0..count).map(move |_| step(&mut state) % pages.max(1))
}

/// How often each page was written by that work.
pub(crate) fn times(pages: u64, count: u64, seed: u64) -> Vec<u32> {
    let mut times = vec![0; usize::try_from(pages).unwrap_or_default()];
    for place in places(pages, count, seed) {
        if let Some(times) = times.get_mut(usize::try_from(place).unwrap_or(usize::MAX)) {
            *times += 1;
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_places_are_all_over_the_file_and_counted() {
        let all: Vec<u64> = places(64, 10_000, 7).collect();
        assert!((0..64).all(|page| all.contains(&page)));
        let times = times(64, 10_000, 7);
        assert_eq!(times.iter().sum::<u32>(), 10_000);
        let third = all.iter().filter(|page| **page == 3).count();
        assert_eq!(times[3] as usize, third);
    }

    #[test]
    fn no_two_pages_of_a_file_are_the_same() {
        let mut known = Known::new();
        let first = known.page(1, 0).to_vec();
        assert_ne!(known.page(1 + POOL as u64, 0), first);
        assert_ne!(known.page(1, 1), first);
        assert!(begins(&first, 1, 0) && !begins(&first, 2, 0));
        assert_eq!(known.pages(1, 1), first);
    }
}
