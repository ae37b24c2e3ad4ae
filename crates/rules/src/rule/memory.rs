//! How much memory rules may take together. Each of them is bounded when it is compiled; that a
//! file may have thousands would not be a bound.

use super::{Effect, Rewrite, Rule};

/// Bytes that the rules of one file, or of one layer of a policy, may take when they are compiled.
pub const MAX_MEMORY: usize = 64 << 20;

/// Bytes that all rules of a session may take: those of its layers, and those that are added while it
/// runs.
pub const MAX_SESSION_MEMORY: usize = 5 * MAX_MEMORY;

/// What to do about rules that take too much.
pub const LESS_MEMORY: &str = "use fewer or smaller patterns; a repeated Unicode class such as \\w or a large {…} takes \
     most: write [0-9A-Za-z_] where ASCII is meant";

/// The memory of some rules.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory(usize);

impl Memory {
    /// That many bytes.
    #[must_use]
    pub fn of(bytes: usize) -> Self {
        Self(bytes)
    }

    /// Counts more of it.
    ///
    /// # Errors
    /// In words, where it is more than [`MAX_MEMORY`]; `whose` is whose rules they are.
    pub fn add(&mut self, bytes: usize, whose: &str) -> Result<(), String> {
        self.0 = self.0.saturating_add(bytes);
        match self.is_over() {
            true => Err(format!(
                "the rules of {whose} take more than {} MiB when they are compiled",
                MAX_MEMORY >> 20
            )),
            false => Ok(()),
        }
    }

    /// The bytes that were counted.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.0
    }

    /// Whether it is more than there may be.
    #[must_use]
    pub fn is_over(self) -> bool {
        self.0 > MAX_MEMORY
    }
}

impl Rule {
    /// Bytes of what is written in it.
    pub(super) fn memory(&self) -> usize {
        let texts = [&self.id, &self.when, &self.reason];
        let examples = self.examples.iter().map(|example| &example.event);
        let all = texts.into_iter().chain(&self.tags).chain(examples);
        let written: usize = all.map(|text| size_of::<String>() + text.len()).sum();
        size_of::<Self>() + written + self.effect.memory()
    }
}

impl Effect {
    fn memory(&self) -> usize {
        let Self::Enforce {
            remedy, rewrites, ..
        } = self
        else {
            return 0;
        };
        let change = |rewrite: &Rewrite| {
            size_of::<Rewrite>()
                + match rewrite {
                    Rewrite::StripHeader(name) => name.len(),
                    Rewrite::SetHeader { name, value } => name.len() + value.len(),
                    Rewrite::Replace { pattern, with, .. } => pattern.len() + with.len(),
                }
        };
        remedy.len() + rewrites.iter().map(change).sum::<usize>()
    }
}
