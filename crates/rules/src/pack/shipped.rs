//! The packs that come with the product.

/// The name and the text of each shipped pack.
#[must_use]
pub fn shipped() -> &'static [(&'static str, &'static str)] {
    &[]
}
