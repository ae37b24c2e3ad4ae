//! What is asked of each event: rules, or one condition.

use super::tally::Tally;
use super::{Place, Row, RuleCount, Verdict};
use crate::lower::{Outcome, Program};
use crate::rule::Compiled;
use crate::set::{Asked, RuleSet, matched, signature_of};
use bailiwick_event::fields::{Field, Subject};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub(super) enum Question {
    Rules {
        rules: Vec<Arc<Compiled>>,
        set: Box<RuleSet>,
        /// Seconds since the Unix epoch.
        now: i64,
    },
    Hunt {
        program: Arc<Program>,
        fields: Arc<[Field]>,
        headers: Option<Arc<[Box<str>]>>,
    },
}

impl Question {
    /// What these rules say; one that has ceased to be in force is not asked.
    pub(super) fn rules(rules: &[Arc<Compiled>], now: i64) -> Self {
        // Counters that threads share would be what they wait for.
        let rules: Vec<_> = rules
            .iter()
            .map(|rule| Arc::new(rule.counted_apart()))
            .collect();
        let asked = |rule: &&Arc<Compiled>| !rule.rule().is_over(now);
        let set = RuleSet::new(rules.iter().filter(asked).cloned().collect());
        Self::Rules {
            set: Box::new(set),
            rules,
            now,
        }
    }

    pub(super) fn hunt(program: Arc<Program>) -> Self {
        Self::Hunt {
            fields: program.fields().into(),
            headers: program.headers().map(Into::into),
            program,
        }
    }

    /// The same question with counters of its own.
    pub(super) fn apart(&self) -> Self {
        match self {
            Self::Rules { rules, now, .. } => Self::rules(rules, *now),
            Self::Hunt { .. } => self.clone(),
        }
    }

    /// How often each rule was true and failed since this question was made.
    pub(super) fn counts(&self) -> Vec<RuleCount> {
        match self {
            Self::Rules { rules, .. } => rules.iter().map(|rule| RuleCount::of(rule)).collect(),
            Self::Hunt { .. } => Vec::new(),
        }
    }

    /// Asks an event, which is at that place.
    #[inline]
    pub(super) fn ask(&self, subject: &Subject<'_>, tally: &mut Tally, place: impl Fn() -> Place) {
        tally.events += 1;
        let mut any = false;
        match self {
            Self::Rules { set, now, .. } => {
                if !set.has(subject.event_type) {
                    return;
                }
                let mut add = |rule: &Arc<Compiled>, verdict| {
                    any = true;
                    let signature = signature_of(&rule.rule().id, Asked::by(rule), subject);
                    tally.add(signature, || {
                        Row::new(rule, subject, signature, verdict, place())
                    });
                };
                let decided = set.decide(subject, *now, |rule, outcome| {
                    if outcome == Outcome::True {
                        add(rule, Verdict::of(&rule.rule().effect));
                    }
                });
                if let Some(decided) = decided {
                    let verdict = match decided.failed {
                        true => Verdict::Failed,
                        false => Verdict::Enforce(decided.action),
                    };
                    add(&decided.rule, verdict);
                }
                set.detect(subject, *now, |rule| {
                    add(rule, Verdict::of(&rule.rule().effect));
                });
            }
            Self::Hunt {
                program,
                fields,
                headers,
            } => {
                if program.run(subject) == Outcome::True {
                    any = true;
                    let asked = Asked {
                        fields,
                        headers: headers.as_deref(),
                    };
                    let signature = signature_of("", asked, subject);
                    tally.add(signature, || Row {
                        event: place(),
                        rule: "".into(),
                        pack: None,
                        signature,
                        fields: matched(asked, subject),
                        verdict: Verdict::Found,
                        count: 1,
                    });
                }
            }
        }
        tally.matched += u64::from(any);
    }
}
