//! Events that a program made to be too much.

use crate::{MILLION, TEN_MEGABYTES, guarded, letters, says, with_body, with_words};
use bailiwick_event::fields::{EventType, Headers, Record};
use bailiwick_rules::Outcome;
use bailiwick_rules::eval::ErrorKind;
use bailiwick_rules::expr::MAX_LENGTH;

#[test]
fn a_body_of_10_mb_is_looked_at_whatever_is_looked_for() {
    guarded(|| {
        let event = with_body("a".repeat(TEN_MEGABYTES));
        let body = "http.request.body.text";
        let needle = |n: usize| format!("{}b", "a".repeat(n));
        for (text, yes) in [
            (format!("{body}.contains('{}')", needle(5_000)), false),
            (
                format!("{body}.lowerAscii().contains('{}')", needle(7)),
                false,
            ),
            (
                format!("{body}.lowerAscii().contains('{}')", needle(5_000)),
                false,
            ),
            (
                format!("{body}.upperAscii().contains('{}')", needle(63)),
                false,
            ),
            (
                format!("{body}.lowerAscii().endsWith('{}')", needle(63)),
                false,
            ),
            (format!("{body}.matches('(a+)+$')"), true),
            (format!("{body}.matches('(a+)+b')"), false),
            (format!("{body}.matches('(a|aa)*c')"), false),
            (format!("{body}.glob('**a*a*a*a*b')"), false),
            (format!("entropy({body}) > 0"), false),
            (format!("size(secrets({body})) > 0"), false),
            (format!("{body}.indexOf('{}') == -1", needle(100)), true),
            (format!("{body}.lastIndexOf('{}') == -1", needle(100)), true),
            (format!("size({body}) == {TEN_MEGABYTES}"), true),
        ] {
            let (fast, slow) = says(&text, &event);
            assert_eq!(slow, Ok(yes), "{text:.80}");
            assert_eq!(fast, Outcome::from(yes), "{text:.80}");
        }
        let (_, slow) = says(&format!("({body} + {body}).reverse().trim() == ''"), &event);
        assert_eq!(slow, Err(ErrorKind::TooExpensive));
    });
}

#[test]
fn the_longest_text_that_is_looked_for_in_place_is_found_in_bounded_work() {
    guarded(|| {
        let event = with_body("a".repeat(MILLION));
        let needle = format!("{}b", "a".repeat(63));
        let text = format!("http.request.body.text.lowerAscii().contains('{needle}')");
        assert_eq!(says(&text, &event), (Outcome::False, Ok(false)));
    });
}

#[test]
fn a_body_of_beginnings_of_credentials_is_read_once() {
    guarded(|| {
        let beginnings = ["-eyJ", "-sk-", "-ghp_", "AKIA.", "-----BEGIN ", "-eyJ.eyJ"];
        for beginning in beginnings {
            let event = with_body(beginning.repeat(MILLION / beginning.len()));
            let text = "size(secrets(http.request.body.text)) > 7";
            assert_eq!(
                says(text, &event),
                (Outcome::False, Ok(false)),
                "{beginning}"
            );
        }
        let run = format!("{}.{}", "-eyJ".repeat(1_900), "-eyJ".repeat(100));
        let event = with_body(run.repeat(MILLION / run.len()));
        let text = "size(secrets(http.request.body.text)) > 0";
        assert_eq!(says(text, &event), (Outcome::False, Ok(false)));
    });
}

#[test]
fn macros_over_a_million_elements_spend_their_steps() {
    guarded(|| {
        let event = with_words(MILLION);
        let argv = "process.exec.argv";
        let expensive = Err(ErrorKind::TooExpensive);
        for text in [
            format!("{argv}.all(x, {argv}.exists(y, y == 'none'))"),
            format!("!{argv}.exists(x, {argv}.exists(y, y == x + 'a'))"),
            format!("{argv}.exists(x, 'none' in {argv})"),
            format!("{argv}.exists_one(x, {argv}.exists_one(y, {argv}.all(z, z != y + x)))"),
            format!("size({argv}.map(x, {argv}.filter(y, y == x))) > 0"),
            format!("size({argv}.map(x, {argv})) > 0"),
            format!("{argv}.map(x, {argv}) == {argv}.map(x, {argv})"),
            format!("size({argv}.join({argv}.join())) > 0"),
            format!("size({argv}.map(x, {argv}.join())) > 0"),
            format!("{argv}.all(x, x in {argv}.map(y, y + 'a'))"),
        ] {
            assert_eq!(says(&text, &event), (Outcome::Failed, expensive), "{text}");
        }
        // One list and nothing else to look at takes no more than the list is long.
        for text in [
            format!("{argv}.exists(x, x.lowerAscii().contains('999999'))"),
            format!("{argv}.all(x, x.matches('^[0-9]+$') && size(x) < 7)"),
            format!("{argv}.exists_one(x, x == '999999' || x in ['a', 'b'])"),
        ] {
            assert_eq!(says(&text, &event), (Outcome::True, expensive), "{text}");
        }
        let text = format!("'999999' in {argv} && size({argv}) == {MILLION}");
        assert_eq!(says(&text, &event).0, Outcome::True);
    });
}

