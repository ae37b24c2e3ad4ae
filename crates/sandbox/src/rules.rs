//! The rules of a run, changed and listed while it goes on, by the user's other processes through
//! its door. What is asked for is believed no more than a policy's text: it is compiled before it
//! comes into force, and what the system locked stays as it is.

use crate::exec::Connection;
use crate::packet::{pack, receive, send, send_now, unpack};
use crate::protocol::{Ask, Say};
use crate::supervisor::happened;
use bailiwick_event::{Act, Failure, Text};
use bailiwick_guard::Guard;
use bailiwick_policy::inspection::{WITHIN, may_inspect};
use bailiwick_rules::{Action, Compiled, LESS_MEMORY, Listed, MAX_SESSION_MEMORY, Rule};
use rustix::fd::OwnedFd;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What is wanted of the rules of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RulesAsk {
    /// To see them.
    List,
    /// New ones; none of their names may be there yet.
    Add(Vec<Rule>),
    /// Others in the place of those of their names.
    Update(Vec<Rule>),
    /// Those of these names taken out.
    Remove(Vec<String>),
    /// Those of these names put into force.
    Enable(Vec<String>),
    /// Those of these names put out of force.
    Disable(Vec<String>),
}

/// A rule of a run, and how often it was true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedRule {
    /// The rule.
    pub rule: Rule,
    /// How often it was true.
    pub matched: u64,
    /// How often its condition had no value.
    pub failed: u64,
}

/// What became of it: the rules, or why nothing was changed.
type Answer = Result<Vec<ListedRule>, String>;

impl From<Listed> for ListedRule {
    fn from(listed: Listed) -> Self {
        Self {
            rule: listed.rule,
            matched: listed.matched,
            failed: listed.failed,
        }
    }
}

/// Asks a run for its rules, or to change them; all of a change comes into force, or nothing. Of what
/// changed those rules are told that see nothing within TLS, because the run looks into none.
///
/// # Errors
/// A [`Failure`] where there is no such run, it cannot be entered, or it does not take the change.
pub fn rules(session: &str, ask: &RulesAsk) -> Result<Vec<ListedRule>, Failure> {
    let connection = Connection::open(session)?;
    let fault = |e: &dyn std::fmt::Display| Failure::fault(format!("the rules of {session}: {e}"));
    let text = serde_json::to_string(ask).map_err(|e| fault(&e))?;
    let message = pack(&text).map_err(|e| fault(&e))?;
    send(&connection.0, &Ask::Rules, &[message]).map_err(|e| fault(&e))?;
    let answer = receive::<Say>(&connection.0).map_err(|e| fault(&e))?;
    let Some((Say::Rules, descriptors)) = answer else {
        return Err(fault(&"the run has ended"));
    };
    let [message] = <[OwnedFd; 1]>::try_from(descriptors).map_err(|_| fault(&"no answer came"))?;
    let text: String = unpack(&message).map_err(|e| fault(&e))?;
    let answer: Answer = serde_json::from_str(&text).map_err(|e| fault(&e))?;
    answer.map_err(Failure::Usage)
}

/// Does what a client asks of the rules, and answers.
pub(crate) fn serve(socket: &OwnedFd, descriptors: Vec<OwnedFd>, guard: &Guard) {
    let read = || {
        let [message] = <[OwnedFd; 1]>::try_from(descriptors).ok()?;
        serde_json::from_str::<RulesAsk>(&unpack::<String>(&message).ok()?).ok()
    };
    let answer: Answer = match read() {
        Some(RulesAsk::List) => Ok(list(guard)),
        // What changed is what was asked for; what is told is what will not do what it says.
        Some(ask) => {
            let names = names(&ask);
            change(ask, guard).map(|()| blind(&names, guard))
        }
        None => Err("what was asked of the rules cannot be read".into()),
    };
    let packed = serde_json::to_string(&answer)
        .ok()
        .and_then(|text| pack(&text).ok());
    if let Some(message) = packed {
        let _ = send_now(socket, &Say::Rules, &[message]);
    }
}

fn list(guard: &Guard) -> Vec<ListedRule> {
    guard.rules().list().into_iter().map(Into::into).collect()
}

