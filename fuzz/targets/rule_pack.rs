//! Packs. Every mistake has a line and a column of the file; what is read is compiled, has a name
//! of its own and can be asked about any event.
#![no_main]

#[path = "../reference/events.rs"]
mod events;

use bailiwick_rules::RuleSet;
use bailiwick_rules::pack::Pack;
use libfuzzer_sys::fuzz_target;
use std::collections::HashSet;

fuzz_target!(|text: &str| {
    let error = match Pack::read("fuzz.toml", text) {
        Ok(pack) => return reads(&pack),
        Err(error) => error,
    };
    assert!(!error.mistakes.is_empty(), "refused without a reason");
    let lines: Vec<&str> = text.split('\n').collect();
    for (line, column, mistake) in &error.mistakes {
        let line = usize::try_from(*line).expect("a line");
        assert!((1..=lines.len()).contains(&line), "line {line}");
        let width = lines[line - 1].chars().count();
        assert!(
            (1..=width + 1).contains(&(*column as usize)),
            "{line}:{column}"
        );
        assert!(mistake.span.start <= mistake.span.end && mistake.span.end <= text.len());
    }
    let shown = error.to_string();
    assert_eq!(
        shown.chars().find(|c| c.is_control() && *c != '\n'),
        None,
        "{shown:?}"
    );
});

fn reads(pack: &Pack) {
    let mut names = HashSet::new();
    for rule in &pack.rules {
        let rule = rule.rule();
        assert!(names.insert(&rule.id), "{} twice", rule.id);
        assert_eq!(rule.pack.as_deref(), Some(&*pack.id));
        for example in &rule.examples {
            example.record().expect("an example is an event");
        }
    }
    let set = RuleSet::new(pack.rules.clone());
    for record in events::all() {
        let subject = record.subject();
        let decided = set
            .decide(&subject, 0, |_, _| {})
            .map(|d| d.rule.rule().id.clone());
        // The index leaves out nothing that decides.
        let alone = set
            .rules()
            .filter(|rule| {
                rule.rule().on == subject.event_type && rule.rule().effect.action().is_some()
            })
            .find_map(|rule| {
                let one = RuleSet::new(vec![rule.clone()]);
                one.decide(&subject, 0, |_, _| {})
                    .map(|d| d.rule.rule().id.clone())
            });
        assert_eq!(decided, alone);
        for found in set.findings(&subject, 0) {
            let finding = found.finding();
            assert_eq!(finding.signature.len(), 32);
        }
    }
}
