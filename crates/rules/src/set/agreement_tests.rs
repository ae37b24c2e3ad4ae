//! The index is a guess at which rules to ask. Beside it stands here what it must agree with: all
//! rules, asked one after the other in order.

use super::*;
use crate::lower::Outcome;
use crate::rule::{Action, Compiled, Effect, Rule, Severity};
use bailiwick_event::fields::{EventType, Headers, Record, Subject};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Few words, so that rules and events meet; some are a part of others, some differ in case.
const WORDS: [&str; 10] = [
    "a.com", "b.com", "x.a.com", "xa.com", "A.com", "com", "GET", "get", "/a", "",
];

const TEXTS: [&str; 4] = [
    "http.request.host",
    "http.request.method",
    "http.request.path",
    "http.request.body.text",
];

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&WORDS[..])
}

/// A value of an event: a word, or several in one.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => word().prop_map(str::to_owned),
        2 => (word(), word()).prop_map(|(a, b)| format!("{a}.{b}")),
        1 => (word(), word(), word()).prop_map(|(a, b, c)| format!("{a}{b}{c}")),
        // More matches than the index looks at, and then something else.
        1 => (word(), word()).prop_map(|(many, one)| many.repeat(150) + one),
    ]
}

fn operand() -> impl Strategy<Value = String> {
    let place = prop_oneof![
        4 => prop::sample::select(&TEXTS[..]).prop_map(str::to_owned),
        1 => prop::sample::select(&["x-a", "X-B"][..])
            .prop_map(|name| format!("http.request.header(\"{name}\")")),
    ];
    (place, prop::bool::weighted(0.3)).prop_map(|(place, folded)| match folded {
        true => format!("{place}.lowerAscii()"),
        false => place,
    })
}

fn atom() -> impl Strategy<Value = String> {
    let call = prop::sample::select(&["contains", "startsWith", "endsWith"][..]);
    let host = prop_oneof![
        Just("http.request.host"),
        Just("http.request.host.lowerAscii()")
    ];
    prop_oneof![
        3 => (operand(), word()).prop_map(|(of, word)| format!("{of} == \"{word}\"")),
        2 => (operand(), prop::collection::vec(word(), 1..4)).prop_map(|(of, words)| {
            format!("{of} in [{}]", words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", "))
        }),
        4 => (operand(), call, word()).prop_map(|(of, call, word)| format!("{of}.{call}(\"{word}\")")),
        2 => (host, prop::sample::select(&["a.com", "b.com", "x.a.com"][..]))
            .prop_map(|(host, domain)| format!("{host}.domain(\"{domain}\")")),
        1 => (0..3_i64).prop_map(|n| format!("http.request.port > {n}")),
        1 => Just("has(http.request.body.text)".to_owned()),
    ]
}

fn condition() -> impl Strategy<Value = String> {
    atom().prop_recursive(3, 8, 3, |inner| {
        let several = prop::collection::vec(inner.clone(), 2..4);
        prop_oneof![
            2 => several.clone().prop_map(|all| format!("({})", all.join(" && "))),
            2 => several.prop_map(|all| format!("({})", all.join(" || "))),
            1 => inner.prop_map(|one| format!("!({one})")),
        ]
    })
}

/// A rule of one of a few names.
fn rule() -> impl Strategy<Value = Rule> {
    let actions = Action::ALL.map(|(action, _)| action);
    let actions = actions
        .into_iter()
        .filter(|a| *a != Action::Rewrite)
        .collect::<Vec<_>>();
    (
        (0..40_u32, condition(), prop::bool::ANY),
        (
            prop::sample::select(actions),
            -1..2_i64,
            prop::bool::weighted(0.1),
        ),
        (
            prop::bool::weighted(0.9),
            prop::option::weighted(0.1, 0..4_i64),
            prop::bool::weighted(0.9),
        ),
    )
        .prop_map(
            |((id, when, detects), (action, priority, locked), (enabled, expires, http))| {
                let on = if http {
                    EventType::HttpRequest
                } else {
                    EventType::HttpResponse
                };
                let id = format!("r{id}");
                let mut rule = match detects {
                    true => Rule::detection(&id, on, &when, Severity::Low),
                    false => Rule::enforcement(&id, on, &when, action),
                };
                (rule.priority, rule.locked) = (priority, locked);
                (rule.enabled, rule.expires) = (enabled, expires);
                rule
            },
        )
}

