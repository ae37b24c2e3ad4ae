//! Ways around the gate within TLS that it looks into: names that disagree, protocols in protocols, and
//! answers that tell what a program is not to know.

use crate::support::{Backend, Outcome, RawOrigin, Sandbox};
use bailiwick_event::{Act, Verdict};

on_every_backend! {
    a_name_that_is_not_allowed_is_reached_by_no_mixture_of_names,
    another_protocol_than_was_agreed_on_carries_no_request,
    a_second_request_on_one_connection_is_decided_anew,
    a_secret_goes_to_no_other_server_behind_the_same_certificate,
    an_answer_tells_a_secret_in_no_part_and_in_no_form_in_which_the_gate_sends_it,
    what_a_server_has_answered_before_it_was_sent_is_refused_and_found_too,
    tls_behind_a_header_of_the_proxy_protocol_is_refused,
    where_http_was_agreed_on_nothing_else_passes,
}

const SECRET: &str = "sk-test-AbCd/EfGhIj+KlMnOpQrStUvWx0123456789";
/// What is not to be found in anything that a program reads.
const TOLD: &str = "AbCd/EfGhIj";

/// How the attempts connect; each prints what it got.
const ATTEMPT: &str = "import base64, os, socket, ssl, sys, urllib.parse
KEY = os.environ.get('API_KEY', '')
def tls(to, name, alpn=('http/1.1',), over=None):
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if alpn: context.set_alpn_protocols(list(alpn))
    below = over or socket.create_connection((to, 443), timeout=60)
    return context.wrap_socket(below, server_hostname=name)
def say(stream, data):
    got = b''
    try:
        stream.sendall(data)
        stream.settimeout(60)
        while part := stream.recv(65536): got += part
    except OSError as error: got += b' ' + type(error).__name__.encode()
    print(got.decode('latin1'), flush=True)
def get(host, path, more='', method='GET'):
    return f'{method} {path} HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n{more}\\r\\n'.encode()
";

/// What the server saw was allowed, in so many words.
#[track_caller]
fn nothing_undecided(origin: &RawOrigin, outcome: &Outcome) {
    let allowed: Vec<_> = outcome
        .events()
        .iter()
        .filter(|event| event.decision.verdict == Verdict::Allow)
        .filter_map(|event| match &event.act {
            Act::Http { method, path, .. } => Some(format!("{method} {path}")),
            _ => None,
        })
        .collect();
    for request in origin.requests() {
        assert!(
            allowed.contains(&request),
            "{request} was not decided: {allowed:?}"
        );
    }
}

fn sandbox(on: Backend, origin: &RawOrigin) -> Sandbox {
    let port = origin.secure;
    origin
        .sandbox(
            on,
            &format!("\"a.test\" = \"127.0.0.1:{port}\"\n\"b.test\" = \"127.0.0.1:{port}\""),
            "[[secrets]]\nname = \"API_KEY\"\nfrom = { env = \"OUTER_KEY\" }\n\
             hosts = [\"a.test\"]\nin = [\"header\", \"query\", \"body\"]\n\
             [[rules]]\nid = \"never\"\non = \"http.request\"\naction = \"deny\"\n\
             when = 'http.request.path.startsWith(\"/no/\")'\n",
        )
        .host_env("OUTER_KEY", SECRET)
}

#[track_caller]
fn attempt(on: Backend, origin: &RawOrigin, script: &str) -> Outcome {
    let outcome = sandbox(on, origin).exec(["python3", "-c", &format!("{ATTEMPT}{script}")]);
    nothing_undecided(origin, &outcome);
    outcome
}

/// Several attempts of one program, each with a connection of its own; what each got.
#[track_caller]
fn attempts(on: Backend, origin: &RawOrigin, scripts: &[&str]) -> (Outcome, Vec<String>) {
    let separator = "=== attempt\n";
    let each = scripts.iter().map(|script| {
        format!(
            "print({separator:?}, end='')\ntry: {script}\n\
             except OSError as e: print(type(e).__name__)\n"
        )
    });
    let outcome = attempt(on, origin, &each.collect::<String>());
    let said = outcome.success().stdout();
    let said: Vec<_> = said.split(separator).skip(1).map(str::to_owned).collect();
    assert_eq!(said.len(), scripts.len(), "{said:?}");
    (outcome, said)
}

