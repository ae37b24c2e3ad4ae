//! Servers that stall, reset, lie or pack: what they cost is bounded, and the record says what they did.
//! The other way round, programs that keep the gate waiting.

use crate::bodies::Server;
use crate::support::{Backend, Background, Outcome, Sandbox, host_command, wait};
use bailiwick_event::{Act, Event};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// A server that does this with each connection, after what it was asked has come.
fn server(behave: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let behave = Arc::new(behave);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let behave = Arc::clone(&behave);
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 65536]);
                behave(stream);
            });
        }
    });
    port
}

/// Says nothing more, until the other side has had enough.
fn stalls(mut stream: TcpStream) {
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
}

/// Long enough for whoever gives up by itself, on the busiest machine, and nothing to whoever waits for ever.
const PATIENCE: Duration = Duration::from_secs(180);

fn sandbox(port: u16, network: &str, rules: &str) -> Sandbox {
    Sandbox::new().policy(&policy(port, network, rules))
}

fn policy(port: u16, network: &str, rules: &str) -> String {
    format!(
        "extends = [\"default\"]\n[network]\n{network}\n\
         [network.hosts]\n\"a.test\" = \"127.0.0.1:{port}\"\n{rules}"
    )
}

const BY_BODY: &str = "[[rules]]\nid = \"by-body\"\non = \"http.response\"\naction = \"deny\"\n\
    when = 'has(http.response.body.text) && http.response.body.text.contains(\"evil\")'\n";

/// What the record says of the answers: status, and what was wrong.
fn answers(outcome: &Outcome) -> Vec<(u16, Option<String>)> {
    answers_in(outcome.events())
}

fn answers_in(events: impl IntoIterator<Item = Event>) -> Vec<(u16, Option<String>)> {
    let acts = events.into_iter().map(|event| event.act);
    acts.filter_map(|act| match act {
        Act::HttpResponse {
            status, problem, ..
        } => Some((status, problem.map(|problem| problem.to_string()))),
        _ => None,
    })
    .collect()
}

#[test]
fn an_answer_that_stalls_holds_a_rule_up_for_a_while_and_is_refused() {
    let port = server(|mut stream| {
        let head =
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nhalf";
        let _ = stream.write_all(head);
        stalls(stream);
    });
    let outcome = sandbox(port, "", BY_BODY)
        .within(PATIENCE)
        .run("curl -sS http://a.test/");
    outcome.stdout_has("refused by policy").stdout_lacks("half");
    assert_eq!(answers(&outcome).len(), 1, "{:?}", answers(&outcome));
}

#[test]
fn a_request_whose_program_goes_away_is_on_record() {
    let (asked, is_asked) = std::sync::mpsc::channel();
    let port = server(move |stream| {
        asked.send(()).unwrap();
        stalls(stream);
    });
    let script = r"
import socket, struct
s = socket.create_connection(('a.test', 80))
s.sendall(b'POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 4\r\n\r\nbody')
print('sent', flush=True)
input()
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
s.close()
input()
";
    let sandbox = sandbox(port, "", "");
    let mut words = vec!["run".into()];
    words.extend(sandbox.options().iter().cloned());
    words.extend(["--", "python3", "-c", script].map(std::ffi::OsString::from));
    let mut run = Background::start(&sandbox, words, "sent");
    is_asked.recv_timeout(PATIENCE).unwrap();
    run.types("go away\n");
    // While the program goes on.
    let rows = wait::for_some("the answer that nobody got is on record", || {
        let log = sandbox.bailiwick(["log", "--json"]).stdout();
        let events = log.lines().map(|line| serde_json::from_str(line).unwrap());
        Some(answers_in(events)).filter(|rows| !rows.is_empty())
    });
    let [(0, Some(problem))] = &rows[..] else {
        panic!("{rows:?}");
    };
    assert!(problem.contains("went away"), "{problem}");
    run.types("end\n");
    assert_eq!(run.ends(), Some(0));
}

#[test]
fn a_server_that_never_agrees_on_tls_is_given_up() {
    let port = server(stalls);
    let outcome = sandbox(port, "inspect = \"always\"", "")
        .within(PATIENCE)
        .run("curl -sS -w '%{http_code}' https://a.test/");
    outcome.stdout_has("504");
    let rows = answers(&outcome);
    assert!(matches!(&rows[..], [(0, Some(_))]), "{rows:?}");
}

