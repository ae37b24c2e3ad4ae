use crate::Guard;
use crate::testing::{connect, effective};
use bailiwick_event::fields::{EventType, Exchange, Headers};
use bailiwick_event::{Act, Decision, Event, Origin, Verdict, Via};
use bailiwick_ledger::{Filter, Ledger, NewSession, SessionReader, StateDir};
use bailiwick_policy::{NetworkPolicy, Sourced};
use bailiwick_rules::{Action, Effect, Part, Rewrite, Rule, Severity};
use std::sync::Arc;

struct Place {
    guard: Arc<Guard>,
    state: StateDir,
    _folder: tempfile::TempDir,
}

/// A session whose policy allows `a.test` and has these rules.
fn place(rules: Vec<Rule>) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::at(folder.path()).unwrap();
    let mut network = NetworkPolicy::default();
    network.allow.push(Sourced {
        value: "a.test:*".parse().unwrap(),
        origin: Origin::new("p.toml", 1, 1),
    });
    let mut policy = effective(network);
    policy.rules = rules;
    let new = NewSession {
        name: None,
        workspace: &policy.workspace,
        argv: &["true".into()],
    };
    let ledger = Ledger::create(&state, &new).unwrap();
    Place {
        guard: Guard::new(Arc::new(policy), ledger, None),
        state,
        _folder: folder,
    }
}

impl Place {
    fn rows(&self) -> Vec<Event> {
        let reader = SessionReader::open(&self.state, self.guard.ledger().id()).unwrap();
        reader.events(&Filter::default()).unwrap()
    }
}

fn request(host: &str, path: &str) -> Act {
    Act::Http {
        method: "GET".into(),
        host: host.into(),
        connected: host.into(),
        port: 80,
        path: path.into(),
        via: Via::Proxy,
        scheme: bailiwick_event::Scheme::Http,
    }
}

