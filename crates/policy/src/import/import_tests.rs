use super::*;
use crate::fixture::{Machine, access, reaches};
use crate::{Access, Loaded};

const SAMPLES: [(Tool, &str, &str); 4] = [
    (
        Tool::Fence,
        "fence.jsonc",
        include_str!("../../tests-data/fence.jsonc"),
    ),
    (
        Tool::Claude,
        "claude.json",
        include_str!("../../tests-data/claude.json"),
    ),
    (
        Tool::Srt,
        "srt.json",
        include_str!("../../tests-data/srt.json"),
    ),
    (
        Tool::Codex,
        "codex.toml",
        include_str!("../../tests-data/codex.toml"),
    ),
];

fn imported(machine: &Machine, tool: Tool, path: &str) -> Imported {
    import(tool, &machine.path(path), &machine.request).unwrap_or_else(|e| panic!("{e}"))
}

/// A text imported, and the policy loaded in the workspace.
fn of(tool: Tool, text: &str) -> (Imported, Loaded) {
    let machine = Machine::new().file("source", text);
    let imported = imported(&machine, tool, "source");
    let machine = machine
        .file("imported.toml", &imported.policy)
        .policy("./imported.toml");
    (imported, machine.load())
}

fn error(tool: Tool, text: &str) -> String {
    let machine = Machine::new().file("source", text);
    let found = import(tool, &machine.path("source"), &machine.request);
    found.expect_err("this should be refused").to_string()
}

fn told(imported: &Imported, key: &str) -> String {
    let mut lines = imported.left_out.iter().filter(|l| l.key == key);
    lines.next().map(ToString::to_string).unwrap_or_default()
}

fn at(loaded: &Loaded, path: &str) -> Access {
    let path = match path.strip_prefix("~/") {
        Some(rest) => loaded.effective.home.join(rest),
        None => PathBuf::from(path),
    };
    access(loaded, &path)
}

#[test]
fn the_samples_become_the_stored_policies() {
    for (tool, name, text) in SAMPLES {
        let machine = Machine::new().file(name, text);
        let imported = imported(&machine, tool, name);
        let mut whole = imported.policy;
        whole.push_str("\n# Told on stderr:\n");
        for left in imported.left_out {
            whole.push_str(&format!("# {left}\n"));
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests-data")
            .join(format!("{name}.imported"));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &whole).unwrap();
        }
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            stored == whole,
            "{} is stale: BLESS=1 cargo test -p bailiwick-policy import\n{whole}",
            path.display()
        );
    }
}

#[test]
fn every_entry_names_the_key_that_it_comes_from() {
    for (tool, name, text) in SAMPLES {
        let machine = Machine::new().file(name, text);
        let policy = imported(&machine, tool, name).policy;
        let entries = policy
            .lines()
            .filter(|l| l.starts_with("    ") || l.starts_with("set.") || l.starts_with("extends"));
        for line in entries {
            assert!(line.contains(" # "), "{line}");
        }
    }
}

#[test]
fn every_key_of_a_sample_is_in_the_policy_or_told() {
    for (tool, name, text) in SAMPLES {
        let machine = Machine::new().file(name, text);
        let imported = imported(&machine, tool, name);
        let source = Arc::new(SourceText::new(name, None, text.to_owned()));
        let node = parse(tool, &source).unwrap();
        let mut open = vec![Item::whole(&source, &node)];
        while let Some(item) = open.pop() {
            // A key is heard if it or what lies below it stands in the policy or on stderr.
            let heard = item.path.is_empty()
                || imported.policy.contains(&item.path)
                || imported
                    .left_out
                    .iter()
                    .any(|l| l.key.starts_with(&item.path) || item.path.starts_with(&l.key));
            // The workspace is readable and writable by the template that is extended.
            let elsewhere = [
                "permissions.allow[2]",
                "filesystem.allowWrite[0]",
                "sandbox.filesystem.allowRead",
                "sandbox.filesystem.allowRead[0]",
            ]
            .contains(&item.path.as_str());
            let empty = item.keys().is_empty() && item.elements().is_empty();
            let list = matches!(item.node.value, tree::Value::List(_));
            assert!(
                heard || elsewhere || (list && empty),
                "{name}: {}",
                item.path
            );
            open.extend(item.keys().into_iter().map(|(_, below)| below));
            open.extend(item.elements());
        }
    }
}

