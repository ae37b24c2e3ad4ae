//! The rules of a session while it runs. Whoever asks takes the set that is in force and never
//! waits; whoever changes a rule builds the next set beside it. A rule that does not compile
//! changes nothing, and its earlier version stays in force.

use super::RuleSet;
use crate::rule::{Compiled, Rule, RuleError};
use arc_swap::{ArcSwap, Guard};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The rules of a session.
#[derive(Debug, Default)]
pub struct Registry {
    current: ArcSwap<RuleSet>,
    rules: Mutex<BTreeMap<String, Arc<Compiled>>>,
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
        let mut by_name = BTreeMap::new();
        for rule in rules {
            by_name.entry(rule.rule().id.clone()).or_insert(rule);
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

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Compiled>>> {
        // What is behind it is whole at every moment at which a writer could have died.
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a rule, or puts it in the place of the one of its name, whose counts go on; says
    /// whether there was one.
    ///
    /// # Errors
    /// [`RuleError`] where it does not compile; then nothing changes.
    pub fn put(&self, rule: Rule) -> Result<bool, RuleError> {
        // Not under the lock: a large rule must not hold up the next one.
        let compiled = Compiled::new(rule)?;
        let mut rules = self.lock();
        Ok(self.install(&mut rules, compiled))
    }

    fn install(&self, rules: &mut BTreeMap<String, Arc<Compiled>>, compiled: Compiled) -> bool {
        let old = rules.get(&compiled.rule().id).cloned();
        let compiled = match &old {
            Some(old) => compiled.counted_with(old),
            None => compiled,
        };
        let compiled = Arc::new(compiled);
        let next = self.current.load().with(old.as_deref(), Some(&compiled));
        self.current.store(Arc::new(next));
        rules.insert(compiled.rule().id.clone(), compiled);
        old.is_some()
    }

    /// Takes a rule out; says whether there was one.
    pub fn remove(&self, id: &str) -> bool {
        let mut rules = self.lock();
        let Some(old) = rules.remove(id) else {
            return false;
        };
        let next = self.current.load().with(Some(&old), None);
        self.current.store(Arc::new(next));
        true
    }

    /// Puts a rule into force or out of it without taking it away; says whether there is one.
    pub fn enable(&self, id: &str, enabled: bool) -> bool {
        let mut rules = self.lock();
        let Some(old) = rules.get(id).cloned() else {
            return false;
        };
        let rule = Rule {
            enabled,
            ..old.rule().clone()
        };
        self.install(&mut rules, old.with_rule(rule));
        true
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
        self.lock().values().map(one).collect()
    }

    /// The rules that are enabled, in the order in which they are asked.
    #[must_use]
    pub fn enabled(&self) -> Vec<Arc<Compiled>> {
        let rules = self.lock();
        let mut enabled: Vec<_> = rules
            .values()
            .filter(|rule| rule.rule().enabled)
            .cloned()
            .collect();
        drop(rules);
        enabled.sort_unstable_by(|a, b| a.rule().order(b.rule()));
        enabled
    }
}
