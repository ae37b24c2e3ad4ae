//! Programs use secrets without having them.

use crate::bodies::Server;
use crate::support::{Backend, Outcome, Sandbox, host_command};
use bailiwick_event::Act;

on_every_backend! {
    a_program_has_a_text_of_the_same_shape_and_the_server_gets_the_secret,
    toward_another_machine_the_request_is_refused_and_found,
    what_comes_back_holds_no_secret,
    a_secret_in_a_coded_answer_is_found_too,
    a_secret_comes_from_a_file_or_a_command_and_enters_with_every_command,
    git_logs_in_with_it_where_it_is_asked_to,
}

const SECRET: &str = "sk-test-AbCdEfGhIjKlMnOpQrStUvWx0123456789";
/// The same to a shell, in a command line that does not hold it. It is no program's word either: the
/// record may have those.
const HIDDEN: &str = "sk-test-AbCdEfGhIjKl''MnOpQrStUvWx0123456789";

/// A secret for the server's own port, in these places.
fn secret(server: &Server, places: &str) -> String {
    let port = server.port();
    format!(
        "[[secrets]]\nname = \"API_KEY\"\nfrom = {{ env = \"OUTER_KEY\" }}\n\
         hosts = [\"a.test:{port}\"]\nin = [{places}]\n"
    )
}

/// A sandbox in which `a.test` and `b.test` are this server.
fn sandbox(on: Backend, server: &Server, places: &str) -> Sandbox {
    let port = server.port();
    Sandbox::on(on)
        .host_env("OUTER_KEY", SECRET)
        .policy(&format!(
            "extends = [\"default\"]\n{}[network.hosts]\n\"a.test\" = \"127.0.0.1:{port}\"\n\
         \"b.test\" = \"127.0.0.1:{port}\"\n",
            secret(server, places)
        ))
}

fn used(outcome: &Outcome) -> Vec<String> {
    let of = |event: bailiwick_event::Event| match &event.act {
        Act::SecretUsed { .. } => Some(event.act.resource()),
        _ => None,
    };
    outcome.events().into_iter().filter_map(of).collect()
}

