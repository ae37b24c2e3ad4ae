//! A file of Sigma rules to detections.
//!
//! Decision: whatever is returned as a detection was checked to the end: it is valid, and its
//! condition is read by the parser of conditions. Selections that the condition does not name are
//! not looked at, because they say nothing.

use super::condition::{self, Selections, Stop};
use super::detection::{Condition, Detection, Level, SCHEMA};
use super::detection_parts::{How, Match, Operand};
use super::logsource;
use super::mapping::{Calls, Source};
use super::selection;
use super::skipped::{Reason, Skipped};
use super::values::Budget;
use super::yaml::{At, Documents, Node, Value};
use crate::expr;
use bailiwick_event::fields::Field;
use std::collections::HashMap;

/// The rules of a file, each carried over or skipped. A text that is no YAML is one that was
/// skipped; what stood before the mistake is there.
#[must_use]
pub fn read(text: &str) -> Vec<Result<Detection, Skipped>> {
    let placed = read_placed(text).into_iter();
    placed.map(|rule| rule.map(|(_, rule)| rule)).collect()
}

/// The same, each with where it begins.
pub(super) fn read_placed(text: &str) -> Vec<Result<(At, Detection), Skipped>> {
    let mut collection = false;
    let mut all = Vec::new();
    for document in Documents::new(text) {
        let document = match document {
            Ok(document) if matches!(document.value, Value::Null) => continue,
            Ok(document) => document,
            Err(skipped) => {
                all.push(Err(skipped));
                continue;
            }
        };
        collection |= document.get("action").is_some();
        let read = rule(&document, collection);
        all.push(match read {
            Ok(detection) => Ok((document.at, detection)),
            Err(skipped) => Err(Skipped {
                title: title(&document),
                ..skipped
            }),
        });
    }
    all
}

fn title(rule: &Node) -> String {
    match rule.get("title").map(|title| &title.value) {
        Some(Value::Text(title)) => title.trim().to_owned(),
        _ => String::new(),
    }
}

fn rule(rule: &Node, collection: bool) -> Result<Detection, Skipped> {
    if !matches!(rule.value, Value::Map(_)) {
        let why = "a rule is a map of title, logsource, detection and so on".to_owned();
        return Err(Skipped::new(rule.at, Reason::Rule(why)));
    }
    let kind = |at: At, what: &str| Err(Skipped::new(at, Reason::Kind(what.to_owned())));
    if let Some(node) = rule.get("correlation") {
        return kind(node.at, "a correlation of several events is not supported");
    }
    if let Some(node) = rule.get("filter") {
        return kind(node.at, "a filter for other rules is not supported");
    }
    if collection {
        return kind(
            rule.at,
            "a part of a collection (\"action\") is no rule of its own",
        );
    }
    let text = |name: &str| optional_text(rule, name);
    match text("taxonomy")? {
        Some(other) if other != "sigma" => {
            let why = format!("the taxonomy {other:?} is unknown");
            return Err(Skipped::new(rule.at, Reason::Rule(why)));
        }
        _ => {}
    }
    let title = text("title")?.filter(|title| !title.trim().is_empty());
    let Some(title) = title else {
        let why = "the rule has no title".to_owned();
        return Err(Skipped::new(rule.at, Reason::Rule(why)));
    };
    let status = text("status")?;
    if status.as_deref() == Some("unsupported") {
        let why = "its author calls the rule unsupported".to_owned();
        return Err(Skipped::new(rule.at, Reason::Rule(why)));
    }
    let level = match (text("level")?, rule.get("level")) {
        (Some(name), Some(node)) => match Level::named(&name) {
            Some(level) => Some(level),
            None => {
                let why = format!("{name:?} is no level");
                return Err(Skipped::new(node.at, Reason::Rule(why)));
            }
        },
        _ => None,
    };
    let source = logsource::resolve(rule)?;
    let detection = Detection {
        schema: SCHEMA,
        id: text("id")?,
        title: title.trim().to_owned(),
        description: text("description")?.unwrap_or_default().trim().to_owned(),
        level,
        tags: texts(rule, "tags")?,
        status,
        author: text("author")?,
        date: text("date")?,
        references: texts(rule, "references")?,
        falsepositives: texts(rule, "falsepositives")?,
        fields: texts(rule, "fields")?,
        on: source.on,
        condition: narrow(source, detect(source, rule)?),
    };
    check(&detection).map_err(|reason| Skipped::new(rule.at, reason))?;
    Ok(detection)
}

/// Fails where the detection is not valid or its condition is too large.
fn check(detection: &Detection) -> Result<(), Reason> {
    detection
        .validate()
        .map_err(|error| Reason::Limit(error.to_string()))?;
    match expr::parse(&detection.to_cel()) {
        Ok(_) => Ok(()),
        Err(error) => Err(Reason::Limit(error.to_string())),
    }
}

