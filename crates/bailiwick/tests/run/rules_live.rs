//! The rules of a run change while it goes on.

use crate::support::{Backend, Background, Sandbox};
use bailiwick_event::Act;

on_every_backend! {
    rules_are_added_updated_switched_and_taken_out_of_a_run,
    a_refused_command_that_enters_says_why_and_does_not_start,
    a_rule_that_would_hold_nothing_back_is_not_added_and_an_old_one_is_shown_as_such,
    a_rule_that_cannot_see_within_tls_is_added_and_that_is_said,
}

const PACK: &str = r#"schema = 1
id = "live"
version = "1.0.0"
status = "stable"
owner = "Team"

[[rules]]
id = "no-echo"
on = "process.exec"
when = 'process.exec.argv.exists(a, a == "loud")'
action = "deny"
remedy = "be quiet"
"#;

fn running(sandbox: &Sandbox, options: &[&str]) -> Background {
    let mut words = vec!["run", "--name", "box"];
    words.extend(options);
    words.extend(["-c", "echo up; cat"]);
    Background::start(sandbox, words, "up")
}

fn rules_are_added_updated_switched_and_taken_out_of_a_run(on: Backend) {
    let sandbox = Sandbox::on(on)
        .file("live.toml", PACK)
        .file("quiet.toml", PACK.replace("loud", "quiet"))
        .file("broken.toml", PACK.replace("argv.exists", "argvv.exists"));
    let _run = running(&sandbox, &[]);
    let rules = |words: &[&str]| {
        let mut all = vec!["rules"];
        all.extend(words);
        all.extend(["--session", "box"]);
        sandbox.bailiwick(all)
    };
    let echo = |word: &str| {
        sandbox
            .bailiwick(["exec", "box", "--", "echo", word])
            .exit_code()
    };
    rules(&["list"]).success().stdout_is("no rules\n");
    assert_eq!(echo("loud"), Some(0));
    rules(&["add", "live.toml"]).success();
    assert_eq!((echo("loud"), echo("quiet")), (Some(126), Some(0)));
    rules(&["add", "live.toml"])
        .code(2)
        .stderr_has("there is a rule \"no-echo\" already");
    // What does not compile changes nothing.
    rules(&["update", "broken.toml"])
        .code(2)
        .stderr_has("broken.toml:10:9");
    assert_eq!(echo("loud"), Some(126));
    rules(&["update", "quiet.toml"]).success();
    assert_eq!((echo("loud"), echo("quiet")), (Some(0), Some(126)));
    let listed: serde_json::Value =
        serde_json::from_str(&rules(&["list", "--json"]).success().stdout()).unwrap();
    assert_eq!(
        (&listed[0]["rule"]["id"], &listed[0]["matched"]),
        (&"no-echo".into(), &3.into())
    );
    rules(&["disable", "no-echo"]).success();
    assert_eq!(echo("quiet"), Some(0));
    rules(&["enable", "no-echo"]).success();
    assert_eq!(echo("quiet"), Some(126));
    rules(&["rm", "no-echo"]).success();
    assert_eq!(echo("quiet"), Some(0));
    rules(&["rm", "no-echo"])
        .code(2)
        .stderr_has("there is no rule \"no-echo\"");
    let log = sandbox
        .bailiwick(["log", "--json", "box"])
        .success()
        .stdout();
    let changes: Vec<_> = log
        .lines()
        .map(|line| serde_json::from_str::<bailiwick_event::Event>(line).unwrap())
        .filter_map(|event| match event.act {
            Act::Rules { change, .. } => Some(change),
            _ => None,
        })
        .collect();
    assert_eq!(
        changes,
        ["added", "updated", "disabled", "enabled", "removed"]
    );
}

fn a_refused_command_that_enters_says_why_and_does_not_start(on: Backend) {
    let sandbox = Sandbox::on(on).file("live.toml", PACK);
    let _run = running(&sandbox, &[]);
    sandbox
        .bailiwick(["rules", "add", "live.toml", "--session", "box"])
        .success();
    sandbox
        .bailiwick(["exec", "box", "--", "touch", "loud"])
        .code(126)
        .stderr_has("by no-echo (")
        .stderr_has("be quiet");
    assert!(!sandbox.workspace().join("loud").exists());
}

#[test]
fn a_run_that_is_not_there_has_no_rules() {
    Sandbox::new()
        .bailiwick(["rules", "list", "--session", "nobody"])
        .code(2);
}

fn a_rule_that_would_hold_nothing_back_is_not_added_and_an_old_one_is_shown_as_such(on: Backend) {
    let rule = |id: &str, on: &str, more: &str| {
        format!("[[rules]]\nid = \"{id}\"\non = \"{on}\"\naction = \"deny\"\nwhen = 'true'\n{more}")
    };
    let pack = "schema = 1\nid = \"p\"\nversion = \"1.0.0\"\nstatus = \"stable\"\nowner = \"me\"\n";
    let sandbox = Sandbox::on(on)
        .file("file.toml", rule("no-file", "file", ""))
        .file(
            "old.toml",
            format!(
                "{pack}{}",
                rule("old", "http.request", "expires = 2020-01-01T00:00:00Z\n")
            ),
        );
    let _run = running(&sandbox, &[]);
    sandbox
        .bailiwick(["rules", "add", "--session", "box", "file.toml"])
        .code(2)
        .stderr_has("no boundary asks rules about file yet");
    sandbox
        .bailiwick(["rules", "add", "--session", "box", "old.toml"])
        .success()
        .stderr_has("the condition is always true");
    sandbox
        .bailiwick(["rules", "list", "--session", "box"])
        .success()
        .stdout_has("no (expired)");
}

fn a_rule_that_cannot_see_within_tls_is_added_and_that_is_said(on: Backend) {
    let rule = "[[rules]]\nid = \"no-post\"\non = \"http.request\"\naction = \"deny\"\n\
        when = 'http.request.method == \"POST\"'\n";
    let plain = Sandbox::on(on).file("post.toml", rule);
    let _run = running(&plain, &[]);
    plain
        .bailiwick(["rules", "add", "--session", "box", "post.toml"])
        .success()
        .stdout_is("1 rule added\n")
        .stderr_has("\"no-post\" (./post.toml:2:")
        .stderr_has("inspect = \"auto\" under [network]");
    let ready = Sandbox::on(on).file("post.toml", rule).file(
        "ready.toml",
        "extends = [\"default\"]\n[network]\ninspect = \"auto\"\n",
    );
    let _run = running(&ready, &["--policy", "ready.toml"]);
    ready
        .bailiwick(["rules", "add", "--session", "box", "post.toml"])
        .success()
        .stdout_is("1 rule added\n")
        .stderr_lacks("TLS");
}
