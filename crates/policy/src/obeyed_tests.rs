use crate::fixture::Machine;
use bailiwick_event::Failure;

/// What is said of a file to which a link leads.
fn led(machine: &Machine) -> String {
    match Failure::from(machine.try_load().unwrap_err()) {
        Failure::Usage(message) => message.replace(machine.root().to_str().unwrap(), "ROOT"),
        other => panic!("{other}"),
    }
}

#[test]
fn a_policy_to_which_a_link_of_a_sandbox_leads_is_not_obeyed() {
    let machine = Machine::new()
        .file("~/policies/wide.toml", "extends = [\"default\"]")
        .link("p.toml", "~/policies/wide.toml")
        .policy("./p.toml");
    assert_eq!(
        led(&machine),
        "the policy ./p.toml cannot be used: ROOT/home/project/p.toml is a symbolic link in a folder \
         that a sandbox may write, and leads to ROOT/home/policies/wide.toml\n\
         help: if that is the file that is meant, name it itself, without the link"
    );
    let named = Machine::new()
        .file("~/policies/wide.toml", "extends = [\"default\"]")
        .policy("~/policies/wide.toml");
    named.load();
}

#[test]
fn files_that_a_policy_names_are_refused_with_their_line() {
    let pack = bailiwick_rules::pack::shipped()[0].1;
    for (text, what) in [
        (
            "extends = [\"~/old/other.toml\"]",
            "1:12: error: ~/old/other.toml",
        ),
        (
            "packs = [\"~/old/other.toml\"]",
            "1:10: error: ~/old/other.toml",
        ),
        (
            "[[secrets]]\nname = \"KEY\"\nfrom = { file = \"~/old/other.toml\" }\nhosts = [\"a.test\"]",
            "error: the file ROOT/home/old/other.toml of the secret KEY",
        ),
        (
            "[network]\nroots = [\"~/old/other.toml\"]",
            "2:10: error: the file ROOT/home/old/other.toml of `network.roots`",
        ),
    ] {
        let machine = || {
            let content = if text.starts_with("packs") { pack } else { "" };
            let machine = Machine::new()
                .user(text)
                .file("~/other/rules.toml", content);
            machine.link("~/old/other.toml", "~/other/rules.toml")
        };
        let ordinary = machine().try_load();
        let said = ordinary.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(!said.contains("symbolic link"), "{said}");
        let said = led(&machine().written("~/old"));
        assert!(said.contains(what), "{text}: {said}");
        assert!(said.contains("earlier sandbox could write"), "{said}");
        assert!(
            said.contains("leads to ROOT/home/other/rules.toml"),
            "{said}"
        );
    }
}

#[test]
fn a_projects_own_policy_may_be_a_link_in_its_folder_because_its_bytes_are_trusted() {
    let machine = Machine::new()
        .file("policies/p.toml", "[filesystem]\ndeny = [\"x\"]")
        .link("bailiwick.toml", "policies/p.toml");
    machine.load();
}

#[test]
fn a_link_on_the_way_to_the_users_own_policy_is_followed_unless_a_sandbox_could_have_made_it() {
    let machine = Machine::new()
        .file("~/dots/bailiwick/policy.toml", "")
        .link("~/.config", "~/dots");
    machine.load();
    let said = led(&machine.written("~/"));
    assert!(said.starts_with("the policy ~/.config/bailiwick/policy.toml cannot be used: "));
    assert!(said.ends_with(
        "help: put what is meant in the place of the link ROOT/home/.config; or look at the links in \
         ROOT/home, and remove that line from ROOT/state/bailiwick/written"
    ), "{said}");
}
