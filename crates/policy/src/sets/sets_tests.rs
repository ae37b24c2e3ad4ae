use crate::PolicyError;
use crate::fixture::{Machine, reaches};

const NPMRC: &str = "registry=https://mirror.test/\n";

#[test]
fn a_set_is_granted_by_the_line_that_asked_for_it() {
    let loaded = Machine::new()
        .file("~/.npmrc", NPMRC)
        .user("[network]\nallow = [\"@npm\"]")
        .load();
    assert!(reaches(&loaded, "mirror.test:443") && !reaches(&loaded, "mirror.test:80"));
    let rule = loaded
        .effective
        .explain_host("mirror.test:443")
        .unwrap()
        .rule;
    assert_eq!(
        rule.origin.to_string(),
        "~/.config/bailiwick/policy.toml:2:10"
    );
    assert_eq!(loaded.sets[0].hosts[0].1, "~/.npmrc");
    assert!(
        loaded
            .notices
            .iter()
            .any(|n| n.contains("~/.npmrc, which the sandbox does not see")),
        "{:?}",
        loaded.notices
    );
    assert!(crate::render_show(&loaded).contains("#     mirror.test:443, by ~/.npmrc"));
}

#[test]
fn a_set_that_stands_for_nothing_is_an_error_with_the_way_out() {
    let error = Machine::new()
        .user("[network]\nallow = [\"@npm\"]")
        .try_load()
        .unwrap_err();
    assert!(matches!(error, PolicyError::EmptySet { .. }));
    let shown = error.render();
    assert!(
        shown.contains("write the machine itself in [network] allow instead of \"@npm\""),
        "{shown}"
    );
}

#[test]
fn a_set_of_an_untrusted_project_is_not_even_looked_at() {
    let loaded = Machine::new()
        .file("~/.npmrc", NPMRC)
        .project("[network]\nallow = [\"@npm\", \"@go\"]")
        .load();
    assert!(loaded.sets.is_empty() && !reaches(&loaded, "mirror.test:443"));
}

#[test]
fn a_locked_list_takes_from_a_set_only_what_the_system_grants() {
    let system =
        |allow: &str| format!("[network]\nallow = [{allow}]\n[lock]\nkeys = [\"network.allow\"]");
    let user = "[network]\nallow = [\"@npm\"]";
    let machine = Machine::new()
        .file("~/.npmrc", NPMRC)
        .system(&system("\"other.test\""))
        .user(user);
    assert!(!reaches(&machine.load(), "mirror.test:443"));
    let machine = machine.system(&system("\"@npm\""));
    assert!(reaches(&machine.load(), "mirror.test:443"));
}
