//! Rules that somebody wrote to be too much.

use crate::{MILLION, guarded, refused, says, with_body};
use bailiwick_rules::Outcome;
use bailiwick_rules::eval::ErrorKind;
use bailiwick_rules::expr::{MAX_LENGTH, MAX_NODES};

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
