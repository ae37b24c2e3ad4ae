//! Nothing leaves but through the gate, and loopback is the sandbox's own.

use crate::support::ports::Port;
use crate::support::{Backend, Sandbox};
use bailiwick_event::AddressClass;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

on_every_backend! {
    an_allowed_name_is_reached_with_and_without_a_proxy,
    a_refusal_says_rule_resource_and_remedy_in_text_and_in_json,
    without_a_policy_nothing_is_reached_by_any_way,
    a_denied_host_stays_denied_in_every_spelling,
    plain_http_is_decided_by_method_and_path,
    a_smuggled_second_request_is_decided_as_well,
    servers_inside_work_on_every_address_and_port,
    a_granted_loopback_service_of_the_host_is_reached_at_its_port,
    an_http_rule_for_the_hosts_loopback_opens_its_port_for_what_it_covers_and_explain_says_so,
    a_published_port_leads_in,
    a_public_name_with_a_private_address_is_refused,
    a_client_that_does_not_connect_its_udp_socket_gets_its_answers,
    the_name_of_a_tls_server_cannot_be_sent_late,
    a_port_that_nobody_listens_at_breaks_the_connection_off,
}

/// A server of the host: answers every connection with a fixed HTTP response, and remembers what
/// it was sent.
pub(crate) struct Host {
    pub(crate) port: u16,
    heard: Arc<Mutex<Vec<String>>>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Host {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let heads = Arc::new(Mutex::new(Vec::new()));
        let logs = (Arc::clone(&heard), Arc::clone(&heads));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let logs = logs.clone();
                std::thread::spawn(move || answer(stream, &logs.0, &logs.1));
            }
        });
        Self { port, heard, heads }
    }

    /// The heads of the requests, whole.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream, log: &Mutex<Vec<String>>, heads: &Mutex<Vec<String>>) {
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
        head.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&head);
    heads.lock().unwrap().push(text.to_lowercase());
    log.lock()
        .unwrap()
        .push(text.lines().next().unwrap_or("").to_owned());
    // What is no whole request has no answer, however long its rest is waited for.
    if !head.ends_with(b"\r\n\r\n") {
        return;
    }
    let _ =
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
}

fn policy(allow: &str, hosts: &str) -> String {
    format!("extends = [\"default\"]\n[network]\nallow = [{allow}]\n[network.hosts]\n{hosts}\n")
}

/// The loopback's other address; the kernel of a machine has no IPv6.
fn loopback_v6(on: Backend) -> Option<&'static str> {
    (on == Backend::Process).then_some("[::1]")
}

const CURL: &str = "curl -sS -m 60 -o body -w '%{http_code}'";
const DIRECT: &str = "curl --noproxy '*' -sS -m 60 -o body -w '%{http_code}'";

fn an_allowed_name_is_reached_with_and_without_a_proxy(on: Backend) {
    let host = Host::start();
    let sandbox = Sandbox::on(on).policy(&policy(
        "",
        &format!("\"a.test\" = \"127.0.0.1:{}\"", host.port),
    ));
    for curl in [CURL, DIRECT] {
        sandbox
            .run(&format!("{curl} http://a.test/x && cat body"))
            .success()
            .stdout_is("200hello");
    }
    sandbox
        .run(
            "curl --socks5-hostname 127.0.0.1:$(echo $HTTP_PROXY | sed 's/.*://') \
        --noproxy '' -sS -m 60 http://a.test/s",
        )
        .success()
        .stdout_is("hello");
    assert_eq!(
        host.heard(),
        ["GET /x HTTP/1.1", "GET /x HTTP/1.1", "GET /s HTTP/1.1"]
    );
}

fn a_refusal_says_rule_resource_and_remedy_in_text_and_in_json(on: Backend) {
    let sandbox = Sandbox::on(on);
    for curl in [
        CURL,
        "curl --noproxy '*' --resolve b.test:80:1.2.3.4 -sS -m 60 -o body -w '%{http_code}'",
    ] {
        let outcome = sandbox.run(&format!("{curl} http://b.test/ && cat body"));
        outcome
            .refused_by("network.default")
            .stdout_has("403")
            .stdout_has("remedy");
    }
    let json = sandbox
        .run("curl -sS -m 60 -H 'Accept: application/json' http://b.test/")
        .stdout();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json["rule"], &json["retry"]),
        (&"network.default".into(), &false.into())
    );
}

