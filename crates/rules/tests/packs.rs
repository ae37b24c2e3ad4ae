//! The shipped packs against the corpora beside them. What a pack must catch and what it must let
//! pass are lines of a file, so that a rule cannot be loosened or tightened without a line that
//! says so.

use bailiwick_event::fields::{EventType, Field, FieldType, Record};
use bailiwick_rules::pack::{Pack, shipped};
use bailiwick_rules::{Compiled, Outcome, RuleSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const NOW: i64 = 1_800_000_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies/packs")
}

fn packs() -> Vec<Pack> {
    let read = |(id, text): &(&str, &str)| {
        Pack::read(&format!("{id}.toml"), text).unwrap_or_else(|e| panic!("{e}"))
    };
    shipped().iter().map(read).collect()
}

fn all_rules(packs: &[Pack]) -> Vec<Arc<Compiled>> {
    let rules = packs.iter().flat_map(|pack| pack.rules.iter().cloned());
    rules.collect()
}

/// The lines of a corpus, with their place.
fn corpus(pack: &Pack, kind: &str) -> Vec<(String, String)> {
    let name = format!("{}.{kind}.jsonl", pack.id);
    let path = folder().join("corpus").join(&name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let lines = text.lines().enumerate();
    lines
        .map(|(n, line)| (format!("{name}:{}", n + 1), line.to_owned()))
        .collect()
}

fn record<'a>(place: &str, line: &'a str) -> Record<'a> {
    Record::read(line).unwrap_or_else(|e| panic!("{place}: {e}"))
}

fn expected(record: &Record<'_>) -> Option<String> {
    let labels = record.common.labels.as_ref()?;
    let found = labels.iter().find(|(name, _)| name == "expect");
    found.map(|(_, id)| id.to_string())
}

/// Everything that a rule says of an event beyond that it is false.
fn said(rules: &[Arc<Compiled>], record: &Record<'_>) -> Vec<(String, Outcome)> {
    let subject = record.subject();
    let about = rules
        .iter()
        .filter(|r| r.rule().on == subject.event_type)
        .map(|r| (r.rule().id.clone(), r.run(&subject)));
    about
        .filter(|(_, outcome)| *outcome != Outcome::False)
        .collect()
}

fn why(rules: &[Arc<Compiled>], id: &str, record: &Record<'_>) -> String {
    let rule = rules.iter().find(|r| r.rule().id == id);
    let error = rule.and_then(|r| r.program().evaluate(&record.subject()).err());
    error.map_or_else(String::new, |e| format!(": {e}"))
}

#[test]
fn every_file_of_rules_in_the_folder_is_shipped() {
    let mut files: Vec<_> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    files.sort();
    let ids: Vec<_> = shipped().iter().map(|(id, _)| *id).collect();
    assert_eq!(files, ids);
}