#[test]
fn an_answer_that_is_reset_is_cut_for_the_program_too() {
    let sandbox = Sandbox::new();
    let got = sandbox.workspace().join("got");
    let has_half = {
        let got = got.clone();
        move || std::fs::read(&got).is_ok_and(|got| got == b"half")
    };
    let port = server(move |mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
        wait::until("the program has the first half", &has_half);
        // What was not read makes the end of the connection a reset.
        let _ = rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
    });
    let outcome = sandbox
        .policy(&policy(port, "", ""))
        .run("curl -sSN -m 60 -o got http://a.test/");
    outcome.failure();
    assert_eq!(std::fs::read(&got).unwrap(), b"half");
    let rows = answers(&outcome);
    assert!(matches!(&rows[..], [(200, Some(_))]), "{rows:?}");
}

#[test]
fn an_answer_with_more_than_one_length_or_none_that_is_a_number_is_no_answer() {
    for lie in [
        "Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde",
        "Content-Length: -1\r\n\r\nabcde",
        "Content-Length: 99999999999999999999999\r\n\r\nabcde",
        "Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nabc",
    ] {
        let server = Server::start(format!("HTTP/1.1 200 OK\r\n{lie}"));
        let outcome = server
            .sandbox(Backend::Process, "", "")
            .run("curl -sS -m 60 -w ' %{http_code}' http://a.test/; true");
        outcome.stdout_lacks("abc");
        let rows = answers(&outcome);
        assert!(matches!(&rows[..], [(_, Some(_))]), "{lie}: {rows:?}");
    }
}

#[test]
fn a_packed_answer_is_unpacked_as_far_as_the_limit_and_then_refused() {
    let scratch = crate::support::Scratch::new();
    let packed = scratch.write("packed", "");
    // A gigabyte in a megabyte.
    let made = host_command("sh")
        .args(["-c", "head -c 1073741824 /dev/zero | gzip -1 > \"$0\""])
        .arg(&packed)
        .status()
        .unwrap();
    assert!(made.success());
    let body = std::fs::read(&packed).unwrap();
    let mut answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    answer.extend(body);
    let server = Server::start(answer);
    let outcome = server
        .sandbox(Backend::Process, "", BY_BODY)
        .run("curl -sS -m 60 -o got http://a.test/; grep -c 'refused by policy' got");
    outcome.success().stdout_has("1");
    let rows = answers(&outcome);
    assert!(matches!(&rows[..], [(200, _)]), "{rows:?}");
}

#[test]
fn a_redirection_to_what_is_not_allowed_leads_nowhere() {
    let other = Server::start("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother");
    let server = Server::start(
        "HTTP/1.1 302 Found\r\nLocation: http://other.test/\r\nContent-Length: 0\r\n\r\n",
    );
    let outcome = server
        .sandbox(Backend::Process, "", "")
        .run("curl -sS -L -m 60 http://a.test/");
    assert!(!outcome.denied().is_empty());
    outcome.stderr_has("other.test");
    assert!(other.heard().is_empty());
    assert_eq!(server.heard().len(), 1);

    // On the same machine, to a path that a rule refuses.
    let server = Server::start(
        "HTTP/1.1 302 Found\r\nLocation: /secret\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    );
    let rule = "[[rules]]\nid = \"no-secret\"\non = \"http.request\"\naction = \"deny\"\n\
        when = 'http.request.path == \"/secret\"'\n";
    let outcome = server
        .sandbox(Backend::Process, "", rule)
        .run("curl -sS -L -m 60 http://a.test/");
    outcome.refused_by("no-secret");
    assert_eq!(server.heard().len(), 1, "{:?}", server.heard());
}

/// Heads that are never finished, one of which is sent a byte at a time; then a whole request.
const SLOW: &str = r"
import socket, threading, time
def slow(i):
    s = socket.create_connection(('a.test', 80))
    s.sendall(b'GET / HTTP/1.1\r\nHost: a.test\r\nX-Slow: ')
    return s
many = [slow(i) for i in range(200)]
def drip(s):
    try:
        while True:
            s.sendall(b'x')
            time.sleep(1)
    except OSError:
        pass
threading.Thread(target=drip, args=(many[0],), daemon=True).start()
s = socket.create_connection(('a.test', 80))
s.sendall(b'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')
print(s.recv(100).split(b'\r\n')[0].decode(), flush=True)
ended = 0
for s in many:
    s.settimeout(100)
    try:
        while s.recv(4096): pass
        ended += 1
    except ConnectionError:
        ended += 1
    except TimeoutError:
        break
print('ended', ended)
";

#[test]
fn heads_that_are_never_finished_keep_nobody_waiting_and_are_ended() {
    let server = Server::start("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let outcome = server
        .sandbox(Backend::Process, "", "")
        .within(PATIENCE)
        .exec(["python3", "-c", SLOW]);
    outcome
        .success()
        .stdout_has("HTTP/1.1 200 OK")
        .stdout_has("ended 200");
    assert_eq!(server.heard().len(), 1, "{:?}", server.heard());
}