/// Nothing that is kept of a run holds the secret.
#[track_caller]
fn nothing_kept_has_it(sandbox: &Sandbox, outcome: &Outcome) {
    let rows = format!("{:?}", outcome.events());
    assert!(!rows.contains(SECRET), "{rows}");
    let state = sandbox.scratch().state();
    let found = host_command("grep")
        .args(["-rl", SECRET])
        .arg(&state)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n";

fn a_program_has_a_text_of_the_same_shape_and_the_server_gets_the_secret(on: Backend) {
    let server = Server::start(OK);
    let sandbox = sandbox(on, &server, "\"header\", \"query\", \"body\"");
    let port = server.port();
    let outcome = sandbox.run(&format!(
        "echo \"$API_KEY\"; printf %s {HIDDEN} > hidden; env | grep -cFf hidden; \
         curl -sS -H \"Authorization: Bearer $API_KEY\" http://a.test:{port}/bearer; \
         curl -sS -u \"me:$API_KEY\" http://a.test:{port}/basic; \
         curl -sS \"http://a.test:{port}/query?key=$API_KEY&x=1\"; \
         curl -sS -d \"{{\\\"key\\\":\\\"$API_KEY\\\"}}\" http://a.test:{port}/body"
    ));
    outcome.success().nothing_refused();
    let said = outcome.stdout();
    let (shown, rest) = said.split_once('\n').unwrap();
    assert!(
        shown.starts_with("sk-test-") && shown.len() == SECRET.len(),
        "{shown}"
    );
    assert_ne!(shown, SECRET);
    assert_eq!(rest, "0\nok\nok\nok\nok\n");
    let heard = server.heard();
    let basic = "Basic bWU6c2stdGVzdC1BYkNkRWZHaElqS2xNbk9wUXJTdFV2V3gwMTIzNDU2Nzg5";
    for (request, part) in heard.iter().zip([
        format!("Authorization: Bearer {SECRET}\r\n"),
        format!("Authorization: {basic}\r\n"),
        format!("GET /query?key={SECRET}&x=1 "),
        format!("\r\n\r\n{{\"key\":\"{SECRET}\"}}"),
    ]) {
        assert!(request.contains(&part), "{part} in {request}");
        assert!(!request.contains(shown), "{request}");
    }
    assert_eq!(heard.len(), 4);
    let places = used(&outcome);
    assert!(
        places.contains(&format!("secret API_KEY in the header for a.test:{port}")),
        "{places:?}"
    );
    assert!(
        places.contains(&format!("secret API_KEY in the query for a.test:{port}")),
        "{places:?}"
    );
    nothing_kept_has_it(&sandbox, &outcome);
}

fn toward_another_machine_the_request_is_refused_and_found(on: Backend) {
    let server = Server::start(OK);
    let sandbox = sandbox(on, &server, "\"header\"");
    let port = server.port();
    for script in [
        format!("curl -sS -H \"X: $API_KEY\" http://b.test:{port}/"),
        format!("curl -sS -u \"me:$API_KEY\" http://b.test:{port}/"),
        format!("curl -sS \"http://b.test:{port}/?x=$API_KEY\""),
        format!("curl -sS -d \"some text $API_KEY\" http://b.test:{port}/"),
        // The Host header is the program's word; the connection is what counts.
        format!(
            "curl -sS --noproxy '*' -H 'Host: a.test:{port}' -H \"X: $API_KEY\" http://b.test:{port}/"
        ),
        // At another port it is another machine's.
        "curl -sS -H \"X: $API_KEY\" http://a.test:81/".to_owned(),
    ] {
        let before = server.heard().len();
        let outcome = sandbox.run(&script);
        outcome.refused_by("secrets.API_KEY");
        outcome.stdout_has("refused by policy").stdout_lacks("ok");
        assert_eq!(server.heard().len(), before, "{script}");
        let found = outcome
            .events()
            .into_iter()
            .any(|e| matches!(e.act, Act::Finding { .. }));
        assert!(found, "{script}");
        nothing_kept_has_it(&sandbox, &outcome);
    }
}

fn what_comes_back_holds_no_secret(on: Backend) {
    let body = format!("you said {SECRET} and {SECRET}\n");
    let answer = format!(
        "HTTP/1.1 200 OK\r\nX-Echo: {SECRET}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let server = Server::start(answer);
    let sandbox = sandbox(on, &server, "\"header\"");
    let port = server.port();
    let outcome = sandbox.run(&format!(
        "curl -sSi -H \"X-Api-Key: $API_KEY\" http://a.test:{port}/ > out; printf %s {HIDDEN} > hidden; grep -cFf hidden out; \
         grep -o \"$API_KEY\" out | wc -l"
    ));
    assert_eq!(
        outcome.stdout().split_whitespace().collect::<Vec<_>>(),
        ["0", "3"]
    );
    let masked = outcome
        .events()
        .into_iter()
        .find_map(|event| match event.act {
            Act::HttpResponse { masked, .. } => Some(masked),
            _ => None,
        });
    assert_eq!(masked, Some(3));
    assert!(
        server.heard()[0].contains("ccept-Encoding: identity\r\n")
            || server.heard()[0].contains("accept-encoding: identity\r\n")
    );
    nothing_kept_has_it(&sandbox, &outcome);
}

fn a_secret_in_a_coded_answer_is_found_too(on: Backend) {
    use std::io::Write as _;
    let mut gzip = host_command("gzip")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(gzip.stdin.take().unwrap(), "you said {SECRET}").unwrap();
    let coded = gzip.wait_with_output().unwrap().stdout;
    let mut answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        coded.len()
    )
    .into_bytes();
    answer.extend(coded);
    let server = Server::start(answer);
    let sandbox = sandbox(on, &server, "\"header\"");
    let port = server.port();
    let outcome = sandbox.run(&format!("curl -sS --compressed http://a.test:{port}/"));
    outcome
        .success()
        .stdout_has("you said sk-test-")
        .stdout_lacks(SECRET);
}

#[test]
fn a_secret_that_cannot_be_had_keeps_the_run_from_starting_and_says_why() {
    for (from, why) in [
        ("{ env = \"NOT_SET_AT_ALL\" }", "NOT_SET_AT_ALL is not set"),
        (
            "{ file = \"/nonexistent/key\" }",
            "/nonexistent/key cannot be read",
        ),
        ("{ command = [\"false\"] }", "false failed"),
        ("{ env = \"SHORT\" }", "5 characters"),
    ] {
        let outcome = Sandbox::new()
            .host_env("SHORT", "12345")
            .policy(&format!(
                "extends = [\"default\"]\n[[secrets]]\nname = \"KEY\"\nfrom = {from}\nhosts = [\"a.test\"]\n"
            ))
            .run("echo started");
        outcome.code(2).stdout_lacks("started");
        let said = outcome.stderr();
        assert!(
            said.contains("policy-1.toml:3:8") && said.contains(why),
            "{said}"
        );
        assert!(!said.contains("12345"), "{said}");
    }
}

fn a_secret_comes_from_a_file_or_a_command_and_enters_with_every_command(on: Backend) {
    let server = Server::start(OK);
    let port = server.port();
    let made = |from: &str| {
        let sandbox = Sandbox::on(on);
        std::fs::write(sandbox.scratch().root().join("key"), format!("{SECRET}\n")).unwrap();
        let from = from.replace(
            "{file}",
            sandbox.scratch().root().join("key").to_str().unwrap(),
        );
        sandbox.policy(&format!(
            "extends = [\"default\"]\n[[secrets]]\nname = \"API_KEY\"\nfrom = {from}\nhosts = [\"a.test:{port}\"]\n\
             [network.hosts]\n\"a.test\" = \"127.0.0.1:{port}\"\n"
        ))
    };
    for from in [
        "{ file = \"{file}\" }",
        "{ command = [\"cat\", \"{file}\"] }",
    ] {
        let sandbox = made(from);
        let before = server.heard().len();
        let script = format!("curl -sS -H \"X-Api-Key: $API_KEY\" http://a.test:{port}/");
        sandbox.run(&script).success().stdout_is("ok\n");
        assert!(server.heard()[before].contains(&format!("X-Api-Key: {SECRET}\r\n")));
    }
}

#[test]
fn a_projects_policy_has_no_secrets() {
    let sandbox = Sandbox::new().file(
        "bailiwick.toml",
        "[[secrets]]\nname = \"KEY\"\nfrom = { command = [\"touch\", \"/tmp/x\"] }\nhosts = [\"a.test\"]\n",
    );
    let outcome = sandbox.run("true");
    outcome
        .code(2)
        .stderr_has("have no place in a project's policy");
}

fn git_logs_in_with_it_where_it_is_asked_to(on: Backend) {
    let server = Server::start(
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    );
    let port = server.port();
    let sandbox = Sandbox::on(on).host_env("OUTER_KEY", SECRET).policy(&format!(
        "extends = [\"default\"]\n{}git_user = \"me\"\n[network.hosts]\n\"a.test\" = \"127.0.0.1:{port}\"\n",
        secret(&server, "\"header\"")
    ));
    let outcome = sandbox.run(&format!(
        "GIT_TERMINAL_PROMPT=0 git ls-remote http://a.test:{port}/x"
    ));
    outcome.failure().stderr_has("Authentication failed");
    let heard = server.heard();
    assert!(!heard[0].contains("Authorization"), "{heard:?}");
    let basic = "Authorization: Basic bWU6c2stdGVzdC1BYkNkRWZHaElqS2xNbk9wUXJTdFV2V3gwMTIzNDU2Nzg5";
    assert!(heard[1].contains(basic), "{heard:?}");
}

#[test]
fn a_command_that_leaves_something_behind_keeps_no_run_waiting() {
    let sandbox = Sandbox::new();
    // What it leaves behind ends with the test.
    let left = format!(
        "while test -d {}; do sleep 0.1; done",
        sandbox.workspace().display()
    );
    let policy = format!(
        "extends = [\"default\"]\n[[secrets]]\nname = \"API_KEY\"\n\
         from = {{ command = [\"sh\", \"-c\", \"{{ {left}; }} 2>/dev/null & echo a-long-enough-secret\"] }}\n\
         hosts = [\"a.test\"]\n"
    );
    let outcome = sandbox.policy(&policy).run("true");
    outcome
        .code(2)
        .stderr_has("something that it started keeps its output open");
}