const NAMES: [&str; 2] = ["a.test", "b.test"];

fn a_name_that_is_not_allowed_is_reached_by_no_mixture_of_names(on: Backend) {
    let origin = RawOrigin::start(&["a.test", "b.test", "c.test"], &[]);
    let scripts = [
        // In the hello, in the request, in both, and in a target.
        "say(tls('a.test', 'c.test'), get('c.test', '/x'))",
        "say(tls('a.test', 'a.test'), get('c.test', '/x'))",
        "say(tls('a.test', 'A.TEST'), get('c.test', '/x'))",
        "say(tls('a.test', 'a.test'), get('a.test', 'https://c.test/x'))",
        "say(tls('a.test', 'a.test'), get('a.test, c.test', '/x'))",
        "say(tls('a.test', 'a.test'), get('a.test', '/x', 'Host: c.test\\r\\n'))",
        "say(tls('a.test', None), get('c.test', '/x'))",
        "say(tls('a.test', '127.0.0.1'), get('127.0.0.1', '/x'))",
        "say(tls('a.test', 'a.test'), get('127.0.0.1', '/x'))",
        "say(tls('a.test', 'a.test'), get('169.254.169.254', '/x'))",
        "say(tls('a.test', 'a.test'), get('[::ffff:169.254.169.254]', '/x'))",
        "say(tls('a.test', 'a.test'), get('2852039166', '/x'))",
        "say(tls('a.test', 'a.test'), b'CONNECT c.test:443 HTTP/1.1\\r\\nHost: c.test:443\\r\\n\\r\\n')",
    ];
    let (_, said) = attempts(on, &origin, &scripts);
    for (script, said) in scripts.iter().zip(said) {
        assert!(!said.contains("200 OK"), "{script}: {said}");
    }
    assert_eq!(origin.requests(), Vec::<String>::new());
}

fn another_protocol_than_was_agreed_on_carries_no_request(on: Backend) {
    let origin = RawOrigin::start(&NAMES, &[]);
    let scripts = [
        "say(tls('a.test', 'a.test'), b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n')",
        "say(tls('a.test', 'a.test', ('h2',)), get('a.test', '/no/x'))",
        "say(tls('a.test', 'a.test', ('strange', 'x' * 200)), get('a.test', '/no/x'))",
        "say(tls('a.test', 'a.test', ()), get('a.test', '/no/x'))",
        // In the clear at a port where TLS is spoken, and TLS at one where it is not.
        "say(socket.create_connection(('a.test', 443)), get('a.test', '/no/x'))",
    ];
    let (_, said) = attempts(on, &origin, &scripts);
    for (script, said) in scripts.iter().zip(said) {
        assert!(!said.contains("200 OK"), "{script}: {said}");
    }
    let seen = origin.requests();
    assert!(!seen.iter().any(|r| r.contains("/no/")), "{seen:?}");
}

fn a_second_request_on_one_connection_is_decided_anew(on: Backend) {
    let origin = RawOrigin::start(&NAMES, &[]);
    let outcome = attempt(
        on, &origin,
        "import http.client
c = http.client.HTTPSConnection('a.test')
for path, host in [('/one', 'a.test'), ('/no/x', 'a.test'), ('/two', 'c.test'), ('/three', 'b.test')]:
    c.request('GET', path, headers={'Host': host})
    r = c.getresponse(); r.read(); print(r.status)",
    );
    outcome.success().stdout_is("200\n403\n403\n200\n");
    assert_eq!(origin.requests(), ["GET /one", "GET /three"]);
}