fn event() -> impl Strategy<Value = Record<'static>> {
    let maybe = || prop::option::weighted(0.8, value());
    let headers = prop::collection::vec(
        (prop::sample::select(&["X-a", "x-b", "x-A"][..]), value()),
        0..4,
    );
    (
        (maybe(), maybe(), maybe(), maybe()),
        prop::option::weighted(0.8, 0..4_i64),
        prop::option::weighted(0.8, headers),
        prop::bool::weighted(0.9),
    )
        .prop_map(|((host, method, path, body), port, headers, http)| {
            let mut record = Record::new(match http {
                true => EventType::HttpRequest,
                false => EventType::HttpResponse,
            });
            let request = &mut record.http_request;
            request.host = host.map(Into::into);
            request.method = method.map(Into::into);
            request.path = path.map(Into::into);
            request.body_text = body.map(Into::into);
            request.port = port;
            request.headers = headers
                .map(|all| Headers(all.into_iter().map(|(n, v)| (n.into(), v.into())).collect()));
            record
        })
}

type Answer = (Option<(String, Action, bool)>, Vec<String>, Vec<String>);

/// What the rules say, asked one after the other.
fn one_by_one(rules: &[Arc<Compiled>], subject: &Subject<'_>, now: i64) -> Answer {
    let asked = |rule: &&Arc<Compiled>| {
        let rule = rule.rule();
        rule.enabled && rule.on == subject.event_type && !rule.is_over(now)
    };
    let mut rules: Vec<_> = rules.iter().filter(asked).collect();
    rules.sort_by(|a, b| a.rule().order(b.rule()));
    let (mut decided, mut noted, mut found) = (None, Vec::new(), Vec::new());
    for rule in rules {
        // By the evaluator, so that what is made fast is in question too.
        let outcome = rule.program().evaluate(subject);
        let id = rule.rule().id.clone();
        match (rule.rule().effect.action(), outcome) {
            (None, Ok(true)) => found.push(id),
            (None, _) | (_, Ok(false)) => {}
            (Some(_), _) if decided.is_some() => {}
            (Some(Action::Observe), _) | (Some(Action::Allow), Err(_)) => noted.push(id),
            (Some(action), Ok(true)) => decided = Some((id, action, false)),
            (Some(_), Err(_)) => decided = Some((id, Action::Deny, true)),
        }
    }
    (decided, noted, found)
}

/// What the set says.
fn of_set(set: &RuleSet, subject: &Subject<'_>, now: i64) -> Answer {
    let (mut noted, mut found) = (Vec::new(), Vec::new());
    let decided = set.decide(subject, now, |rule, outcome| {
        assert_ne!(outcome, Outcome::False);
        noted.push(rule.rule().id.clone());
    });
    set.detect(subject, now, |rule| found.push(rule.rule().id.clone()));
    let decided = decided.map(|d| (d.rule.rule().id.clone(), d.action, d.failed));
    (decided, noted, found)
}

fn compiled(rules: Vec<Rule>) -> Vec<Arc<Compiled>> {
    let mut by_name = BTreeMap::new();
    for rule in rules {
        by_name
            .entry(rule.id.clone())
            .or_insert_with(|| Arc::new(Compiled::new(rule).unwrap()));
    }
    by_name.into_values().collect()
}

