use super::*;
use crate::fixture::Machine;
use crate::{Effective, render_show};
use bailiwick_rules::Rule;

fn rule(id: &str, action: &str) -> String {
    format!(
        "[[rules]]\nid = \"{id}\"\non = \"http.request\"\nwhen = 'http.request.path == \"/{id}\"'\naction = \"{action}\"\n"
    )
}

fn named<'l>(loaded: &'l Loaded, id: &str) -> Option<&'l Rule> {
    loaded.effective.rules.iter().find(|rule| rule.id == id)
}

fn error(machine: &Machine) -> String {
    load(&machine.request).unwrap_err().to_string()
}

#[test]
fn rules_of_all_layers_hold_and_the_systems_are_locked() {
    let loaded = Machine::new()
        .system(&rule("system", "allow"))
        .user(&rule("user", "deny"))
        .project(&rule("project", "deny"))
        .load();
    let ids: Vec<_> = loaded
        .effective
        .rules
        .iter()
        .map(|r| (&*r.id, r.locked))
        .collect();
    assert_eq!(ids, [("system", true), ("user", false), ("project", false)]);
    assert_eq!(named(&loaded, "user").unwrap().origin.line, 2);
}

#[test]
fn an_untrusted_projects_rules_take_away_and_never_allow_or_rewrite() {
    let project = format!(
        "{}{}{}",
        rule("no", "deny"),
        rule("see", "observe"),
        rule("yes", "allow")
    );
    let machine = Machine::new().project(&project);
    let loaded = machine.load();
    assert!(named(&loaded, "no").is_some() && named(&loaded, "see").is_some());
    assert!(named(&loaded, "yes").is_none());
    assert!(
        loaded
            .notices
            .iter()
            .any(|n| n.contains("bailiwick policy trust")),
        "{:?}",
        loaded.notices
    );
    assert!(named(&machine.trusted().load(), "yes").is_some());
}

#[test]
fn an_untrusted_projects_rule_never_keeps_anothers_out() {
    let never = rule("one", "deny").replace("'http.request.path == \"/one\"'", "'false'");
    let loaded = Machine::new()
        .project(&never)
        .file("base.toml", &rule("one", "deny"))
        .policy("./base.toml")
        .load();
    assert!(named(&loaded, "one").unwrap().when.contains("/one"));
    assert!(
        loaded
            .notices
            .iter()
            .any(|n| n.contains("has the name \"one\" too")),
        "{:?}",
        loaded.notices
    );
    // Neither does a copy of a stronger layer's that a weaker one has too.
    let loaded = Machine::new()
        .project(&rule("one", "deny"))
        .file("weak.toml", &never)
        .file(
            "base.toml",
            &format!("extends = [\"./weak.toml\"]\n{}", rule("one", "deny")),
        )
        .policy("./base.toml")
        .load();
    assert!(named(&loaded, "one").unwrap().when.contains("/one"));
    // A trusted one's does: it is the stronger layer.
    let loaded = Machine::new()
        .project(&never)
        .trusted()
        .file("base.toml", &rule("one", "deny"))
        .policy("./base.toml")
        .load();
    assert_eq!(named(&loaded, "one").unwrap().when, "false");
}

#[test]
fn a_lock_keeps_weaker_layers_from_rules_that_allow() {
    let loaded = Machine::new()
        .system("[lock]\nkeys = [\"rules\"]\n")
        .user(&format!("{}{}", rule("yes", "allow"), rule("no", "deny")))
        .load();
    assert!(named(&loaded, "yes").is_none() && named(&loaded, "no").is_some());
    assert!(
        loaded
            .notices
            .iter()
            .any(|n| n.contains("`rules` is locked by")),
        "{:?}",
        loaded.notices
    );
}

#[test]
fn two_rules_of_one_name_in_a_file_are_a_mistake() {
    let said =
        error(&Machine::new().user(&format!("{}{}", rule("one", "deny"), rule("one", "deny"))));
    assert!(
        said.contains("policy.toml:7:6") && said.contains("the name of another rule too"),
        "{said}"
    );
}

