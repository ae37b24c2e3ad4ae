//! `bailiwick log --har` shows each request once, and what the program got for it.

use crate::bodies::Server;
use crate::models::{ASK, STREAMED};
use crate::support::{Backend, Sandbox};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n";

/// Status and its text of each request of the last run.
fn shown(sandbox: &Sandbox) -> Vec<(u64, String)> {
    let said = sandbox.bailiwick(["log", "--har"]).success().stdout();
    let har: serde_json::Value = serde_json::from_str(&said).unwrap();
    let answer = |entry: &serde_json::Value| {
        let answer = &entry["response"];
        let text = answer["statusText"].as_str().unwrap().to_owned();
        (answer["status"].as_u64().unwrap(), text)
    };
    let entries = har["log"]["entries"].as_array().unwrap();
    entries.iter().map(answer).collect()
}

/// The requests were answered by the server until the last, which this rule refused.
#[track_caller]
fn last_is_refused_by(sandbox: &Sandbox, answered: usize, rule: &str) {
    let shown = shown(sandbox);
    let (last, before) = shown.split_last().unwrap();
    assert!(before.iter().all(|(status, _)| *status == 200), "{shown:?}");
    assert_eq!(before.len(), answered, "{shown:?}");
    assert_eq!(last.0, 403, "{shown:?}");
    assert!(
        last.1.starts_with(&format!("refused by {rule} (")),
        "{shown:?}"
    );
}

#[test]
fn a_call_beyond_a_budget_is_refused_by_its_rule() {
    let server = Server::start(STREAMED);
    let rule = "[[rules]]\nid = \"budget\"\non = \"model.request\"\naction = \"deny\"\n\
        when = 'model.session.cost > 0.015'\n";
    let sandbox = server.sandbox(Backend::Process, "", rule);
    sandbox.run(&format!("{ASK}; {ASK}; {ASK}")).success();
    last_is_refused_by(&sandbox, 2, "budget");
}

#[test]
fn an_answer_that_a_rule_refused_is_what_the_program_got() {
    let server = Server::start(OK);
    let rule = "[[rules]]\nid = \"no-ok\"\non = \"http.response\"\naction = \"deny\"\n\
        when = 'http.response.status == 200 && http.request.path == \"/no\"'\n";
    let sandbox = server.sandbox(Backend::Process, "", rule);
    sandbox
        .run("curl -sS http://a.test/yes; curl -sS http://a.test/no")
        .success()
        .stdout_has("refused by policy");
    last_is_refused_by(&sandbox, 1, "no-ok");
}

#[test]
fn a_secret_for_another_machine_is_one_request_that_was_refused() {
    let server = Server::start(OK);
    let port = server.port();
    let sandbox = Sandbox::new()
        .host_env("OUTER_KEY", "sk-test-AbCdEfGhIjKlMnOpQrStUvWx0123456789")
        .policy(&format!(
            "extends = [\"default\"]\n[network.hosts]\n\"a.test\" = \"127.0.0.1:{port}\"\n\
             \"b.test\" = \"127.0.0.1:{port}\"\n[[secrets]]\nname = \"API_KEY\"\n\
             from = {{ env = \"OUTER_KEY\" }}\nhosts = [\"a.test:{port}\"]\nin = [\"body\"]\n"
        ));
    let send = |what: &str| format!("curl -sS -d \"{what}\" http://b.test:{port}/same");
    sandbox
        .run(&format!("{}; {}", send("plain"), send("$API_KEY")))
        .refused_by("secrets.API_KEY");
    last_is_refused_by(&sandbox, 1, "secrets.API_KEY");
}

#[test]
fn a_request_that_nobody_could_be_asked_about_was_refused_and_a_changed_one_is_shown_once() {
    let server = Server::start(OK);
    let rules = "[[rules]]\nid = \"deletes\"\non = \"http.request\"\naction = \"ask\"\n\
        when = 'http.request.method == \"DELETE\"'\n\
        [[rules]]\nid = \"marks\"\non = \"http.request\"\naction = \"rewrite\"\n\
        when = 'http.request.path == \"/mark\"'\n\
        [[rules.rewrite]]\n[rules.rewrite.set_header]\nname = \"x-mark\"\nvalue = \"1\"\n";
    let sandbox = server.sandbox(Backend::Process, "", rules);
    sandbox
        .run("curl -sS http://a.test/mark; curl -sS -X DELETE http://a.test/thing")
        .success();
    last_is_refused_by(&sandbox, 1, "ask.default");
}
