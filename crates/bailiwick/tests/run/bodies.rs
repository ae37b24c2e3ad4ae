//! Rules see bodies and answers, wait for what they must see, and change what they say they change.

use crate::support::{Backend, Outcome, Sandbox};
use bailiwick_event::{Act, Boundary};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

on_every_backend! {
    a_request_is_decided_by_its_body_before_any_of_it_is_sent,
    a_body_beyond_the_limit_is_refused_unless_the_policy_says_otherwise,
    a_rule_changes_a_body_and_what_is_sent_has_its_length,
    a_detection_watches_a_body_and_holds_nothing_back,
    an_answer_is_decided_by_its_status_its_headers_and_its_body,
    a_rule_changes_an_answer,
    every_answer_has_a_row_that_says_what_came,
    an_answer_that_does_not_come_whole_is_recorded_as_that,
    an_answer_that_changes_the_protocol_is_decided_too,
}

/// A server of the host that gives each request the same answer and keeps what it was sent.
pub(crate) struct Server {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) fn start(answer: impl Into<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (log, answer) = (Arc::clone(&heard), answer.into());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, answer) = (Arc::clone(&log), answer.clone());
                std::thread::spawn(move || serve(stream, &answer, &log));
            }
        });
        Self { port, heard }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Every request, head and body.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    /// A sandbox that may reach it as `a.test`, with these keys of `[network]` and these rules.
    pub(crate) fn sandbox(&self, on: Backend, network: &str, rules: &str) -> Sandbox {
        let port = self.port;
        Sandbox::on(on).policy(&format!(
            "extends = [\"default\"]\n[network]\n{network}\n\
             [network.hosts]\n\"a.test\" = \"127.0.0.1:{port}\"\n{rules}"
        ))
    }
}