#[test]
fn every_pack_compiles_without_a_warning() {
    let mut wrong = String::new();
    for rule in all_rules(&packs()) {
        for warning in rule.program().warnings() {
            writeln!(wrong, "{}: {warning}", rule.rule().id).unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn no_two_packs_have_a_rule_of_one_name() {
    let rules = all_rules(&packs());
    let mut ids: Vec<_> = rules.iter().map(|r| &r.rule().id).collect();
    ids.sort();
    let twice = ids.windows(2).find(|two| two[0] == two[1]);
    assert_eq!(twice, None);
}

#[test]
fn every_rule_says_why_what_to_do_and_which_technique_it_is_about() {
    use bailiwick_rules::Effect;
    let mut wrong = String::new();
    for rule in all_rules(&packs()) {
        let rule = rule.rule();
        let told = match &rule.effect {
            Effect::Enforce { remedy, .. } => !remedy.is_empty(),
            Effect::Detect { .. } => true,
        };
        let clause = !rule.reason.is_empty() && !rule.reason.ends_with('.');
        if !told || !clause || !rule.tags.iter().any(|tag| tag.starts_with("attack.t")) {
            writeln!(wrong, "{}", rule.id).unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn every_rule_holds_its_own_examples_and_has_one_of_each_kind() {
    let mut wrong = String::new();
    for rule in all_rules(&packs()) {
        let id = &rule.rule().id;
        for wanted in [true, false] {
            if !rule.rule().examples.iter().any(|e| e.matches == wanted) {
                writeln!(wrong, "{id}: no example with matches = {wanted}").unwrap();
            }
        }
        for example in &rule.rule().examples {
            let record = example.record().unwrap_or_else(|e| panic!("{id}: {e}"));
            let outcome = rule.run(&record.subject());
            if outcome != Outcome::from(example.matches) {
                writeln!(wrong, "{id}: {outcome:?} of {}", example.event).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn every_positive_line_is_matched_by_the_rule_that_it_expects() {
    let packs = packs();
    let rules = all_rules(&packs);
    let set = RuleSet::new(rules.clone());
    let mut wrong = String::new();
    for pack in &packs {
        let lines = corpus(pack, "positive");
        if lines.len() < 30 {
            writeln!(wrong, "{}: only {} lines", pack.id, lines.len()).unwrap();
        }
        for (place, line) in lines {
            let record = record(&place, &line);
            let subject = record.subject();
            let expect = expected(&record).unwrap_or_else(|| panic!("{place}: expects nothing"));
            let said = said(&pack.rules, &record);
            if !said.contains(&(expect.clone(), Outcome::True)) {
                writeln!(wrong, "{place}: not {expect} but {said:?}: {line}").unwrap();
                continue;
            }
            let rule = pack.rules.iter().find(|r| r.rule().id == expect).unwrap();
            // The set, which asks only candidates, says the same as the rule alone.
            let held = match rule.rule().effect.action() {
                Some(action) => set
                    .decide(&subject, NOW, |_, _| {})
                    .is_some_and(|decided| decided.action == action && !decided.failed),
                None => {
                    let found = set.findings(&subject, NOW);
                    found.iter().any(|found| found.rule().rule().id == *expect)
                }
            };
            if !held {
                writeln!(
                    wrong,
                    "{place}: the set of all rules misses {expect}: {line}"
                )
                .unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn every_rule_is_expected_by_a_positive_line() {
    let mut wrong = String::new();
    for pack in packs() {
        let lines = corpus(&pack, "positive");
        let expects: Vec<_> = lines
            .iter()
            .filter_map(|(place, line)| expected(&record(place, line)))
            .collect();
        for rule in &pack.rules {
            let id = &rule.rule().id;
            if !expects.contains(id) {
                writeln!(wrong, "{}: no positive line expects {id}", pack.id).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn no_negative_line_is_matched_by_a_rule_of_any_pack() {
    let packs = packs();
    let rules = all_rules(&packs);
    let set = RuleSet::new(rules.clone());
    let mut wrong = String::new();
    for pack in &packs {
        let lines = corpus(pack, "negative");
        if lines.len() < 60 {
            writeln!(wrong, "{}: only {} lines", pack.id, lines.len()).unwrap();
        }
        for (place, line) in lines {
            let record = record(&place, &line);
            let subject = record.subject();
            for (id, outcome) in said(&rules, &record) {
                let why = why(&rules, &id, &record);
                writeln!(wrong, "{place}: {id} {outcome:?}{why}: {line}").unwrap();
            }
            assert!(set.decide(&subject, NOW, |_, _| {}).is_none() || !wrong.is_empty());
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn no_rule_fails_on_a_line_of_any_corpus() {
    let packs = packs();
    let rules = all_rules(&packs);
    let mut wrong = String::new();
    for pack in &packs {
        for (place, line) in corpus(pack, "positive") {
            let record = record(&place, &line);
            for (id, outcome) in said(&rules, &record) {
                if outcome == Outcome::Failed {
                    let why = why(&rules, &id, &record);
                    writeln!(wrong, "{place}: {id} fails{why}: {line}").unwrap();
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// An event that has what every event of its type has, and one field more; every text is the same.
fn barest(on: EventType, text: &str, more: Option<Field>) -> String {
    let mut whole = serde_json::json!({});
    for info in Field::ALL {
        let there = info.always || more == Some(info.field);
        if !there || !on.families().contains(&info.family) {
            continue;
        }
        let value = match info.ty {
            FieldType::Int => serde_json::json!(0),
            FieldType::Double => serde_json::json!(0.0),
            FieldType::Bool => serde_json::json!(false),
            FieldType::Time => serde_json::json!(0),
            FieldType::Texts if info.always => serde_json::json!([]),
            FieldType::Texts => serde_json::json!([text]),
            FieldType::Headers => serde_json::json!([[text, text]]),
            FieldType::Pairs => serde_json::json!({ text: text }),
            _ if info.path == "common.type" => serde_json::json!(on.name()),
            _ => serde_json::json!(text),
        };
        let mut at = &mut whole;
        for key in info.path.split('.') {
            at = &mut at[key];
        }
        *at = value;
    }
    whole.to_string()
}

#[test]
fn no_rule_fails_on_the_barest_event_of_its_type() {
    let rules = all_rules(&packs());
    let mut wrong = String::new();
    for on in EventType::ALL {
        for text in ["", "x", ".", "/", "-", "::1", "%", "é\u{0}\n"] {
            let line = barest(on, text, None);
            let record = record("barest", &line);
            for (id, outcome) in said(&rules, &record) {
                if outcome == Outcome::Failed {
                    writeln!(wrong, "{id} on {text:?}{}", why(&rules, &id, &record)).unwrap();
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn no_rule_fails_whichever_field_an_event_has_beside_those_that_all_have() {
    let rules = all_rules(&packs());
    let mut wrong = String::new();
    for on in EventType::ALL {
        for info in Field::ALL.iter().filter(|info| !info.always) {
            let line = barest(on, "x", Some(info.field));
            let record = record(info.path, &line);
            for (id, outcome) in said(&rules, &record) {
                if outcome == Outcome::Failed {
                    let why = why(&rules, &id, &record);
                    writeln!(wrong, "{id} with {}{why}", info.path).unwrap();
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn no_rule_fails_whatever_the_arguments_of_a_tool_look_like() {
    let rules = all_rules(&packs());
    let mut wrong = String::new();
    for arguments in [
        "null",
        "7",
        "\"text\"",
        "[]",
        "[1, \"a\", {\"b\": null}]",
        "{}",
        "{\"a\": null, \"b\": 1.5, \"c\": true, \"d\": \"text\", \"e\": [1, [2], {\"f\": [3]}, \"g\"]}",
        "{\"a\": {\"b\": {\"c\": [{}]}, \"d\": \"text\"}}",
    ] {
        let line = format!(
            r#"{{"common": {{"type": "mcp.request"}}, "mcp": {{"request": {{"method": "tools/call", "server": "s", "tool": "t", "arguments": {arguments}}}}}}}"#
        );
        let record = record("arguments", &line);
        for (id, outcome) in said(&rules, &record) {
            writeln!(wrong, "{id} {outcome:?} of {arguments}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