/// The rules that come into force by a change.
fn names(ask: &RulesAsk) -> Vec<String> {
    match ask {
        RulesAsk::Add(rules) | RulesAsk::Update(rules) => {
            rules.iter().map(|rule| rule.id.clone()).collect()
        }
        RulesAsk::Enable(names) => names.clone(),
        RulesAsk::List | RulesAsk::Remove(_) | RulesAsk::Disable(_) => Vec::new(),
    }
}

/// Those of these rules that ask about what goes within TLS, in a run that looks into none: its
/// programs trust no authority for that, and they have begun.
fn blind(names: &[String], guard: &Guard) -> Vec<ListedRule> {
    if may_inspect(guard.policy()) {
        return Vec::new();
    }
    let mut all = list(guard);
    all.retain(|one| WITHIN.contains(&one.rule.on) && names.contains(&one.rule.id));
    all
}

fn too_much() -> String {
    let most = MAX_SESSION_MEMORY >> 20;
    format!("the rules of the session would take more than {most} MiB; {LESS_MEMORY}")
}

fn change(ask: RulesAsk, guard: &Guard) -> Result<(), String> {
    let (word, put, names) = match ask {
        RulesAsk::List => return Ok(()),
        RulesAsk::Add(rules) => ("added", rules, Vec::new()),
        RulesAsk::Update(rules) => ("updated", rules, Vec::new()),
        RulesAsk::Remove(names) => ("removed", Vec::new(), names),
        RulesAsk::Enable(names) => ("enabled", Vec::new(), names),
        RulesAsk::Disable(names) => ("disabled", Vec::new(), names),
    };
    let locks = &guard.policy().rule_locks;
    if let (Some(lock), false) = (&locks.signed, put.is_empty()) {
        return Err(format!(
            "the system's policy asks for signed packs ({lock}): name the pack in a policy instead, and start a new run"
        ));
    }
    if let Some(lock) = &locks.rules {
        let gives =
            |rule: &Rule| matches!(rule.effect.action(), Some(Action::Allow | Action::Rewrite));
        if word != "added" || put.iter().any(gives) {
            return Err(format!(
                "`rules` is locked by {lock}: while this run goes on rules that deny, ask or observe can be added, and no other change is made"
            ));
        }
    }
    let registry = guard.rules();
    let there = |name: &str| registry.get(name);
    for name in put.iter().map(|rule| &rule.id).chain(&names) {
        match there(name) {
            Some(old) if old.rule().locked => {
                return Err(format!(
                    "the rule \"{name}\" is the system's ({}) and is not changed from a session",
                    old.rule().origin
                ));
            }
            Some(old) if word == "added" => {
                return Err(format!(
                    "there is a rule \"{name}\" already ({}); change it with `rules update`",
                    old.rule().origin
                ));
            }
            None if word != "added" => {
                return Err(format!(
                    "there is no rule \"{name}\"; `bailiwick rules list` shows those that are there"
                ));
            }
            _ => {}
        }
    }
    let mut changed = names.clone();
    let mut compiled = Vec::with_capacity(put.len());
    let mut memory = 0_usize;
    for rule in put {
        changed.push(rule.id.clone());
        if rule.pack.is_none() && rule.effect.action().is_some() {
            bailiwick_policy::asks(rule.on).map_err(|(message, help)| {
                format!("the rule \"{}\": {message}; {help}", rule.id)
            })?;
        }
        // Whoever comes through the door is no system's policy.
        let locked = false;
        let rule = Compiled::new(Rule { locked, ..rule }).map_err(|error| error.to_string())?;
        memory = memory.saturating_add(rule.memory());
        if memory > MAX_SESSION_MEMORY {
            return Err(too_much());
        }
        compiled.push(Arc::new(rule));
    }
    let mut edit = registry.edit();
    for rule in compiled {
        edit.install(rule);
    }
    if edit.memory() > MAX_SESSION_MEMORY {
        return Err(too_much());
    }
    for name in &names {
        match word {
            "removed" => edit.remove(name),
            _ => edit.enable(name, word == "enabled"),
        };
    }
    // On record before it is in force.
    for name in changed {
        let act = Act::Rules {
            change: word.to_owned(),
            rule: Text::from(name),
        };
        guard
            .require(act, happened())
            .map_err(|error| format!("the change cannot be recorded: {error}"))?;
    }
    edit.finish();
    Ok(())
}