#[test]
fn many_headers_are_gone_over_once() {
    guarded(|| {
        const COUNT: usize = 50_000;
        let mut event = Record::new(EventType::HttpRequest);
        let pair = |n: usize| (format!("X-{}", n / 2).into(), "a".into());
        event.http_request.headers = Some(Headers((0..COUNT).map(pair).collect()));
        let headers = "http.request.headers";
        for text in [
            format!("size({headers}) == {}", COUNT / 2),
            format!("!{headers}.exists(x, x == 'none')"),
            format!("{headers} == {headers}"),
            format!("{headers}['x-7'] == ['a', 'a']"),
        ] {
            let (_, slow) = says(&text, &event);
            let counted = slow == Ok(true) || slow == Err(ErrorKind::TooExpensive);
            assert!(counted, "{text}: {slow:?}");
        }
    });
}

#[test]
fn a_pattern_of_the_condition_is_read_once_for_all_elements() {
    guarded(|| {
        let event = with_words(5_000);
        for text in [
            "process.exec.argv.exists(x, x.matches('^4999$'))",
            "process.exec.argv.exists(x, x.glob('4?99') && size(x + x) == 8)",
            "process.exec.argv.all(x, !x.glob('a*'))",
        ] {
            assert_eq!(says(text, &event), (Outcome::True, Ok(true)), "{text}");
        }
    });
}

#[test]
fn a_long_text_is_not_looked_through_for_every_element() {
    guarded(|| {
        let mut event = Record::new(EventType::ModelRequest);
        event.model_request.tools = Some(vec!["x".into(); MILLION]);
        event.model_request.text = Some("a".repeat(TEN_MEGABYTES).into());
        for part in [
            "model.request.text.contains('b')",
            "model.request.text.lowerAscii().contains('aaaaaaaaab')",
            "model.request.text.matches('b')",
            "size(model.request.text) == 1",
            "entropy(model.request.text) > 1.0",
            "size(secrets(model.request.text)) > 0",
        ] {
            let text = format!("model.request.tools.exists(x, {part})");
            let expected = (Outcome::Failed, Err(ErrorKind::TooExpensive));
            assert_eq!(says(&text, &event), expected, "{text}");
        }
        // To compare it costs no more than the condition is long.
        let text = "model.request.tools.exists(x, model.request.text.startsWith('b'))";
        assert_eq!(says(text, &event).0, Outcome::False);
    });
}

#[test]
fn a_pattern_and_a_text_that_were_made_for_each_other_spend_their_steps() {
    guarded(|| {
        let expensive = (Outcome::Failed, Err(ErrorKind::TooExpensive));
        let pattern = "matches('(?-u)[ab]*a[ab]{5000}c')";
        let event = with_body(letters(TEN_MEGABYTES));
        assert_eq!(
            says(&format!("http.request.body.text.{pattern}"), &event),
            expensive
        );
        let mut event = with_words(0);
        let words = letters(MILLION).into_bytes();
        let words = words
            .chunks(100)
            .map(|word| String::from_utf8_lossy(word).into_owned().into());
        event.process_exec.argv = Some(words.collect());
        let each = |pattern: &str| format!("process.exec.argv.exists(x, x.{pattern})");
        assert_eq!(says(&each(pattern), &event), expensive);
        let each = format!("process.exec.argv.exists(x, (x + x).{pattern})");
        assert_eq!(says(&each, &event), expensive);
    });
}

#[test]
fn a_long_list_of_the_rule_is_not_looked_through_for_every_element_of_the_event() {
    guarded(|| {
        let event = with_words(MILLION);
        let many: String = (0..MAX_LENGTH / 9).map(|n| format!("'{n}a',")).collect();
        let text = format!("process.exec.argv.exists(x, x.lowerAscii() in [{many}'b'])");
        assert_eq!(
            says(&text, &event),
            (Outcome::Failed, Err(ErrorKind::TooExpensive))
        );
    });
}

#[test]
fn a_pattern_that_an_event_makes_is_short_and_costs_what_it_takes_to_read_it() {
    guarded(|| {
        let event = with_body("x".into());
        let long = r"\W".repeat(400);
        let text = format!(
            "http.request.body.text.matches(r'(?i)[{long}{long}]' + http.request.body.text)"
        );
        assert_eq!(
            says(&text, &event),
            (Outcome::Failed, Err(ErrorKind::BadArgument))
        );
        let numbers: Vec<_> = (0..190).map(|n| n.to_string()).collect();
        let text = format!(
            "[{}].exists(x, http.request.body.text.matches(r'(?i)[{long}]' + string(x)))",
            numbers.join(",")
        );
        assert_eq!(
            says(&text, &event),
            (Outcome::Failed, Err(ErrorKind::TooExpensive))
        );
    });
}
