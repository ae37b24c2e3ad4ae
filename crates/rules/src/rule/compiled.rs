//! A rule that can be enforced, and how often it was true.

use super::{Effect, Rule};
use crate::lower::{CompileError, Outcome, Program};
use bailiwick_event::fields::{Field, Subject};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why a rule cannot be enforced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// The rule's name.
    pub id: String,
    /// The mistakes in its condition; empty where something else is wrong.
    pub condition: Vec<crate::expr::SyntaxError>,
    /// Every mistake, in words.
    pub message: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule \"{}\": {}", self.id, self.message)
    }
}
impl std::error::Error for RuleError {}

/// How often a rule was asked for and what it said; one for all versions of the rule.
#[derive(Debug, Default)]
pub struct Counters {
    matched: AtomicU64,
    failed: AtomicU64,
}

/// A rule that can be enforced.
#[derive(Clone, Debug)]
pub struct Compiled {
    rule: Arc<Rule>,
    program: Arc<Program>,
    fields: Arc<[Field]>,
    counters: Arc<Counters>,
}

impl Compiled {
    /// Compiles a rule.
    ///
    /// # Errors
    /// [`RuleError`] with everything that is wrong with it.
    pub fn new(rule: Rule) -> Result<Self, RuleError> {
        let wrong = |condition, message| RuleError {
            id: rule.id.clone(),
            condition,
            message,
        };
        let program = Program::compile(&rule.when, Some(rule.on))
            .map_err(|error| wrong(error.0.clone(), CompileError::to_string(&error)))?;
        if let Effect::Enforce {
            rewrites, action, ..
        } = &rule.effect
        {
            for rewrite in rewrites {
                rewrite
                    .check(rule.on)
                    .map_err(|error| wrong(Vec::new(), error.to_string()))?;
            }
            if (*action == super::Action::Rewrite) == rewrites.is_empty() {
                let message = "`action = \"rewrite\"` and `rewrite` go together: the one says that the event is changed, the other how";
                return Err(wrong(Vec::new(), message.into()));
            }
        }
        Ok(Self {
            fields: program.fields().into(),
            program: Arc::new(program),
            rule: Arc::new(rule),
            counters: Arc::default(),
        })
    }

    /// The same rule, counted together with an earlier version of it.
    #[must_use]
    pub fn counted_with(mut self, earlier: &Self) -> Self {
        self.counters = Arc::clone(&earlier.counters);
        self
    }

    /// The same rule, counted on its own.
    #[must_use]
    pub fn counted_apart(&self) -> Self {
        Self {
            counters: Arc::default(),
            ..self.clone()
        }
    }

    /// The same condition under another rule's other properties.
    pub(crate) fn with_rule(&self, rule: Rule) -> Self {
        Self {
            rule: Arc::new(rule),
            ..self.clone()
        }
    }

    /// The rule as it was written.
    #[must_use]
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// Its condition.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The fields that its condition asks for.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// What its condition says about an event; what is true or failed is counted.
    #[must_use]
    #[inline]
    pub fn run(&self, subject: &Subject<'_>) -> Outcome {
        let outcome = self.program.run(subject);
        match outcome {
            Outcome::False => {}
            Outcome::True => {
                self.counters.matched.fetch_add(1, Ordering::Relaxed);
            }
            Outcome::Failed => {
                self.counters.failed.fetch_add(1, Ordering::Relaxed);
            }
        }
        outcome
    }

    /// How often it was true.
    #[must_use]
    pub fn matched(&self) -> u64 {
        self.counters.matched.load(Ordering::Relaxed)
    }

    /// How often it had no value.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.counters.failed.load(Ordering::Relaxed)
    }
}
