use super::*;
use crate::rule::{Action, Effect};

const HEAD: &str =
    "schema = 1\nid = \"team\"\nversion = \"1.0.0\"\nstatus = \"stable\"\nowner = \"Team\"\n";

fn read(rest: &str) -> Result<Pack, PackError> {
    Pack::read("team.toml", &format!("{HEAD}{rest}"))
}

fn wrong(rest: &str) -> String {
    read(rest).unwrap_err().to_string()
}

#[test]
fn a_pack_is_read_with_all_that_it_says() {
    let pack = read(
        r#"
[[rules]]
id = "no-paste"
on = "http.request"
when = 'http.request.host.domain("pastebin.com")'
action = "deny"
priority = 7
reason = "because"
remedy = "do not"
tags = ["a", "b"]
expires = 2027-01-31
examples = [
  { matches = true, event = { http.request.host = "pastebin.com" } },
  { matches = false, event = { http = { request = { host = "a.test", port = 80 } } } },
]

[[rules]]
id = "strip"
on = "http.request"
when = "true"
action = "rewrite"
rewrite = [{ strip_header = "cookie" }, { replace = { target = "url", pattern = "a", with = "b" } }]

[[detections]]
id = "seen"
on = "dns.request"
when = "dns.request.label.entropy > 4.0"
severity = "high"
enabled = false
"#,
    )
    .unwrap();
    let [paste, strip, seen] = &pack.rules[..] else {
        panic!("{pack:?}")
    };
    let rule = paste.rule();
    assert_eq!(
        (rule.priority, &*rule.reason, rule.tags.len()),
        (7, "because", 2)
    );
    assert_eq!(rule.expires, Some(1_801_353_600));
    assert_eq!(rule.effect.action(), Some(Action::Deny));
    assert_eq!((rule.origin.line, rule.pack.as_deref()), (8, Some("team")));
    assert!(rule.examples[0].event.contains("\"type\":\"http.request\""));
    assert!(
        matches!(&strip.rule().effect, Effect::Enforce { rewrites, .. } if rewrites.len() == 2)
    );
    assert!(!seen.rule().enabled);
}

#[test]
fn every_mistake_has_its_line_and_column() {
    let said = wrong(
        r#"
[[rules]]
id = "Bad Name"
on = "http.requests"
when = "true"
action = "block"
colour = "red"

[[rules]]
id = "b"
on = "http.request"
when = 'http.request.host == "a" && http.request.hots == "b"'
action = "deny"

[[detections]]
id = "c"
on = "file"
severity = "bad"
"#,
    );
    for words in [
        "team.toml:8:6: \"Bad Name\" is no name of a rule",
        "team.toml:9:6: no event has the type \"http.requests\"",
        "team.toml:11:10: \"block\" is no action; write one of allow, deny",
        "team.toml:12:1: [[rules]] has no key \"colour\"",
        "team.toml:17:37: no field is called `http.request.hots`; did you mean `http.request.host`?",
        "needs `when`",
        "\"bad\" is no severity",
    ] {
        assert!(said.contains(words), "{words}\n--\n{said}");
    }
}

#[test]
fn a_pack_needs_its_head() {
    let said = Pack::read("x", "").unwrap_err().to_string();
    for key in ["schema", "id", "version", "status", "owner"] {
        assert!(said.contains(&format!("a pack needs `{key}`")), "{said}");
    }
    assert!(
        Pack::read("x", "schema = 2")
            .unwrap_err()
            .to_string()
            .contains("reads packs of schema 1")
    );
    let shown = wrong("a = \"\u{1b}[2J\"");
    assert!(
        !shown.chars().any(|c| c.is_control() && c != '\n'),
        "{shown:?}"
    );
}

#[test]
fn one_name_is_one_rule() {
    let one = "[[rules]]\nid = \"a\"\non = \"file\"\nwhen = \"true\"\naction = \"deny\"\n";
    let said = wrong(&format!("{one}{one}"));
    assert!(
        said.contains("is the name of the rule at team.toml:7:6 too"),
        "{said}"
    );
}

#[test]
fn an_example_is_an_event_of_the_rules_type() {
    let said = wrong(
        "[[rules]]\nid = \"a\"\non = \"file\"\nwhen = \"true\"\naction = \"deny\"\nexamples = [{ matches = true, event = { file.pfad = \"/x\" } }]\n",
    );
    assert!(said.contains("\"pfad\""), "{said}");
}

#[test]
fn only_a_trusted_key_signs_a_pack() {
    // Made with `minisign -S` for the four bytes "test".
    let key = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3".to_owned();
    let signature = "untrusted comment: signature from minisign secret key\n\
        RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=\n\
        trusted comment: timestamp:1556193335\tfile:test\n\
        y/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==";
    assert_eq!(
        verify(b"test", signature, std::slice::from_ref(&key)),
        Ok(())
    );
    assert_eq!(
        verify(b"tesT", signature, std::slice::from_ref(&key)),
        Err(SignatureError::NotTrusted)
    );
    assert_eq!(
        verify(b"test", signature, &[]),
        Err(SignatureError::NotTrusted)
    );
    assert!(matches!(
        verify(b"test", "x", &[key]),
        Err(SignatureError::Malformed(_))
    ));
    assert!(matches!(
        verify(b"test", signature, &["x".into()]),
        Err(SignatureError::Key(_))
    ));
}
