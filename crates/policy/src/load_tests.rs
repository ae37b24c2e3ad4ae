use super::*;
use crate::document::Document;
use crate::fixture::{Machine, access, reaches};
use crate::source_text::SourceText;
use crate::{Access, ProtectAbsent};
use std::time::Duration;

fn notice<'a>(loaded: &'a Loaded, words: &str) -> &'a str {
    let found: Vec<_> = loaded
        .notices
        .iter()
        .filter(|n| n.contains(words))
        .collect();
    assert_eq!(
        found.len(),
        1,
        "one notice with {words:?} in {:?}",
        loaded.notices
    );
    found[0]
}

#[test]
fn without_any_file_the_default_template_holds() {
    let machine = Machine::new();
    let loaded = machine.load();
    assert_eq!(loaded.effective.layers, ["template:default"]);
    assert_eq!(access(&loaded, &machine.path("src/main.rs")), Access::Write);
    assert_eq!(
        access(&loaded, &machine.path(".git/hooks/pre-commit")),
        Access::Protected
    );
    assert_eq!(
        access(&loaded, &machine.path("bailiwick.toml")),
        Access::Protected
    );
    assert_eq!(access(&loaded, &machine.path("~/.ssh/id")), Access::Hidden);
    assert_eq!(
        access(&loaded, &machine.path("~/.cache/x")),
        Access::Private
    );
    assert_eq!(access(&loaded, Path::new("/usr/bin/env")), Access::Read);
    assert_eq!(access(&loaded, Path::new("/etc/shadow")), Access::Denied);
    assert_eq!(
        access(&loaded, Path::new("/etc/ssh/ssh_host_ed25519_key")),
        Access::Denied
    );
    assert!(!reaches(&loaded, "example.org"));
    assert_eq!(
        loaded.effective.limits.processes.as_ref().unwrap().value,
        1024
    );
    assert!(loaded.notices.is_empty(), "{:?}", loaded.notices);
}

#[test]
fn every_template_loads_alone() {
    for (name, _) in crate::templates() {
        // The sets of these three depend on the machine; their files are checked all the same.
        if ["npm", "pip", "cargo"].contains(&name) {
            let text = crate::templates::text_of(name).unwrap().to_owned();
            Document::parse(SourceText::new(name, None, text)).unwrap();
            continue;
        }
        let loaded = Machine::new().policy(name).load();
        assert!(loaded.notices.is_empty(), "{name}: {:?}", loaded.notices);
    }
}

#[test]
fn no_template_passes_a_token_or_names_a_host() {
    for (name, text) in crate::templates() {
        let document = Document::parse(SourceText::new(name, None, (*text).to_owned())).unwrap();
        for entry in &document.entries {
            match &entry.value {
                Value::Text(text) if entry.key.id == KeyId::Pass => {
                    let bad = ["TOKEN", "KEY", "SECRET", "PASS", "AUTH", "CREDENTIAL"];
                    assert!(!bad.iter().any(|b| text.contains(b)), "{name}: {text}");
                }
                Value::Host(host) => assert!(entry.key.id == KeyId::NetworkDeny, "{name}: {host}"),
                _ => {}
            }
        }
    }
}

#[test]
fn lists_of_layers_add_up_and_the_stronger_number_holds() {
    let loaded = Machine::new()
        .system("[limits]\nwall = \"10m\"\n[network]\nallow = [\"a.test\"]")
        .user("[limits]\nwall = \"20m\"\nprocesses = 7\n[network]\nallow = [\"b.test\"]")
        .file(
            "p.toml",
            "[limits]\nprocesses = 9\nmemory = \"1GiB\"\n[network]\nallow = [\"c.test\"]",
        )
        .policy("./p.toml")
        .load();
    for host in ["a.test", "b.test", "c.test"] {
        assert!(reaches(&loaded, host), "{host}");
    }
    let limits = &loaded.effective.limits;
    assert_eq!(limits.wall.as_ref().unwrap().value, Duration::from_mins(10));
    assert_eq!(limits.processes.as_ref().unwrap().value, 7);
    assert_eq!(limits.memory.as_ref().unwrap().value, 1 << 30);
    assert_eq!(loaded.effective.layers, ["system", "user", "./p.toml"]);
}