#[test]
fn nothing_of_a_secret_or_of_an_escape_sequence_is_written() {
    let (imported, _) = of(
        Tool::Claude,
        r#"{ "env": { "X_TOKEN": "hush" }, "model\u001b[2J": 1,
            "permissions": { "deny": ["Bash(\u001b[2J)", "Read(\u001b]0;x)"] } }"#,
    );
    let all: String = imported.left_out.iter().map(ToString::to_string).collect();
    assert!(told(&imported, "env.X_TOKEN").contains("secret"));
    assert!(!(imported.policy.clone() + &all).contains("hush"));
    assert!(!(imported.policy + &all).contains('\u{1b}'));
}

#[test]
fn a_command_rule_is_told_and_never_carried_over() {
    let (fence, _) = of(Tool::Fence, r#"{ "command": { "deny": ["git push"] } }"#);
    assert!(told(&fence, "command.deny[0]").contains("NOT denied"));
    let (claude, _) = of(
        Tool::Claude,
        r#"{ "permissions": { "deny": ["Bash(git push:*)", "mcp__x__y"] } }"#,
    );
    assert!(told(&claude, "permissions.deny[0]").contains("NOT denied"));
    assert!(told(&claude, "permissions.deny[1]").contains("NOT denied"));
}

#[test]
fn fence_files_and_templates_are_followed_and_a_later_flag_holds() {
    let machine = Machine::new()
        .file(
            "conf/base.json",
            r#"{ "extends": "code-strict.json", "network": {
                "allowedDomains": ["base.test"], "allowLocalOutboundPorts": [5432] } }"#,
        )
        .file(
            "~/.config/fence/fence.jsonc",
            r#"{ "extends": "@base2/x" }"#,
        )
        .file(
            "fence.json",
            r#"{ "extends": "./conf/base.json", "network": {
                "allowedDomains": ["child.test"], "allowLocalOutbound": false } }"#,
        );
    let found = imported(&machine, Tool::Fence, "fence.json");
    let machine = machine.file("p.toml", &found.policy).policy("./p.toml");
    let loaded = machine.load();
    for host in ["base.test", "child.test", "api.openai.com"] {
        assert!(reaches(&loaded, host), "{host}");
    }
    assert!(!reaches(&loaded, "localhost:5432"));
    assert_eq!(at(&loaded, "~/.claude/x"), Access::Write);
    assert_eq!(at(&loaded, "~/.aws/credentials"), Access::Denied);
    assert_eq!(at(&loaded, "~/project/x"), Access::Write);
    // The user's own policy is there.
    assert_eq!(at(&loaded, "~/.config/x"), Access::Hidden);
    let left = found.left_out.iter().map(|left| left.to_string());
    let mut left = left.filter(|left| left.contains("\"~/.config\" is a folder that contains"));
    assert!(left.next().unwrap().contains("--allow-wide-workspace"));
    // code-strict reads nothing by default, as a policy does.
    assert!(told(&found, "the whole file").is_empty());
    let other = Machine::new().file("fence.json", r#"{ "extends": "@base" }"#);
    assert!(told(&imported(&other, Tool::Fence, "fence.json"), "extends").contains("no conf"));
}

