//! `bailiwick rules list|add|update|rm|enable|disable`: the rules of a run, while it goes on.

use super::arguments::{LiveFiles, LiveNames, LiveSession};
use super::backtest::now;
use super::files;
use crate::Done;
use crate::output;
use bailiwick_event::{Failure, Text, json as writing};
use bailiwick_rules::{Effect, Rule};
use bailiwick_sandbox::{ListedRule, RulesAsk, rules};
use std::path::PathBuf;

/// Shows the rules of a run and how often each was true.
pub(super) fn list(of: &LiveSession, json: bool) -> Done {
    let listed = rules(&of.session, &RulesAsk::List)?;
    if json {
        let text = writing::lines(&listed)
            .map_err(|e| Failure::fault(format!("the rules cannot be shown: {e}")))?;
        output::print(&format!("{text}\n"))?;
        return Ok(0);
    }
    if listed.is_empty() {
        output::print("no rules\n")?;
        return Ok(0);
    }
    let mut table = output::table();
    table.set_header([
        "rule", "priority", "on", "does", "true", "failed", "in force", "from",
    ]);
    for one in &listed {
        table.add_row(row(one));
    }
    output::print(&format!("{}\n", table.trim_fmt()))?;
    Ok(0)
}

fn row(one: &ListedRule) -> [String; 8] {
    let rule = &one.rule;
    let does = match &rule.effect {
        Effect::Enforce { action, .. } => action.name().to_owned(),
        Effect::Detect { severity, .. } => format!("finding ({})", severity.name()),
    };
    [
        rule.id.clone(),
        if rule.locked {
            "system".to_owned()
        } else {
            rule.priority.to_string()
        },
        rule.on.to_string(),
        does,
        one.matched.to_string(),
        one.failed.to_string(),
        match rule.enabled {
            true if rule.is_over(now()) => "no (expired)",
            true => "yes",
            false => "no",
        }
        .to_owned(),
        Text::from(rule.origin.to_string()).to_string(),
    ]
}

fn read(paths: &[PathBuf]) -> Result<Vec<Rule>, Failure> {
    let all = files::all_told(paths)?;
    Ok(all.iter().map(|compiled| compiled.rule().clone()).collect())
}

/// Adds the rules of files.
pub(super) fn add(of: &LiveFiles) -> Done {
    change(&of.session, &RulesAsk::Add(read(&of.files.files)?))
}

/// Puts the rules of files in the place of those of their names.
pub(super) fn update(of: &LiveFiles) -> Done {
    change(&of.session, &RulesAsk::Update(read(&of.files.files)?))
}

/// Takes rules out.
pub(super) fn remove(of: &LiveNames) -> Done {
    change(&of.session, &RulesAsk::Remove(of.names.clone()))
}

/// Puts rules into force, or out of it.
pub(super) fn enable(of: &LiveNames, enabled: bool) -> Done {
    let names = of.names.clone();
    let ask = match enabled {
        true => RulesAsk::Enable(names),
        false => RulesAsk::Disable(names),
    };
    change(&of.session, &ask)
}

fn change(of: &LiveSession, ask: &RulesAsk) -> Done {
    let blind = rules(&of.session, ask)?;
    let (count, done) = match ask {
        RulesAsk::List => return Ok(0),
        RulesAsk::Add(rules) => (rules.len(), "added"),
        RulesAsk::Update(rules) => (rules.len(), "updated"),
        RulesAsk::Remove(names) => (names.len(), "removed"),
        RulesAsk::Enable(names) => (names.len(), "enabled"),
        RulesAsk::Disable(names) => (names.len(), "disabled"),
    };
    let counted = files::count(count as u64, "rule");
    output::print(&format!("{counted} {done}\n"))?;
    for one in blind {
        output::note(&format!(
            "note: the rule \"{}\" ({}) sees nothing of what goes within TLS: the policy of this run \
             looked into none when it began, so its programs trust nobody for that; start one whose \
             policy has inspect = \"auto\" under [network]",
            Text::from(one.rule.id.as_str()),
            Text::from(one.rule.origin.to_string())
        ));
    }
    Ok(0)
}