#[test]
fn of_two_policy_arguments_the_later_one_holds_and_shared_templates_stand_below_both() {
    let machine = Machine::new().file(
        "late.toml",
        "extends = [\"default\"]\n[limits]\nwall = \"5m\"",
    );
    let loaded = machine
        .policy("agent")
        .policy("ci")
        .policy("./late.toml")
        .load();
    assert_eq!(
        loaded.effective.layers,
        [
            "./late.toml",
            "template:ci",
            "template:agent",
            "template:default"
        ]
    );
    assert_eq!(
        loaded.effective.limits.wall.as_ref().unwrap().value,
        Duration::from_mins(5)
    );
    assert_eq!(
        loaded.effective.limits.processes.as_ref().unwrap().value,
        512
    );
}

#[test]
fn an_untrusted_project_only_narrows_and_one_notice_says_so() {
    let text = "[filesystem]\nwrite = [\"~/.ssh\"]\ndeny = [\"**/.env\"]\nprotect = [\"ci\"]\n\
        [network]\nallow = [\"evil.test\"]\ndeny = [\"mirror.test\"]\n\
        [environment]\npass = [\"TOKEN\"]\nset = { PATH = \"/evil\" }\n\
        [limits]\nprocesses = 9999\nopen_files = 16\nwall = \"1m\"\n";
    let machine = Machine::new()
        .user("[network]\nallow = [\"mirror.test\"]")
        .project(text);
    let loaded = machine.load();
    assert_eq!(access(&loaded, &machine.path("~/.ssh/id")), Access::Hidden);
    assert_eq!(access(&loaded, &machine.path("a/b/.env")), Access::Denied);
    assert_eq!(
        access(&loaded, &machine.path("ci/run.sh")),
        Access::Protected
    );
    assert!(!reaches(&loaded, "evil.test") && !reaches(&loaded, "mirror.test"));
    assert!(
        !loaded
            .effective
            .environment
            .pass
            .iter()
            .any(|p| p.value == "TOKEN")
    );
    assert!(!loaded.effective.environment.set.contains_key("PATH"));
    let limits = &loaded.effective.limits;
    assert_eq!(
        limits.processes.as_ref().unwrap().value,
        1024,
        "raised by nobody"
    );
    assert_eq!(limits.open_files.as_ref().unwrap().value, 16);
    assert_eq!(limits.wall.as_ref().unwrap().value, Duration::from_mins(1));
    let told = notice(&loaded, "bailiwick policy trust");
    assert!(
        told.contains("./bailiwick.toml:2:10") && told.contains("4 entries"),
        "{told}"
    );
}

#[test]
fn a_project_that_asks_for_nothing_new_is_not_complained_about() {
    let loaded = Machine::new()
        .project("extends = [\"default\"]\n[filesystem]\nwrite = [\"src/..\"]")
        .load();
    assert!(loaded.notices.is_empty(), "{:?}", loaded.notices);
}

#[test]
fn the_notice_names_the_projects_file_also_where_a_template_asks() {
    let machine = Machine::new().project("extends = [\"agent\"]");
    let loaded = machine.load();
    assert_eq!(loaded.notices.len(), 1, "{:?}", loaded.notices);
    assert!(
        loaded.notices[0].starts_with("./bailiwick.toml: "),
        "{:?}",
        loaded.notices
    );
    let limit = loaded.effective.limits.processes.as_ref().map(|p| p.value);
    assert_eq!(limit, Some(512), "what narrows in the template holds");
    assert_eq!(
        access(&loaded, &machine.path("~/.claude/x")),
        Access::Hidden
    );
}

