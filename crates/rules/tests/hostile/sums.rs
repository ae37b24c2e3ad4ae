//! What is bounded alone, many times over: rules for one event, and rules of one file.

use crate::{MILLION, guarded, letters, with_body, with_words};
use bailiwick_event::fields::{EventType, Headers, Record};
use bailiwick_rules::pack::Pack;
use bailiwick_rules::{Action, Compiled, Rewrite, RewriteTarget, Rule, RuleSet, Severity};
use std::sync::Arc;

fn set(rules: impl IntoIterator<Item = Rule>) -> RuleSet {
    let compiled = |rule| Arc::new(Compiled::new(rule).unwrap_or_else(|e| panic!("{e}")));
    RuleSet::new(rules.into_iter().map(compiled).collect())
}

const ON: EventType = EventType::ProcessExec;
const NESTED: &str = "process.exec.argv.all(x, process.exec.argv.exists(y, y != x))";

#[test]
fn a_thousand_detections_take_no_more_steps_than_an_event_has() {
    guarded(|| {
        let event = with_words(2_000);
        let subject = event.subject();
        let mut rules: Vec<_> = (0..1_000)
            .map(|n| Rule::detection(&format!("nested-{n:04}"), ON, NESTED, Severity::Low))
            .collect();
        let mut quick = Rule::detection("quick", ON, "'7' in process.exec.argv", Severity::Low);
        quick.priority = 1;
        rules.push(quick);
        let set = set(rules);
        let mut found = Vec::new();
        let unasked = set.detect(&subject, 0, |rule| found.push(rule.rule().id.clone()));
        assert!(unasked.is_some(), "not all of them could be asked");
        assert!(found.contains(&"quick".to_owned()), "{found:?}");
        assert!(found.len() < 1_000);
    });
}

#[test]
fn a_rule_that_has_no_steps_left_stops_what_it_might_have_stopped() {
    guarded(|| {
        let event = with_words(2_000);
        let subject = event.subject();
        let mut rules: Vec<_> = (0..1_000)
            .map(|n| {
                let text = format!("{NESTED} && process.exec.cwd == 'none'");
                Rule::enforcement(&format!("nested-{n:04}"), ON, &text, Action::Allow)
            })
            .collect();
        rules.push(Rule::enforcement("stops", ON, NESTED, Action::Deny));
        let decided = set(rules)
            .decide(&subject, 0, |_, _| {})
            .expect("a decision");
        assert_eq!(decided.rule.rule().id, "stops");
        assert_eq!(decided.action, Action::Deny);
        assert!(decided.failed, "it was not asked whether it is true");
        // Alone it has the steps.
        let alone = set([Rule::enforcement(
            "stops",
            ON,
            "size(process.exec.argv) == 2000",
            Action::Deny,
        )]);
        assert!(
            !alone
                .decide(&subject, 0, |_, _| {})
                .expect("a decision")
                .failed
        );
    });
}

