//! Little-endian numbers in byte slices.
//!
//! Decision: reading and writing are the only places that index by a computed offset, and both say
//! `None` or do nothing outside of the slice. A panic in the kernel is a denial of service.

/// `N` bytes at `at`, where the slice has them.
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The number at `at`, or 0 outside of the slice.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    array(bytes, at).map_or(0, u16::from_le_bytes)
}

/// The number at `at`, or 0 outside of the slice.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    array(bytes, at).map_or(0, u32::from_le_bytes)
}

/// The number at `at`, or 0 outside of the slice.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    array(bytes, at).map_or(0, u64::from_le_bytes)
}

/// Writes `value` at `at`; nothing where it does not fit.
pub(crate) fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    let end = at.saturating_add(value.len());
    if let Some(place) = bytes.get_mut(at..end) {
        place.copy_from_slice(value);
    }
}
