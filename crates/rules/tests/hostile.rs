//! Rules and events that were made to take the engine's time, memory or stack. Decision: what is
//! too much is refused in words that say what to write instead, when the rule is read or when its
//! steps are spent; a clock decides nothing here and only keeps a hang from hanging the tests.

use bailiwick_event::fields::{EventType, Record};
use bailiwick_rules::eval::ErrorKind;
use bailiwick_rules::expr::{MAX_LENGTH, MAX_NODES};
use bailiwick_rules::{Outcome, Program};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Does some work in a thread of its own, and does not wait for ever.
fn guarded(work: impl FnOnce() + Send + 'static) {
    let (done, wait) = channel();
    let thread = std::thread::spawn(move || {
        work();
        let _ = done.send(());
    });
    let hangs = wait.recv_timeout(Duration::from_secs(20))
        == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
    assert!(!hangs, "still at it after 20 seconds");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn refused(text: &str) -> String {
    match Program::compile(text, None) {
        Ok(_) => panic!("{} … was taken", text.chars().take(60).collect::<String>()),
        Err(error) => error.to_string(),
    }
}

fn program(text: &str) -> Program {
    Program::compile(text, None).unwrap_or_else(|e| panic!("{text:.200}: {e}"))
}

/// What a condition says: the evaluator's error where it has one, which the tests made fast then
/// either share or need not make.
fn says(text: &str, event: &Record<'_>) -> (Outcome, Result<bool, ErrorKind>) {
    let program = program(text);
    let subject = event.subject();
    let (fast, slow) = (program.run(&subject), program.evaluate(&subject));
    if let Err(error) = &slow
        && error.kind == ErrorKind::TooExpensive
    {
        let said = error.to_string();
        let remedy = said.contains("more than 1000000 steps") && said.contains("go over fewer");
        assert!(remedy, "{text:.200}: {said}");
    }
    let slow = slow.map_err(|error| error.kind);
    match slow {
        Ok(yes) => assert_eq!(fast, Outcome::from(yes), "{text:.200}"),
        Err(ErrorKind::TooExpensive) => {}
        Err(_) => assert_eq!(fast, Outcome::Failed, "{text:.200}"),
    }
    (fast, slow)
}

fn with_body(body: String) -> Record<'static> {
    let mut event = Record::new(EventType::HttpRequest);
    event.http_request.body_text = Some(body.into());
    event
}

const MILLION: usize = 1_000_000;
const TEN_MEGABYTES: usize = 10 * MILLION;

fn with_words(count: usize) -> Record<'static> {
    let mut event = Record::new(EventType::ProcessExec);
    event.process_exec.argv = Some((0..count).map(|n| n.to_string().into()).collect());
    event
}

#[test]
fn a_rule_that_is_too_much_is_refused_with_what_to_write_instead() {
    guarded(|| {
        let around = |n: usize, open: &str, close: &str| {
            format!("{}true{}", open.repeat(n), close.repeat(n))
        };
        let levels = ["at most 96 levels", "make several rules of it"];
        let large = ["becomes too large", "use fewer or smaller repetitions"];
        let long = ["at most 16384 bytes", "make several patterns of it"];
        let matches = |pattern: &str| format!("http.request.path.matches(\"{pattern}\")");
        for (text, words) in [
            (around(30_000, "(", ")"), levels),
            (around(30_000, "!", ""), levels),
            (around(8_000, "[", "]"), levels),
            (around(3_000, "[1].exists(x, ", ")"), levels),
            (around(4_000, "true ? true : ", ""), levels),
            (format!("common{}", ".a".repeat(20_000)), levels),
            (format!("1{} == 1", " - 1".repeat(10_000)), levels),
            (
                " ".repeat(MAX_LENGTH + 1),
                ["at most 65536 bytes", "make several rules of it"],
            ),
            (
                format!("1 in [{}1]", "1,".repeat(MAX_NODES)),
                ["at most 16384 parts", "make several rules of it"],
            ),
            (matches("(a{1000}){1000}"), large),
            (matches("((((\\\\w{20}){20}){20}){20}){20}"), large),
            (matches(&"a".repeat(20_000)), long),
            (matches(&"(".repeat(5_000)), ["is none", "unclosed"]),
            (
                matches(&format!("{}a{}", "(".repeat(200), ")".repeat(200))),
                ["is none", "nest"],
            ),
        ] {
            let said = refused(&text);
            let all = words.iter().all(|word| said.contains(word));
            assert!(all, "{text:.60}: {said}");
        }
        let globs = format!("http.request.path.glob(\"{}\")", "{a,".repeat(5_000));
        assert!(refused(&globs).contains("the pattern is none"));
    });
}

