//! Where the lines of a file begin: a file of thousands of rules is not counted through for each.

/// A file's text and where its lines begin.
pub(super) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Those of a text.
    pub(super) fn of(text: &'a str) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes());
        Self {
            text,
            starts: std::iter::once(0).chain(ends.map(|end| end + 1)).collect(),
        }
    }

    /// The line and the column in characters of a byte, from 1.
    pub(super) fn place(&self, at: usize) -> (u32, u32) {
        let line = self.starts.partition_point(|start| *start <= at);
        let start = self.starts[line - 1];
        let before = self.text.get(start..at).unwrap_or_default();
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        (number(line), number(before.chars().count() + 1))
    }
}