fn without_a_policy_nothing_is_reached_by_any_way(on: Backend) {
    let host = Host::start();
    let sandbox = Sandbox::on(on);
    let ways = [
        "curl -sS -m 5 http://example.com/",
        "curl --noproxy '*' -sS -m 5 http://example.com/",
        "curl --noproxy '*' -sS -m 5 https://93.184.216.34/",
        "curl --noproxy '*' -g -6 -sS -m 5 'https://[2606:2800:220:1::1]/'",
        "curl -sS -m 5 -x '' --connect-to ::169.254.169.254:80 http://metadata/",
        "curl -sS -m 5 -p http://169.254.169.254:22/",
        "curl -sS -m 5 http://0x7f.1:PORT/",
        "curl -sS -m 5 http://2130706433:PORT/",
        "curl -sS -m 5 http://[::ffff:127.0.0.1]:PORT/",
        "curl --noproxy '*' -sS -m 5 http://127.0.0.1:PORT/",
        "curl --noproxy '*' -sS -m 5 http://0.0.0.0:PORT/",
        "curl --noproxy '' -sS -m 5 http://localhost:PORT/",
        "python3 -c 'import socket; socket.create_connection((\"10.0.0.1\", 22), 3).recv(1)'",
    ];
    let ways = ways.map(|way| way.replace("PORT", &host.port.to_string()));
    let (_, tried) = sandbox.run_each(&ways);
    // The proxy's answer that nothing listens on the sandbox's own loopback is one as well.
    let answers = match on {
        Backend::Process => ["refused by policy", "could not connect"],
        // A machine's loopback takes every connection, and breaks off those to nobody.
        Backend::Vm => ["refused by policy", "gave no proper answer"],
    };
    for way in &tried {
        let refused = way.code != 0 || answers.iter().any(|answer| way.said.contains(answer));
        assert!(refused, "{}: {}", way.script, way.said);
        way.lacks("hello");
    }
    assert!(host.heard().is_empty(), "{:?}", host.heard());
}

fn a_denied_host_stays_denied_in_every_spelling(on: Backend) {
    let host = Host::start();
    let sandbox = Sandbox::on(on).policy(&format!(
        "extends = [\"default\"]\n[network]\nallow = [\"*:*\"]\ndeny = [\"evil.test\", \"127.0.0.1\"]\n\
         [network.hosts]\n\"good.test\" = \"127.0.0.1:{}\"\n", host.port));
    for name in ["evil.test", "EVIL.test", "evil.test."] {
        sandbox
            .run(&format!("curl -sS -m 60 http://{name}/"))
            .refused_by("network.deny");
    }
    // The right name on the connection, the wrong one in the request.
    sandbox
        .run("curl -sS -m 60 --noproxy '*' -H 'Host: evil.test' http://good.test/")
        .refused_by("network.deny")
        .stdout_lacks("hello");
    assert!(host.heard().iter().all(String::is_empty));
}

fn plain_http_is_decided_by_method_and_path(on: Backend) {
    let host = Host::start();
    let sandbox = Sandbox::on(on).policy(&format!(
        "extends = [\"default\"]\n[network.hosts]\n\"a.test\" = \"127.0.0.1:{}\"\n[[network.http]]\n\
         host = \"a.test\"\nmethods = [\"GET\"]\npaths = [\"/v1/**\"]\n", host.port));
    for curl in [CURL, DIRECT] {
        sandbox
            .run(&format!("{curl} http://a.test/v1/x"))
            .success()
            .stdout_is("200");
        let refused = [
            "http://a.test/v2/x",
            "-X POST http://a.test/v1/x",
            "--path-as-is http://a.test/v1/../v2/x",
            "--path-as-is http://a.test/v1/%2e%2e/v2/x",
            "--path-as-is http://a.test/v1/..%2fv2",
        ];
        let (outcome, tried) = sandbox.run_each(&refused.map(|way| format!("{curl} {way}")));
        for request in &tried {
            assert_eq!(request.said, "403", "{}", request.script);
        }
        let denied = outcome.denied();
        let by = denied.iter().map(|event| event.decision.rule.id.as_str());
        assert_eq!(by.collect::<Vec<_>>(), ["network.http"; 5], "{denied:?}");
    }
    // A refused request may have opened a connection; nothing was sent on it.
    let heard: Vec<_> = host
        .heard()
        .into_iter()
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(heard, ["GET /v1/x HTTP/1.1"; 2]);
}