/// A change to a registry.
#[derive(Clone, Debug)]
enum Change {
    Put(Box<Rule>),
    Remove(u32),
    Enable(u32, bool),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => rule().prop_map(|rule| Change::Put(rule.into())),
        1 => (0..40_u32).prop_map(Change::Remove),
        1 => (0..40_u32, prop::bool::ANY).prop_map(|(id, on)| Change::Enable(id, on)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_index_changes_nothing(
        rules in prop::collection::vec(rule(), 0..60),
        events in prop::collection::vec(event(), 1..12),
        now in 0..4_i64,
    ) {
        let rules = compiled(rules);
        let set = RuleSet::new(rules.clone());
        for event in &events {
            let subject = event.subject();
            prop_assert_eq!(of_set(&set, &subject, now), one_by_one(&rules, &subject, now));
            prop_assert!(set.has(event.event_type()) || of_set(&set, &subject, now).2.is_empty());
        }
    }

    #[test]
    fn a_registry_that_was_changed_is_as_one_that_was_made_so(
        first in prop::collection::vec(rule(), 0..30),
        changes in prop::collection::vec(change(), 1..60),
        events in prop::collection::vec(event(), 1..6),
    ) {
        let first = compiled(first);
        let registry = Registry::new(first.clone());
        let mut expected: BTreeMap<String, Rule> =
            first.iter().map(|c| (c.rule().id.clone(), c.rule().clone())).collect();
        let last = changes.len() - 1;
        for (n, change) in changes.into_iter().enumerate() {
            match change {
                Change::Put(rule) => {
                    let was = registry.put((*rule).clone()).unwrap();
                    prop_assert_eq!(was, expected.insert(rule.id.clone(), *rule).is_some());
                }
                Change::Remove(id) => {
                    let id = format!("r{id}");
                    prop_assert_eq!(registry.remove(&id), expected.remove(&id).is_some());
                }
                Change::Enable(id, on) => {
                    let rule = expected.get_mut(&format!("r{id}"));
                    prop_assert_eq!(registry.enable(&format!("r{id}"), on), rule.is_some());
                    if let Some(rule) = rule {
                        rule.enabled = on;
                    }
                }
            }
            // Now and then, and at the end.
            if n % 8 != 0 && n != last {
                continue;
            }
            let rules: Vec<_> = expected.values().cloned().collect();
            let rules = compiled(rules);
            for event in &events {
                let subject = event.subject();
                let said = of_set(&registry.current(), &subject, 1);
                prop_assert_eq!(said, one_by_one(&rules, &subject, 1));
            }
        }
        let names: Vec<_> = registry.list().into_iter().map(|listed| listed.rule).collect();
        prop_assert_eq!(names, expected.into_values().collect::<Vec<_>>());
    }
}

#[test]
fn a_rule_that_counts_goes_on_counting_where_it_is_replaced() {
    let rule = |when: &str| Rule::enforcement("r", EventType::HttpRequest, when, Action::Deny);
    let registry = Registry::new(Vec::new());
    let record = Record::new(EventType::HttpRequest);
    for when in ["!has(http.request.host)", "!has(http.request.path)"] {
        registry.put(rule(when)).unwrap();
        assert!(
            registry
                .current()
                .decide(&record.subject(), 0, |_, _| {})
                .is_some()
        );
    }
    assert_eq!(registry.list()[0].matched, 2);
    assert!(registry.put(rule("1 +")).is_err());
    assert_eq!(
        registry.get("r").unwrap().rule().when,
        "!has(http.request.path)"
    );
    assert!(matches!(
        registry.list()[0].rule.effect,
        Effect::Enforce { .. }
    ));
}

#[test]
fn what_stands_behind_very_many_matches_is_found() {
    let rule = |word: &str| {
        let when = format!("http.request.body.text.contains(\"{word}\")");
        let rule = Rule::detection(word, EventType::HttpRequest, &when, Severity::Low);
        Arc::new(Compiled::new(rule).unwrap())
    };
    let set = RuleSet::new(["aa", "bb", "cc", "dd", "ee", "ff"].map(rule).to_vec());
    let mut record = Record::new(EventType::HttpRequest);
    record.http_request.body_text = Some(("a".repeat(1000) + "ff").into());
    assert_eq!(of_set(&set, &record.subject(), 0).2, ["aa", "ff"]);
}
