use super::*;
use proptest::prelude::*;

fn parse(text: &str) -> Result<Document, Vec<Diagnostic>> {
    Document::parse(SourceText::new("p.toml", None, text.to_owned()))
}
fn errors(text: &str) -> Vec<String> {
    let found = parse(text).expect_err("this file has mistakes");
    found.iter().map(ToString::to_string).collect()
}
fn error(text: &str) -> String {
    let found = errors(text);
    assert_eq!(found.len(), 1, "{found:#?}");
    found.into_iter().next().unwrap()
}

#[test]
fn a_full_policy_is_read() {
    let text = r#"
extends = ["agent"]
packs = ["credential-exfiltration"]
[[rules]]
id = "a"
on = "socket"
when = 'socket.port == 25'
action = "deny"
[[detections]]
id = "b"
on = "file"
when = 'file.ext == "key"'
severity = "low"
[[secrets]]
name = "KEY"
from = "env"
hosts = ["api.example.com"]
[filesystem]
read = ["/opt/toolchain"]
write = [".", "~/.cache/pip"]
private = ["~/.npm"]
copy = ["~/.tool.json"]
deny = ["~/.ssh", "**/.env"]
protect = [".git/hooks", ".git/config", ".mcp.json"]
protect_absent = "sweep"
host_programs = "report"
ordinary = ["mise.toml"]
report = ["deploy/*.sh"]
[network]
allow = ["@pip", "api.example.com", "*.example.org:443", "10.1.2.3:5432", "localhost:5432"]
deny = ["evil.example"]
publish = ["127.0.0.1:3000:3000"]
inspect = { "*" = "auto", "pinned.test" = "never" }
roots = ["~/company-ca.pem"]
body_limit = "4MiB"
keep_bodies = ["api.example.com"]
keep_limit = "1MiB"
body_beyond = "allow"
resolvers = ["10.1.2.3", "[::1]:5353"]
[network.hosts]
"pypi.test" = "127.0.0.1:8443"
[[network.http]]
host = "api.example.com"
methods = ["GET"]
paths = ["/v1/**"]
[environment]
pass = ["LANG", "TERM", "LC_*"]
set = { CI = "1" }
[limits]
memory = "4GiB"
processes = 512
cpu = 2.0
wall = "1h"
file_size = "2GiB"
open_files = 4096
disk = "2GiB"
output = "64MiB"
[ask]
default = "deny"
timeout = "30s"
[require]
layers = ["landlock"]

[capos]
capabilities = ["console", "timer"]
[lock]
keys = ["network.allow", "filesystem.deny"]
pack_keys = ["RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"]
"#;
    let document = parse(text).unwrap();
    assert!(document.warnings.is_empty(), "{:?}", document.warnings);
    for key in KEYS {
        assert!(document.of(key.id).count() > 0, "{}", key.path);
    }
    let allow = document.of(KeyId::NetworkAllow).next().unwrap();
    assert_eq!((allow.origin.line, allow.origin.column), (30, 10));
}

#[test]
fn what_is_looked_into_is_one_word_or_a_table_of_machines() {
    let document = parse("[network]\ninspect = \"always\"\n").unwrap();
    let all = document.of(KeyId::Inspect).next().unwrap();
    assert_eq!(format!("{:?}", all.value).matches("Always").count(), 1);
    for (text, place, help) in [
        (
            "inspect = \"sometimes\"",
            "p.toml:2:11",
            "write \"auto\", \"always\" or \"never\"",
        ),
        (
            "inspect = { \"a.test\" = \"no\" }",
            "p.toml:2:24",
            "write \"auto\"",
        ),
        (
            "inspect = { \"https://a.test\" = \"never\" }",
            "p.toml:2:13",
            "write the host alone",
        ),
        ("inspect = true", "p.toml:2:11", "write inspect = "),
        (
            "roots = [\"/etc/*.pem\"]",
            "p.toml:2:10",
            "write the path of one file",
        ),
        (
            "resolvers = [\"dns.example.com\"]",
            "p.toml:2:14",
            "write an address like",
        ),
        ("resolvers = [\"10.1.2.3:0\"]", "p.toml:2:14", "with a port"),
        ("resolvers = [\"::\"]", "p.toml:2:14", "with a port"),
    ] {
        let said = error(&format!("[network]\n{text}\n"));
        assert!(said.starts_with(place) && said.contains(help), "{said}");
    }
}

