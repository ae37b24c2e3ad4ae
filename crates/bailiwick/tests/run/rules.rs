//! Rules are looked at, tested and asked about what was recorded before anybody depends on them.

use crate::support::{Outcome, Sandbox};

const PACK: &str = r#"schema = 1
id = "team"
version = "1.0.0"
status = "stable"
owner = "Team"

[[rules]]
id = "no-paste"
on = "http.request"
when = 'http.request.host.domain("paste.test") && http.request.method == "POST"'
action = "deny"
reason = "secrets end up there"
examples = [
  { matches = true, event = { http.request = { host = "a.paste.test", method = "POST" } } },
  { matches = false, event = { http.request = { host = "a.paste.test", method = "GET" } } },
]

[[detections]]
id = "odd-port"
on = "http.request"
when = "http.request.port > 1024"
severity = "low"

[[detections]]
id = "lookup"
on = "dns.request"
when = 'dns.request.qname.endsWith(".test")'
severity = "medium"
"#;

const SIGMA: &str = "title: Tunnel of names\nauthor: A. N. Other\nlogsource: {category: dns}\n\
    detection: {s: {query|endswith: .tunnel.test}, condition: s}\nlevel: high\n---\n\
    title: Registry\nlogsource: {category: registry_set, product: windows}\n\
    detection: {s: {TargetObject: a}, condition: s}\n";

fn line(host: &str, method: &str, port: u16) -> String {
    serde_json::json!({
        "common": {"type": "http.request"},
        "http": {"request": {
            "host": host, "method": method, "port": port,
            "headers": [["authorization", "Bearer tell-nobody"]],
        }},
    })
    .to_string()
        + "\n"
}

fn prepared() -> Sandbox {
    let corpus = [
        line("a.paste.test", "POST", 443),
        line("b.test", "GET", 8080),
        line("a.paste.test", "POST", 443),
        line("a.paste.test", "POST", 80),
    ];
    Sandbox::new()
        .fresh_home()
        .file("team.toml", PACK)
        .file("sigma.yml", SIGMA)
        .file("corpus.jsonl", corpus.concat())
}

fn json(outcome: &Outcome) -> serde_json::Value {
    serde_json::from_str(&outcome.success().stdout()).unwrap()
}

#[test]
fn every_mistake_in_files_of_rules_is_told_with_its_place_and_remedy() {
    let broken = PACK
        .replace("action = \"deny\"", "action = \"refuse\"")
        .replace("http.request.port > 1024", "http.request.prot > 1024");
    let sandbox = prepared()
        .file("broken.toml", broken)
        .file("broken.yml", "title: [\n")
        .file(
            "always.toml",
            PACK.replace("http.request.port > 1024", "true"),
        );
    sandbox
        .bailiwick(["rules", "check", "team.toml", "sigma.yml"])
        .success()
        .stdout_has("team.toml: 1 rule, 2 detections\n")
        .stdout_has("sigma.yml:8:46: ")
        .stdout_has("skipped: \"Registry\": ")
        .stdout_has("sigma.yml: 0 rules, 1 detection, 1 skipped\n");
    sandbox
        .bailiwick([
            "rules",
            "check",
            "broken.toml",
            "broken.yml",
            "none.toml",
            "a.txt",
            "team.toml",
        ])
        .code(2)
        .stderr_has("broken.toml:11:10: \"refuse\" is no action; write one of allow, deny")
        .stderr_has("broken.toml:21:9: ")
        .stderr_has("http.request.port")
        .stderr_has("broken.yml:")
        .stderr_has("none.toml cannot be read")
        .stderr_has("a pack or a policy ends in .toml")
        .stdout_has("team.toml: 1 rule");
    sandbox
        .bailiwick(["rules", "check", "always.toml"])
        .success()
        .stdout_has("always.toml:21:9: warning: the condition is always true");
}

#[test]
fn a_policy_is_looked_at_whole_and_with_the_packs_that_it_names() {
    let escaped = "[[rules]]\nid = \"r\"\non = \"http.request\"\naction = \"deny\"\nwhen = \"http.request.host == \\\"a\\\" && http.request.prot == 1\"\n";
    let sandbox = prepared()
        .file("policy.toml", "packs = [\"./team.toml\"]\n")
        .file("typo.toml", "pack = [\"./team.toml\"]\n")
        .file("sigma.toml", "packs = [\"./sigma.yml\"]\n")
        .file("none.toml", "packs = [\"destructive-comands\"]\n")
        .file("escaped.toml", escaped);
    sandbox
        .bailiwick(["rules", "check", "policy.toml"])
        .success()
        .stdout_has("policy.toml: 1 rule, 2 detections\n");
    let count = |file: &str| {
        let asked = [
            "rules",
            "backtest",
            file,
            "--corpus",
            "corpus.jsonl",
            "--json",
        ];
        json(&sandbox.bailiwick(asked))["matched"].clone()
    };
    assert_eq!(count("policy.toml"), count("team.toml"));
    for (file, why) in [
        ("typo.toml", "typo.toml:1:1"),
        ("sigma.toml", "bailiwick rules convert"),
        ("none.toml", "did you mean \"destructive-commands\"?"),
        ("escaped.toml", "escaped.toml:5:39"),
        (
            "destructive-comands",
            "did you mean \"destructive-commands\"?",
        ),
    ] {
        sandbox
            .bailiwick(["rules", "check", file])
            .code(2)
            .stderr_has(why);
    }
}