#[test]
fn a_trusted_project_widens_until_a_byte_of_it_changes() {
    let machine = Machine::new()
        .project("[network]\nallow = [\"a.test\"]\n[limits]\nprocesses = 9999")
        .trusted();
    let loaded = machine.load();
    assert!(reaches(&loaded, "a.test"));
    assert_eq!(
        loaded.effective.limits.processes.as_ref().unwrap().value,
        9999
    );
    let changed = machine.project("[network]\nallow = [\"a.test\"]\n[limits]\nprocesses = 9999 ");
    assert!(!reaches(&changed.load(), "a.test"));
}

#[test]
fn a_project_file_that_was_named_by_hand_is_the_users_own() {
    let machine = Machine::new()
        .project("[network]\nallow = [\"a.test\"]")
        .policy("default")
        .policy("./bailiwick.toml");
    let loaded = machine.load();
    assert!(reaches(&loaded, "a.test"));
    assert_eq!(
        access(&loaded, &machine.path("bailiwick.toml")),
        Access::Protected
    );
}

#[test]
fn a_policy_file_in_the_workspace_cannot_be_written_by_the_sandbox() {
    let machine = Machine::new()
        .file("conf/p.toml", "extends = [\"default\"]")
        .policy("conf/p.toml");
    assert_eq!(
        access(&machine.load(), &machine.path("conf/p.toml")),
        Access::Protected
    );
}

#[test]
fn the_products_own_files_are_denied_even_where_the_home_is_granted() {
    let mut machine = Machine::new().user("[filesystem]\nwrite = [\"~\"]");
    machine.request.allow_wide_workspace = true;
    let loaded = machine.load();
    assert_eq!(access(&loaded, &machine.path("~/notes")), Access::Write);
    assert_eq!(access(&loaded, &machine.request.user_file), Access::Denied);
    assert_eq!(
        access(&loaded, &machine.path("~/.config/bailiwick/new.toml")),
        Access::Denied
    );
}

#[test]
fn a_locked_list_is_only_narrowed_and_the_notice_names_both_lines() {
    let system = "[network]\nallow = [\"*.corp.test:443\"]\n[filesystem]\nread = [\"/usr\", \"/srv\"]\n\
        [limits]\nmemory = \"4GiB\"\n[lock]\nkeys = [\"network.allow\", \"filesystem.read\", \"limits.memory\"]\n";
    let user = "[network]\nallow = [\"evil.test\", \"git.corp.test:443\"]\ndeny = [\"old.corp.test\"]\n\
        hosts = { \"x.test\" = \"127.0.0.1:1\" }\nhttp = [{ host = \"y.test\" }]\n\
        [filesystem]\nread = [\"/srv/data\", \"~/.ssh\"]\nwrite = [\"~/.aws\"]\n[limits]\nmemory = \"8GiB\"\n";
    let machine = Machine::new().system(system).user(user);
    let loaded = machine.load();
    assert!(reaches(&loaded, "git.corp.test:443") && reaches(&loaded, "a.corp.test:443"));
    for host in ["evil.test", "old.corp.test:443", "x.test", "y.test:80"] {
        assert!(!reaches(&loaded, host), "{host}");
    }
    assert_eq!(access(&loaded, Path::new("/srv/data/x")), Access::Read);
    for path in ["~/.ssh/id", "~/.aws/credentials"] {
        assert_eq!(
            access(&loaded, &machine.path(path)),
            Access::Hidden,
            "{path}"
        );
    }
    assert_eq!(
        loaded.effective.limits.memory.as_ref().unwrap().value,
        4 << 30
    );
    let told = notice(&loaded, "`network.allow` is locked");
    assert!(
        told.contains("~/.config/bailiwick/policy.toml:2:10") && told.contains("policy.toml:8:9"),
        "{told}"
    );
    assert!(told.contains("and 2 more"), "{told}");
    let remedy = loaded.effective.explain_host("evil.test").unwrap().note;
    assert!(remedy.contains("etc/bailiwick/policy.toml"), "{remedy}");
}