fn a_smuggled_second_request_is_decided_as_well(on: Backend) {
    let host = Host::start();
    let sandbox = Sandbox::on(on).policy(&format!(
        "extends = [\"default\"]\n[network.hosts]\n\"a.test\" = \"127.0.0.1:{}\"\n[[network.http]]\n\
         host = \"a.test\"\npaths = [\"/ok\"]\n", host.port));
    let script = r"
import socket
def send(data):
    s = socket.create_connection(('a.test', 80), 60)
    s.sendall(data)
    try: print(s.recv(4000))
    except OSError as e: print(e)
inner = b'GET /secret HTTP/1.1\r\nHost: a.test\r\n\r\n'
size = str(len(inner)).encode()
send(b'POST /ok HTTP/1.1\r\nHost: a.test\r\nContent-Length: ' + size
     + b'\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n' + inner)
send(b'POST /ok HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\nContent-Length: ' + size + b'\r\n\r\n' + inner)
send(b'GET /ok HTTP/1.1\r\nHost: a.test\r\n\r\n' + inner)
send(b'POST /ok HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n' + inner)
";
    sandbox.exec(["python3", "-c", script]).success();
    assert!(
        host.heard().iter().all(|line| !line.contains("secret")),
        "{:?}",
        host.heard()
    );
}

fn servers_inside_work_on_every_address_and_port(on: Backend) {
    let script = r"
import socket, threading
for address, port in [('127.0.0.1', 8080), ('0.0.0.0', 443), ('OTHER', 8081), ('127.0.0.1', 80)]:
    family = socket.AF_INET6 if ':' in address else socket.AF_INET
    server = socket.socket(family); server.bind((address, port)); server.listen()
    client = socket.create_connection(('127.0.0.1' if address == '0.0.0.0' else address, port), 60)
    peer, _ = server.accept(); peer.sendall(b'hi'); print(client.recv(2).decode())
";
    let other = loopback_v6(on).map_or("127.0.0.2", |_| "::1");
    let script = script.replace("OTHER", other);
    let outcome = Sandbox::on(on).exec(["python3", "-c", &script]);
    outcome
        .success()
        .stdout_is("hi\nhi\nhi\nhi\n")
        .nothing_refused();
}

fn a_granted_loopback_service_of_the_host_is_reached_at_its_port(on: Backend) {
    let host = Host::start();
    let sandbox = Sandbox::on(on).policy(&policy(&format!("\"localhost:{}\"", host.port), ""));
    for name in [Some("127.0.0.1"), Some("localhost"), loopback_v6(on)]
        .into_iter()
        .flatten()
    {
        sandbox
            .run(&format!("curl -g -sS -m 60 http://{name}:{}/", host.port))
            .success()
            .stdout_is("hello");
    }
}

fn an_http_rule_for_the_hosts_loopback_opens_its_port_for_what_it_covers_and_explain_says_so(
    on: Backend,
) {
    let host = Host::start();
    for name in ["localhost", "127.0.0.1"] {
        let rule = format!("host = \"{name}:{}\"\nmethods = [\"GET\"]", host.port);
        let text = format!("extends = [\"default\"]\n[[network.http]]\n{rule}\n");
        let open = Sandbox::on(on).policy(&text);
        let bare = || Sandbox::new().without_namespaces().policy(&text);
        // A machine is isolated in one way.
        let bare = (on == Backend::Process).then(bare);
        for sandbox in [Some(open), bare].into_iter().flatten() {
            let curl = ["--noproxy '*'", "--noproxy ''"]
                .map(|way| format!("curl {way} -sS -m 60 http://{name}:{}/", host.port));
            let (outcome, tried) = sandbox.run_each(&curl);
            outcome.nothing_refused();
            for get in &tried {
                assert_eq!(
                    (get.code, get.said.as_str()),
                    (0, "hello"),
                    "{}",
                    get.script
                );
            }
            let (outcome, tried) = sandbox.run_each(&curl.map(|curl| format!("{curl} -X POST")));
            let denied = outcome.denied();
            let by = denied.iter().map(|event| event.decision.rule.id.as_str());
            assert_eq!(by.collect::<Vec<_>>(), ["network.http"; 2], "{denied:?}");
            for post in &tried {
                post.lacks("hello");
            }
            let policy = sandbox.scratch().root().join("policy-1.toml");
            let explain = |asked: String| {
                let policy = policy.to_str().unwrap();
                let words = ["policy", "show", "--policy", policy, "--explain", &asked];
                sandbox.bailiwick(words).success().stdout()
            };
            let said = explain(format!("{name}:{}", host.port));
            assert!(said.contains("reachable by network.http"), "{said}");
            // Its other ports stay the sandbox's own.
            let said = explain(format!("{name}:{}", host.port ^ 1));
            assert!(said.contains("refused by network.default"), "{said}");
        }
    }
}