/// A condition about the calls on files that the log source is about.
fn narrow(source: &Source, condition: Condition) -> Condition {
    let call = |name: &str| {
        Condition::Match(Match::Text {
            of: Operand::Field(Field::FileOperation),
            how: How::Equals,
            values: vec![name.to_owned()],
            case: true,
        })
    };
    match source.calls {
        Calls::Any => condition,
        Calls::Only(name) => Condition::all([call(name), condition]),
        Calls::AllBut(name) => Condition::all([Condition::not(call(name)), condition]),
    }
}

fn optional_text(rule: &Node, name: &str) -> Result<Option<String>, Skipped> {
    match rule.get(name).map(|node| (node.at, &node.value)) {
        None | Some((_, Value::Null)) => Ok(None),
        Some((_, Value::Text(text))) => Ok(Some(text.clone())),
        Some((at, _)) => {
            let why = format!("{name} is a text");
            Err(Skipped::new(at, Reason::Rule(why)))
        }
    }
}

/// A list of texts; one alone may stand without the list.
fn texts(rule: &Node, name: &str) -> Result<Vec<String>, Skipped> {
    let Some(node) = rule.get(name) else {
        return Ok(Vec::new());
    };
    let each = |node: &Node| match &node.value {
        Value::Text(text) => Ok(text.clone()),
        Value::Bool(yes) => Ok(yes.to_string()),
        _ => {
            let why = format!("{name} is a list of texts");
            Err(Skipped::new(node.at, Reason::Rule(why)))
        }
    };
    match &node.value {
        Value::Null => Ok(Vec::new()),
        Value::List(list) => list.iter().map(each).collect(),
        _ => Ok(vec![each(node)?]),
    }
}

fn detect(source: &'static Source, rule: &Node) -> Result<Condition, Skipped> {
    let Some(node) = rule.get("detection") else {
        let why = "the rule has no detection".to_owned();
        return Err(Skipped::new(rule.at, Reason::Rule(why)));
    };
    let Value::Map(pairs) = &node.value else {
        let why = "detection is a map of selections and a condition".to_owned();
        return Err(Skipped::new(node.at, Reason::Rule(why)));
    };
    if let Some(timeframe) = node.get("timeframe") {
        let why = "a timeframe looks at several events, which is not supported".to_owned();
        return Err(Skipped::new(timeframe.at, Reason::Condition(why)));
    }
    let Some(condition) = node.get("condition") else {
        let why = "the detection has no condition".to_owned();
        return Err(Skipped::new(node.at, Reason::Condition(why)));
    };
    let named = pairs.iter().filter(|(key, _)| key.name != "condition");
    let mut selections = Named {
        source,
        all: named.map(|(key, node)| (&*key.name, node)).collect(),
        done: HashMap::new(),
        left: Budget::new(),
    };
    let mut one = |node: &Node| {
        let Value::Text(text) = &node.value else {
            let why = "a condition is a text or a list of texts".to_owned();
            return Err(Skipped::new(node.at, Reason::Condition(why)));
        };
        condition::read(text, &mut selections).map_err(|stop| match stop {
            Stop::Here(reason) => Skipped::new(node.at, reason),
            Stop::Elsewhere(skipped) => skipped,
        })
    };
    match &condition.value {
        Value::List(list) if !list.is_empty() => {
            let all: Vec<_> = list.iter().map(one).collect::<Result<_, _>>()?;
            Ok(Condition::any(all))
        }
        _ => one(condition),
    }
}

/// The selections of a rule, each converted once.
struct Named<'r> {
    source: &'static Source,
    all: Vec<(&'r str, &'r Node)>,
    done: HashMap<&'r str, Condition>,
    left: Budget,
}

impl Selections for Named<'_> {
    fn names(&self) -> Vec<&str> {
        self.all.iter().map(|(name, _)| *name).collect()
    }

    fn get(&mut self, name: &str) -> Result<Condition, Stop> {
        if let Some(done) = self.done.get(name) {
            self.left.spend(done.parts()).map_err(Stop::Here)?;
            return Ok(done.clone());
        }
        let Some((name, node)) = self.all.iter().find(|(known, _)| *known == name) else {
            let names = self.names().join(", ");
            let why = format!("no selection is called {name:?}; the selections are {names}");
            return Err(Stop::Here(Reason::Condition(why)));
        };
        let from = selection::From {
            source: self.source,
            left: &self.left,
        };
        let condition = selection::convert(from, node).map_err(Stop::Elsewhere)?;
        self.done.insert(name, condition.clone());
        Ok(condition)
    }
}
