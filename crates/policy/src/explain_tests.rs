use super::*;
use crate::fixture::Machine;

#[test]
fn the_most_specific_path_decides_and_deny_and_protect_always_win() {
    let machine = Machine::new().user(
        "[filesystem]\nread = [\"~/data\", \"~/data/in/fixed\"]\nwrite = [\"~/data/in\"]\nprivate = [\"~/data/in/cache\"]\n\
         deny = [\"~/data/in/fixed/secret\", \"~/data/**/*.pem\"]\nprotect = [\"~/data/in/hooks\", \"~/unseen\"]\n",
    );
    let loaded = machine.load();
    for (path, expected) in [
        ("~/data/x", Access::Read),
        ("~/data/in/x", Access::Write),
        ("~/data/in/fixed/x", Access::Read),
        ("~/data/in/fixed/secret/x", Access::Denied),
        ("~/data/in/cache/x", Access::Private),
        ("~/data/in/hooks/x", Access::Protected),
        ("~/data/in/a/b.pem", Access::Denied),
        ("~/data/in/a/b.pem/inside", Access::Denied),
        ("~/data/in/../../data/in/a/b.pem", Access::Denied),
        ("~/unseen/x", Access::Hidden),
        ("~/database", Access::Hidden),
    ] {
        let found = loaded.effective.explain_path(&machine.path(path));
        assert_eq!(found.access, expected, "{path}: {found}");
    }
}

#[test]
fn a_name_that_is_obeyed_in_every_folder_is_explained_as_protected_there() {
    let machine = Machine::new().user(
        "[filesystem]\nwrite = [\"~/data\"]\nprotect = [\".keep\", \".our/*/x\", \"undotted\", \"~/data/.other\"]\n",
    );
    let loaded = machine.load();
    for (path, expected) in [
        (".keep", Access::Protected),
        ("s/.keep/x", Access::Protected),
        ("~/data/s/.keep", Access::Protected),
        ("s/.our/a/b/x", Access::Protected),
        ("s/.our/x", Access::Write),
        ("undotted", Access::Protected),
        ("s/undotted", Access::Write),
        ("s/.other", Access::Write),
    ] {
        let found = loaded.effective.explain_path(Path::new(path));
        assert_eq!(found.access, expected, "{path}: {found}");
    }
    // The entry decides before the table of names does.
    let found = loaded.effective.explain_path(Path::new("s/.envrc"));
    assert_eq!(found.rule.id, "filesystem.protect", "{found}");
}

#[test]
fn what_programs_of_the_host_obey_is_protected_unless_the_user_takes_it_out() {
    let loaded = Machine::new().load();
    let found = loaded
        .effective
        .explain_path(Path::new("a/.zed/settings.json"));
    assert_eq!(found.access, Access::Protected);
    let said = found.to_string();
    assert!(
        said.contains("by filesystem.host_programs (table:host-programs:"),
        "{said}"
    );
    assert!(said.contains("Zed obeys it (open an editor); it cannot be made, changed or removed inside, unless `ordinary` under [filesystem] has \".zed\""), "{said}");
    let user =
        "[filesystem]\nordinary = [\".zed\", \".vscode\", \".idea\"]\nprotect = [\".idea\"]\n";
    let machine = Machine::new().user(user);
    for (path, expected) in [
        (".zed", Access::Write),
        (".vscode", Access::Write),
        (".idea", Access::Protected),
        (".husky", Access::Protected),
    ] {
        assert_eq!(
            machine
                .load()
                .effective
                .explain_path(Path::new(path))
                .access,
            expected,
            "{path}"
        );
    }
    let off = Machine::new()
        .user("[filesystem]\nhost_programs = \"off\"\n")
        .load();
    assert_eq!(
        off.effective.explain_path(Path::new(".zed")).access,
        Access::Write
    );
}

#[test]
fn an_explanation_names_the_line_and_the_way_out() {
    let machine = Machine::new().user("[filesystem]\ndeny = [\"~/.ssh\"]");
    let loaded = machine.load();
    let shown = loaded
        .effective
        .explain_path(Path::new("~/.ssh/id"))
        .to_string();
    assert!(
        shown.ends_with(
            "/home/.ssh/id: denied by filesystem.deny (~/.config/bailiwick/policy.toml:2:9)"
        ),
        "{shown}"
    );
    let shown = loaded
        .effective
        .explain_path(Path::new("/tmp/x"))
        .to_string();
    assert!(shown.contains("a /tmp of its own"), "{shown}");
}

#[test]
fn a_link_says_where_it_leads() {
    let machine = Machine::new();
    std::os::unix::fs::symlink("/etc/shadow", machine.path("innocent")).unwrap();
    let found = machine.load().effective.explain_path(Path::new("innocent"));
    assert!(
        found.note.contains("leads to /etc/shadow, which is denied"),
        "{found}"
    );
}