#[test]
fn a_rule_of_64_kib_and_of_thousands_of_parts_is_evaluated() {
    guarded(|| {
        let event = with_body("x".into());
        let many = |part: &str, between: &str, last: &str| {
            let count = (MAX_LENGTH - last.len()) / (part.len() + between.len());
            format!(
                "{}{last}",
                format!("{part}{between}").repeat(count.min(3_000))
            )
        };
        let field = "http.request.body.text";
        for (text, yes) in [
            (
                many(
                    &format!("{field} == \"a\""),
                    " || ",
                    &format!("{field} == \"x\""),
                ),
                true,
            ),
            (
                many(
                    &format!("{field} == \"x\""),
                    " && ",
                    &format!("{field} == \"a\""),
                ),
                false,
            ),
            (many("1/0 == 1", " || ", "true"), true),
            (
                format!("{field} in [{}\"x\"]", "\"a\",".repeat(MAX_LENGTH / 5)),
                true,
            ),
            (
                format!("{field} == \"{}\"", "a".repeat(MAX_LENGTH - 40)),
                false,
            ),
            (format!("{field} == \"x\"{}", " ".repeat(60_000)), true),
            (
                format!("{}{field} == 'x'{}", "(".repeat(90), ")".repeat(90)),
                true,
            ),
        ] {
            assert_eq!(says(&text, &event).1, Ok(yes), "{text:.60}");
        }
        // As many constants as fit, each of which takes a pattern to read.
        let pattern = r"'a'.matches('x' + '(\\w{30}){9}') || ";
        let text = format!("{}{field} == 'x'", pattern.repeat(100));
        assert_eq!(says(&text, &event).0, Outcome::True);
    });
}

#[test]
fn what_a_rule_makes_of_little_is_counted_before_it_is_made() {
    guarded(|| {
        let event = with_body("a".repeat(MILLION));
        let grown = format!("'aaaaaaaaaa'{}", ".replace('a', 'aaaaaaaaaa')".repeat(60));
        let body = "http.request.body.text";
        let doubled = "[[1]]".to_owned() + &".map(a, [a, a])".repeat(60);
        for text in [
            format!("size({grown}) > 0"),
            format!("size({body}.replace('a', {body})) > 0"),
            format!("size({body}.replace('', {body})) > 0"),
            format!("size({body}.split('').join({body})) > 0"),
            format!("size({body}.split('')) > 0"),
            format!("size({body}.split('a', -1)) > 0"),
            format!("{doubled} == {doubled}"),
            format!("{doubled} != {doubled}"),
            format!("{doubled} in [{doubled}]"),
            format!("{{'a': {doubled}}} == {{'a': {doubled}}}"),
        ] {
            let (fast, slow) = says(&text, &event);
            assert_eq!(slow, Err(ErrorKind::TooExpensive), "{text:.60}");
            assert_eq!(fast, Outcome::Failed, "{text:.60}");
        }
        for (text, yes) in [
            (format!("size({body}.split('a', 3)) == 3"), true),
            (
                format!("size({body}.replace('a', 'bb', 4)) == 1000004"),
                true,
            ),
            (
                format!("size({body}.replace('b', {body})) == 1000000"),
                true,
            ),
        ] {
            assert_eq!(says(&text, &event).1, Ok(yes), "{text}");
        }
    });
}

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
