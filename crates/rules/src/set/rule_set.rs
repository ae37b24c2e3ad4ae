//! All rules that are in force, by the type of event; and the decision that they make.

use super::{Match, Table};
use crate::eval::Steps;
use crate::lower::Outcome;
use crate::rule::{Action, Compiled, Effect, Rewrite, RewriteTarget};
use bailiwick_event::fields::{EventType, Field, Subject};
use std::sync::Arc;

const TYPES: usize = EventType::ALL.len();

/// The rules that are in force.
#[derive(Clone, Debug)]
pub struct RuleSet {
    enforcement: [Arc<Table>; TYPES],
    detection: [Arc<Table>; TYPES],
    /// Which types of events have any rule, a bit each: for most events nothing is to be asked.
    asked: u32,
}

impl Default for RuleSet {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

/// The steps of one event: an account for the rules of projects that are not trusted, and one for
/// all others.
struct Accounts([Steps; 2]);

impl Accounts {
    #[inline]
    fn new() -> Self {
        Self([Steps::of_event(), Steps::of_event()])
    }

    #[inline]
    fn of(&self, rule: &Compiled) -> &Steps {
        &self.0[usize::from(rule.rule().untrusted)]
    }
}

/// The fields that are known when a message's body has come.
const BODY: [Field; 8] = [
    Field::HttpBodyState,
    Field::HttpBodyText,
    Field::HttpBodySize,
    Field::HttpBodyTruncated,
    Field::HttpResponseState,
    Field::HttpResponseText,
    Field::HttpResponseSize,
    Field::HttpResponseTruncated,
];

/// Whether a rule asks about what a body holds, or changes it.
fn asks_body(rule: &Compiled) -> bool {
    let changes = |rewrite: &Rewrite| matches!(rewrite, Rewrite::Replace { target, .. } if *target == RewriteTarget::Body);
    let effect = &rule.rule().effect;
    rule.fields().iter().any(|field| BODY.contains(field))
        || matches!(effect, Effect::Enforce { rewrites, .. } if rewrites.iter().any(changes))
}

/// What rules need of a message's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Nothing: no rule about it could be true.
    Nothing,
    /// It is looked at as it passes: only detections are about it.
    Watching,
    /// It is waited for: a rule decides by it.
    Deciding,
}

/// The part of an event that detections are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// What comes before a body.
    Head,
    /// The body, the rest having been asked about.
    Body,
}

impl Part {
    #[inline]
    fn has(self, rule: &Compiled) -> bool {
        match self {
            Self::Whole => true,
            Self::Head => !asks_body(rule),
            Self::Body => asks_body(rule),
        }
    }
}

/// What a rule decided.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The rule.
    pub rule: Arc<Compiled>,
    /// What happens.
    pub action: Action,
    /// Whether its condition had no value; then what it would have stopped is stopped.
    pub failed: bool,
}

impl RuleSet {
    /// The set of these rules; those that are not enabled are left out.
    #[must_use]
    pub fn new(rules: Vec<Arc<Compiled>>) -> Self {
        let mut enforcement: [Vec<_>; TYPES] = Default::default();
        let mut detection: [Vec<_>; TYPES] = Default::default();
        for rule in rules.into_iter().filter(|rule| rule.rule().enabled) {
            let place = rule.rule().on as usize;
            match rule.rule().effect {
                Effect::Enforce { .. } => enforcement[place].push(rule),
                Effect::Detect { .. } => detection[place].push(rule),
            }
        }
        let table = |rules| Arc::new(Table::new(rules));
        let mut set = Self {
            enforcement: enforcement.map(table),
            detection: detection.map(table),
            asked: 0,
        };
        set.count();
        set
    }

    fn count(&mut self) {
        self.asked = 0;
        for on in EventType::ALL {
            let place = on as usize;
            let mut both = self.enforcement[place]
                .rules()
                .chain(self.detection[place].rules());
            self.asked |= u32::from(both.next().is_some()) << place;
        }
    }

    /// The set with one rule put in the place of another of its name, or taken out.
    pub(super) fn with(&self, old: Option<&Compiled>, new: Option<&Arc<Compiled>>) -> Self {
        let mut set = self.clone();
        let new = new.filter(|rule| rule.rule().enabled);
        if let Some(old) = old.map(Compiled::rule) {
            let moved = new.is_none_or(|new| {
                let new = new.rule();
                new.on != old.on || new.effect.action().is_some() != old.effect.action().is_some()
            });
            if moved {
                let table = set.table(old.on, old.effect.action().is_some());
                *table = Arc::new(table.with(&old.id, None));
            }
        }
        if let Some(new) = new {
            let rule = new.rule();
            let table = set.table(rule.on, rule.effect.action().is_some());
            *table = Arc::new(table.with(&rule.id, Some(Arc::clone(new))));
        }
        set.count();
        set
    }

    fn table(&mut self, on: EventType, enforcement: bool) -> &mut Arc<Table> {
        match enforcement {
            true => &mut self.enforcement[on as usize],
            false => &mut self.detection[on as usize],
        }
    }

