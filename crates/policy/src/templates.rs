//! The policies that are shipped. They are part of the program, so that nothing on disk can change
//! what `default` means, and they are read by the same code as any other policy.

/// The templates: name and text.
#[must_use]
pub fn templates() -> &'static [(&'static str, &'static str)] {
    &[
        ("default", include_str!("../../../policies/default.toml")),
        ("agent", include_str!("../../../policies/agent.toml")),
        ("offline", include_str!("../../../policies/offline.toml")),
        (
            "read-only",
            include_str!("../../../policies/read-only.toml"),
        ),
        ("ci", include_str!("../../../policies/ci.toml")),
        ("npm", include_str!("../../../policies/npm.toml")),
        ("pip", include_str!("../../../policies/pip.toml")),
        ("cargo", include_str!("../../../policies/cargo.toml")),
        (
            "git-readonly",
            include_str!("../../../policies/git-readonly.toml"),
        ),
    ]
}

/// The text of a template.
pub(crate) fn text_of(name: &str) -> Option<&'static str> {
    templates()
        .iter()
        .find(|(n, _)| *n == name)
        .map(|(_, text)| *text)
}

/// The names, for a message.
pub(crate) fn names() -> String {
    let names: Vec<_> = templates().iter().map(|(n, _)| *n).collect();
    names.join(", ")
}
