//! The policies that are shipped. They are part of the program, so that nothing on disk can change
//! what `default` means.

use crate::parsed::digest;

/// A template.
pub(crate) struct Template {
    pub(crate) name: &'static str,
    /// As people read it.
    pub(crate) text: &'static str,
    /// What reading it gives (see [`crate::parsed`]).
    pub(crate) parsed: &'static [u8],
    /// Of the text.
    pub(crate) digest: u64,
}

macro_rules! templates {
    ($($name:literal),* $(,)?) => {
        &[$(Template {
            name: $name,
            text: include_str!(concat!("../../../policies/", $name, ".toml")),
            parsed: include_bytes!(concat!("../../../policies/parsed/", $name)),
            digest: const { digest(include_str!(concat!("../../../policies/", $name, ".toml"))) },
        }),*]
    };
}

/// All of them.
pub(crate) fn all() -> &'static [Template] {
    templates![
        "default",
        "agent",
        "offline",
        "read-only",
        "ci",
        "npm",
        "pip",
        "cargo",
        "git-readonly",
    ]
}

/// The templates: name and text.
pub fn templates() -> impl Iterator<Item = (&'static str, &'static str)> {
    all().iter().map(|template| (template.name, template.text))
}

/// The template of a name.
pub(crate) fn named(name: &str) -> Option<&'static Template> {
    all().iter().find(|template| template.name == name)
}

/// The text of a template.
pub(crate) fn text_of(name: &str) -> Option<&'static str> {
    named(name).map(|template| template.text)
}

/// The names, for a message.
pub(crate) fn names() -> String {
    let names: Vec<_> = all().iter().map(|template| template.name).collect();
    names.join(", ")
}
