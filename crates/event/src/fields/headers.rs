//! The headers of a message as they came: order, spelling and repetition are kept, because what
//! follows the gate sees them too.

use std::borrow::Cow;
use std::collections::HashSet;

/// Names and values in the order in which they were sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers<'a>(pub Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl Headers<'_> {
    /// The value of a header, whatever the case of its name; where it was sent more than once, the
    /// values in one line with `, ` between them (RFC 9110 §5.3).
    #[must_use]
    #[inline]
    pub fn find(&self, name: &str) -> Option<Cow<'_, str>> {
        let mut values = self.values(name);
        let first = values.next()?;
        let Some(second) = values.next() else {
            return Some(Cow::Borrowed(first));
        };
        let mut joined = format!("{first}, {second}");
        for value in values {
            joined.push_str(", ");
            joined.push_str(value);
        }
        Some(Cow::Owned(joined))
    }

    /// Whether a header was sent.
    #[must_use]
    #[inline]
    pub fn has(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    /// The values of a header in the order in which they were sent.
    #[inline]
    pub fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        let same = move |sent: &str| sent.len() == name.len() && sent.eq_ignore_ascii_case(name);
        self.0
            .iter()
            .filter(move |(sent, _)| same(sent))
            .map(|(_, value)| value.as_ref())
    }

    /// Each name once, in lower case, in the order of first appearance.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut seen = HashSet::new();
        let names = self.0.iter().map(|(name, _)| name.to_ascii_lowercase());
        names.filter(|name| seen.insert(name.clone())).collect()
    }
}
