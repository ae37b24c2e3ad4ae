use super::oracle::{carry, rule};
use super::{Reason, Skipped, read};

fn refused(text: &str) -> Skipped {
    let mut all = read(text);
    all.pop().unwrap().unwrap_err()
}

const RULE: &str =
    "title: One\nlogsource: {category: dns}\ndetection: {s: {query: a.test}, condition: s}\n";

#[test]
fn what_is_no_yaml_is_told_with_its_place() {
    let skipped = refused("title: a\n  b: [\n");
    assert!(matches!(skipped.reason, Reason::Yaml(_)), "{skipped}");
    assert!(skipped.line >= 2 && skipped.column >= 1, "{skipped}");
    assert_eq!(skipped.title, "");
}

#[test]
fn rules_before_a_mistake_are_carried_over() {
    let all = read(&format!("{RULE}---\n{RULE}---\ntitle: [a\n---\n{RULE}"));
    assert!(all[0].is_ok() && all[1].is_ok());
    assert_eq!(all.len(), 3);
    assert!(matches!(
        all[2].as_ref().unwrap_err().reason,
        Reason::Yaml(_)
    ));
}

#[test]
fn every_document_is_a_rule_and_empty_ones_are_none() {
    assert_eq!(read(&format!("---\n{RULE}---\n---\n{RULE}---\n")).len(), 2);
    assert!(read("").is_empty());
    assert!(read("# nothing\n").is_empty());
}

#[test]
fn aliases_are_written_out() {
    let text = "s: {CommandLine: &v [a, b]}\nt: {Image: *v}\ncondition: s or t";
    let detection = carry("process_creation", text).unwrap();
    assert_eq!(
        detection.to_cel(),
        "process.exec.command.lowerAscii() in [\"a\", \"b\"] || \
         process.exec.executable.lowerAscii() in [\"a\", \"b\"]"
    );
}

#[test]
fn a_billion_laughs_are_an_error() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for n in 1..20 {
        let before = format!("*a{}", n - 1);
        text += &format!("a{n}: &a{n} [{}]\n", vec![before; 10].join(", "));
    }
    let skipped = refused(&text);
    assert!(matches!(skipped.reason, Reason::Limit(_)), "{skipped}");

    // A few long texts, many times.
    let long = "x".repeat(100_000);
    let text = format!("a: &a {long}\nb: [{}]\n", vec!["*a"; 1000].join(", "));
    assert!(matches!(refused(&text).reason, Reason::Limit(_)));
    assert!(matches!(refused("a: &a [*a]\n").reason, Reason::Yaml(_)));
    assert!(matches!(refused("a: *nosuch\n").reason, Reason::Yaml(_)));
}

#[test]
fn depth_size_and_number_are_bounded() {
    for text in [
        format!("a: {}{}\n", "[".repeat(100), "]".repeat(100)),
        format!("{}a\n", "- ".repeat(100)),
        format!("a: [{}]\n", "b, ".repeat(30_000)),
        format!("a: {}\n", "b".repeat(2 * 1024 * 1024)),
        format!("a: {}\n", "b".repeat(5 * 1024 * 1024)),
        "a\n---\n".repeat(10_100),
    ] {
        let skipped = refused(&text);
        assert!(matches!(skipped.reason, Reason::Limit(_)), "{skipped}");
    }
}

#[test]
fn what_a_rule_never_has_is_an_error() {
    for (text, words) in [
        ("title: a\ntitle: b\n", "\"title\" occurs twice"),
        ("title: !!python/object a\n", "tag"),
        ("title: !x a\n", "tag"),
        ("? [a]\n: b\n", "a key is a text"),
    ] {
        let said = refused(text).to_string();
        assert!(said.contains(words), "{text}: {said}");
    }
    let quoted = rule("dns", "s: {query: !!str 5}\ncondition: s");
    assert!(read(&quoted)[0].is_ok());
}

#[test]
fn the_place_of_a_mistake_is_that_of_the_part() {
    let text = rule(
        "dns",
        "sel:\n  query: a\n  nosuch|contains: b\ncondition: sel",
    );
    let skipped = refused(&text);
    assert_eq!((skipped.line, skipped.column), (7, 5), "{skipped}");
    let text = rule(
        "dns",
        "sel:\n  query|re:\n    - a\n    - '('\ncondition: sel",
    );
    let skipped = refused(&text);
    assert_eq!((skipped.line, skipped.column), (8, 9), "{skipped}");
    assert!(skipped.to_string().starts_with("8:9: \"T\": "), "{skipped}");
}

proptest::proptest! {
    #[test]
    fn any_text_is_answered(text in "[-a-z0-9:&*!|>'\"%@`#\\[\\]{},? \n\t\u{85}\u{feff}é]{0,80}") {
        let _ = read(&text);
        let _ = read(&format!("{RULE}{text}"));
    }
}