fn exchange(headers: Headers<'_>) -> Exchange<'_> {
    let mut exchange = Exchange::default();
    exchange.request.headers = Some(headers);
    exchange
}

fn deny(id: &str, when: &str) -> Rule {
    let mut rule = Rule::enforcement(id, EventType::HttpRequest, when, Action::Deny);
    rule.origin = Origin::new("p.toml", 7, 6);
    rule.reason = "because".into();
    rule.pack = Some("team".into());
    if let Effect::Enforce { remedy, .. } = &mut rule.effect {
        *remedy = "ask the team".into();
    }
    rule
}

fn of(decision: &Decision) -> (Verdict, &str) {
    (decision.verdict, &decision.rule.id)
}

#[test]
fn a_rule_takes_away_from_what_the_policy_allows() {
    let place = place(vec![deny(
        "no-admin",
        "http.request.path.startsWith('/admin')",
    )]);
    let decision = place.guard.submit(request("a.test", "/admin/x?y"));
    assert_eq!(of(&decision), (Verdict::Deny, "no-admin"));
    assert_eq!(decision.rule.origin.to_string(), "p.toml:7:6");
    assert_eq!(
        (&*decision.reason, &*decision.remedy),
        ("because", "ask the team")
    );
    assert_eq!(decision.pack.as_deref(), Some("team"));
    assert_eq!(decision.matched[0].field, "http.request.path");
    assert_eq!(decision.matched[0].value, "/admin/x");
    assert!(place.guard.submit(request("a.test", "/")).is_allow());
    let rows = place.rows();
    let kept = rows.iter().find(|row| row.is_refusal()).unwrap();
    assert_eq!(kept.decision, decision);
}

#[test]
fn a_rule_that_allows_gives_nothing_that_the_policy_does_not() {
    let mut allow = deny("allow-all", "true");
    if let Effect::Enforce { action, .. } = &mut allow.effect {
        *action = Action::Allow;
    }
    allow.priority = 1;
    let place = place(vec![allow, deny("later", "true")]);
    let decision = place.guard.submit(request("b.test", "/"));
    assert_eq!(decision.verdict, Verdict::Deny);
    assert!(decision.rule.id.starts_with("network."), "{decision:?}");
    // But it keeps rules after it from refusing.
    let decision = place.guard.submit(request("a.test", "/"));
    assert_eq!(of(&decision), (Verdict::Allow, "allow-all"));
}

#[test]
fn a_condition_without_a_value_refuses_and_says_what_is_missing() {
    let place = place(vec![deny("body", "http.request.body.text.contains('x')")]);
    let decision = place.guard.submit(request("a.test", "/"));
    assert_eq!(of(&decision), (Verdict::Deny, "body"));
    assert!(
        decision
            .reason
            .contains("the event has no `http.request.body.text`"),
        "{decision:?}"
    );
    assert!(decision.remedy.contains("has(…)"), "{decision:?}");
}

#[test]
fn headers_are_known_where_the_boundary_sees_them_and_not_recorded() {
    let place = place(vec![deny("key", "http.request.header('x-key').exists()")]);
    let headers = |name: &'static str| Headers(vec![(name.into(), "sekret".into())]);
    let with = place.guard.submit_request(
        request("a.test", "/"),
        exchange(headers("X-Key")),
        Part::Whole,
        None,
    );
    assert_eq!(of(&with.decision), (Verdict::Deny, "key"));
    let without = place.guard.submit_request(
        request("a.test", "/"),
        exchange(headers("X-Other")),
        Part::Whole,
        None,
    );
    assert!(without.decision.is_allow());
    // Where none was seen it is not known that there was none.
    assert!(!place.guard.submit(request("a.test", "/")).is_allow());
    let rows = place.rows();
    assert_eq!(rows.len(), 3);
    assert!(!format!("{rows:?}").contains("sekret"), "{rows:?}");
    assert_eq!(rows[0].decision.matched[0].value, "X-Key: (6 bytes)");
}

#[test]
fn a_request_is_rewritten_once_and_decided_again() {
    let rewrite = |id: &str, when: &str, rewrites| {
        let effect = Effect::Enforce {
            action: Action::Rewrite,
            remedy: String::new(),
            rewrites,
        };
        Rule::new(id, EventType::HttpRequest, when, effect)
    };
    let strip = rewrite(
        "strip",
        "http.request.path == '/x'",
        vec![Rewrite::StripHeader("cookie".into())],
    );
    let place = place(vec![strip]);
    let headers = || Headers(Vec::new());
    let first = place.guard.submit_request(
        request("a.test", "/x"),
        exchange(headers()),
        Part::Whole,
        None,
    );
    assert_eq!(of(&first.decision), (Verdict::Rewrite, "strip"));
    assert_eq!(first.rewrites.len(), 1);
    let again = place.guard.submit_request(
        request("a.test", "/x"),
        exchange(headers()),
        Part::Whole,
        Some("strip"),
    );
    assert!(again.decision.is_allow() && again.rewrites.is_empty());
    // A boundary that cannot change anything refuses.
    let decision = place.guard.submit(request("a.test", "/x"));
    assert_eq!(decision.verdict, Verdict::Deny);
    assert!(
        decision.reason.contains("cannot be changed here"),
        "{decision:?}"
    );
}

#[test]
fn a_rule_that_asks_refuses_where_nobody_can_be_asked() {
    let mut ask = deny("ask", "true");
    if let Effect::Enforce { action, .. } = &mut ask.effect {
        *action = Action::Ask;
    }
    let place = place(vec![ask]);
    let decision = place.guard.submit(request("a.test", "/"));
    assert_eq!(of(&decision), (Verdict::Deny, "ask"));
    assert!(decision.reason.contains("nobody to ask"), "{decision:?}");
}

#[test]
fn a_detection_is_a_row_of_its_own_for_refused_events_too() {
    let mut detection = Rule::detection(
        "seen",
        EventType::Socket,
        "socket.port == 4444",
        Severity::High,
    );
    detection.reason = "a port of shells".into();
    let place = place(vec![detection]);
    assert!(place.guard.submit(connect("a.test", 4444)).is_allow());
    assert!(!place.guard.submit(connect("b.test", 4444)).is_allow());
    assert!(place.guard.submit(connect("a.test", 80)).is_allow());
    let rows = place.rows();
    let findings: Vec<_> = rows
        .iter()
        .filter(|row| matches!(row.act, Act::Finding { .. }))
        .collect();
    assert_eq!(findings.len(), 2);
    let finding = findings[0];
    assert_eq!(finding.boundary().name(), "socket");
    assert_eq!(finding.act.resource(), "high finding: a.test:4444");
    assert_eq!(
        (&*finding.decision.rule.id, &*finding.decision.reason),
        ("seen", "a port of shells")
    );
    assert_eq!(finding.decision.matched[0].value, "4444");
}

#[test]
fn a_rule_that_observes_and_fails_again_and_again_is_told_once() {
    let observe = Rule::enforcement(
        "see",
        EventType::HttpRequest,
        "http.request.body.text == 'x'",
        Action::Observe,
    );
    let place = place(vec![observe]);
    for _ in 0..5 {
        assert!(place.guard.submit(request("a.test", "/")).is_allow());
    }
    let failed = place.guard.rules().list()[0].failed;
    let rows = place.rows();
    let findings = rows
        .iter()
        .filter(|row| matches!(row.act, Act::Finding { .. }))
        .count();
    assert_eq!((findings, failed), (1, 5));
}

#[test]
fn a_rule_that_does_not_compile_refuses_everything_that_it_is_about() {
    let place = place(vec![deny("broken", "no.such.field == 1")]);
    let decision = place.guard.submit(request("a.test", "/"));
    assert_eq!(of(&decision), (Verdict::Deny, "broken"));
    assert!(
        decision.reason.contains("cannot be enforced"),
        "{decision:?}"
    );
}

#[test]
fn a_request_is_asked_about_as_the_machine_that_it_goes_to_too() {
    let mut both = deny("no-b", "http.request.host == 'b.test'");
    both.priority = 1;
    let place = place(vec![both]);
    let fronted = |host: &str, connected: &str| Act::Http {
        method: "GET".into(),
        host: host.into(),
        connected: connected.into(),
        port: 80,
        path: "/".into(),
        via: Via::Proxy,
        scheme: bailiwick_event::Scheme::Http,
    };
    // Only what the rules say matters here: the policy allows `a.test` alone.
    let rules = &place.guard;
    assert!(rules.submit(fronted("a.test", "a.test")).is_allow());
    let judged = rules.judge_for_test(&fronted("a.test", "b.test"));
    assert_eq!(of(&judged), (Verdict::Deny, "no-b"));
    let judged = rules.judge_for_test(&fronted("b.test", "a.test"));
    assert_eq!(of(&judged), (Verdict::Deny, "no-b"));
}

#[test]
fn of_two_machines_the_stricter_answer_counts() {
    let rule = |id: &str, action: Action, when: &str| {
        let mut rule = Rule::enforcement(id, EventType::HttpRequest, when, action);
        if action == Action::Rewrite {
            rule.effect = Effect::Enforce {
                action,
                remedy: String::new(),
                rewrites: vec![Rewrite::StripHeader("cookie".into())],
            };
        }
        rule
    };
    let (a, b) = (
        "http.request.host == 'a.test'",
        "http.request.host == 'b.test'",
    );
    let ask = rule("ask-b", Action::Ask, b);
    let change = rule("change-a", Action::Rewrite, a);
    let change_b = rule("change-b", Action::Rewrite, b);
    let both = rule(
        "change",
        Action::Rewrite,
        "http.request.host.endsWith('.test')",
    );
    for (rules, verdict) in [
        (vec![ask.clone()], Verdict::Ask),
        (vec![change.clone()], Verdict::Rewrite),
        (vec![both], Verdict::Rewrite),
        (vec![ask, change.clone()], Verdict::Deny),
        (vec![change, change_b], Verdict::Deny),
    ] {
        let ids: Vec<_> = rules.iter().map(|rule| rule.id.clone()).collect();
        let place = place(rules);
        for (host, connected) in [("a.test", "b.test"), ("b.test", "a.test")] {
            let mut act = request(host, "/");
            if let Act::Http { connected: to, .. } = &mut act {
                *to = connected.into();
            }
            let judged = place.guard.judge_for_test(&act);
            assert_eq!(judged.verdict, verdict, "{ids:?}: {host} on {connected}");
            assert!(ids.contains(&judged.rule.id), "{judged:?}");
        }
    }
}

#[test]
fn a_changed_request_is_asked_about_by_all_other_rules() {
    let rewrite = |id: &str| {
        let effect = Effect::Enforce {
            action: Action::Rewrite,
            remedy: String::new(),
            rewrites: vec![Rewrite::StripHeader("cookie".into())],
        };
        Rule::new(
            id,
            EventType::HttpRequest,
            "http.request.host == 'a.test'",
            effect,
        )
    };
    let place = place(vec![
        rewrite("a-strip"),
        deny("no-x", "http.request.path == '/x'"),
    ]);
    let again = |path: &str| {
        let act = request("a.test", path);
        place
            .guard
            .submit_request(
                act,
                exchange(Headers(Vec::new())),
                Part::Whole,
                Some("a-strip"),
            )
            .decision
    };
    assert_eq!(of(&again("/x")), (Verdict::Deny, "no-x"));
    assert!(again("/y").is_allow());
    let place = self::place(vec![rewrite("a-strip"), rewrite("b-strip")]);
    let act = request("a.test", "/");
    let second = place
        .guard
        .submit_request(
            act,
            exchange(Headers(Vec::new())),
            Part::Whole,
            Some("a-strip"),
        )
        .decision;
    assert_eq!(of(&second), (Verdict::Deny, "b-strip"));
    assert!(second.reason.contains("at most once"), "{second:?}");
}

#[test]
fn many_findings_of_one_event_are_a_row_of_their_own() {
    let detection = |n: usize| {
        Rule::detection(
            &format!("d{n}"),
            EventType::Socket,
            "socket.port > 0",
            Severity::Low,
        )
    };
    let place = place((0..120).map(detection).collect());
    assert!(place.guard.submit(connect("a.test", 80)).is_allow());
    let rows = place.rows();
    assert_eq!(rows.len(), 52);
    assert!(
        rows[51].act.resource().contains("70 more detections"),
        "{:?}",
        rows[51]
    );
}

#[test]
fn why_a_condition_failed_quotes_no_value() {
    let place = place(vec![deny(
        "int",
        "int(http.request.header('authorization')) > 0",
    )]);
    let headers = Headers(vec![("authorization".into(), "Bearer s3cr3t".into())]);
    let submitted =
        place
            .guard
            .submit_request(request("a.test", "/"), exchange(headers), Part::Whole, None);
    assert_eq!(of(&submitted.decision), (Verdict::Deny, "int"));
    assert!(!format!("{:?}", place.rows()).contains("s3cr3t"));
    for when in [
        "{'a': true}[http.request.header('authorization')]",
        "[1][size(http.request.header('authorization'))] == 1",
        "http.request.header('authorization') + http.request.port == ''",
        "duration(http.request.header('authorization')) > duration('1s')",
        "{http.request.header('authorization'): 1, http.request.header('authorization'): 2} == {}",
        "'a'.matches(http.request.header('authorization') + '(')",
        "has({'a': 1}[http.request.header('authorization')].b)",
    ] {
        let place = self::place(vec![deny("no", when)]);
        let headers = Headers(vec![("authorization".into(), "Bearer s3cr3t".into())]);
        let submitted = place.guard.submit_request(
            request("a.test", "/"),
            exchange(headers),
            Part::Whole,
            None,
        );
        assert_eq!(submitted.decision.verdict, Verdict::Deny, "{when}");
        assert!(!format!("{:?}", place.rows()).contains("s3cr3t"), "{when}");
    }
}

/// A condition that goes over each pair of a list's elements.
const PAIRS: &str = "has(process.exec.argv) && process.exec.argv.all(x, process.exec.argv.exists(y, y == x && y != 'none'))";

fn long_command() -> Act {
    let argv = (0..600).map(|n: u32| n.to_string().into()).collect();
    Act::ExecStart {
        argv,
        cwd: "/w".into(),
    }
}

#[test]
fn an_event_that_all_rules_together_cannot_be_asked_about_is_refused() {
    let rule = |n: usize, action| {
        let id = format!("r{n:03}");
        Rule::enforcement(&id, EventType::ProcessExec, PAIRS, action)
    };
    let mut rules: Vec<_> = (0..100).map(|n| rule(n, Action::Observe)).collect();
    rules.push(rule(100, Action::Deny));
    let place = place(rules);
    let refused = place.guard.submit(long_command());
    assert_eq!(of(&refused), (Verdict::Deny, "r100"));
    assert!(refused.reason.contains("steps"), "{refused:?}");
    let rows = place.rows();
    assert_eq!(
        rows.len(),
        52,
        "the command, fifty rules, and what they do not tell"
    );
    let told = rows[51].act.resource();
    assert!(
        told.contains("50 more rules observe, or have no value"),
        "{told}"
    );
}

#[test]
fn detections_that_could_not_be_asked_are_told() {
    let detection = |n: usize| {
        let id = format!("d{n:03}");
        Rule::detection(&id, EventType::ProcessExec, PAIRS, Severity::Low)
    };
    let place = place((0..100).map(detection).collect());
    assert!(place.guard.submit(long_command()).is_allow());
    let told = place
        .rows()
        .into_iter()
        .filter(|row| row.decision.rule.id == "rules.steps");
    let told: Vec<_> = told.map(|row| row.act.resource()).collect();
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("takes more steps than it has"), "{told:?}");
}