    /// Whether any rule is about events of a type.
    #[must_use]
    #[inline]
    pub fn has(&self, on: EventType) -> bool {
        self.asked & (1 << on as usize) != 0
    }

    /// What the rules need of a message's body, where the other fields of the event are known.
    #[must_use]
    pub fn need(&self, known: &Subject<'_>) -> Need {
        let place = known.event_type as usize;
        let asks = |rule: &Arc<Compiled>| asks_body(rule).then_some(());
        let any = |table: &Table| table.rules().find_map(asks).is_some();
        if !any(&self.enforcement[place]) && !any(&self.detection[place]) {
            return Need::Nothing;
        }
        let families = known.event_type.families();
        let head: Vec<Field> = Field::ALL
            .iter()
            .filter(|info| families.contains(&info.family) && !BODY.contains(&info.field))
            .map(|info| info.field)
            .collect();
        let could = |rule: &Arc<Compiled>| {
            let asks = asks_body(rule) && rule.program().is_possible(known, &head);
            asks.then_some(())
        };
        if self.enforcement[place].candidates(known, could).is_some() {
            return Need::Deciding;
        }
        match self.detection[place].candidates(known, could) {
            Some(()) => Need::Watching,
            None => Need::Nothing,
        }
    }

    /// Whether any rule could be true, or without a value, of an event that has these values in the
    /// fields that are named, and anything in the others.
    #[must_use]
    pub fn could_ask(&self, known: &Subject<'_>, fields: &[Field]) -> bool {
        let place = known.event_type as usize;
        let could = |rule: &Arc<Compiled>| rule.program().is_possible(known, fields).then_some(());
        self.enforcement[place].candidates(known, could).is_some()
            || self.detection[place].candidates(known, could).is_some()
    }

    /// The rules, in the order in which they are asked.
    pub fn rules(&self) -> impl Iterator<Item = &Arc<Compiled>> {
        let tables = self.enforcement.iter().chain(&self.detection);
        tables.flat_map(|table| table.rules())
    }

    /// The first rule that decides an event, at a time in seconds since the Unix epoch. What is
    /// only noted on the way (a rule that observes and is true, a rule whose condition failed and
    /// which decides nothing by that) is told.
    ///
    /// A rule whose condition failed decides where it would stop or change the event; where it
    /// would allow it, it is not true.
    #[must_use]
    #[inline]
    pub fn decide(
        &self,
        subject: &Subject<'_>,
        now: i64,
        noted: impl FnMut(&Arc<Compiled>, Outcome),
    ) -> Option<Decided> {
        self.decide_without(subject, now, None, noted)
    }

    /// The same without one rule: that which has changed the event already.
    #[must_use]
    #[inline]
    pub fn decide_without(
        &self,
        subject: &Subject<'_>,
        now: i64,
        without: Option<&str>,
        mut noted: impl FnMut(&Arc<Compiled>, Outcome),
    ) -> Option<Decided> {
        let accounts = Accounts::new();
        self.enforcement[subject.event_type as usize].candidates(subject, |rule| {
            if rule.rule().is_over(now) || without.is_some_and(|id| id == rule.rule().id) {
                return None;
            }
            let outcome = rule.run_within(subject, accounts.of(rule));
            if outcome == Outcome::False {
                return None;
            }
            let action = rule.rule().effect.action()?;
            let failed = outcome == Outcome::Failed;
            if action == Action::Observe || failed && !action.fails_closed() {
                noted(rule, outcome);
                return None;
            }
            Some(Decided {
                rule: Arc::clone(rule),
                action: if failed { Action::Deny } else { action },
                failed,
            })
        })
    }

    /// Tells every detection that is true of an event. Gives the first that could not be asked within
    /// the steps of an event.
    #[inline]
    pub fn detect(
        &self,
        subject: &Subject<'_>,
        now: i64,
        each: impl FnMut(&Arc<Compiled>),
    ) -> Option<Arc<Compiled>> {
        self.detect_part(subject, now, Part::Whole, each)
    }

    /// The same of those detections that are about a part of the event.
    #[inline]
    pub fn detect_part(
        &self,
        subject: &Subject<'_>,
        now: i64,
        part: Part,
        mut each: impl FnMut(&Arc<Compiled>),
    ) -> Option<Arc<Compiled>> {
        let accounts = Accounts::new();
        let mut unasked = None;
        let table = &self.detection[subject.event_type as usize];
        table.candidates(subject, |rule| {
            if rule.rule().is_over(now) || !part.has(rule) {
                return None::<()>;
            }
            let steps = accounts.of(rule);
            match rule.run_within(subject, steps) {
                Outcome::True => each(rule),
                Outcome::Failed if unasked.is_none() && steps.ran_out() => {
                    unasked = Some(Arc::clone(rule));
                }
                _ => {}
            }
            None
        });
        unasked
    }

    /// Every detection that is true of an event, and what of.
    #[must_use]
    pub fn findings(&self, subject: &Subject<'_>, now: i64) -> Vec<Match> {
        let mut found = Vec::new();
        self.detect(subject, now, |rule| found.push(Match::new(rule, subject)));
        found
    }
}
