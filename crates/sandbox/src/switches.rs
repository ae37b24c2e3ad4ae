//! Whether the limits that the supervisor keeps are left out, so that a test can show that they are
//! what ends a run.
//!
//! Decision: the product has no such switch. Without the feature `layer-switches` and debug assertions the answer is known
//! at compile time, and nothing of the variable's name is in the binary.

/// Whether limits are left out.
#[cfg(not(all(feature = "layer-switches", debug_assertions)))]
pub(crate) const fn without_limits() -> bool {
    false
}

/// Whether limits are left out: `BAILIWICK_TEST_WITHOUT=limits`.
#[cfg(all(feature = "layer-switches", debug_assertions))]
pub(crate) fn without_limits() -> bool {
    std::env::var("BAILIWICK_TEST_WITHOUT")
        .is_ok_and(|list| list.split(',').any(|word| word == "limits"))
}
