use super::*;
use crate::testing::{connect, effective};
use bailiwick_event::fields::EventType;
use bailiwick_event::{Scheme, Verdict, Via};
use bailiwick_ledger::{Ledger, NewSession, StateDir};
use bailiwick_policy::{NetworkPolicy, Sourced};
use std::sync::Mutex;

/// A session in which requests and connections are asked about.
fn guard(change: impl FnOnce(&mut bailiwick_policy::Effective)) -> (Arc<Guard>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::at(folder.path()).unwrap();
    let mut network = NetworkPolicy::default();
    network.allow.push(Sourced {
        value: "a.test:*".parse().unwrap(),
        origin: bailiwick_event::Origin::new("p.toml", 1, 1),
    });
    let mut policy = effective(network);
    for (id, on) in [("r", EventType::HttpRequest), ("s", EventType::Socket)] {
        let rule = Rule::enforcement(id, on, "true", Action::Ask);
        policy.rules.push(Rule {
            priority: 3,
            ..rule
        });
    }
    change(&mut policy);
    let new = NewSession {
        name: None,
        workspace: &policy.workspace,
        argv: &["true".into()],
    };
    let ledger = Ledger::create(&state, &new).unwrap();
    (Guard::new(Arc::new(policy), ledger, None), folder)
}

fn request(path: &str) -> Act {
    Act::Http {
        method: "GET".into(),
        host: "a.test".into(),
        connected: "a.test".into(),
        port: 443,
        path: path.into(),
        via: Via::Proxy,
        scheme: Scheme::Https,
    }
}

/// What comes of an act where the person gives this answer.
fn asked(guard: &Arc<Guard>, act: &Act) -> Decision {
    let submitted = guard.submit_asking(act.clone());
    if submitted.decision.verdict != Verdict::Ask {
        return submitted.decision;
    }
    let told = Arc::new(Mutex::new(None));
    let tell = Arc::clone(&told);
    guard.ask(
        act,
        &submitted,
        Box::new(move |decision| *tell.lock().unwrap() = Some(decision)),
    );
    let decision = told.lock().unwrap().take();
    decision.unwrap()
}

fn answers(guard: &Guard, answer: Answer) {
    guard.on_ask(Box::new(move |_, tell| tell(answer)));
}

#[test]
fn always_holds_for_the_same_request_whatever_its_query_and_for_no_other() {
    let (guard, _folder) = guard(|_| {});
    answers(&guard, Answer::Always);
    assert_eq!(asked(&guard, &request("/x?a=1")).rule.id, "ask.answer");
    let again = asked(&guard, &request("/x?b=2"));
    assert!(again.rule.id.starts_with("allowed-"), "{again:?}");
    assert_eq!(asked(&guard, &request("/x/y")).rule.id, "ask.answer");
    let act = connect("a.test", 443);
    assert_eq!(asked(&guard, &act).rule.id, "ask.answer");
    assert!(asked(&guard, &act).rule.id.starts_with("allowed-"));
    assert_eq!(asked(&guard, &connect("a.test", 444)).rule.id, "ask.answer");
}

#[test]
fn what_a_rule_cannot_say_and_what_the_system_asks_is_not_allowed_for_good() {
    let seen = |guard: &Guard| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        guard.on_ask(Box::new(move |question, tell| {
            log.lock().unwrap().push(question.always.is_some());
            tell(Answer::Once);
        }));
        seen
    };
    let (mine, _folder) = guard(|_| {});
    let log = seen(&mine);
    for path in ["/plain", "/quo'te", "/line\nend", "/back\\slash"] {
        assert!(asked(&mine, &request(path)).is_allow());
    }
    assert_eq!(*log.lock().unwrap(), [true, false, false, false]);
    let (systems, _folder) = guard(|policy| policy.rules[0].locked = true);
    let log = seen(&systems);
    asked(&systems, &request("/plain"));
    assert_eq!(*log.lock().unwrap(), [false]);
}

#[test]
fn who_is_asked_sees_the_machine_that_is_reached_and_allows_no_other_for_good() {
    let (guard, _folder) = guard(|policy| {
        policy.network.allow.push(Sourced {
            value: "evil.test:*".parse().unwrap(),
            origin: bailiwick_event::Origin::new("p.toml", 2, 1),
        });
    });
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    guard.on_ask(Box::new(move |question, tell| {
        log.lock()
            .unwrap()
            .push((question.about, question.always.is_some()));
        tell(Answer::Deny);
    }));
    let mut act = request("/x");
    if let Act::Http {
        connected, method, ..
    } = &mut act
    {
        *connected = "evil.test".into();
        *method = "A".repeat(700).into();
    }
    asked(&guard, &act);
    let seen = seen.lock().unwrap();
    let (about, always) = &seen[0];
    assert!(
        about.starts_with("on a connection to evil.test:"),
        "{about}"
    );
    assert!(about.len() < 120 && !always, "{about}");
}

#[test]
fn what_is_allowed_for_good_overtakes_no_rule_that_refuses() {
    let denies = |id: &str, priority| {
        let when = r#"http.request.query == "bad""#;
        let when = format!("has(http.request.query) && {when}");
        Rule {
            priority,
            ..Rule::enforcement(id, EventType::HttpRequest, &when, Action::Deny)
        }
    };
    for (id, priority, offered) in [
        // Both are asked before the one that asks; "allowed-…" is behind the first by its name.
        ("aa", 3, true),
        ("higher", 4, true),
        // It would be before this one.
        ("b-denies", 3, false),
        ("behind", 2, true),
    ] {
        let (guard, _folder) = guard(|policy| policy.rules.push(denies(id, priority)));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        guard.on_ask(Box::new(move |question, tell| {
            log.lock().unwrap().push(question.always.is_some());
            tell(Answer::Always);
        }));
        assert!(asked(&guard, &request("/x")).is_allow(), "{id}");
        assert_eq!(*seen.lock().unwrap(), [offered], "{id}");
        let before = priority >= 3;
        let decision = asked(&guard, &request("/x?bad"));
        assert_eq!(!decision.is_allow(), before, "{id}: {decision:?}");
    }
}

#[test]
fn nobody_and_no_answer_are_the_policys_to_decide() {
    let (strict, _folder) = guard(|_| {});
    let decision = asked(&strict, &request("/"));
    assert!(
        !decision.is_allow() && decision.rule.id == "ask.default",
        "{decision:?}"
    );
    let allow = |policy: &mut bailiwick_policy::Effective| {
        policy.ask.default = Some(Sourced {
            value: Beyond::Allow,
            origin: bailiwick_event::Origin::built_in(),
        });
    };
    for answer in [Answer::Nobody, Answer::Timeout] {
        let (lenient, _folder) = guard(allow);
        answers(&lenient, answer);
        assert!(asked(&lenient, &request("/")).is_allow());
    }
    let (lenient, _folder) = guard(allow);
    answers(&lenient, Answer::Deny);
    assert!(!asked(&lenient, &request("/")).is_allow());
}
