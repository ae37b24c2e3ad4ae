use super::*;
use crate::rule::{Action, Compiled, Rule, Severity};
use bailiwick_event::fields::{EventType, Headers, Record};
use std::sync::Arc;

const ON: EventType = EventType::HttpRequest;

fn rule(id: &str, when: &str, action: Action) -> Rule {
    Rule::enforcement(id, ON, when, action)
}

fn compiled(rule: Rule) -> Arc<Compiled> {
    Arc::new(Compiled::new(rule).unwrap())
}

fn event(host: &str, path: &str) -> Record<'static> {
    let mut record = Record::new(ON);
    record.http_request.host = Some(host.to_owned().into());
    record.http_request.path = Some(path.to_owned().into());
    record.http_request.method = Some("GET".into());
    record
}

fn decided(set: &RuleSet, record: &Record<'_>) -> Option<(String, Action, bool)> {
    let decided = set.decide(&record.subject(), 0, |_, _| {})?;
    Some((
        decided.rule.rule().id.clone(),
        decided.action,
        decided.failed,
    ))
}

#[test]
fn the_first_rule_that_is_true_decides() {
    let host = "http.request.host == 'a.test'";
    let low = rule("b-low", host, Action::Deny);
    let high = Rule {
        priority: 10,
        ..rule("z-high", host, Action::Allow)
    };
    let locked = Rule {
        locked: true,
        priority: -5,
        ..rule("y-locked", "http.request.path == '/locked'", Action::Deny)
    };
    let tie = rule("a-tie", host, Action::Ask);
    let set = RuleSet::new([low, high, locked, tie].map(compiled).to_vec());
    let id = |path| decided(&set, &event("a.test", path)).unwrap().0;
    assert_eq!(id("/"), "z-high");
    assert_eq!(id("/locked"), "y-locked");
    assert_eq!(decided(&set, &event("b.test", "/")), None);
    let order: Vec<_> = set.rules().map(|rule| rule.rule().id.clone()).collect();
    assert_eq!(order, ["y-locked", "z-high", "a-tie", "b-low"]);
}

#[test]
fn a_condition_without_a_value_stops_and_never_allows() {
    let absent = "http.request.body.text.contains('x')";
    for (action, fails) in [
        (Action::Deny, true),
        (Action::Ask, true),
        (Action::Allow, false),
        (Action::Observe, false),
    ] {
        let set = RuleSet::new(vec![compiled(rule("r", absent, action))]);
        let mut noted = 0;
        let record = event("a.test", "/");
        let got = set.decide(&record.subject(), 0, |_, _| noted += 1);
        assert_eq!(
            got.as_ref().map(|d| (d.action, d.failed)),
            fails.then_some((Action::Deny, true))
        );
        assert_eq!(noted, i32::from(!fails), "{action:?}");
        assert_eq!(set.rules().next().unwrap().failed(), 1);
    }
}

#[test]
fn a_missing_field_is_not_unequal_to_anything() {
    // The reference's `!=` on a missing field was true, and an allow rule let everything pass.
    let set = RuleSet::new(vec![compiled(rule(
        "r",
        "http.request.query != 'x'",
        Action::Allow,
    ))]);
    assert_eq!(decided(&set, &event("a.test", "/")), None);
    let set = RuleSet::new(vec![compiled(rule(
        "r",
        "http.request.query != 'x'",
        Action::Deny,
    ))]);
    assert!(decided(&set, &event("a.test", "/")).unwrap().2);
}

#[test]
fn what_observes_is_told_and_the_next_rule_decides() {
    let all = "http.request.method == 'GET'";
    let set = RuleSet::new(vec![
        compiled(Rule {
            priority: 1,
            ..rule("seen", all, Action::Observe)
        }),
        compiled(rule("stop", all, Action::Deny)),
    ]);
    let mut noted = Vec::new();
    let record = event("a.test", "/");
    let got = set.decide(&record.subject(), 0, |rule, _| {
        noted.push(rule.rule().id.clone())
    });
    assert_eq!(
        (got.unwrap().rule.rule().id.as_str(), noted),
        ("stop", vec!["seen".to_owned()])
    );
}

