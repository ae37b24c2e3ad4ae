//! What rules would have done: asked of recorded events, before anybody depends on them.
//!
//! Decision: the rules are asked by the very code that asks them in force, in as little memory for
//! ten million lines as for ten, and with the same result whatever the number of threads. A corpus
//! is a stranger's file: its lines are bounded, and one that is no event is told with its place
//! instead of being passed over in silence.

mod chunks;
mod corpus;
mod dedupe;
mod explain;
mod merge;
mod mistake;
mod question;
mod report;
mod row;
mod run;
mod scan;
mod tally;

pub use corpus::{Corpus, MAX_LINE};
pub use dedupe::dedupe;
pub use explain::{Step, explain};
pub use mistake::{CorpusError, Mistake};
pub use report::{Report, RuleCount};
pub use row::{Place, Row, Verdict};
pub use run::{Backtest, Options, Progress};

#[cfg(test)]
#[path = "backtest_tests.rs"]
mod tests;