#[test]
fn what_needs_to_be_seen_inside_is_looked_into_and_nothing_else() {
    let host = |name: &str| bailiwick_event::Host::parse(name).unwrap();
    let inspects =
        |place: &Place, to: &str, port: u16| place.guard.inspects(&host(to), port, false);
    let none = place(Vec::new());
    assert!(!inspects(&none, "a.test", 443));
    let about = deny(
        "a",
        r#"http.request.host == "a.test" && http.request.method == "POST""#,
    );
    let some = place(vec![about]);
    assert!(inspects(&some, "a.test", 443));
    assert!(!inspects(&some, "b.test", 443));
    let all = place(vec![deny("b", r#"http.request.path.startsWith("/admin")"#)]);
    assert!(inspects(&all, "b.test", 8443));
    let calls = Rule::enforcement("m", EventType::ModelRequest, "true", Action::Deny);
    let models = place(vec![calls]);
    assert!(!inspects(&models, "a.test", 443));
    assert!(models.guard.inspects(&host("a.test"), 443, true));
    let clear = place(vec![deny("c", r#"http.request.scheme == "http""#)]);
    assert!(!inspects(&clear, "b.test", 443));
}

#[test]
fn an_entry_says_what_is_looked_into_before_any_rule_does() {
    use bailiwick_policy::{Inspect, InspectRule};
    let host = |name: &str| bailiwick_event::Host::parse(name).unwrap();
    let with = |entries: &[(&str, Inspect)], rules: Vec<Rule>| {
        let mut policy = effective(crate::testing::with_http(
            NetworkPolicy::default(),
            "http.test:443",
            &["GET"],
            &[],
        ));
        policy.rules = rules;
        policy.network.inspect = entries
            .iter()
            .map(|(host, inspect)| Sourced {
                value: InspectRule {
                    host: host.parse().unwrap(),
                    inspect: *inspect,
                },
                origin: Origin::new("p.toml", 1, 1),
            })
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::at(folder.path()).unwrap();
        let new = NewSession {
            name: None,
            workspace: &policy.workspace,
            argv: &["true".into()],
        };
        let ledger = Ledger::create(&state, &new).unwrap();
        (Guard::new(Arc::new(policy), ledger, None), folder)
    };
    let inspects = |guard: &Guard, name: &str| guard.inspects(&host(name), 443, false);
    let (guard, _folder) = with(&[], Vec::new());
    assert!(inspects(&guard, "http.test") && !inspects(&guard, "a.test"));
    let never = [("*:*", Inspect::Never)];
    let (guard, _folder) = with(&never, vec![deny("a", "true")]);
    assert!(!inspects(&guard, "http.test") && !inspects(&guard, "a.test"));
    let mixed = [("*", Inspect::Always), ("a.test", Inspect::Never)];
    let (guard, _folder) = with(&mixed, vec![deny("a", "true")]);
    assert!(inspects(&guard, "http.test") && inspects(&guard, "b.test"));
    assert!(!inspects(&guard, "a.test"));
}

#[test]
fn a_rule_that_comes_where_nobody_trusts_the_authority_does_not_break_what_works() {
    let host = bailiwick_event::Host::parse("a.test").unwrap();
    let place = place(Vec::new());
    let mut edit = place.guard.rules().edit();
    edit.put(deny("late", "true")).unwrap();
    edit.finish();
    assert!(!place.guard.inspects(&host, 443, false));
}