#[test]
fn an_expired_or_disabled_rule_is_not_asked() {
    let over = Rule {
        expires: Some(100),
        ..rule("r", "true", Action::Deny)
    };
    let set = RuleSet::new(vec![compiled(over.clone())]);
    let record = event("a.test", "/");
    assert!(set.decide(&record.subject(), 99, |_, _| {}).is_some());
    assert!(set.decide(&record.subject(), 100, |_, _| {}).is_none());
    let disabled = Rule {
        enabled: false,
        ..over
    };
    let set = RuleSet::new(vec![compiled(disabled)]);
    assert!(!set.has(ON));
}

#[test]
fn every_detection_that_is_true_is_a_finding() {
    let detection = |id, when| compiled(Rule::detection(id, ON, when, Severity::High));
    let set = RuleSet::new(vec![
        detection("host", "http.request.host.endsWith('.test')"),
        detection("path", "http.request.path == '/x'"),
        detection("absent", "http.request.body.text == 'x'"),
    ]);
    let mut record = event("a.test", "/x");
    record.http_request.headers = Some(Headers(vec![("Authorization".into(), "Bearer 1".into())]));
    let all = |record: &Record<'_>| -> Vec<Finding> {
        let found = set.findings(&record.subject(), 0);
        found.iter().map(Match::finding).collect()
    };
    let findings = all(&record);
    let rules: Vec<_> = findings.iter().map(|f| &*f.rule).collect();
    assert_eq!(rules, ["host", "path"]);
    assert_eq!(findings[0].fields[0].field, "http.request.host");
    assert_eq!(findings[0].fields[0].value, "a.test");
    assert_eq!(findings, all(&record));
    let other = all(&event("b.test", "/x"));
    assert_ne!(findings[0].signature, other[0].signature);
    assert_eq!(findings[1].signature, other[1].signature);
}

#[test]
fn a_finding_tells_no_credential() {
    let when = "http.request.header('authorization').contains('Bearer') || http.request.body.text.contains('AKIA')";
    let set = RuleSet::new(vec![compiled(Rule::detection(
        "r",
        ON,
        when,
        Severity::High,
    ))]);
    let mut record = event("a.test", "/");
    record.http_request.headers = Some(Headers(vec![(
        "authorization".into(),
        "Bearer hunter2".into(),
    )]));
    record.http_request.body_text = Some("id=AKIAIOSFODNN7EXAMPLE&x".into());
    let finding = set.findings(&record.subject(), 0)[0].finding();
    let shown = serde_json::to_string(&finding).unwrap();
    assert!(
        !shown.contains("hunter2") && !shown.contains("AKIAIOS"),
        "{shown}"
    );
    assert!(shown.contains("aws-access-key"), "{shown}");
}

#[test]
fn a_rule_that_does_not_compile_leaves_the_old_one_in_force() {
    let registry = Registry::default();
    assert_eq!(
        registry.put(rule("r", "http.request.host == 'a.test'", Action::Deny)),
        Ok(false)
    );
    let record = event("a.test", "/");
    assert!(decided(&registry.current(), &record).is_some());
    let error = registry
        .put(rule("r", "http.request.hots == 'a.test'", Action::Deny))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("did you mean `http.request.host`?"),
        "{error}"
    );
    assert!(decided(&registry.current(), &record).is_some());
    // Counts go on over versions, and a reader keeps the set that it took.
    let before = Arc::clone(&registry.current());
    assert_eq!(
        registry.put(rule("r", "http.request.host == 'b.test'", Action::Deny)),
        Ok(true)
    );
    assert!(decided(&registry.current(), &record).is_none());
    assert!(decided(&before, &record).is_some());
    assert_eq!(registry.list()[0].matched, 3);
    assert!(registry.enable("r", false));
    assert!(decided(&registry.current(), &event("b.test", "/")).is_none());
    assert!(registry.enable("r", true));
    assert!(decided(&registry.current(), &event("b.test", "/")).is_some());
    assert!(registry.remove("r") && !registry.remove("r"));
    assert!(!registry.current().has(ON));
}

