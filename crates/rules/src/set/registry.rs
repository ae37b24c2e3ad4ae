//! The rules of a session while it runs. Whoever asks takes the set that is in force and never
//! waits; whoever changes rules builds the next set beside it, and all changes of one edit come
//! into force together. A rule that does not compile changes nothing, and its earlier version
//! stays in force.

use super::RuleSet;
use crate::rule::{Compiled, Rule, RuleError};
use arc_swap::{ArcSwap, Guard};
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// By name. The names come from whoever may write rules, not from what is judged by them.
type ByName = HashMap<Arc<str>, Arc<Compiled>, FixedState>;

/// More changes than this are quicker made by building the set anew.
const MANY: usize = 8;

/// The rules of a session.
#[derive(Debug, Default)]
pub struct Registry {
    current: ArcSwap<RuleSet>,
    rules: Mutex<ByName>,
}

/// A rule and how often it was true.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The rule.
    pub rule: Rule,
    /// How often it was true since it was added.
    pub matched: u64,
    /// How often its condition had no value.
    pub failed: u64,
}

impl Registry {
    /// A registry of these rules. Of two with one name the first is taken.
    #[must_use]
    pub fn new(rules: Vec<Arc<Compiled>>) -> Self {
        let mut by_name = ByName::default();
        for rule in rules {
            by_name
                .entry(rule.rule().id.as_str().into())
                .or_insert(rule);
        }
        Self {
            current: ArcSwap::from_pointee(RuleSet::new(by_name.values().cloned().collect())),
            rules: Mutex::new(by_name),
        }
    }

    /// The set that is in force.
    #[must_use]
    #[inline]
    pub fn current(&self) -> Guard<Arc<RuleSet>> {
        self.current.load()
    }

    fn lock(&self) -> MutexGuard<'_, ByName> {
        // What is behind it is whole at every moment at which a writer could have died.
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins changes that come into force together; nobody else changes rules meanwhile.
    #[must_use]
    pub fn edit(&self) -> Edit<'_> {
        Edit {
            registry: self,
            rules: self.lock(),
            changes: HashMap::default(),
        }
    }

    /// Adds a rule, or puts it in the place of the one of its name, whose counts go on; says
    /// whether there was one.
    ///
    /// # Errors
    /// [`RuleError`] where it does not compile; then nothing changes.
    pub fn put(&self, rule: Rule) -> Result<bool, RuleError> {
        // Not under the lock: a large rule must not hold up the next one.
        let compiled = Compiled::new(rule)?;
        let mut edit = self.edit();
        let there = edit.install(Arc::new(compiled));
        edit.finish();
        Ok(there)
    }

    /// Takes a rule out; says whether there was one.
    pub fn remove(&self, id: &str) -> bool {
        let mut edit = self.edit();
        let there = edit.remove(id);
        edit.finish();
        there
    }

    /// Puts a rule into force or out of it without taking it away; says whether there is one.
    pub fn enable(&self, id: &str, enabled: bool) -> bool {
        let mut edit = self.edit();
        let there = edit.enable(id, enabled);
        edit.finish();
        there
    }

    /// The rule of a name.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<Arc<Compiled>> {
        self.lock().get(id).cloned()
    }

    /// Every rule, by name.
    #[must_use]
    pub fn list(&self) -> Vec<Listed> {
        let one = |compiled: &Arc<Compiled>| Listed {
            rule: compiled.rule().clone(),
            matched: compiled.matched(),
            failed: compiled.failed(),
        };
        let mut all: Vec<_> = self.lock().values().map(one).collect();
        all.sort_unstable_by(|a, b| a.rule.id.cmp(&b.rule.id));
        all
    }

    /// The rules that are enabled, in the order in which they are asked.
    #[must_use]
    pub fn enabled(&self) -> Vec<Arc<Compiled>> {
        let rules = self.lock();
        let enabled = rules.values().filter(|rule| rule.rule().enabled);
        let mut enabled: Vec<_> = enabled.cloned().collect();
        drop(rules);
        enabled.sort_unstable_by(|a, b| a.rule().order(b.rule()));
        enabled
    }
}

/// Changes that come into force together, with [`Edit::finish`]; dropped, they never were.
#[derive(Debug)]
pub struct Edit<'r> {
    registry: &'r Registry,
    rules: MutexGuard<'r, ByName>,
    changes: HashMap<Arc<str>, Option<Arc<Compiled>>, FixedState>,
}

impl Edit<'_> {
    fn now(&self, id: &str) -> Option<&Arc<Compiled>> {
        match self.changes.get(id) {
            Some(change) => change.as_ref(),
            None => self.rules.get(id),
        }
    }

    /// Adds a compiled rule, or puts it in the place of the one of its name, whose counts go on;
    /// says whether there was one.
    pub fn install(&mut self, compiled: Arc<Compiled>) -> bool {
        let id = &compiled.rule().id;
        let (there, compiled) = match self.now(id) {
            Some(old) if compiled.is_counted_with(old) => (true, compiled),
            Some(old) => (true, Arc::new(Compiled::clone(&compiled).counted_with(old))),
            None => (false, compiled),
        };
        match self.changes.get_mut(compiled.rule().id.as_str()) {
            Some(change) => *change = Some(compiled),
            None => {
                let id = compiled.rule().id.as_str().into();
                self.changes.insert(id, Some(compiled));
            }
        }
        there
    }

    /// Compiles a rule and installs it.
    ///
    /// # Errors
    /// [`RuleError`] where it does not compile; then nothing changes.
    pub fn put(&mut self, rule: Rule) -> Result<bool, RuleError> {
        Ok(self.install(Arc::new(Compiled::new(rule)?)))
    }

    /// Takes a rule out; says whether there was one.
    pub fn remove(&mut self, id: &str) -> bool {
        let there = self.now(id).is_some();
        if there {
            self.changes.insert(id.into(), None);
        }
        there
    }

    /// Puts a rule into force or out of it; says whether there is one.
    pub fn enable(&mut self, id: &str, enabled: bool) -> bool {
        let Some(old) = self.now(id).cloned() else {
            return false;
        };
        let rule = Rule {
            enabled,
            ..old.rule().clone()
        };
        self.install(Arc::new(old.with_rule(rule)))
    }

    /// Bytes that all rules take in memory with the changes, roughly.
    #[must_use]
    pub fn memory(&self) -> usize {
        let changed = self.changes.values().flatten();
        let kept = self.rules.iter();
        let kept = kept.filter(|(id, _)| !self.changes.contains_key(*id));
        let all = changed.chain(kept.map(|(_, rule)| rule));
        all.map(|rule| rule.memory()).sum()
    }

    /// Puts the changes into force.
    pub fn finish(mut self) {
        let changes = std::mem::take(&mut self.changes);
        let few = changes.len() <= MANY;
        let mut next = few.then(|| RuleSet::clone(&self.registry.current.load()));
        for (id, change) in changes {
            let old = self.rules.get(&id).cloned();
            if let Some(set) = &mut next {
                *set = set.with(old.as_deref(), change.as_ref());
            }
            match change {
                Some(compiled) => self.rules.insert(id, compiled),
                None => self.rules.remove(&id),
            };
        }
        let next = next.unwrap_or_else(|| RuleSet::new(self.rules.values().cloned().collect()));
        self.registry.current.store(Arc::new(next));
    }
}
