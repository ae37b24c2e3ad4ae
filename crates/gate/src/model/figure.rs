//! A number of tokens, as an answer tells it.

use super::tree::Tree;

/// The most tokens that are believed; no call has a millionth of it, and no sum of a few such
/// numbers overflows.
const MOST_TOKENS: u64 = 1 << 40;

/// A number of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Figure {
    /// Nothing was said.
    #[default]
    Untold,
    /// What was said is no number of tokens.
    Unclear,
    Told(u64),
}

impl Figure {
    /// What a key says.
    pub(super) fn read(tree: &Tree, key: &str) -> Self {
        match tree.get(key) {
            None => Self::Untold,
            Some(Tree::Number(number)) if *number <= MOST_TOKENS => Self::Told(*number),
            Some(_) => Self::Unclear,
        }
    }

    /// What was said last.
    pub(super) fn or(self, earlier: Self) -> Self {
        match self {
            Self::Untold => earlier,
            _ => self,
        }
    }

    /// Both together; what was not told counts as none where the other one was.
    pub(super) fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unclear, _) | (_, Self::Unclear) => Self::Unclear,
            (Self::Told(a), Self::Told(b)) => Self::Told(a + b),
            (Self::Untold, told) | (told, Self::Untold) => told,
        }
    }

    pub(super) fn known(self) -> Option<u64> {
        match self {
            Self::Told(number) => Some(number),
            _ => None,
        }
    }
}