#[test]
fn a_mistake_in_a_condition_is_told_with_its_place() {
    let text = rule("one", "deny").replace("request.path", "request.paht");
    let said = error(&Machine::new().user(&text));
    assert!(said.contains("policy.toml:4:9"), "{said}");
    assert!(said.contains("did you mean `http.request.path`?"), "{said}");
}

#[test]
fn a_rule_that_no_boundary_asks_is_a_mistake_and_a_detection_is_none() {
    let text = "[[rules]]\nid = \"a\"\non = \"file\"\nwhen = \"true\"\naction = \"deny\"\n";
    let said = error(&Machine::new().user(text));
    assert!(
        said.contains("policy.toml:3:6") && said.contains("no boundary asks rules about file yet"),
        "{said}"
    );
    let text =
        "[[detections]]\nid = \"a\"\non = \"file\"\nwhen = \"file.size > 1\"\nseverity = \"low\"\n";
    assert!(named(&Machine::new().user(text).load(), "a").is_some());
}

fn pack(rules: &str) -> String {
    format!(
        "schema = 1\nid = \"team\"\nversion = \"1.0.0\"\nstatus = \"stable\"\nowner = \"Team\"\n{rules}"
    )
}

#[test]
fn a_pack_belongs_to_the_layer_that_names_it() {
    let machine = Machine::new()
        .project("packs = [\"./rules/team.toml\"]")
        .file(
            "rules/team.toml",
            &pack(&format!("{}{}", rule("no", "deny"), rule("yes", "allow"))),
        );
    let loaded = machine.load();
    let no = named(&loaded, "no").unwrap();
    assert_eq!(
        (no.pack.as_deref(), &*no.origin.file),
        (Some("team"), "./rules/team.toml")
    );
    assert!(named(&loaded, "yes").is_none());
    let machine = machine.trusted();
    assert!(named(&machine.load(), "yes").is_some());
    // Its text counts for the trust.
    let machine = machine.file("rules/team.toml", &pack(&rule("yes", "allow")));
    assert!(named(&machine.load(), "yes").is_none());
}

#[test]
fn what_is_wrong_with_a_pack_is_told() {
    let said = error(&Machine::new().user("packs = [\"no-such-pack\"]"));
    assert!(said.contains("there is no pack \"no-such-pack\""), "{said}");
    let said = error(&Machine::new().user("packs = [\"./none.toml\"]"));
    assert!(
        said.contains("cannot be read: there is no such file"),
        "{said}"
    );
    let machine = Machine::new()
        .user("packs = [\"./team.toml\"]")
        .file("~/.config/bailiwick/team.toml", &pack("colour = 1"));
    let said = error(&machine);
    assert!(
        said.contains("team.toml:6:1") && said.contains("colour"),
        "{said}"
    );
}

/// The pack that the signature in this test was made for (`minisign -S`): the text "test".
#[test]
fn the_system_can_ask_for_signed_packs() {
    let key = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
    let machine = || {
        Machine::new()
            .system(&format!("[lock]\npack_keys = [\"{key}\"]"))
            .user("packs = [\"./team.toml\"]")
    };
    let unsigned = machine().file("~/.config/bailiwick/team.toml", &pack(&rule("no", "deny")));
    let said = error(&unsigned);
    assert!(
        said.contains("team.toml.minisig cannot be read") && said.contains("minisign -Sm"),
        "{said}"
    );
    let signature = "untrusted comment: signature from minisign secret key\n\
        RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=\n\
        trusted comment: timestamp:1556193335\tfile:test\n\
        y/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==\n";
    let other = unsigned.file("~/.config/bailiwick/team.toml.minisig", signature);
    let said = error(&other);
    assert!(
        said.contains("no trusted key signed this pack as it is"),
        "{said}"
    );
    // The text that was signed is no pack; that it is read at all shows that the signature stands.
    let signed = other.file("~/.config/bailiwick/team.toml", "test");
    let said = error(&signed);
    assert!(said.contains("team.toml:1:"), "{said}");
    let said = error(&Machine::new().user(&format!("[lock]\npack_keys = [\"{key}\"]")));
    assert!(said.contains("only in the system's policy"), "{said}");
    let said = error(&Machine::new().system("[lock]\npack_keys = [\"x\"]"));
    assert!(said.contains("no public key of minisign"), "{said}");
}

