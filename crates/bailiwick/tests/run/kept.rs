//! Bodies are kept where the policy says so, and nowhere else.

use crate::bodies::Server;
use crate::support::{Backend, Outcome, Sandbox, host_command};
use bailiwick_event::{Act, KeptBodies};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\
    Connection: close\r\n\r\nthe answer";

/// What was kept of each request, in their order.
fn kept(outcome: &Outcome) -> Vec<KeptBodies> {
    let bodies = |act: Act| match act {
        Act::HttpResponse { bodies, .. } => Some(bodies.map_or_else(Default::default, |b| *b)),
        _ => None,
    };
    let events = outcome.events().into_iter();
    events.filter_map(|event| bodies(event.act)).collect()
}

/// The files of bodies that a sandbox's runs have left.
fn files(sandbox: &Sandbox) -> usize {
    let state = sandbox.scratch().state();
    let found = host_command("find")
        .arg(state)
        .args(["-path", "*/bodies/*"])
        .output()
        .unwrap();
    String::from_utf8(found.stdout).unwrap().lines().count()
}

#[test]
fn the_bodies_of_a_machine_that_the_policy_names_are_kept_and_shown() {
    let server = Server::start(OK);
    let port = server.port();
    let sandbox = server.sandbox(
        Backend::Process,
        &format!("keep_bodies = [\"a.test:{port}\"]"),
        "",
    );
    let outcome = sandbox.run(&format!(
        "curl -sS -d 'first question' http://a.test:{port}/1; \
         printf 'in gzip' | gzip > z; \
         curl -sS -H 'Content-Encoding: gzip' --data-binary @z http://a.test:{port}/2; \
         curl -sS http://a.test:{port}/3"
    ));
    outcome.success().nothing_refused();
    let kept = kept(&outcome);
    assert_eq!(kept.len(), 3, "{kept:?}");
    let text = |hash: &str| {
        let shown = sandbox.bailiwick(["log", "--body", hash]);
        shown.success().stdout()
    };
    let asked: Vec<_> = kept.iter().filter_map(|k| k.request.as_ref()).collect();
    let [one, two] = asked[..] else {
        panic!("{kept:?}");
    };
    assert_eq!(text(&one.hash), "first question");
    assert_eq!((one.bytes, one.cut), (14, false));
    assert_eq!(text(&two.hash), "in gzip");
    // What is the same is there once.
    let answers: Vec<_> = kept.iter().filter_map(|k| k.response.as_ref()).collect();
    assert_eq!(answers.len(), 3, "{kept:?}");
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    assert_eq!(text(&answers[0].hash), "the answer");
    assert_eq!(files(&sandbox), 3);
    // Both rows of a request say what was kept, and how to see it.
    let rows = outcome.events();
    let row = |wanted: fn(&Act) -> bool| rows.iter().find(|e| wanted(&e.act)).unwrap().id;
    for row in [
        row(|act| matches!(act, Act::Http { .. })),
        row(|act| matches!(act, Act::HttpResponse { .. })),
    ] {
        sandbox
            .bailiwick(["why", &row.to_string()])
            .success()
            .stdout_has("asked:    14 bytes were kept; `bailiwick log ")
            .stdout_has(&format!(" --body {}`", one.hash))
            .stdout_has("answered: 10 bytes were kept; ");
    }
    let har = sandbox.bailiwick(["log", "--har"]);
    har.success();
    let har: serde_json::Value = serde_json::from_str(&har.stdout()).unwrap();
    let entry = &har["log"]["entries"][0];
    assert_eq!(entry["request"]["postData"]["text"], "first question");
    assert_eq!(entry["response"]["content"]["text"], "the answer");
    let none = sandbox.bailiwick(["log", "--body", &"0".repeat(64)]);
    none.code(2).stderr_has("has no body 000");
}

#[test]
fn no_other_bodies_are_kept_and_none_beyond_the_limit() {
    let server = Server::start(OK);
    let port = server.port();
    let nothing = server.sandbox(Backend::Process, "", "");
    let outcome = nothing.run(&format!("curl -sS -d question http://a.test:{port}/"));
    outcome.success();
    assert_eq!(kept(&outcome), [KeptBodies::default()]);
    assert_eq!(files(&nothing), 0);
    let little = server.sandbox(
        Backend::Process,
        &format!("keep_bodies = [\"a.test:{port}\"]\nkeep_limit = \"4B\""),
        "",
    );
    let outcome = little.run(&format!("curl -sS -d question http://a.test:{port}/"));
    outcome.success().stdout_is("the answer");
    let cut = kept(&outcome).remove(0).request.unwrap();
    assert_eq!((cut.bytes, cut.cut), (4, true));
    let shown = little.bailiwick(["log", "--body", &cut.hash]);
    shown.success().stdout_is("ques");
}

#[test]
fn what_is_kept_has_the_stand_in_and_not_the_secret() {
    let secret = "sk-test-AbCdEfGhIjKlMnOpQrStUvWx0123456789";
    let echo = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{secret}",
        secret.len()
    );
    let server = Server::start(echo);
    let port = server.port();
    let sandbox = Sandbox::new()
        .host_env("OUTER_KEY", secret)
        .policy(&format!(
            "extends = [\"default\"]\n[network]\nkeep_bodies = [\"a.test:{port}\"]\n\
         [network.hosts]\n\"a.test\" = \"127.0.0.1:{port}\"\n\
         [[secrets]]\nname = \"API_KEY\"\nfrom = {{ env = \"OUTER_KEY\" }}\n\
         hosts = [\"a.test:{port}\"]\nin = [\"body\"]\n"
        ));
    let outcome = sandbox.run(&format!(
        "curl -sS -d \"key=$API_KEY\" http://a.test:{port}/"
    ));
    outcome.success();
    assert!(server.heard()[0].ends_with(&format!("key={secret}")));
    let kept = kept(&outcome).remove(0);
    for body in [kept.request, kept.response] {
        let shown = sandbox.bailiwick(["log", "--body", &body.unwrap().hash]);
        shown.success().stdout_has("sk-test-").stdout_lacks(secret);
    }
}

#[test]
fn a_projects_policy_has_no_bodies_kept() {
    let policy = "[network]\nkeep_bodies = [\"a.test\"]\n";
    let outcome = Sandbox::new().file("bailiwick.toml", policy).run("true");
    outcome
        .code(2)
        .stderr_has("`network.keep_bodies` has no place in a project's policy");
}
