//! A rule as it can be written again: one inline table, all that it says but its examples.

use crate::show::quote;
use bailiwick_rules::{Confidence, Effect, Rewrite, Rule};
use std::fmt::Write as _;

/// A rule that decides, as lines of a policy file.
pub(crate) fn lines(rule: &Rule) -> String {
    let mut text = String::from("[[rules]]\n");
    let mut add = |name: &str, value: String| {
        let _ = writeln!(text, "{name} = {value}");
    };
    add("id", quote(&rule.id));
    add("on", quote(rule.on.name()));
    add("when", quote(&rule.when));
    if let Effect::Enforce { action, .. } = &rule.effect {
        add("action", quote(action.name()));
    }
    if rule.priority != 0 {
        add("priority", rule.priority.to_string());
    }
    if !rule.reason.is_empty() {
        add("reason", quote(&rule.reason));
    }
    text
}

/// A rule as one inline table.
pub(crate) fn rule(rule: &Rule) -> String {
    let mut text = format!(
        "{{ id = {}, on = {}, when = {}",
        quote(&rule.id),
        quote(rule.on.name()),
        quote(&rule.when)
    );
    let mut add = |name: &str, value: String| {
        let _ = write!(text, ", {name} = {value}");
    };
    match &rule.effect {
        Effect::Enforce {
            action,
            remedy,
            rewrites,
        } => {
            add("action", quote(action.name()));
            if !remedy.is_empty() {
                add("remedy", quote(remedy));
            }
            if !rewrites.is_empty() {
                let all: Vec<_> = rewrites.iter().map(rewrite).collect();
                add("rewrite", format!("[{}]", all.join(", ")));
            }
        }
        Effect::Detect {
            severity,
            confidence,
        } => {
            add("severity", quote(severity.name()));
            if *confidence != Confidence::Medium {
                add("confidence", quote(confidence.name()));
            }
        }
    }
    if rule.priority != 0 {
        add("priority", rule.priority.to_string());
    }
    if !rule.reason.is_empty() {
        add("reason", quote(&rule.reason));
    }
    if !rule.tags.is_empty() {
        let tags: Vec<_> = rule.tags.iter().map(|tag| quote(tag)).collect();
        add("tags", format!("[{}]", tags.join(", ")));
    }
    if !rule.enabled {
        add("enabled", "false".into());
    }
    if let Some(time) = rule.expires {
        add("expires", bailiwick_rules::show_seconds(time));
    }
    text + " }"
}

fn rewrite(rewrite: &Rewrite) -> String {
    match rewrite {
        Rewrite::StripHeader(name) => format!("{{ strip_header = {} }}", quote(name)),
        Rewrite::SetHeader { name, value } => format!(
            "{{ set_header = {{ name = {}, value = {} }} }}",
            quote(name),
            quote(value)
        ),
        Rewrite::Replace {
            target,
            header,
            pattern,
            with,
        } => {
            let header = match header.is_empty() {
                true => String::new(),
                false => format!(", header = {}", quote(header)),
            };
            format!(
                "{{ replace = {{ target = {}{header}, pattern = {}, with = {} }} }}",
                quote(target.name()),
                quote(pattern),
                quote(with)
            )
        }
    }
}