#[test]
fn a_locked_limit_can_be_lowered_by_a_weaker_layer() {
    let loaded = Machine::new()
        .system("[limits]\nmemory = \"4GiB\"\n[lock]\nkeys = [\"limits.memory\"]")
        .user("[limits]\nmemory = \"2GiB\"")
        .load();
    assert_eq!(
        loaded.effective.limits.memory.as_ref().unwrap().value,
        2 << 30
    );
}

#[test]
fn keys_stand_only_where_they_may() {
    let hosts = "[network.hosts]\n\"x.test\" = \"127.0.0.1:1\"";
    assert!(reaches(&Machine::new().user(hosts).load(), "x.test"));
    let named = Machine::new().file("p.toml", hosts).policy("./p.toml");
    assert!(reaches(&named.load(), "x.test"));
    assert!(
        Machine::new()
            .project(hosts)
            .error()
            .contains("./bailiwick.toml:2:1: error: `network.hosts` has no place")
    );
    let lock = Machine::new()
        .user("[lock]\nkeys = [\"network.allow\"]")
        .error();
    assert!(
        lock.contains("policy.toml:2:9: error: `lock.keys`"),
        "{lock}"
    );
}

#[test]
fn policies_that_extend_one_another_in_a_circle_are_refused() {
    let error = Machine::new()
        .file("a.toml", "extends = [\"./b.toml\"]")
        .file("b.toml", "extends = [\"default\", \"./a.toml\"]")
        .policy("./a.toml")
        .error();
    assert!(
        error.contains("./b.toml:1:23: error: ") && error.contains("circle"),
        "{error}"
    );
    let itself = Machine::new()
        .project("extends = [\"./bailiwick.toml\"]")
        .error();
    assert!(itself.contains("circle"), "{itself}");
}

#[test]
fn policies_that_extend_too_deep_are_refused() {
    let mut machine = Machine::new().policy("./p0.toml");
    for i in 0..20 {
        machine = machine.file(
            &format!("p{i}.toml"),
            &format!("extends = [\"./p{}.toml\"]", i + 1),
        );
    }
    let error = machine.file("p20.toml", "").error();
    assert!(error.contains("more than 16"), "{error}");
}

#[test]
fn relative_paths_begin_at_the_file_or_for_the_users_policy_at_the_workspace() {
    let machine = Machine::new()
        .user("[filesystem]\nread = [\"../of-user\"]")
        .file(
            "~/shared/team.toml",
            "[filesystem]\nread = [\"tools\", \"**/doc\"]",
        )
        .file(
            "conf/p.toml",
            "extends = [\"default\", \"~/shared/team.toml\"]\n[filesystem]\nread = [\"local\"]",
        )
        .policy("conf/p.toml");
    let loaded = machine.load();
    for (path, expected) in [
        ("~/of-user/x", Access::Read),
        ("~/shared/tools/x", Access::Read),
        ("~/shared/doc", Access::Hidden),
        ("a/doc/x", Access::Read),
        ("conf/local/x", Access::Read),
    ] {
        assert_eq!(access(&loaded, &machine.path(path)), expected, "{path}");
    }
}

#[test]
fn a_refusal_by_default_names_the_file_to_write_in() {
    let note = |machine: Machine| machine.load().effective.explain_host("a.test:443").unwrap();
    let none = note(Machine::new());
    assert!(
        none.note
            .contains("add \"a.test:443\" to [network] allow in ~/.config/bailiwick/policy.toml"),
        "{none}"
    );
    let own = note(
        Machine::new()
            .file("p.toml", "extends = [\"agent\"]\n[network]\nallow = []")
            .policy("./p.toml"),
    );
    assert!(own.note.contains("in ./p.toml"), "{own}");
    assert_eq!(own.rule.origin.line, 3);
    let untrusted = note(Machine::new().project("[network]\nallow = []"));
    assert!(
        untrusted
            .note
            .contains("in ~/.config/bailiwick/policy.toml"),
        "{untrusted}"
    );
}