#[test]
fn fence_extends_that_lead_nowhere_are_shown_with_their_line() {
    assert!(
        error(Tool::Fence, "{\n \"extends\": \"cod\" }").contains("./source:2:13"),
        "{}",
        error(Tool::Fence, "{\n \"extends\": \"cod\" }")
    );
    assert!(error(Tool::Fence, r#"{ "extends": "cod" }"#).contains("did you mean \"code\""));
    assert!(error(Tool::Fence, r#"{ "extends": "./x" }"#).contains("there is no such file"));
    assert!(error(Tool::Fence, r#"{ "extends": "./source" }"#).contains("in a circle"));
}

#[test]
fn what_is_hidden_anyway_may_have_exceptions_in_srt() {
    let (imported, loaded) = of(
        Tool::Srt,
        r#"{ "filesystem": { "denyRead": ["~/", "/srv"], "allowRead": [".", "~/notes", "/srv/x"],
             "allowWrite": ["."] } }"#,
    );
    assert!(told(&imported, "filesystem.denyRead[0]").contains("hidden"));
    assert_eq!(at(&loaded, "~/notes/x"), Access::Read);
    assert_eq!(at(&loaded, "~/other"), Access::Hidden);
    assert_eq!(at(&loaded, "~/project/x"), Access::Write);
    // A deny has no exceptions: what lies below stays denied, and that is told.
    assert_eq!(at(&loaded, "/srv/x/y"), Access::Denied);
    assert!(told(&imported, "filesystem.allowRead[2]").contains("not granted"));
}

#[test]
fn in_claude_what_would_be_asked_is_denied_and_a_bare_tool_closes_everything() {
    let (_, loaded) = of(
        Tool::Claude,
        r#"{ "permissions": { "allow": ["WebFetch(domain:a.test)", "Edit(~/out/**)"],
             "ask": ["WebFetch(domain:b.test)", "Edit(src/**)"] } }"#,
    );
    assert!(reaches(&loaded, "a.test") && !reaches(&loaded, "a.test:22"));
    assert!(!reaches(&loaded, "b.test"));
    assert_eq!(at(&loaded, "~/project/src/x"), Access::Protected);
    assert_eq!(at(&loaded, "~/project/x"), Access::Write);
    let (imported, loaded) = of(
        Tool::Claude,
        r#"{ "permissions": { "allow": ["WebFetch(domain:a.test)", "Edit(~/out/**)"],
             "deny": ["WebFetch", "Edit"] } }"#,
    );
    assert!(!reaches(&loaded, "a.test"));
    assert_eq!(at(&loaded, "~/project/x"), Access::Read);
    assert_eq!(at(&loaded, "~/out/x"), Access::Hidden);
    assert!(told(&imported, "permissions.allow[1]").contains("not granted"));
    let (_, loaded) = of(
        Tool::Claude,
        r#"{ "permissions": { "allow": ["Write(~/out)"], "ask": ["*"] } }"#,
    );
    assert_eq!(at(&loaded, "~/project/x"), Access::Read);
    assert_eq!(at(&loaded, "~/out/x"), Access::Hidden);
}

#[test]
fn the_mode_plan_of_claude_edits_nothing() {
    let (imported, loaded) = of(
        Tool::Claude,
        r#"{ "permissions": { "additionalDirectories": ["/srv/more"],
             "allow": ["Edit(~/out/**)"], "defaultMode": "plan" } }"#,
    );
    assert_eq!(at(&loaded, "~/out/x"), Access::Hidden);
    assert_eq!(at(&loaded, "/srv/more/x"), Access::Read);
    assert_eq!(at(&loaded, "~/project/x"), Access::Read);
    for key in [
        "permissions.allow[0]",
        "permissions.additionalDirectories[0]",
    ] {
        assert!(told(&imported, key).contains("\"plan\""), "{key}");
    }
}

#[test]
fn a_class_that_could_match_a_slash_grants_nothing() {
    let (imported, loaded) = of(
        Tool::Srt,
        r#"{ "filesystem": { "allowWrite": ["/srv[!b]x", "/srv[+-0]y"], "allowRead": ["/srv[^b]z"] } }"#,
    );
    for path in ["/srv/x", "/srv/y", "/srv/z"] {
        assert_eq!(at(&loaded, path), Access::Hidden, "{path}");
    }
    assert!(told(&imported, "filesystem.allowRead[0]").contains("nothing is granted"));
}

