//! What a connection does, one thing after another.
//!
//! Decision: what a step needs is given back before the next begins. A connection lasts for hours in
//! its last step, and thousands of them hold what that one needs and no more.

use std::future::Future;
use std::pin::Pin;

/// What a connection does next, if anything.
pub(crate) struct Step(Option<Pin<Box<dyn Future<Output = Self> + Send>>>);

impl Step {
    /// Nothing.
    pub(crate) const END: Self = Self(None);

    /// Does this, and then what it says.
    pub(crate) fn new(step: impl Future<Output = Self> + Send + 'static) -> Self {
        Self(Some(Box::pin(step)))
    }

    /// Does this, and nothing after it.
    pub(crate) fn last(step: impl Future<Output = ()> + Send + 'static) -> Self {
        Self::new(async move {
            step.await;
            Self::END
        })
    }

    /// Does all of them, and gives `undecided` back after the first: what a program has tried is decided in it.
    pub(crate) async fn run(self, undecided: impl Sized) {
        let (mut step, mut undecided) = (self, Some(undecided));
        while let Some(doing) = step.0 {
            step = doing.await;
            drop(undecided.take());
        }
    }
}