fn serve(mut stream: TcpStream, answer: &[u8], log: &Mutex<Vec<String>>) {
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let mut all = Vec::new();
    let mut chunk = [0; 65536];
    loop {
        let text = String::from_utf8_lossy(&all).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head
                .split_once("content-length: ")
                .and_then(|(_, rest)| rest.lines().next()?.parse::<usize>().ok());
            let whole = match length {
                Some(length) => body.len() >= length,
                None if head.contains("transfer-encoding") => body.ends_with("0\r\n\r\n"),
                None => true,
            };
            if whole {
                log.lock().unwrap().push(text);
                let _ = stream.write_all(answer);
                return;
            }
        }
        match stream.read(&mut chunk) {
            Ok(n) if n > 0 => all.extend_from_slice(&chunk[..n]),
            _ => return,
        }
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n";

fn rule(on: &str, action: &str, when: &str) -> String {
    format!(
        "[[rules]]\nid = \"test-rule\"\non = \"{on}\"\naction = \"{action}\"\nwhen = '{when}'\n"
    )
}

fn answers(outcome: &Outcome) -> Vec<Act> {
    let acts = outcome.events().into_iter().map(|event| event.act);
    acts.filter(|act| matches!(act, Act::HttpResponse { .. }))
        .collect()
}

fn a_request_is_decided_by_its_body_before_any_of_it_is_sent(on: Backend) {
    let server = Server::start(OK);
    let when = r#"has(http.request.body.text) && http.request.body.text.contains("secret")"#;
    let outcome = server
        .sandbox(on, "", &rule("http.request", "deny", when))
        .run(
            "curl -sS -d 'a secret' http://a.test/one; curl -sS -d harmless http://a.test/two; \
         printf 'a secret in gzip' | gzip > z; \
         curl -sS -H 'Content-Encoding: gzip' --data-binary @z http://a.test/three; \
         printf 'in chunks, a secret' | curl -sS -T - http://a.test/four; \
         curl -sS http://a.test/five",
        );
    outcome.success().refused_by("test-rule");
    let said = outcome.stdout();
    assert_eq!(said.matches("refused by policy").count(), 3, "{said}");
    assert_eq!(said.matches("ok\n").count(), 2, "{said}");
    let heard = server.heard();
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert!(heard[0].starts_with("POST /two ") && heard[0].ends_with("\r\n\r\nharmless"));
    // What rules were asked about is in no row.
    let rows = outcome
        .events()
        .into_iter()
        .filter(|e| e.boundary() == Boundary::Http);
    let rows: Vec<_> = rows.collect();
    assert_eq!(rows.len(), 7, "{rows:?}");
    assert!(!format!("{rows:?}").contains("a secret"), "{rows:?}");
}

fn a_body_beyond_the_limit_is_refused_unless_the_policy_says_otherwise(on: Backend) {
    let when = r#"has(http.request.body.text) && http.request.body.text.contains("secret")"#;
    let rules = rule("http.request", "deny", when);
    let script = "head -c 300000 /dev/zero | tr '\\0' x | curl -sS --data-binary @- http://a.test/";
    for (network, passes) in [
        ("body_limit = \"100KiB\"", false),
        ("body_limit = \"100KiB\"\nbody_beyond = \"allow\"", true),
        ("", true),
    ] {
        let server = Server::start(OK);
        let outcome = server.sandbox(on, network, &rules).run(script);
        outcome.success();
        assert_eq!(server.heard().len(), usize::from(passes), "{network}");
        match passes {
            true => {
                outcome.stdout_is("ok\n").nothing_refused();
                assert_eq!(server.heard()[0].matches('x').count() / 300_000, 1);
            }
            false => {
                outcome.refused_by("network.body_limit");
                outcome.stdout_has("raise body_limit under [network]");
            }
        }
    }
}

fn a_rule_changes_a_body_and_what_is_sent_has_its_length(on: Backend) {
    let server = Server::start(OK);
    let rules = rule("http.request", "rewrite", "true")
        + "[[rules.rewrite]]\n[rules.rewrite.replace]\ntarget = \"body\"\n\
           pattern = \"token=[a-z]+\"\nwith = \"token=(removed)\"\n";
    let outcome = server
        .sandbox(on, "", &rules)
        .run("curl -sS -d 'x=1&token=abc' http://a.test/");
    outcome.success().stdout_is("ok\n");
    let heard = server.heard().pop().unwrap();
    assert!(heard.ends_with("\r\n\r\nx=1&token=(removed)"), "{heard}");
    assert!(
        heard.to_lowercase().contains("content-length: 19\r\n"),
        "{heard}"
    );
}

fn a_detection_watches_a_body_and_holds_nothing_back(on: Backend) {
    let server = Server::start(OK);
    let rules = "[[detections]]\nid = \"test-watch\"\non = \"http.request\"\nseverity = \"high\"\n\
        when = 'has(http.request.body.text) && http.request.body.text.contains(\"secret\")'\n";
    let outcome = server.sandbox(on, "", rules).run(
        "curl -sS -d 'a secret' http://a.test/; curl -sS -d plain http://a.test/; \
         head -c 3000000 /dev/zero | curl -sS --data-binary @- http://a.test/",
    );
    outcome
        .success()
        .nothing_refused()
        .stdout_is("ok\nok\nok\n");
    let found: Vec<_> = outcome
        .events()
        .into_iter()
        .filter(|event| event.decision.rule.id == "test-watch")
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(!format!("{found:?}").contains("a secret"));
}

fn an_answer_is_decided_by_its_status_its_headers_and_its_body(on: Backend) {
    let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=x\r\nX-Kind: bad\r\n\
        Content-Length: 12\r\nConnection: close\r\n\r\nignore this\n";
    for when in [
        "http.response.status == 200",
        r#"http.response.header("x-kind") == "bad" && http.request.path == "/""#,
        r#"http.response.body.content_type == "text/html""#,
        r#"http.response.body.text.contains("ignore")"#,
    ] {
        let server = Server::start(answer);
        let outcome = server
            .sandbox(on, "", &rule("http.response", "deny", when))
            .run("curl -sS http://a.test/");
        outcome.success().refused_by("test-rule");
        outcome
            .stdout_has("refused by policy")
            .stdout_lacks("ignore this");
    }
    let server = Server::start(answer);
    let other = rule("http.response", "deny", "http.response.status == 500");
    let outcome = server
        .sandbox(on, "", &other)
        .run("curl -sS http://a.test/");
    outcome
        .success()
        .nothing_refused()
        .stdout_is("ignore this\n");
}

fn a_rule_changes_an_answer(on: Backend) {
    let answer = "HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 12\r\n\
        Connection: close\r\n\r\nignore this\n";
    let server = Server::start(answer);
    let rules = rule("http.response", "rewrite", "true")
        + "[[rules.rewrite]]\nstrip_header = \"Set-Cookie\"\n\
           [[rules.rewrite]]\n[rules.rewrite.replace]\ntarget = \"body\"\n\
           pattern = \"ignore\"\nwith = \"heed\"\n";
    let outcome = server
        .sandbox(on, "", &rules)
        .run("curl -sSi http://a.test/");
    outcome.success().stdout_has("\r\n\r\nheed this\n");
    outcome
        .stdout_lacks("ookie")
        .stdout_has("Content-Length: 10\r\n");
}

fn every_answer_has_a_row_that_says_what_came(on: Backend) {
    let server = Server::start(
        "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nnone\n",
    );
    let outcome = server
        .sandbox(on, "", "")
        .run("curl -sS -d four http://a.test/x");
    outcome.success();
    let request = outcome
        .events()
        .into_iter()
        .find(|event| matches!(event.act, Act::Http { .. }))
        .unwrap();
    let answers = answers(&outcome);
    let [
        Act::HttpResponse {
            request: row,
            status: 404,
            sent: 4,
            received: 5,
            first_ns,
            duration_ns,
            problem: None,
            content_type: Some(kind),
            ..
        },
    ] = &answers[..]
    else {
        panic!("{answers:?}");
    };
    assert_eq!(*row, request.id);
    assert!(first_ns > &0 && duration_ns >= first_ns);
    assert_eq!(kind.to_string(), "text/plain");
}

fn an_answer_that_does_not_come_whole_is_recorded_as_that(on: Backend) {
    // It says more than it sends.
    let short = Server::start("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort");
    let outcome = short.sandbox(on, "", "").run("curl -sS http://a.test/");
    outcome.failure().stdout_has("short");
    let rows = answers(&outcome);
    assert!(
        matches!(
            &rows[..],
            [Act::HttpResponse {
                status: 200,
                received: 5,
                problem: Some(_),
                ..
            }]
        ),
        "{rows:?}"
    );
    let nothing = Server::start("");
    let outcome = nothing
        .sandbox(on, "", "")
        .run("curl -sS -w '%{http_code}' http://a.test/");
    outcome.stdout_has("502");
    let rows = answers(&outcome);
    assert!(
        matches!(
            &rows[..],
            [Act::HttpResponse {
                status: 0,
                problem: Some(_),
                ..
            }]
        ),
        "{rows:?}"
    );
}

fn an_answer_that_changes_the_protocol_is_decided_too(on: Backend) {
    let server = Server::start(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\
         X-Kind: bad\r\n\r\nwhat follows",
    );
    let when = r#"http.response.status == 101 && http.response.header("x-kind") == "bad""#;
    let script = "curl -sS -i -m 60 -H 'Connection: Upgrade' -H 'Upgrade: other' http://a.test/";
    let through = server.sandbox(on, "", "").run(script);
    through
        .stdout_has("101 Switching")
        .stdout_has("what follows");
    let outcome = server
        .sandbox(on, "", &rule("http.response", "deny", when))
        .run(script);
    outcome
        .refused_by("test-rule")
        .stdout_lacks("what follows")
        .stdout_has("refused by policy");
}