fn a_secret_goes_to_no_other_server_behind_the_same_certificate(on: Backend) {
    let origin = RawOrigin::start(&NAMES, &[]);
    let scripts = [
        "say(tls('a.test', 'a.test'), get('b.test', '/x', f'X-Key: {KEY}\\r\\n'))",
        "say(tls('a.test', 'a.test'), get('b.test', f'/x?key={KEY}'))",
        "say(tls('b.test', 'b.test'), get('a.test', '/x', f'X-Key: {KEY}\\r\\n'))",
        "say(tls('a.test', 'b.test'), get('a.test', '/x', f'X-Key: {KEY}\\r\\n'))",
        "say(tls('a.test', 'a.test'), get('b.test', '/x', f'Content-Length: {len(KEY)}\\r\\n', 'POST') + KEY.encode())",
        "say(tls('b.test', 'b.test'), get('b.test', '/x', 'Transfer-Encoding: chunked\\r\\nTrailer: x-key\\r\\n', \
         'POST') + f'1\\r\\na\\r\\n0\\r\\nX-Key: {KEY}\\r\\n\\r\\n'.encode())",
    ];
    let (outcome, said) = attempts(on, &origin, &scripts);
    for (script, said) in scripts.iter().zip(said) {
        assert!(said.contains("403"), "{script}: {said}");
        assert!(!said.contains("200 OK"), "{script}: {said}");
    }
    let denied = outcome.denied();
    let refused = denied
        .iter()
        .filter(|e| e.decision.rule.id == "secrets.API_KEY");
    assert_eq!(refused.count(), scripts.len(), "{denied:?}");
}

fn an_answer_tells_a_secret_in_no_part_and_in_no_form_in_which_the_gate_sends_it(on: Backend) {
    let percent = SECRET.replace('/', "%2F").replace('+', "%2B");
    let json = SECRET.replace('/', "\\/");
    // `echo -n me:SECRET | base64`
    let basic = "bWU6c2stdGVzdC1BYkNkL0VmR2hJaitLbE1uT3BRclN0VXZXeDAxMjM0NTY3ODk=";
    let head = |more: &str, body: &str| {
        let length = body.len();
        format!("HTTP/1.1 200 OK\r\n{more}Content-Length: {length}\r\n\r\n{body}")
    };
    let chunked = |body: &str| format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{body}");
    // Every character of it behind a mark, and every second one.
    let spelled = |write: fn(u32) -> String, every: usize| -> String {
        let character = |(at, c): (usize, char)| match at % every {
            0 => write(c.into()),
            _ => c.to_string(),
        };
        SECRET.chars().enumerate().map(character).collect()
    };
    let spellings = [
        spelled(|n| format!("%{n:02X}"), 1),
        spelled(|n| format!("%{n:02x}"), 2),
        spelled(|n| format!("\\u{n:04x}"), 1),
        spelled(|n| format!("\\x{n:02X}"), 3),
        spelled(|n| format!("&#{n};"), 1),
        spelled(|n| format!("&#x{n:x};"), 2),
        spelled(|n| format!("\\{n:03o}"), 1),
    ];
    let answers = [
        ("header", head(&format!("X: {SECRET}\r\n"), "")),
        (
            "location",
            head(&format!("Location: https://b.test/?k={percent}\r\n"), ""),
        ),
        (
            "reason",
            format!("HTTP/1.1 200 {SECRET}\r\nContent-Length: 0\r\n\r\n"),
        ),
        (
            "trailer",
            chunked(&format!("Trailer: x-k\r\n\r\n0\r\nX-K: {SECRET}\r\n\r\n")),
        ),
        ("plain", head("", SECRET)),
        ("percent", head("", &percent)),
        ("json", head("", &json)),
        ("basic", head("", basic)),
        (
            "spelled",
            head(&format!("X: {}\r\n", spellings[0]), &spellings.join("\n")),
        ),
        (
            "chunks",
            chunked(&format!(
                "\r\n9\r\n{}\r\n23\r\n{}\r\n0\r\n\r\n",
                &SECRET[..9],
                &SECRET[9..]
            )),
        ),
        (
            "coded",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n".into(),
        ),
        (
            "early",
            format!(
                "HTTP/1.1 103 Early\r\nLink: <{SECRET}>\r\n\r\n{}",
                head("", "ok")
            ),
        ),
        (
            "upgrade",
            format!(
                "HTTP/1.1 101 {SECRET}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                 Sec-WebSocket-Protocol: {SECRET}\r\n\r\n\u{1}{SECRET}"
            ),
        ),
    ];
    let files: Vec<_> = answers.iter().map(|(n, a)| (*n, a.as_bytes())).collect();
    let origin = RawOrigin::start(&NAMES, &files);
    let names: Vec<_> = answers.iter().map(|(name, _)| *name).collect();
    let outcome = attempt(
        on, &origin,
        &format!(
            "for name in {names:?}:
    more = 'TE: trailers\\r\\n'
    if name == 'upgrade': more = 'Upgrade: websocket\\r\\nSec-WebSocket-Extensions: permessage-deflate\\r\\n'
    data = get('a.test', '/answer/' + name, more)
    if name == 'upgrade': data = data.replace(b'close', b'upgrade')
    print(name); say(tls('a.test', 'a.test'), data)"
        ),
    );
    outcome.success();
    let said = outcome.stdout();
    for told in [TOLD, "AbCd%2FEfGhIj", "AbCd\\/EfGhIj", "BYkNkL0VmR2hJa"] {
        assert!(!said.contains(told), "{told} in {said}");
    }
    for told in &spellings {
        assert!(!said.contains(told), "{told} in {said}");
    }
    assert_eq!(said.matches("101 ").count(), 1, "{said}");
    assert!(said.contains("502") && said.contains("chunked"), "{said}");
    let rows = format!("{:?}", outcome.events());
    assert!(!rows.contains(TOLD), "{rows}");
}