#[test]
fn the_examples_of_rules_are_their_tests() {
    let sandbox = prepared().file(
        "wrong.toml",
        PACK.replace("matches = false", "matches = true"),
    );
    sandbox
        .bailiwick(["rules", "test", "team.toml"])
        .success()
        .stdout_has("team.toml: 2 examples, all as the rules say; 2 rules without an example");
    sandbox
        .bailiwick(["rules", "test", "wrong.toml", "team.toml"])
        .code(1)
        .stdout_has("wrong.toml:8:6: no-paste: example 2 must match, and does not")
        .stdout_has("\"method\":\"GET\"")
        .stdout_has("http.request.method == \"POST\"  is  false")
        .stdout_has("http.request.method  is  \"GET\"")
        .stdout_has("1 not as the rule says")
        .stdout_has("team.toml: 2 examples, all");
}

#[test]
fn rules_are_asked_what_they_would_have_done() {
    let sandbox = prepared();
    let words = ["rules", "backtest", "team.toml", "--corpus", "corpus.jsonl"];
    sandbox
        .bailiwick(words)
        .success()
        .stdout_has("corpus.jsonl:1")
        .stdout_has("team/no-paste")
        .stdout_has("http.request.host=a.paste.test")
        .stderr_lacks("corpus.jsonl")
        .stdout_has("4 events; a rule is true of 4\n");
    let report = json(&sandbox.bailiwick(words.into_iter().chain(["--json"])));
    let told: Vec<_> = report["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["event"].as_str().unwrap(),
                row["count"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(told, [("corpus.jsonl:1", 3), ("corpus.jsonl:2", 1)]);
    assert_eq!(report["rows"][0]["action"], "deny");
    assert_eq!(report["rows"][1]["severity"], "low");
    let report = json(&sandbox.bailiwick(words.into_iter().chain(["--json", "--limit", "1"])));
    assert_eq!(report["truncated"], 1);
    sandbox
        .bailiwick(words.into_iter().chain(["--limit", "1"]))
        .success()
        .stdout_has("1 more match is not shown; `--limit` asks for more rows");
    sandbox
        .bailiwick([
            "rules",
            "backtest",
            "team.toml",
            "team.toml",
            "--corpus",
            "corpus.jsonl",
        ])
        .code(2)
        .stderr_has("\"no-paste\" is the name of the rule at team.toml:8:6 too");
    sandbox
        .bailiwick(["rules", "backtest", "team.toml", "--corpus", "nowhere"])
        .code(2)
        .stderr_has("nowhere is neither a file nor a session");
}

#[test]
fn a_line_that_is_no_event_stops_a_backtest_unless_told_otherwise() {
    let lines = [
        line("b.test", "GET", 1),
        "{\"x\": 1}\n".into(),
        line("b.test", "GET", 8080),
    ];
    let sandbox = prepared().file("bad.jsonl", lines.concat());
    let words = ["rules", "backtest", "team.toml", "--corpus", "bad.jsonl"];
    sandbox
        .bailiwick(words)
        .code(2)
        .stdout_is("")
        .stderr_has("bad.jsonl:2:")
        .stderr_has("no field is called \"x\" here")
        .stderr_has("--keep-going");
    sandbox
        .bailiwick(words.into_iter().chain(["--keep-going"]))
        .success()
        .stdout_has("2 events; a rule is true of 1\n")
        .stderr_has("bad.jsonl:2:")
        .stderr_has("1 line passed over");
}

#[test]
fn a_hunt_finds_the_events_that_a_condition_is_true_of() {
    let sandbox = prepared().file("evil.jsonl", line("\u{1b}[31mred", "GET", 1));
    sandbox
        .bailiwick([
            "rules",
            "hunt",
            "http.request.port < 1024",
            "corpus.jsonl",
            "evil.jsonl",
        ])
        .success()
        .stdout_has("corpus.jsonl:4")
        .stdout_has("evil.jsonl:1")
        .stdout_has("5 events; the condition is true of 4\n");
    sandbox
        .bailiwick([
            "rules",
            "hunt",
            "http.request.host.contains('red')",
            "evil.jsonl",
        ])
        .success()
        .stdout_lacks("\u{1b}");
    sandbox
        .bailiwick(["rules", "hunt", "http.request.prot < 1", "corpus.jsonl"])
        .code(2)
        .stderr_has("condition:1:1")
        .stderr_has("port");
}

#[test]
fn a_session_is_a_corpus() {
    let sandbox = prepared();
    sandbox.run("getent hosts x.tunnel.test; true").success();
    let exported = sandbox.bailiwick(["rules", "export", "latest"]);
    let lines = exported.success().stdout();
    let asked = lines
        .lines()
        .position(|line| line.contains("x.tunnel.test") && line.contains("dns.request"));
    let asked = asked.unwrap_or_else(|| panic!("{lines}"));
    let event: serde_json::Value = serde_json::from_str(lines.lines().nth(asked).unwrap()).unwrap();
    let id = event["common"]["id"].as_u64().unwrap();
    std::fs::write(sandbox.workspace().join("export.jsonl"), &lines).unwrap();
    let words = [
        "rules",
        "backtest",
        "team.toml",
        "sigma.yml",
        "--json",
        "--corpus",
    ];
    let of_session = json(&sandbox.bailiwick(words.into_iter().chain(["latest"])));
    let of_file = json(&sandbox.bailiwick(words.into_iter().chain(["export.jsonl"])));
    assert_eq!(of_session["rules"], of_file["rules"]);
    assert_eq!(
        of_session["rows"][0]["signature"],
        of_file["rows"][0]["signature"]
    );
    let found = of_session["rows"].to_string();
    assert!(
        found.contains("tunnel-of-names") && found.contains("lookup"),
        "{found}"
    );
    sandbox
        .bailiwick(["rules", "explain", "sigma.yml", &format!("latest:{id}")])
        .success()
        .stdout_has("tunnel-of-names (sigma.yml:1:1) is true");
    sandbox
        .bailiwick(["rules", "explain", "sigma.yml", "latest:1"])
        .code(2)
        .stderr_has("which no rule can be about");
}

#[test]
fn a_rule_is_explained_part_by_part() {
    let sandbox = prepared();
    let rule = "team.toml#no-paste";
    sandbox
        .bailiwick(["rules", "explain", rule, "corpus.jsonl:2"])
        .success()
        .stdout_has("no-paste (team.toml:8:6) is false")
        .stdout_has("http.request.host.domain(\"paste.test\")  is  false")
        .stdout_has("http.request.host  is  \"b.test\"");
    sandbox
        .bailiwick([
            "rules",
            "explain",
            rule,
            r#"{"http": {"request": {"method": "POST"}}}"#,
        ])
        .success()
        .stdout_has("without a value, so that the event is refused")
        .stdout_has("has no value: the event has no `http.request.host`");
    sandbox
        .bailiwick(["rules", "explain", "team.toml#lookup", "corpus.jsonl:1"])
        .success()
        .stdout_has("is about dns.request events and is not asked");
    for (rule, event, why) in [
        ("team.toml", "corpus.jsonl:1", "no-paste, odd-port, lookup"),
        (rule, "corpus.jsonl:9", "no event in this line"),
        (rule, "corpus.jsonl", "FILE:LINE"),
        (rule, "{", "no JSON"),
        (rule, r#"{"x": 1}"#, "no field is called"),
    ] {
        sandbox
            .bailiwick(["rules", "explain", rule, event])
            .code(2)
            .stderr_has(why);
    }
}

#[test]
fn sigma_rules_become_a_pack() {
    let sandbox = prepared();
    let pack = sandbox.bailiwick(["rules", "convert", "sigma.yml"]);
    pack.success()
        .stdout_has("# author: A. N. Other")
        .stdout_has("# skipped: 8:46: ")
        .stderr_has("sigma.yml:8:46: \"Registry\": ");
    let sandbox = sandbox.file("converted.toml", pack.stdout());
    sandbox
        .bailiwick(["rules", "check", "converted.toml"])
        .success()
        .stdout_has("converted.toml: 0 rules, 1 detection\n");
}

#[test]
fn fields_and_functions_are_listed() {
    let sandbox = Sandbox::new();
    sandbox
        .bailiwick(["rules", "fields", "dns.request"])
        .success()
        .stdout_has("dns.request.qname")
        .stdout_has("common.session")
        .stdout_lacks("http.request.host");
    sandbox
        .bailiwick(["rules", "fields", "films"])
        .code(2)
        .stderr_has("the types are http.request");
    sandbox
        .bailiwick(["rules", "functions"])
        .success()
        .stdout_has("string.domain(string)");
}
