//! A pattern among the rules. It is compiled for the first path below its folder that is asked about: most runs do
//! nothing where most patterns look.

use super::open_patterns::OpenPattern;
use bailiwick_policy::PathGlob;
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use std::path::Path;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Glob {
    text: String,
    #[serde(skip)]
    compiled: OnceCell<Option<PathGlob>>,
    #[serde(skip)]
    open: OnceCell<OpenPattern>,
}

impl Glob {
    pub(super) fn of(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The same, part by part.
    pub(super) fn open(&self) -> &OpenPattern {
        self.open.get_or_init(|| OpenPattern::of(&self.text))
    }

    /// Whether it means a path below its folder, or a folder above that. One that cannot be understood means all.
    pub(super) fn means(&self, below: &Path) -> bool {
        let compiled = || PathGlob::new(&self.text).ok();
        let mut parts = below.ancestors().filter(|part| part.parent().is_some());
        let compiled = self.compiled.get_or_init(compiled).as_ref();
        compiled.is_none_or(|glob| parts.any(|part| glob.is_match(part)))
    }
}

impl PartialEq for Glob {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
impl Eq for Glob {}