fn a_published_port_leads_in(on: Backend) {
    let held = Port::new();
    let port = held.number();
    let sandbox = Sandbox::on(on).policy(&format!(
        "extends = [\"default\"]\n[network]\npublish = [\"127.0.0.1:{port}:3000\"]\n"
    ));
    let policy = sandbox.scratch().root().join("policy-1.toml");
    let script = "import socket; s = socket.socket(); s.bind(('127.0.0.1', 3000)); s.listen(); \
        print('up', flush=True); c, _ = s.accept(); c.sendall(b'from inside'); c.shutdown(1); c.recv(1)";
    let mut child = sandbox
        .command()
        .args([
            "run",
            "--policy",
            policy.to_str().unwrap(),
            "--",
            "python3",
            "-c",
            script,
        ])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut up = [0; 3];
    child.stdout.as_mut().unwrap().read_exact(&mut up).unwrap();
    let mut text = String::new();
    TcpStream::connect(("127.0.0.1", port))
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(text, "from inside");
    assert!(child.wait().unwrap().success());
}

fn a_public_name_with_a_private_address_is_refused(on: Backend) {
    // No test may need a name server, but the host's own hosts file has such names: for this
    // machine (127.0.1.1, or a container's private address), or `ip6-localhost`.
    let hosts = std::fs::read_to_string("/etc/hosts").unwrap();
    let name = hosts
        .lines()
        .map(|line| line.split('#').next().unwrap_or(""))
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let address = words.next()?.parse().ok()?;
            let public = AddressClass::of(address) == AddressClass::Public;
            words
                .find(|name| !public && !name.starts_with("localhost"))
                .map(str::to_owned)
        })
        .next()
        .expect("/etc/hosts names no private address but localhost's");
    let sandbox = Sandbox::on(on).policy(&policy(&format!("\"{name}:*\""), ""));
    sandbox
        .run(&format!("curl -sS -m 60 http://{name}:9/"))
        .refused_by("network.private-address");
}

fn a_client_that_does_not_connect_its_udp_socket_gets_its_answers(on: Backend) {
    let script = r"
import socket
for server in ['198.18.0.1', '8.8.8.8', 'OTHER']:
    family = socket.AF_INET6 if ':' in server else socket.AF_INET
    s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(60)
    s.sendto(b'\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x04test\x00\x00\x01\x00\x01', (server, 53))
    data, peer = s.recvfrom(512)
    print(data[:2].hex(), peer[0] == server, peer[1])
";
    let other = loopback_v6(on).map_or("9.9.9.9", |_| "2001:4860:4860::8888");
    Sandbox::on(on)
        .exec(["python3", "-c", &script.replace("OTHER", other)])
        .success()
        .stdout_is("1234 True 53\n".repeat(3).as_str());
}

fn a_port_that_nobody_listens_at_breaks_the_connection_off(on: Backend) {
    let nobodys = Port::new();
    let port = nobodys.number();
    let hosts = format!("\"closed.test\" = \"127.0.0.1:{port}\"");
    // Every address answers; that a server does not is known behind that.
    let script = "
import socket
s = socket.create_connection(('closed.test', 80), 60)
try: print('said', s.recv(10))
except ConnectionResetError: print('reset')
";
    Sandbox::on(on)
        .policy(&policy("", &hosts))
        .exec(["python3", "-c", script])
        .success()
        .stdout_is("reset\n");
}

fn the_name_of_a_tls_server_cannot_be_sent_late(on: Backend) {
    let host = Host::start();
    let sandbox = Sandbox::on(on).policy(&policy(
        "",
        &format!("\"good.test\" = \"127.0.0.1:{}\"", host.port),
    ));
    // By then the gate has given the rest of the hello up; on a slow machine it is later.
    let script = r"
import socket, time
s = socket.create_connection(('good.test', 443), 60)
s.sendall(b'\x16'); time.sleep(6)
try:
    s.sendall(b'\x03\x01\x00\x05evil.test\r\n\r\n'); time.sleep(1); print(s.recv(100))
except OSError as e: print('reset')
";
    sandbox
        .exec(["python3", "-c", script])
        .success()
        .stdout_lacks("hello");
    assert!(
        host.heard().iter().all(|line| !line.contains("evil")),
        "{:?}",
        host.heard()
    );
}
