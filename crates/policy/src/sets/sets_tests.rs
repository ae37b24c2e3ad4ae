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

/// A workspace in which a run has written what chooses hosts.
fn poisoned() -> Machine {
    Machine::new()
        .file(
            ".git/config",
            "[remote \"x\"]\nurl = https://evil.test/x.git\n",
        )
        .file(".npmrc", "registry=https://evil.test/\n")
}

#[test]
fn what_a_run_wrote_counts_for_nobodys_set_until_it_was_trusted() {
    let text = "[network]\nallow = [\"@git\", \"@npm\"]";
    for machine in [
        poisoned().user(text),
        poisoned().system(text),
        poisoned().file("~/p.toml", text).policy("~/p.toml"),
    ] {
        let machine = machine.file("~/.npmrc", NPMRC);
        let loaded = machine.load();
        assert!(reaches(&loaded, "mirror.test:443") && !reaches(&loaded, "evil.test:443"));
        let told = loaded.notices.join("\n");
        for said in [
            "left out: @git evil.test:443 (from .git/config), @npm evil.test:443 (from .npmrc)",
            "nothing is left of @git;",
            "`bailiwick policy trust",
        ] {
            assert!(told.contains(said), "{told}");
        }
        let shown = crate::render_show(&loaded);
        assert!(
            shown.contains("not trusted, so left out: evil.test:443, by .npmrc"),
            "{shown}"
        );
        assert!(reaches(&machine.trusted().load(), "evil.test:443"));
    }
}

#[test]
fn the_remedy_names_the_policies_and_the_workspace_that_were_given() {
    let mut machine = poisoned()
        .file("~/a b.toml", "[network]\nallow = [\"@git\"]")
        .policy("~/a b.toml")
        .policy("default");
    machine.request.cwd = machine.request.home.clone();
    machine.request.workspace = "project".into();
    let told = machine.load().notices.join("\n");
    assert!(
        told.contains(
            "`bailiwick policy trust --policy '~/a b.toml' --policy default --workspace project`"
        ),
        "{told}"
    );
}

#[test]
fn addresses_of_this_machine_and_its_networks_never_come_from_the_workspace() {
    for (url, host) in [
        ("http://127.0.0.1:8080/", "127.0.0.1:8080"),
        ("http://2130706433/", "127.0.0.1:80"),
        ("http://[::1]:8080/", "[::1]:8080"),
        ("http://localhost:8080/", "localhost:8080"),
        ("http://a.localhost/", "a.localhost:80"),
        ("http://0.0.0.0/", "0.0.0.0:80"),
        ("http://169.254.169.254/", "169.254.169.254:80"),
        ("http://[fd00:ec2::254]/", "[fd00:ec2::254]:80"),
        (
            "http://metadata.google.internal/",
            "metadata.google.internal:80",
        ),
        ("http://10.1.2.3/", "10.1.2.3:80"),
        ("http://172.16.1.1/", "172.16.1.1:80"),
        ("http://192.168.1.1/", "192.168.1.1:80"),
        ("http://100.100.100.200/", "100.100.100.200:80"),
        ("http://[fe80::1]/", "[fe80::1]:80"),
        ("http://224.0.0.1/", "224.0.0.1:80"),
        ("git@10.1.2.3:x.git", "10.1.2.3:22"),
    ] {
        let machine = Machine::new()
            .file(".git/config", &format!("[remote \"x\"]\nurl = {url}\n"))
            .project("[network]\nallow = [\"@git\"]")
            .trusted();
        let loaded = machine.load();
        assert!(loaded.effective.network.allow.is_empty(), "{url}");
        let told = loaded.notices.join("\n");
        let said = format!(
            "which no trust lets in: @git {host} (from .git/config); without them nothing is left of @git; if one is meant, write it in [network] allow of your own policy, ~/.config/bailiwick/policy.toml"
        );
        assert!(told.contains(&said), "{url}: {told}");
    }
}

#[test]
fn an_address_that_the_users_own_policy_allows_is_not_told() {
    let machine = |user: &str| {
        Machine::new()
            .user(user)
            .file(".git/config", "[remote \"x\"]\nurl = git@10.1.2.3:x.git\n")
            .project("[network]\nallow = [\"@git\"]")
            .trusted()
    };
    for (allowed, told) in [("10.1.2.3:22", false), ("10.1.2.3:443", true)] {
        let user = format!("[network]\nallow = [\"{allowed}\"]\n");
        let notices = machine(&user).load().notices.join("\n");
        assert_eq!(
            notices.contains("which no trust lets in"),
            told,
            "{notices}"
        );
    }
}

#[test]
fn a_name_of_the_workspaces_may_have_no_private_address() {
    let machine = poisoned()
        .file("~/.npmrc", NPMRC)
        .user("[network]\nallow = [\"@git\", \"@npm\"]")
        .trusted();
    let loaded = machine.load();
    assert!(reaches(&loaded, "evil.test:443"));
    let private: Vec<_> = loaded
        .effective
        .network
        .registries
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(private, ["mirror.test"]);
}

#[test]
fn a_thousand_hosts_of_the_workspace_are_told_in_one_short_sentence() {
    let remotes = (0..1000).map(|n| format!("[remote \"{n}\"]\nurl = https://h{n}.test/\n"));
    let machine = Machine::new()
        .file(".git/config", &remotes.collect::<String>())
        .user("[network]\nallow = [\"@git\"]");
    let notices = machine.load().notices;
    let told = notices.iter().find(|n| n.contains("h0.test")).unwrap();
    assert!(told.contains("and 992 more") && told.len() < 1000, "{told}");
}