#[test]
fn connections_that_nobody_uses_are_not_kept_without_end() {
    let origin = RawOrigin::start(&NAMES, &[]);
    let outcome = attempt(
        Backend::Process,
        &origin,
        "for n in range(200):
    with tls('a.test', 'a.test', ('http/1.1', f'x{n}')) as s:
        s.sendall(b'GET /x HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n'); s.recv(1000)
s = tls('a.test', 'a.test')
s.sendall(get('a.test', '/open')); print(s.recv(1000).split()[-1].decode())",
    );
    outcome.success();
    let open: usize = outcome.stdout().trim().parse().unwrap();
    assert!((2..=140).contains(&open), "{open}");
}

fn what_a_server_has_answered_before_it_was_sent_is_refused_and_found_too(on: Backend) {
    let origin = RawOrigin::start(
        &NAMES,
        &[("early", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")],
    );
    let outcome = attempt(
        on,
        &origin,
        "import time
s = tls('b.test', 'b.test')
s.sendall(get('b.test', '/early', 'Transfer-Encoding: chunked\\r\\n', 'POST') + b'1\\r\\na\\r\\n')
print(s.recv(1000)); time.sleep(0.5)
say(s, f'{len(KEY):x}\\r\\n{KEY}\\r\\n0\\r\\n\\r\\n'.encode())",
    );
    outcome.success().refused_by("secrets.API_KEY");
    let found = outcome.events().into_iter();
    assert_eq!(
        found
            .filter(|e| matches!(e.act, Act::Finding { .. }))
            .count(),
        1
    );
}

fn tls_behind_a_header_of_the_proxy_protocol_is_refused(on: Backend) {
    let origin = RawOrigin::start(&NAMES, &[]);
    let outcome = attempt(
        on, &origin,
        "for header in (b'PROXY TCP4 10.0.0.1 10.0.0.2 1 443\\r\\n', b'\\r\\n\\r\\n\\0\\r\\nQUIT\\n!\\x11\\0\\0'):
    below = socket.create_connection(('a.test', 443), timeout=60)
    try:
        below.sendall(header)
        say(tls('a.test', 'c.test', over=below), get('c.test', '/no/x'))
    except OSError as error: print(type(error).__name__)",
    );
    outcome
        .success()
        .stdout_lacks("200 OK")
        .refused_by("network.proxy-header");
    assert!(origin.requests().is_empty(), "{:?}", origin.requests());
}

fn where_http_was_agreed_on_nothing_else_passes(on: Backend) {
    let origin = RawOrigin::start(&NAMES, &[]);
    let outcome = attempt(
        on,
        &origin,
        "say(tls('a.test', 'a.test'), b'\\0\\1\\2 something else\\r\\n')",
    );
    outcome.success().refused_by("network.inspect");
    assert!(origin.requests().is_empty(), "{:?}", origin.requests());
}