#[test]
fn what_lies_above_a_wildcard_is_told_not_to_be_denied() {
    let (imported, _) = of(
        Tool::Srt,
        r#"{ "filesystem": { "allowWrite": ["."], "denyWrite": ["src/*/../x"] } }"#,
    );
    let all: String = imported.left_out.iter().map(ToString::to_string).collect();
    assert!(all.contains("NOT denied"), "{all}");
}

#[test]
fn a_slash_in_claudes_own_settings_begins_at_their_root() {
    let text = r#"{ "permissions": { "allow": ["Edit(/hooks2/**)", "Edit(//srv/x)"] } }"#;
    let machine = Machine::new().file("~/.claude/settings.json", text);
    let user = imported(&machine, Tool::Claude, "~/.claude/settings.json");
    assert!(
        user.policy.contains("\"~/.claude/hooks2\""),
        "{}",
        user.policy
    );
    assert!(user.policy.contains("\"/srv/x\""), "{}", user.policy);
    let machine = Machine::new().file(".claude/settings.json", text);
    let project = imported(&machine, Tool::Claude, ".claude/settings.json");
    assert!(!project.policy.contains("hooks2"), "{}", project.policy);
}

#[test]
fn the_modes_of_codex_are_no_wider_than_their_names() {
    for (text, workspace, git, net) in [
        ("", Access::Read, Access::Read, false),
        (
            "sandbox_mode = \"read-only\"\n[sandbox_workspace_write]\nnetwork_access = true",
            Access::Read,
            Access::Read,
            false,
        ),
        (
            "sandbox_mode = \"workspace-write\"\n[sandbox_workspace_write]\nnetwork_access = true",
            Access::Write,
            Access::Protected,
            true,
        ),
        (
            "sandbox_mode = \"danger-full-access\"",
            Access::Write,
            Access::Protected,
            false,
        ),
        (
            "profile = \"p\"\nsandbox_mode = \"workspace-write\"\n[profiles.p]\nsandbox_mode = \"read-only\"",
            Access::Read,
            Access::Read,
            false,
        ),
    ] {
        let (_, loaded) = of(Tool::Codex, text);
        assert_eq!(at(&loaded, "~/project/x"), workspace, "{text}");
        assert_eq!(at(&loaded, "~/project/.git/config"), git, "{text}");
        assert_eq!(reaches(&loaded, "a.test:22"), net, "{text}");
        assert!(!reaches(&loaded, "10.0.0.1"), "{text}");
    }
}

#[test]
fn a_root_of_codex_is_a_name_and_keeps_its_own_folders() {
    let (imported, loaded) = of(
        Tool::Codex,
        "sandbox_mode = \"workspace-write\"\n[sandbox_workspace_write]\nwritable_roots = [\"/srv/w*\", \"/srv/**\", \"../x\", \"sub\"]",
    );
    assert_eq!(at(&loaded, "/srv/wide/x"), Access::Hidden);
    let why = told(&imported, "sandbox_workspace_write.writable_roots[1]");
    assert!(why.contains("not granted"), "{why}");
    for root in ["~/x", "~/project/sub"] {
        assert_eq!(at(&loaded, &format!("{root}/y")), Access::Write);
        for name in [".git", ".codex", ".agents"] {
            let path = format!("{root}/{name}/y");
            assert_eq!(at(&loaded, &path), Access::Protected, "{path}");
        }
    }
}