#[test]
fn many_updates_leave_the_last_version_of_each_rule() {
    let registry = Registry::default();
    for round in 0..20 {
        for n in 0..40 {
            let when =
                format!("http.request.host == 'h{n}.test' && http.request.path == '/{round}'");
            registry
                .put(rule(&format!("r{n}"), &when, Action::Deny))
                .unwrap();
        }
    }
    let set = registry.current();
    for n in 0..40 {
        let id = format!("r{n}");
        let host = format!("h{n}.test");
        assert_eq!(decided(&set, &event(&host, "/19")).unwrap().0, id);
        assert_eq!(decided(&set, &event(&host, "/18")), None);
    }
}

#[test]
fn thousands_of_rules_are_found_by_whatever_they_ask_for() {
    let conditions = |n: usize| match n % 6 {
        0 => format!("http.request.host == 'h{n}.test'"),
        1 => format!("http.request.host.domain('d{n}.test')"),
        2 => format!("http.request.path.contains('/p{n}/')"),
        3 => format!("http.request.header('x-n').lowerAscii() == 'n{n}'"),
        4 => format!("http.request.host in ['i{n}.test', 'j{n}.test']"),
        _ => format!(
            "http.request.path.lowerAscii().startsWith('/q{n}/') || http.request.path == '/r{n}'"
        ),
    };
    let rules =
        (0..3000).map(|n| compiled(rule(&format!("r{n:04}"), &conditions(n), Action::Deny)));
    let set = RuleSet::new(rules.collect());
    let by_header = |value: String| {
        let mut record = event("none.test", "/");
        record.http_request.headers = Some(Headers(vec![("X-N".into(), value.into())]));
        record
    };
    let with_header = |record: Record<'static>| {
        let headers = Headers(vec![("x-n".into(), "none".into())]);
        let mut record = record;
        record.http_request.headers = Some(headers);
        record
    };
    for n in (0..3000).step_by(7) {
        let record = match n % 6 {
            0 => with_header(event(&format!("h{n}.test"), "/")),
            1 => with_header(event(&format!("A.b.D{n}.test"), "/")),
            2 => with_header(event("none.test", &format!("/x/p{n}/y"))),
            3 => by_header(format!("N{n}")),
            4 => with_header(event(&format!("j{n}.test"), "/")),
            _ => with_header(event("none.test", &format!("/Q{n}/x"))),
        };
        let got = decided(&set, &record).map(|d| d.0);
        assert_eq!(got, Some(format!("r{n:04}")), "{record:?}");
    }
    assert_eq!(decided(&set, &with_header(event("none.test", "/"))), None);
}

#[test]
fn a_long_value_is_cut_where_it_is_shown_and_whole_in_the_signature() {
    let set = RuleSet::new(vec![compiled(Rule::detection(
        "r",
        ON,
        "http.request.path.startsWith('/')",
        Severity::Low,
    ))]);
    let long = |end: &str| {
        let record = event("a.test", &format!("/{}{end}", "é".repeat(3000)));
        set.findings(&record.subject(), 0)[0].finding()
    };
    let (a, b) = (long("a"), long("b"));
    assert_eq!(a.fields, b.fields);
    assert!(a.fields[0].value.ends_with('…') && a.fields[0].value.chars().count() == 201);
    assert_ne!(a.signature, b.signature);
}

#[test]
fn an_edit_comes_into_force_at_once_and_whole() {
    let registry = Registry::default();
    let mut edit = registry.edit();
    for n in 0..30 {
        edit.put(rule(
            &format!("r{n}"),
            &format!("http.request.path == '/{n}'"),
            Action::Deny,
        ))
        .unwrap();
    }
    assert!(!registry.current().has(ON));
    edit.finish();
    assert_eq!(
        decided(&registry.current(), &event("a.test", "/29"))
            .unwrap()
            .0,
        "r29"
    );
    let mut edit = registry.edit();
    assert!(edit.remove("r29"));
    assert!(
        edit.put(rule("r1", "http.request.hots == ''", Action::Deny))
            .is_err()
    );
    // What is not finished never was.
    drop(edit);
    assert_eq!(registry.list().len(), 30);
    assert!(decided(&registry.current(), &event("a.test", "/29")).is_some());
}
