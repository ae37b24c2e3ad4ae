//! What a condition came to, in one byte: that it failed is as quick to say as that it is false.

/// What a condition came to for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It is false.
    False,
    /// It is true.
    True,
    /// It has no value; [`crate::backtest::explain`] says why.
    Failed,
}

impl From<bool> for Outcome {
    #[inline]
    fn from(yes: bool) -> Self {
        if yes { Self::True } else { Self::False }
    }
}

impl std::ops::Not for Outcome {
    type Output = Self;

    #[inline]
    fn not(self) -> Self {
        match self {
            Self::False => Self::True,
            Self::True => Self::False,
            Self::Failed => Self::Failed,
        }
    }
}