/// What is said of a pack of a thousand rules with these conditions.
fn mistakes_of_a_thousand(when: impl Fn(usize) -> String) -> String {
    let mut text =
        "schema = 1\nid = \"large\"\nversion = \"1.0.0\"\nstatus = \"stable\"\nowner = \"me\"\n"
            .to_owned();
    for n in 0..1_000 {
        let rule = "on = \"http.request\"\naction = \"deny\"\nreason = \"x\"";
        let when = when(n);
        text += &format!("[[rules]]\nid = \"r{n}\"\n{rule}\nwhen = \"{when}\"\n");
    }
    match Pack::read("large.toml", &text) {
        Ok(_) => panic!("it is too much and was taken"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_file_of_large_patterns_is_refused_before_it_is_all_in_memory() {
    guarded(|| {
        let error = mistakes_of_a_thousand(|n| {
            let patterns =
                (0..9).map(|m| format!("http.request.path.matches('(\\\\\\\\w{{20}}{n}{m})')"));
            patterns.collect::<Vec<_>>().join(" || ")
        });
        let all = [
            "large.toml:",
            "the rules of a file take more than 64 MiB",
            "use fewer or smaller patterns",
        ];
        assert!(all.iter().all(|word| error.contains(word)), "{error:.2000}");
        assert_eq!(error.lines().count(), 1, "{error:.2000}");
    });
}

#[test]
fn a_file_of_mistakes_is_not_read_to_its_end() {
    guarded(|| {
        let patterns = ["http.request.path.matches('(a{1000}){1000}')"; 90].join(" || ");
        let error = mistakes_of_a_thousand(|_| patterns.clone());
        assert!(error.contains("becomes too large"), "{error:.2000}");
        assert_eq!(error.lines().count(), 100);
    });
}

#[test]
fn a_condition_of_large_patterns_is_refused() {
    guarded(|| {
        let patterns = ["http.request.path.matches('(\\\\w{20})')"; 90].join(" || ");
        let error = crate::refused(&patterns);
        let all = [
            "the patterns of a condition take at most 16 MiB",
            "make several rules of it",
        ];
        assert!(all.iter().all(|word| error.contains(word)), "{error:.2000}");
    });
}

#[test]
fn what_a_rewrite_makes_is_bounded_and_so_is_its_work() {
    guarded(|| {
        let replace = |pattern: &str, with: &str| Rewrite::Replace {
            target: RewriteTarget::Body,
            header: String::new(),
            pattern: pattern.to_owned(),
            with: with.to_owned(),
        };
        for (body, pattern, with, words) in [
            (
                "a".repeat(MILLION),
                "a",
                "$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0",
                "more than 16 MiB",
            ),
            (
                "a".repeat(MILLION),
                "a+",
                &*"$0".repeat(1_000),
                "more than 16 MiB",
            ),
            (
                letters(10 * MILLION),
                "(?-u)[ab]*a[ab]{200}c",
                "",
                "too long for this",
            ),
        ] {
            let mut event = with_body(body);
            let error = replace(pattern, with)
                .apply(&mut event)
                .expect_err(words)
                .to_string();
            assert!(error.contains(words), "{error}");
        }
        let mut event: Record<'_> = with_body("a-b".into());
        event.http_request.headers = Some(Headers::default());
        assert_eq!(replace("x", "y").apply(&mut event), Ok(false));
        assert_eq!(replace("(a)-", "$1$1").apply(&mut event), Ok(true));
        assert_eq!(event.http_request.body_text.as_deref(), Some("aab"));
    });
}

#[test]
fn what_an_untrusted_project_asks_for_takes_nothing_from_others() {
    guarded(|| {
        let event = with_words(2_000);
        let slow = NESTED
            .replace("all(", "exists(")
            .replace("y != x", "y + 'a' == x");
        let mut rules: Vec<_> = (0..20)
            .map(|n| {
                let mut rule = Rule::detection(&format!("0-{n}"), ON, &slow, Severity::Low);
                rule.untrusted = true;
                rule
            })
            .collect();
        let own = "process.exec.argv.exists(x, x + '' == '1999')";
        rules.push(Rule::detection("users-own", ON, own, Severity::Low));
        let mut found = Vec::new();
        let unasked = set(rules).detect(&event.subject(), 0, |rule| {
            found.push(rule.rule().id.clone())
        });
        assert_eq!(found, ["users-own"]);
        assert!(unasked.is_some_and(|rule| rule.rule().id.starts_with("0-")));
    });
}

#[test]
fn a_detection_that_spends_its_own_steps_is_told() {
    guarded(|| {
        let text = "process.exec.argv.exists(x, process.exec.argv.exists(y, y == x + '-secret'))";
        let set = set([Rule::detection("secret", ON, text, Severity::High)]);
        let event = with_words(2_000);
        let unasked = set.detect(&event.subject(), 0, |_| {
            panic!("no word is another's secret")
        });
        assert_eq!(
            unasked.map(|rule| rule.rule().id.clone()).as_deref(),
            Some("secret")
        );
        assert!(set.detect(&with_words(20).subject(), 0, |_| {}).is_none());
    });
}

#[test]
fn many_cheap_questions_about_one_event_are_counted_too() {
    guarded(|| {
        let many =
            |part: &dyn Fn(usize) -> String| (0..800).map(part).collect::<Vec<_>>().join(" || ");
        let rule = |n: usize, on, text: &str| {
            Rule::detection(&format!("r{n:03}"), on, text, Severity::Low)
        };
        let words = many(&|n| format!("'a{n}' in process.exec.argv"));
        let unasked = set([rule(0, ON, &words)]).detect(&with_words(MILLION).subject(), 0, |_| {});
        assert!(unasked.is_some(), "{words:.60}");
        let mut event = Record::new(EventType::HttpRequest);
        event.http_request.path = Some("-eyJ".repeat(1_000).into());
        for part in [
            "size(secrets(http.request.path)) > 0",
            "entropy(http.request.path) > 17.9",
            "size(secrets(http.request.path.lowerAscii())) > 0",
        ] {
            let text = many(&|n| format!("http.request.port == {n} || {part}"));
            let rules = (0..30).map(|n| rule(n, EventType::HttpRequest, &text));
            event.http_request.port = Some(-1);
            let unasked = set(rules).detect(&event.subject(), 0, |_| {});
            assert!(unasked.is_some(), "{part}");
        }
    });
}

#[test]
fn what_a_condition_is_compiled_to_costs_a_bounded_number_of_steps() {
    guarded(|| {
        let pattern = r"'a'.matches('x' + '(\\w{30}){9}')";
        let nested = format!("{}({})", "!".repeat(25), vec![pattern; 50].join(" || "));
        let texts = [nested.as_str(); 4].join(" && ");
        for n in 0..100 {
            let text = format!("({texts}) || http.request.port == {n}");
            Compiled::new(Rule::enforcement(
                "r",
                EventType::HttpRequest,
                &text,
                Action::Deny,
            ))
            .unwrap_or_else(|e| panic!("{e}"));
        }
    });
}

#[test]
fn matches_that_are_looked_for_to_the_end_again_and_again_are_counted() {
    guarded(|| {
        let replace = |pattern: &str| Rewrite::Replace {
            target: RewriteTarget::Body,
            header: String::new(),
            pattern: pattern.to_owned(),
            with: String::new(),
        };
        let mut event = with_body("A".repeat(MILLION));
        let error = replace("[A-Z]*[^A-Z]|A")
            .apply(&mut event)
            .expect_err("it is too long");
        assert!(error.to_string().contains("too long for this"), "{error}");
        let mut event = with_body("a-".repeat(MILLION / 2));
        assert_eq!(replace("-").apply(&mut event), Ok(true));
    });
}
