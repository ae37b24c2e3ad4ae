//! A rule that can be enforced, and how often it was true.

use super::{Effect, Rule};
use crate::eval::Steps;
use crate::expr::SyntaxError;
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
    pub condition: Vec<SyntaxError>,
    /// Every mistake, in words.
    pub message: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule \"{}\": {}", self.id, self.message)
    }
}
impl std::error::Error for RuleError {}

/// Changes that one rule makes.
const MOST_REWRITES: usize = 16;

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
    headers: Option<Arc<[Box<str>]>>,
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
            if rewrites.len() > MOST_REWRITES {
                let message = format!("a rule has at most {MOST_REWRITES} rewrites");
                return Err(wrong(Vec::new(), message));
            }
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
            headers: program.headers().map(Into::into),
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

    pub(crate) fn is_counted_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.counters, &other.counters)
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

    /// Bytes that it takes in memory, roughly.
    #[must_use]
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.rule.memory() + self.program.memory()
    }

    /// Its condition.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What is allowed and hardly meant. A rule that stops an event where its condition has no value
    /// should ask first whether the event has what it asks for.
    #[must_use]
    pub fn warnings(&self) -> Vec<SyntaxError> {
        let mut warnings = self.program.warnings().to_vec();
        let stops = self
            .rule
            .effect
            .action()
            .is_some_and(|action| action.fails_closed());
        if stops {
            warnings.extend(self.program.unguarded().into_iter().map(|(field, span)| {
                let path = field.info().path;
                let message = format!(
                    "an event without `{path}` is refused: the condition has no value then"
                );
                SyntaxError::new(span, message, format!("write has({path}) && … before it"))
            }));
            warnings.extend(self.program.unguarded_headers().into_iter().map(|(name, span)| {
                let message = format!(
                    "an event without the header {name:?} is refused: the condition has no value then"
                );
                let help = format!("write header({name:?}).exists() && … before it");
                SyntaxError::new(span, message, help)
            }));
        }
        warnings.extend(
            self.program
                .untold(self.rule.on)
                .into_iter()
                .map(|(field, span)| {
                    let message = format!("no event of a run has `{}` yet", field.info().path);
                    let help = "the rule is for recorded events and for boundaries to come";
                    SyntaxError::new(span, message, help)
                }),
        );
        warnings
    }

    /// The fields that its condition asks for.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The headers that its condition asks for by name; none where it may look at all of them.
    #[must_use]
    pub fn headers(&self) -> Option<&[Box<str>]> {
        self.headers.as_deref()
    }

    /// What its condition says about an event; what is true or failed is counted.
    #[must_use]
    pub fn run(&self, subject: &Subject<'_>) -> Outcome {
        self.run_within(subject, &Steps::of_event())
    }

    /// What its condition says about an event, within the steps that are left of those of the
    /// event; what is true or failed is counted.
    #[must_use]
    #[inline]
    pub fn run_within(&self, subject: &Subject<'_>, steps: &Steps) -> Outcome {
        let outcome = self.program.run_within(subject, steps);
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
