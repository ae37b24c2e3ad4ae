//! The packs that come with the product.
//!
//! Decision: their text is part of the binary, so that what is in force does not depend on a file
//! that somebody can change or forget to install; they are read by the same code as every other.

const SHIPPED: &[(&str, &str)] = &[
    (
        "credential-exfiltration",
        include_str!("../../../../policies/packs/credential-exfiltration.toml"),
    ),
    (
        "destructive-commands",
        include_str!("../../../../policies/packs/destructive-commands.toml"),
    ),
    (
        "dns-tunnelling",
        include_str!("../../../../policies/packs/dns-tunnelling.toml"),
    ),
    (
        "supply-chain",
        include_str!("../../../../policies/packs/supply-chain.toml"),
    ),
];

/// The packs that come with the product: the name of each and its text, in the order of the names.
#[must_use]
pub fn shipped() -> &'static [(&'static str, &'static str)] {
    SHIPPED
}

/// Their names in a row, for a person.
#[must_use]
pub fn shipped_names() -> String {
    let names: Vec<_> = SHIPPED.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::shipped;
    use crate::pack::Pack;

    #[test]
    fn every_shipped_pack_has_the_name_it_is_shipped_under() {
        for (id, text) in shipped() {
            let pack = Pack::read(id, text).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(&*pack.id, *id);
        }
    }

    #[test]
    fn the_names_are_in_order_and_each_stands_once() {
        assert!(shipped().is_sorted_by(|a, b| a.0 < b.0));
    }
}