#[test]
fn a_host_is_explained_as_it_is_decided() {
    let loaded = Machine::new()
        .user("[network]\nallow = [\"a.test:8080\"]\nhttp = [{ host = \"h.test:80\" }]\n[network.hosts]\n\"m.test\" = \"127.0.0.1:8443\"")
        .load();
    let ask = |text: &str| loaded.effective.explain_host(text).unwrap();
    assert_eq!(ask("A.test.:8080").access, Access::Reachable);
    assert_eq!(ask("a.test").access, Access::Refused);
    for (asked, says) in [
        ("a.test", "a.test:443: refused by network.default"),
        ("a.test", "asked about port 443; port 80 is refused"),
        ("h.test", "h.test:80: reachable by network.http"),
        ("h.test", "asked about port 80; port 443 is refused"),
        ("a.test:8080", "a.test:8080: reachable by network.allow"),
    ] {
        let shown = ask(asked).to_string();
        assert!(shown.contains(says), "{asked}: {shown}");
    }
    assert!(!ask("a.test:8080").note.contains("asked about"));
    assert!(ask("m.test").note.contains("127.0.0.1:8443"));
    assert_eq!(ask("h.test").rule.id, "network.http");
    assert!(
        loaded
            .effective
            .explain_host("*.test")
            .unwrap_err()
            .contains("ask about one host")
    );
    assert!(
        loaded
            .effective
            .explain_host("https://a.test/")
            .unwrap_err()
            .contains("without")
    );
}

#[test]
fn an_explained_host_says_what_may_be_sent_and_whether_its_tls_is_looked_into() {
    let rule = "[[rules]]\nid = \"no-post\"\non = \"http.request\"\naction = \"deny\"\n\
        when = 'http.request.host == \"ruled.test\" && http.request.method == \"POST\"'\n";
    let loaded = Machine::new()
        .user(&format!(
            "[network]\nallow = [\"*.test\"]\nkeep_bodies = [\"kept.test\"]\n\
             inspect = {{ \"never.test\" = \"never\", \"always.test\" = \"always\", \"cut.test\" = \"never\" }}\n\
             [network.hosts]\n\"m.test\" = \"127.0.0.1:1\"\n\
             [[network.http]]\nhost = \"m.test\"\n[[network.http]]\nhost = \"cut.test\"\n\
             [[secrets]]\nname = \"KEY\"\nfrom = \"env\"\nhosts = [\"secret.test\"]\n{rule}"
        ))
        .load();
    for (host, says) in [
        (
            "free.test",
            "its TLS is not looked into: no rule, secret or `keep_bodies` needs it",
        ),
        (
            "never.test",
            "its TLS is not looked into: `inspect` at ~/.config",
        ),
        (
            "always.test",
            "its TLS is looked into: `inspect` at ~/.config",
        ),
        (
            "secret.test",
            "its TLS is looked into: a secret is for it, at ",
        ),
        ("kept.test", "its TLS is looked into: `keep_bodies` at "),
        (
            "ruled.test",
            "its TLS is looked into: the rule \"no-post\" at ",
        ),
        (
            "m.test",
            "its address is 127.0.0.1:1; only HTTP requests that a [[network.http]] rule covers; its TLS is looked into",
        ),
        (
            "cut.test",
            "only HTTP requests in the clear that a [[network.http]] rule covers; its TLS is refused",
        ),
    ] {
        let note = loaded.effective.explain_host(host).unwrap().note;
        assert!(note.starts_with(says), "{host}: {note}");
    }
}

#[test]
fn what_only_covers_this_machines_loopback_opens_no_way_to_it() {
    let loaded = Machine::new()
        .user(
            "[network]\nallow = [\"localhost\", \"127.0.0.0/8:9000\", \"127.0.0.1:5432\"]\n\
             http = [{ host = \"localhost:8080\" }]",
        )
        .load();
    let ask = |text: &str| loaded.effective.explain_host(text).unwrap();
    for reached in ["localhost:5432", "[::1]:5432", "127.0.0.1:8080"] {
        assert_eq!(ask(reached).access, Access::Reachable, "{reached}");
    }
    for (own, remedy) in [
        ("localhost:443", "add \"localhost:443\" to [network] allow"),
        (
            "127.0.0.1:9000",
            "add \"127.0.0.1:9000\" to [network] allow",
        ),
        ("127.0.0.2:9000", "write \"localhost:9000\""),
    ] {
        let found = ask(own);
        assert_eq!(found.access, Access::Refused, "{found}");
        assert!(found.note.contains("the sandbox's own loopback"), "{found}");
        assert!(found.note.contains(remedy), "{found}");
    }
    assert_eq!(
        network::loopback_ports(&loaded.effective.network),
        [5432, 8080]
    );
}