#[test]
fn a_policy_that_cannot_be_read_is_an_error_and_never_a_wait() {
    let fifo = Machine::new();
    rustix::fs::mkfifoat(rustix::fs::CWD, fifo.path("bailiwick.toml"), 0o600.into()).unwrap();
    assert!(
        fifo.error()
            .contains("./bailiwick.toml cannot be read: it is not a regular file")
    );
    let folder = Machine::new().file("p.toml/x", "").policy("./p.toml");
    assert!(folder.error().contains("not a regular file"));
    let missing = Machine::new().policy("./nix.toml");
    assert!(
        missing
            .error()
            .contains("the policy ./nix.toml cannot be read: there is no such file")
    );
    let large = Machine::new().project(&"#".repeat((1 << 20) + 1));
    assert!(large.error().contains("larger than 1 MiB"));
    let binary = Machine::new();
    std::fs::write(binary.path("bailiwick.toml"), b"# \xff").unwrap();
    assert!(binary.error().contains("not UTF-8 (byte 2)"));
    let dangling = Machine::new();
    std::os::unix::fs::symlink("/nowhere/x", dangling.path("bailiwick.toml")).unwrap();
    assert!(dangling.error().contains("outside of the project's folder"));
    let dangling = Machine::new();
    std::os::unix::fs::symlink("nowhere", dangling.path("bailiwick.toml")).unwrap();
    assert!(dangling.error().contains("no such file"));
}

#[test]
fn a_misspelt_template_is_suggested() {
    assert!(
        Machine::new()
            .policy("defualt")
            .error()
            .contains("did you mean \"default\"?")
    );
    let error = Machine::new().project("extends = [\"agnet\"]").error();
    assert!(
        error.contains("bailiwick.toml:1:12") && error.contains("did you mean \"agent\"?"),
        "{error}"
    );
}

#[test]
fn one_file_is_checked_without_a_sandbox() {
    let machine = Machine::new()
        .file("p.toml", "extends = [\"./q.toml\"]")
        .file("q.toml", "[network]\nallow = [\"a.test\", \"a.test\"]");
    let notices = check(&machine.path("p.toml")).unwrap();
    assert_eq!(notices.len(), 1);
    assert!(
        notices[0].contains("q.toml:2:20: warning: `network.allow` has this entry twice"),
        "{notices:?}"
    );
    assert!(check(&machine.path("nix.toml")).is_err());
}

#[test]
fn what_another_file_takes_away_is_told_where_a_policy_is_checked() {
    let machine = Machine::new()
        .file(
            "bailiwick.toml",
            "extends = [\"default\", \"./q.toml\"]\n[filesystem]\nread = [\"/etc/shadow\"]\n\
             write = [\".vscode/x\", \"fine\"]\n[network]\nallow = [\"a.test\", \"b.test\"]\n",
        )
        .file("q.toml", "[network]\ndeny = [\"*.test\"]");
    let notices = check_of(&machine.request, Path::new("bailiwick.toml")).unwrap();
    let expected = [
        ("3:9", "`filesystem.deny` at template:default:"),
        ("4:10", "`filesystem.protect` at template:default:"),
        ("6:10", "`network.deny` at ./q.toml:2:9"),
        ("6:20", "`network.deny` at ./q.toml:2:9"),
    ];
    assert_eq!(notices.len(), expected.len(), "{notices:#?}");
    for (notice, (place, by)) in notices.iter().zip(expected) {
        assert!(
            notice.contains(&format!("./bailiwick.toml:{place}: warning")) && notice.contains(by),
            "{notice}"
        );
    }
    // A template that is extended says of itself nothing that is taken away.
    let plain = machine.file("r.toml", "extends = [\"agent\", \"read-only\", \"npm\"]");
    assert_eq!(
        check_of(&plain.request, Path::new("r.toml")).unwrap(),
        [""; 0]
    );
}

