use crate::fixture::Machine;
use crate::load::check_of;
use std::path::Path;

fn rule(action: &str, when: &str) -> String {
    format!(
        "[[rules]]\nid = \"r\"\non = \"http.request\"\nwhen = '{when}'\naction = \"{action}\"\n"
    )
}

/// What is said of a policy where it is checked, and where it is loaded: the same.
fn told(policy: &str) -> Vec<String> {
    let machine = Machine::new().file("own.toml", policy).policy("./own.toml");
    let of_run = machine.load().notices;
    let of_run: Vec<_> = of_run
        .into_iter()
        .filter(|n| n.contains("warning"))
        .collect();
    let of_check = check_of(&machine.request, Path::new("own.toml")).unwrap();
    assert_eq!(of_run.len(), of_check.len(), "{of_run:#?} {of_check:#?}");
    of_check
}

#[test]
fn a_rule_that_never_sees_what_it_decides_is_told_with_its_place() {
    const A: &str = r#"http.request.host == "a.test""#;
    let network = |inspect: &str| format!("[network]\nallow = [\"*.test\"]\ninspect = {inspect}\n");
    for (inspect, when, about) in [
        (r#""never""#, A, "any machine"),
        (
            r#""never""#,
            r#"http.request.method == "POST""#,
            "any machine",
        ),
        (r#"{ "a.test" = "never" }"#, A, "a.test"),
        (r#"{ "*" = "always", "*.test" = "never" }"#, A, "a.test"),
        (
            r#"{ "*" = "never", "b.test" = "auto" }"#,
            r#"http.request.host.domain("a.test") && http.request.path == "/x""#,
            "a.test",
        ),
        (
            r#"{ "b.test" = "never" }"#,
            r#"http.request.host in ["a.test", "b.test"]"#,
            "b.test",
        ),
        (
            r#"{ "*.a.test" = "never" }"#,
            r#"http.request.host.endsWith(".a.test")"#,
            "any-machine.a.test",
        ),
    ] {
        let policy = format!("{}{}", network(inspect), rule("deny", when));
        let told = told(&policy);
        assert_eq!(told.len(), 1, "{inspect} {when} {told:#?}");
        let whole = format!(
            "nothing back within the TLS of {about}: `inspect = \"never\"` at ./own.toml:3:"
        );
        assert!(told[0].contains(&whole), "{}", told[0]);
        assert!(
            told[0].starts_with("./own.toml:5:6: warning"),
            "{}",
            told[0]
        );
    }
}

#[test]
fn a_rule_that_sees_something_of_what_it_decides_is_not_told() {
    let network = |inspect: &str| format!("[network]\nallow = [\"*.test\"]\ninspect = {inspect}\n");
    for (inspect, action, when) in [
        (
            r#"{ "a.test" = "never" }"#,
            "deny",
            r#"http.request.host == "b.test""#,
        ),
        (
            r#"{ "a.test" = "never" }"#,
            "deny",
            r#"http.request.method == "POST""#,
        ),
        (
            r#"{ "a.test" = "never" }"#,
            "deny",
            r#"http.request.host != "b.test""#,
        ),
        (
            r#"{ "a.b.test" = "never" }"#,
            "deny",
            r#"http.request.host.endsWith(".b.test")"#,
        ),
        (r#""never""#, "deny", r#"http.request.scheme == "http""#),
        (r#""never""#, "observe", r#"http.request.host == "a.test""#),
        (r#""auto""#, "deny", r#"http.request.host == "a.test""#),
        (
            r#"{ "*" = "never", "a.test" = "always" }"#,
            "deny",
            r#"http.request.host == "a.test""#,
        ),
    ] {
        let policy = format!("{}{}", network(inspect), rule(action, when));
        assert_eq!(told(&policy), [""; 0], "{inspect} {when}");
    }
}

#[test]
fn the_rules_of_one_file_are_told_once() {
    const POST: &str = r#"http.request.method == "POST""#;
    let second = rule("stop", POST).replace("\"r\"", "\"s\"");
    let policy = format!(
        "[network]\ninspect = \"never\"\n{}{second}",
        rule("deny", POST)
    );
    let told = told(&policy);
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(
        told[0].contains("the rule \"r\" and 1 more of this file"),
        "{}",
        told[0]
    );
}

#[test]
fn bodies_that_cannot_be_kept_are_told() {
    let network = "[network]\nallow = [\"*.test\"]\n";
    for (inspect, kept, count) in [
        (r#""never""#, "a.test", 1),
        (r#"{ "*.test" = "never" }"#, "*.test", 1),
        (r#"{ "b.test" = "never" }"#, "a.test", 0),
        (r#""never""#, "a.test:80", 0),
        (r#""auto""#, "a.test", 0),
    ] {
        let policy = format!("{network}inspect = {inspect}\nkeep_bodies = [\"{kept}\"]\n");
        let told = told(&policy);
        assert_eq!(told.len(), count, "{inspect} {kept} {told:#?}");
        for one in told {
            assert!(one.starts_with("./own.toml:4:16: warning"), "{one}");
            assert!(one.contains("at ./own.toml:3:"), "{one}");
        }
    }
}

#[test]
fn a_secret_that_can_reach_nobody_is_told() {
    let secret =
        |hosts: &str| format!("[[secrets]]\nname = \"KEY\"\nfrom = \"env\"\nhosts = [{hosts}]\n");
    for (network, hosts, count) in [
        ("", r#""a.test""#, 1),
        ("allow = [\"b.test\"]", r#""a.test""#, 1),
        ("allow = [\"a.test:8443\"]", r#""a.test""#, 1),
        ("allow = [\"a.test\"]", r#""a.test", "b.test""#, 0),
        ("allow = [\"a.test:8443\"]", r#""a.test:8443""#, 0),
        ("allow = [\"*\"]", r#""*.test""#, 0),
        ("allow = [\"a.test\"]", r#""*.test""#, 0),
        ("allow = [\"a.example\"]", r#""*.test""#, 1),
        ("http = [{ host = \"a.test\" }]", r#""a.test""#, 0),
        ("hosts = { \"a.test\" = \"127.0.0.1:1\" }", r#""a.test""#, 0),
    ] {
        let told = told(&format!("[network]\n{network}\n{}", secret(hosts)));
        assert_eq!(told.len(), count, "{network} {hosts} {told:#?}");
        for one in told {
            assert!(one.contains("the secret \"KEY\" can reach nobody"), "{one}");
        }
    }
    // What a set stands for is known only where a run begins.
    let machine = Machine::new().file(
        "own.toml",
        &format!("[network]\nallow = [\"@npm\"]\n{}", secret("\"a.test\"")),
    );
    let told = check_of(&machine.request, Path::new("own.toml")).unwrap();
    assert_eq!(told, [""; 0]);
}