#[test]
fn only_variables_that_nothing_excludes_pass_from_codex() {
    let names = |more: &str| {
        let text = format!(
            "sandbox_mode = \"read-only\"\n[shell_environment_policy]\ninclude_only = [\"MY_VAR\", \"X_*\", \"MY_TOKEN\", \"HOME\"]\n{more}"
        );
        let (_, loaded) = of(Tool::Codex, &text);
        let pass = loaded.effective.environment.pass;
        ["MY_VAR", "X_*", "MY_TOKEN"].map(|n| pass.iter().any(|p| p.value == n))
    };
    assert_eq!(names(""), [true, false, false]);
    assert_eq!(names("ignore_default_excludes = true"), [true, true, true]);
    assert_eq!(names("inherit = \"core\""), [false, false, false]);
    assert_eq!(names("exclude = [\"my_*\"]"), [false, false, false]);
}

#[test]
fn a_mistake_is_shown_where_it_is_and_how_to_mend_it() {
    for (tool, text, has) in [
        (
            Tool::Srt,
            "{\n\"network\": 3 }",
            "./source:2:12: error: `network` is a table, not a number",
        ),
        (
            Tool::Srt,
            "[]",
            "./source:1:1: error: a configuration is a table, not a list",
        ),
        (
            Tool::Srt,
            r#"{"network": {"allowedDomains": "a.test"}}"#,
            "`network.allowedDomains` is a list of texts, not a text",
        ),
        (
            Tool::Srt,
            r#"{"network": {"deniedDomains": [1]}}"#,
            "`network.deniedDomains[0]` is a text, not a number",
        ),
        (
            Tool::Srt,
            r#"{"network": {"deniedDomains": ["http://a.test"]}}"#,
            "names no machine",
        ),
        (
            Tool::Fence,
            r#"{"filesystem": {"defaultDenyRead": "yes"}}"#,
            "is true or false, not a text",
        ),
        (
            Tool::Fence,
            r#"{"network": {"allowLocalOutboundPorts": [70000]}}"#,
            "this is no port",
        ),
        (
            Tool::Claude,
            r#"{"permissions": {"deny": ["Read(x"]}}"#,
            "this rule has no \")\"",
        ),
        (
            Tool::Codex,
            "sandbox_mode = \"x\"",
            "./source:1:16: error: this is no mode",
        ),
        (
            Tool::Codex,
            "profile = \"x\"",
            "this profile is not in the file",
        ),
        (Tool::Codex, "a = \n", "./source:1:"),
    ] {
        let shown = error(tool, text);
        assert!(shown.contains(has), "{text}\n{shown}");
        assert!(shown.contains("\nhelp: "), "{text}\n{shown}");
    }
}

#[test]
fn an_edit_rule_for_a_part_of_the_workspace_tells_that_all_of_it_is_writable() {
    let wide = |text: &str| {
        let (imported, _) = of(Tool::Claude, text);
        let told = |left: &&LeftOut| left.why.contains("all of it, not \"src\" alone");
        imported.left_out.iter().filter(told).count()
    };
    let rule = r#""permissions": { "allow": ["Edit(src/**)"]"#;
    assert_eq!(wide(&format!("{{ {rule} }} }}")), 1);
    // Nothing of it is writable, or the source itself says that all is.
    assert_eq!(wide(&format!("{{ {rule}, \"deny\": [\"Edit\"] }} }}")), 0);
    let all = r#""sandbox": { "filesystem": { "allowWrite": ["."] } }"#;
    assert_eq!(wide(&format!("{{ {rule} }}, {all} }}")), 0);
}

#[test]
fn braces_in_a_name_are_a_name_where_it_is_denied_at_any_depth() {
    for (name, escaped) in [("a{b,c}", "a[{]b,c[}]"), ("a{b", "a[{]b")] {
        let text = format!("{{ \"filesystem\": {{ \"denyRead\": [\"{name}\"] }} }}");
        let (imported, _) = of(Tool::Srt, &text);
        let wanted = format!("\"**/{escaped}\"");
        assert!(imported.policy.contains(&wanted), "{}", imported.policy);
    }
}