#[test]
fn what_has_no_place_where_the_file_lies_is_told_where_it_is_checked() {
    let locks = "[lock]\nkeys = [\"network.allow\"]\n";
    let hosts = "[network.hosts]\n\"m.test\" = \"127.0.0.1:1\"\n";
    let machine = Machine::new()
        .system(locks)
        .file("bailiwick.toml", hosts)
        .file("mine.toml", &format!("{hosts}{locks}"));
    let notices = |path: &Path| check_of(&machine.request, path).unwrap();
    assert_eq!(notices(&machine.request.system_file), [""; 0]);
    let resolvers = "[network]\nresolvers = [\"127.0.0.1:5353\"]\n";
    let machine = machine.file("servers.toml", resolvers);
    let of_project = Machine::new().file("bailiwick.toml", resolvers);
    let told = check_of(&of_project.request, Path::new("bailiwick.toml")).unwrap();
    assert!(
        told[0].contains("`network.resolvers` has no place"),
        "{told:?}"
    );
    let notices = |path: &Path| check_of(&machine.request, path).unwrap();
    assert_eq!(notices(Path::new("servers.toml")), [""; 0]);
    let project = notices(Path::new("bailiwick.toml"));
    assert!(
        project[0].contains("no place in a project's policy"),
        "{project:?}"
    );
    let mine = notices(Path::new("mine.toml"));
    assert_eq!(mine.len(), 1, "{mine:?}");
    assert!(mine[0].contains("only in the system's policy"), "{mine:?}");
}

#[test]
fn a_file_of_authorities_that_is_none_is_a_mistake_with_its_place() {
    let policy = |roots: &str, more: &str| format!("[network]\nroots = [\"{roots}\"]\n{more}");
    let machine = |roots: &str, more: &str| {
        Machine::new()
            .file("no.pem", "no certificate\n")
            .file("ca.pem", "text\n-----BEGIN CERTIFICATE-----\n")
            .file("own.toml", &policy(roots, more))
            .policy("./own.toml")
    };
    let check = |roots: &str| {
        let machine = machine(roots, "");
        check_of(&machine.request, Path::new("own.toml")).map_err(|e| e.to_string())
    };
    let always = "inspect = \"always\"\n";
    let wrong = machine("no.pem", always).error();
    assert!(wrong.contains("./own.toml:2:10: error"), "{wrong}");
    assert!(
        wrong.contains("no.pem has no certificate in PEM in it"),
        "{wrong}"
    );
    assert!(check("no.pem").unwrap_err().contains("./own.toml:2:10"));
    // One that is not there keeps no run from starting that does not need it.
    assert!(
        machine("none.pem", always)
            .error()
            .contains("does not exist")
    );
    machine("none.pem", "").load();
    assert!(check("none.pem").unwrap()[0].contains("./own.toml:2:10: warning"));
    machine("ca.pem", always).load();
    assert_eq!(check("ca.pem").unwrap(), [""; 0]);
}

#[test]
fn an_untrusted_project_takes_no_protection_away() {
    for way in ["off", "sweep"] {
        let text =
            format!("[filesystem]\nprotect_absent = \"{way}\"\n[ask]\ndefault = \"allow\"\n");
        let machine = Machine::new().project(&text);
        let loaded = machine.load();
        assert_eq!(
            loaded.effective.filesystem.protect_absent(),
            ProtectAbsent::Enforce
        );
        assert!(loaded.effective.ask.default.is_none());
        let files = Machine::new().project(
            "[filesystem]\nhost_programs = \"off\"\nordinary = [\".zed\"]\nreport = [\"x\"]\n",
        );
        let files = files.load().effective.filesystem;
        let kept = files.host_programs.map(|way| way.value);
        assert_eq!(kept, Some(crate::HostPrograms::Protect));
        assert!(files.ordinary.is_empty());
        assert_eq!(files.report[0].value, "x");
        let strict = machine.user("[filesystem]\nprotect_absent = \"sweep\"\n");
        assert_eq!(
            strict.load().effective.filesystem.protect_absent(),
            ProtectAbsent::Sweep
        );
    }
}