#[test]
fn a_secret_says_where_it_comes_from_and_whom_it_is_for() {
    let read = |lines: &str| format!("[[secrets]]\nname = \"KEY\"\n{lines}\n");
    for from in [
        "\"env\"",
        "{ env = \"OTHER\" }",
        "{ file = \"~/k\" }",
        "{ command = [\"pass\", \"k\"] }",
    ] {
        let text = read(&format!(
            "from = {from}\nhosts = [\"a.test\", \"*.b.test:8443\"]\nin = [\"body\", \"header\"]"
        ));
        assert!(parse(&text).is_ok(), "{text}");
    }
    for (lines, said) in [
        ("from = \"env\"", "a secret needs `hosts`"),
        (
            "from = \"env\"\nhosts = [\"*\"]",
            "names no machine for a secret",
        ),
        (
            "from = \"env\"\nhosts = [\"10.0.0.0/8\"]",
            "names no machine for a secret",
        ),
        ("from = \"env\"\nhosts = [\"a.test:*\"]", "write the port"),
        (
            "from = \"vault\"\nhosts = [\"a.test\"]",
            "one of env, file and command",
        ),
        (
            "from = { env = \"A\", file = \"b\" }\nhosts = [\"a.test\"]",
            "one of env, file and command",
        ),
        (
            "from = \"env\"\nhosts = [\"a.test\"]\nin = [\"cookie\"]",
            "a list of header, query and body",
        ),
        (
            "from = \"env\"\nhots = [\"a.test\"]",
            "did you mean `hosts`?",
        ),
        (
            "from = \"env\"\nhosts = [\"a.test\"]\ngit_user = \"x'y\"",
            "git_user",
        ),
    ] {
        let text = error(&read(lines));
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn an_unknown_key_is_shown_with_what_was_meant() {
    assert_eq!(
        error("[filesystem]\nraed = [\"/opt\"]\n"),
        "p.toml:2:1: error: [filesystem] has no key \"raed\"\n 2 | raed = [\"/opt\"]\n   | ^^^^\nhelp: did you mean `read`?"
    );
    assert!(error("[netwrok]\nallow = []").contains("did you mean `network`?"));
    assert!(error("read = []").contains("`read` stands under [filesystem]"));
    assert!(error("[network]\nextends = [\"agent\"]").contains("at the top of the file"));
    assert!(
        error("[[network.http]]\nhost = \"a.test\"\nmethod = [\"GET\"]")
            .contains("did you mean `methods`?")
    );
    assert!(error("banana = 1").contains(
        "known here: `extends`, `packs`, `rules`, `detections`, `secrets`, `filesystem`"
    ));
}

#[test]
fn every_mistake_of_a_file_is_reported_at_once_in_its_order() {
    let found = errors(
        "[limits]\nwall = 5\nmemory = \"4\"\n[filesystem]\nread = [1, \"~bob/x\"]\nwrite = \".\"\n[network]\nallow = [\"https://a.test\", \"@pipp\"]\n",
    );
    let lines: Vec<_> = found
        .iter()
        .map(|e| e.split(": error").next().unwrap())
        .collect();
    assert_eq!(
        lines,
        [
            "p.toml:2:8",
            "p.toml:3:10",
            "p.toml:5:9",
            "p.toml:5:12",
            "p.toml:6:9",
            "p.toml:8:10",
            "p.toml:8:28"
        ]
    );
    for (error, says) in found.iter().zip([
        "needs its unit",
        "unit is missing",
        "a whole number",
        "another user",
        "write [\".\"]",
        "without \"https://\"",
        "did you mean \"@pip\"?",
    ]) {
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn text_that_is_no_toml_is_shown_where_it_ends() {
    let found = error("[network]\nallow = [\"a.test\"\n");
    assert!(
        found.starts_with("p.toml:") && found.contains("error:"),
        "{found}"
    );
}

#[test]
fn a_key_that_is_written_twice_is_an_error() {
    assert!(errors("[limits]\nprocesses = 1\nprocesses = 2\n")[0].contains("p.toml:3:1"));
}

#[test]
fn entries_that_contradict_one_another_are_errors() {
    for (text, says) in [
        (
            "[filesystem]\nwrite = [\"~/x\"]\ndeny = [\"~/x/\"]",
            "`filesystem.write`, and is denied on line 3",
        ),
        (
            "[filesystem]\nwrite = [\"~/x/y\"]\ndeny = [\"~/x\"]",
            "has no effect: \"~/x\" is denied on line 3",
        ),
        (
            "[filesystem]\nread = [\"a/.env\"]\ndeny = [\"**/.env\"]",
            "has no effect",
        ),
        (
            "[filesystem]\nwrite = [\"a\"]\nprotect = [\"./a\"]",
            "is protected on line 3",
        ),
        (
            "[network]\nallow = [\"a.test:443\"]\ndeny = [\"a.test:443\"]",
            "and is denied on line 3",
        ),
        (
            "[network]\nallow = [\"x.a.test\"]\ndeny = [\"*.a.test\"]",
            "has no effect: \"*.a.test\" is denied on line 3",
        ),
        (
            "[network]\ndeny = [\"a.test\"]\n[[network.http]]\nhost = \"a.test:80\"",
            "`network.http`, and is denied on line 2",
        ),
    ] {
        let found = error(text);
        assert!(found.contains(says), "{text}: {found}");
    }
}

#[test]
fn entries_that_only_look_contradictory_are_fine() {
    for text in [
        "[filesystem]\nwrite = [\"a\"]\ndeny = [\"a/b\"]\nprotect = [\"a/c\"]",
        "[filesystem]\nwrite = [\"~/a\"]\ndeny = [\"a\"]",
        "[filesystem]\nread = [\"a\"]\nprotect = [\"a\"]",
        "[network]\nallow = [\"*.a.test\"]\ndeny = [\"x.a.test\"]",
        "[network]\nallow = [\"a.test\"]\ndeny = [\"a.test:22\"]",
    ] {
        assert!(parse(text).is_ok_and(|d| d.warnings.is_empty()), "{text}");
    }
}

#[test]
fn an_entry_that_stands_twice_is_a_warning() {
    let document = parse("[filesystem]\nread = [\"a\", \"./a\", \"a/\"]").unwrap();
    assert_eq!(document.warnings.len(), 2);
    assert!(
        document.warnings[0]
            .to_string()
            .contains("p.toml:2:14: warning: `filesystem.read` has this entry twice")
    );
}

#[test]
fn an_http_rule_that_covers_nothing_or_nobody_is_an_error() {
    assert!(error("[[network.http]]\nmethods = [\"GET\"]").contains("needs a `host`"));
    assert!(
        error("[[network.http]]\nhost = \"a.test\"\nmethods = []").contains("would cover nothing")
    );
    assert!(
        error("[[network.http]]\nhost = \"a.test\"\nmethods = [\"get\"]").contains("write \"GET\"")
    );
    assert!(error("[[network.http]]\nhost = \"a.test\"\npaths = [\"v1\"]").contains("\"/v1\""));
    assert!(error("[network]\nhttp = 3").contains("an array of tables, not a whole number"));
}

/// Pieces that bring a random file past the first checks.
fn almost_a_policy() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "[filesystem]\n",
        "[network]\n",
        "[[network.http]]\n",
        "[network.hosts]\n",
        "[limits]\n",
        "[lock]\n",
        "read = ",
        "write = ",
        "allow = ",
        "deny = ",
        "host = ",
        "paths = ",
        "wall = ",
        "keys = ",
        "set = ",
        "publish = ",
        "extends = ",
        "[\"~/x\", \"**/\"]\n",
        "[\"a.test:1\", \"\\u0000\"]\n",
        "\"5m\"\n",
        "{ \"日本\" = \"x\" }\n",
        "-1\n",
        "1e400\n",
        "[[]]\n",
        "\"\u{202e}\"\n",
        "[\"[\"]\n",
        "2026-01-01\n",
        "\r\n",
        "\"é",
        "]",
        "\t",
    ]);
    prop::collection::vec(piece, 0..12).prop_map(|p| p.concat())
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_and_every_error_lies_inside_the_file(text in prop_oneof![
        any::<String>(),
        almost_a_policy(),
        any::<Vec<u8>>().prop_map(|b| String::from_utf8_lossy(&b).into_owned()),
    ]) {
        let found = match parse(&text) {
            Ok(document) => document.warnings,
            Err(found) => { prop_assert!(!found.is_empty()); found }
        };
        for diagnostic in found {
            let span = diagnostic.span();
            prop_assert!(span.start <= span.end && span.end <= text.len(), "{:?} in {}", span, text.len());
            let shown = diagnostic.to_string();
            prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{:?}", shown);
        }
    }
}