#[test]
fn what_is_shown_and_what_is_recorded_says_the_same_rules() {
    let text = r#"
[[rules]]
id = "strip"
on = "http.request"
when = 'http.request.host == "a\"b" && "é\n" != r"\d"'
action = "rewrite"
priority = -3
reason = "because"
remedy = "none"
tags = ["x", "y"]
expires = 2027-01-31T12:00:00+02:00
enabled = false
rewrite = [{ strip_header = "cookie" }, { set_header = { name = "x", value = "1" } }, { replace = { target = "header", header = "x", pattern = "a", with = "b" } }]
[[detections]]
id = "seen"
on = "dns.request"
when = "dns.request.label.entropy > 4.0"
severity = "high"
confidence = "low"
"#;
    let loaded = Machine::new().user(text).load();
    let rules = &loaded.effective.rules;
    assert_eq!(rules.len(), 2);
    let lock = loaded.effective.to_lock();
    assert_eq!(&Effective::from_lock(&lock).unwrap().rules, rules);
    let again = Machine::new().user(&render_show(&loaded)).load();
    let plain = |rule: &Rule| Rule {
        origin: Origin::built_in(),
        ..rule.clone()
    };
    let (a, b): (Vec<_>, Vec<_>) = (
        rules.iter().map(plain).collect(),
        again.effective.rules.iter().map(plain).collect(),
    );
    assert_eq!(a, b, "{}", render_show(&loaded));
}

#[test]
fn what_holds_for_rules_that_come_later_is_in_the_effective_policy() {
    let loaded = Machine::new().system("[lock]\nkeys = [\"rules\"]\n").load();
    assert!(loaded.effective.rule_locks.rules.is_some());
    let lock = loaded.effective.to_lock();
    assert_eq!(
        Effective::from_lock(&lock).unwrap().rule_locks,
        loaded.effective.rule_locks
    );
}

#[test]
fn a_text_that_a_terminal_would_obey_is_a_mistake() {
    let text = format!("{}reason = \"\\u001b[2J\"\n", rule("one", "deny"));
    let said = error(&Machine::new().user(&text));
    assert!(
        said.contains("policy.toml:6:10") && said.contains("a terminal would obey"),
        "{said}"
    );
}

#[test]
fn the_rules_of_a_layer_take_no_more_memory_than_there_is_for_it() {
    let large = |first: usize| {
        let rule = |n: usize| {
            let patterns =
                (0..9).map(|m| format!("http.request.path.matches(\"\\\\w{{20}}{n}{m}\")"));
            let when = patterns.collect::<Vec<_>>().join(" || ");
            format!(
                "[[rules]]\nid = \"r{n}\"\non = \"http.request\"\nwhen = '{when}'\naction = \"deny\"\n"
            )
        };
        (first..first + 15).map(rule).collect::<String>()
    };
    let one = Machine::new().project(&large(0)).system(&large(50));
    assert!(named(&one.load(), "r9").is_some() && named(&one.load(), "r59").is_some());
    let machine = Machine::new()
        .project(&format!("packs = [\"./more.toml\"]\n{}", large(0)))
        .file("more.toml", &pack(&large(20)));
    let said = error(&machine);
    let words = [
        "the rules of the project layer take more than 64 MiB",
        "use fewer or smaller patterns",
    ];
    assert!(words.iter().all(|word| said.contains(word)), "{said}");
}

#[test]
fn a_pack_is_named_once_or_at_least_not_without_end() {
    let named = |times: usize| {
        let entries = vec!["\"./team.toml\""; times].join(", ");
        Machine::new()
            .project(&format!("packs = [{entries}]"))
            .file("team.toml", &pack(&rule("no", "deny")))
    };
    assert!(self::named(&named(3).load(), "no").is_some());
    let said = error(&named(65));
    assert!(said.contains("more than 64 packs are named"), "{said}");
}
