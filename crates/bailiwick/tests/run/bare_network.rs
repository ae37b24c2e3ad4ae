//! The network of a machine that gives no namespaces: TCP to what the policy grants, by connections
//! that the supervisor makes, and nothing else.

use crate::network::Host;
use crate::support::{Background, Outcome, Sandbox};
use rustix::net::{AddressFamily, SocketType};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;

/// A sandbox whose policy grants `a.test`, which is the host's server, and what is added.
fn granting(host: &Host, more: &str) -> Sandbox {
    Sandbox::new().without_namespaces().policy(&format!(
        "extends = [\"default\"]\n[network]\n{more}\n[network.hosts]\n\"a.test\" = \"127.0.0.1:{}\"\n",
        host.port
    ))
}

/// Runs a program that prints what becomes of each of its attempts.
fn python(sandbox: &Sandbox, script: &str) -> Outcome {
    let head = "import ctypes, errno, os, socket, struct, threading, time\n\
        def tried(act):\n    try: return act() or 'done'\n    except OSError as e: return errno.errorcode[e.errno]\n\
        libc = ctypes.CDLL(None, use_errno=True)\n";
    sandbox.exec(["python3", "-c", &format!("{head}{script}")])
}

const CURL: &str = "curl -sS -m 60 -o body -w '%{http_code}'";
const DIRECT: &str = "curl --noproxy '*' -sS -m 60 -o body -w '%{http_code}'";

#[test]
fn an_allowed_name_is_reached_by_the_proxy_by_itself_and_by_socks() {
    let host = Host::start();
    let sandbox = granting(&host, "");
    for curl in [CURL, DIRECT] {
        let outcome = sandbox.run(&format!("{curl} http://a.test/x && cat body"));
        outcome.success().stdout_is("200hello").nothing_refused();
        outcome.stderr_has("TCP to what the policy grants");
    }
    sandbox
        .run("curl --noproxy '' --socks5-hostname ${HTTP_PROXY#http://} -sS -m 60 http://a.test/s")
        .success()
        .stdout_is("hello");
    let heard = ["GET /x HTTP/1.1", "GET /x HTTP/1.1", "GET /s HTTP/1.1"];
    assert_eq!(host.heard(), heard);
}

#[test]
fn what_is_not_granted_is_refused_with_the_reason_and_recorded() {
    let host = Host::start();
    let sandbox = granting(
        &host,
        "allow = [\"*:*\"]\ndeny = [\"evil.test\", \"192.0.2.0/24\"]",
    );
    for (curl, to) in [
        (CURL, "evil.test"),
        (DIRECT, "evil.test:443"),
        (DIRECT, "192.0.2.9"),
    ] {
        let outcome = sandbox.run(&format!("{curl} http://{to}/; cat body 2>&1"));
        outcome.refused_by("network.deny").stdout_lacks("hello");
        let name = to.trim_end_matches(":443");
        let rows = outcome.denied();
        assert!(
            rows.iter().any(|row| row.act.resource().contains(name)),
            "{rows:?}"
        );
    }
    sandbox
        .run(&format!("{DIRECT} http://192.0.2.9/; cat body"))
        .stdout_has("403")
        .stdout_has("remedy");
    assert!(host.heard().is_empty(), "{:?}", host.heard());
}

#[test]
fn an_address_is_decided_as_an_address() {
    let host = Host::start();
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = outside.local_addr().unwrap().port();
    let sandbox = granting(
        &host,
        &format!("allow = [\"localhost:{}\", \"*:*\"]", host.port),
    );
    for name in [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "0.0.0.0",
        "[::ffff:127.0.0.1]",
    ] {
        sandbox
            .run(&format!(
                "curl --noproxy '*' -g -sS -m 60 http://{name}:{}/",
                host.port
            ))
            .success()
            .stdout_is("hello");
    }
    for name in [
        "127.0.0.1",
        "0.0.0.0",
        "[::ffff:127.0.0.1]",
        "2130706433",
        "[::1]",
    ] {
        let outcome = sandbox.run(&format!(
            "curl --noproxy '*' -g -m 60 http://{name}:{other}/ 2>&1"
        ));
        outcome.failure().refused_by("network.default");
        outcome.stdout_lacks("hello");
    }
    sandbox
        .run(&format!("curl --noproxy '*' -m 60 http://169.254.169.254/ -o body; curl --noproxy '' -m 60 http://127.0.0.1:{other}/"))
        .refused_by("network.default");
    // Another address of the loopback is not there, nor is it by the proxy.
    let elsewhere = format!("127.0.0.2:{}", host.port);
    sandbox
        .run(&format!("curl --noproxy '*' -sS -m 60 http://{elsewhere}/"))
        .failure();
    outside.set_nonblocking(true).unwrap();
    assert!(outside.accept().is_err(), "it was connected to");
}

#[test]
fn plain_http_is_decided_by_method_and_path() {
    let host = Host::start();
    let sandbox = granting(
        &host,
        "[[network.http]]\nhost = \"a.test\"\nmethods = [\"GET\"]\npaths = [\"/v1/**\"]",
    );
    for curl in [CURL, DIRECT] {
        sandbox
            .run(&format!("{curl} http://a.test/v1/x"))
            .stdout_is("200");
        for refused in ["http://a.test/v2/x", "-X POST http://a.test/v1/x"] {
            sandbox
                .run(&format!("{curl} {refused}"))
                .stdout_is("403")
                .refused_by("network.http");
        }
    }
}

#[test]
fn there_is_no_other_socket_and_no_server() {
    let host = Host::start();
    let script = r"
s = socket
for family, kind, protocol in [
    (s.AF_INET, s.SOCK_DGRAM, 0), (s.AF_INET6, s.SOCK_DGRAM, 0), (s.AF_INET, s.SOCK_RAW, 1),
    (s.AF_INET, s.SOCK_STREAM, 132), (s.AF_INET, s.SOCK_STREAM, 262), (s.AF_INET, s.SOCK_SEQPACKET, 0),
    (s.AF_NETLINK, s.SOCK_RAW, 0), (s.AF_UNIX, s.SOCK_STREAM, 0), (s.AF_PACKET, s.SOCK_RAW, 0),
    (s.AF_VSOCK, s.SOCK_STREAM, 0)]:
    print(tried(lambda: s.socket(family, kind, protocol)) in ('EACCES', 'EAFNOSUPPORT', 'EPROTONOSUPPORT'))
print(tried(lambda: s.socketpair(s.AF_UNIX, s.SOCK_DGRAM)))
print(tried(lambda: s.socket().bind(('127.0.0.1', 0))), tried(lambda: s.socket().listen()))
s.socketpair(); s.socketpair(s.AF_UNIX, s.SOCK_SEQPACKET)
s.socket(s.AF_INET, s.SOCK_STREAM | s.SOCK_NONBLOCK | s.SOCK_CLOEXEC, 6)
";
    python(&granting(&host, ""), script)
        .success()
        .stdout_is(&("True\n".repeat(10) + "EACCES\nEACCES EACCES\n"));
}

#[test]
fn no_first_bytes_and_no_option_lead_around_the_decision() {
    let host = Host::start();
    let script = r"
to = ('127.0.0.1', PORT)
FASTOPEN = 0x20000000
print(tried(lambda: socket.socket().sendto(b'early', FASTOPEN, to)))
print(tried(lambda: socket.socket().sendmsg([b'early'], [], FASTOPEN, to)))
# int sendmmsg(fd, vector, 1, flags), with an empty message: the flag alone is refused.
print(libc.sendmmsg(socket.socket().fileno(), ctypes.create_string_buffer(64), 1, FASTOPEN), errno.errorcode[ctypes.get_errno()])
for level, option, value in [
    (socket.SOL_TCP, 23, 1), (socket.SOL_TCP, 30, 1), (socket.SOL_TCP, 19, 1), (socket.SOL_TCP, 31, b'tls'),
    (socket.SOL_SOCKET, 25, b'lo\0'), (socket.SOL_SOCKET, 62, 1), (socket.SOL_SOCKET, 36, 1),
    (socket.SOL_IP, 4, bytes([131, 7, 4, 127, 0, 0, 1])), (socket.SOL_IP, 19, 1), (socket.SOL_IP, 24, 1),
    (41, 57, bytes(24)), (41, 6, bytes(24)), (263, 1, 1)]:
    print(tried(lambda: socket.socket().setsockopt(level, option, value)))
kept = socket.socket()
for level, option in [(socket.SOL_TCP, socket.TCP_NODELAY), (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
    (socket.SOL_SOCKET, socket.SO_REUSEADDR), (socket.SOL_IP, socket.IP_TOS)]:
    kept.setsockopt(level, option, 1)
"
    .replace("PORT", &host.port.to_string());
    python(&granting(&host, ""), &script)
        .success()
        .stdout_is(&("ENOTSUP\n".repeat(2) + "-1 ENOTSUP\n" + &"ENOPROTOOPT\n".repeat(13)));
    assert!(host.heard().is_empty(), "{:?}", host.heard());
}

#[test]
fn a_socket_that_does_not_wait_connects_meanwhile() {
    let host = Host::start();
    let script = r"
import select
s = socket.socket(); s.setblocking(False)
print(s.connect_ex(('127.0.0.1', PORT)) in (0, errno.EINPROGRESS))
select.select([], [s], [], 60)
print(s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), s.getblocking())
print(errno.errorcode[s.connect_ex(('127.0.0.1', PORT))])
s.send(b'GET /nb HTTP/1.1\r\nHost: localhost\r\n\r\n')
select.select([s], [], [], 60)
print(s.recv(15))
"
    .replace("PORT", &host.port.to_string());
    python(
        &granting(&host, &format!("allow = [\"localhost:{}\"]", host.port)),
        &script,
    )
    .success()
    .stdout_is("True\n0 False\nEISCONN\nb'HTTP/1.1 200 OK'\n");
}

#[test]
fn a_connection_that_is_made_is_not_led_elsewhere() {
    let host = Host::start();
    let script = r"
s = socket.socket(); s.connect(('127.0.0.1', PORT))
# An address without a family takes a connection away, to make another.
print(libc.connect(s.fileno(), bytes(16), 16), errno.errorcode[ctypes.get_errno()])
print(tried(lambda: s.connect(('192.0.2.1', 80))))
s.send(b'GET /still HTTP/1.1\r\nHost: localhost\r\n\r\n'); print(s.recv(15))
"
    .replace("PORT", &host.port.to_string());
    python(
        &granting(&host, &format!("allow = [\"localhost:{}\"]", host.port)),
        &script,
    )
    .success()
    .stdout_is("-1 EAFNOSUPPORT\nEISCONN\nb'HTTP/1.1 200 OK'\n")
    .nothing_refused();
}

#[test]
fn the_address_that_was_read_is_the_one_that_is_reached() {
    let host = Host::start();
    let forbidden = TcpListener::bind("127.0.0.1:0").unwrap();
    let script = r"
good = struct.pack('=HH4s8x', 2, socket.htons(GOOD), bytes([127, 0, 0, 1]))
bad = struct.pack('=HH4s8x', 2, socket.htons(BAD), bytes([127, 0, 0, 1]))
address = ctypes.create_string_buffer(good, 16)
stop = False
def swap():
    while not stop:
        ctypes.memmove(address, bad, 16); ctypes.memmove(address, good, 16)
thread = threading.Thread(target=swap); thread.start()
made = 0
for i in range(600):
    s = socket.socket()
    if libc.connect(s.fileno(), address, 16) == 0: made += 1
    s.close()
stop = True; thread.join()
print(0 < made < 600)
"
    .replace("GOOD", &host.port.to_string())
    .replace("BAD", &forbidden.local_addr().unwrap().port().to_string());
    let sandbox = granting(&host, &format!("allow = [\"localhost:{}\"]", host.port));
    python(&sandbox, &script).success().stdout_is("True\n");
    forbidden.set_nonblocking(true).unwrap();
    assert!(forbidden.accept().is_err(), "the forbidden one was reached");
}

#[test]
fn nobody_else_is_let_in_at_the_gate() {
    let host = Host::start();
    let sandbox = granting(&host, "");
    let policy = sandbox.scratch().root().join("policy-1.toml");
    let script = "import socket; s = socket.create_connection(('a.test', 80)); \
        print('%s %d' % s.getpeername()[:2], flush=True); input(); \
        s.send(b'GET /in HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n'); print(s.recv(15))";
    let mut child = sandbox
        .command()
        .args(["run", "--best-effort", "--policy", policy.to_str().unwrap()])
        .args(["--", "python3", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = Vec::new();
    let mut out = child.stdout.take().unwrap();
    while !line.ends_with(b"\n") {
        let mut byte = [0];
        out.read_exact(&mut byte).unwrap();
        line.push(byte[0]);
    }
    let line = String::from_utf8(line).unwrap();
    let (ip, port) = line.trim().split_once(' ').unwrap();
    let mut stranger = TcpStream::connect((ip, port.parse::<u16>().unwrap())).unwrap();
    let _ = stranger.write_all(b"GET http://a.test/stranger HTTP/1.1\r\nHost: a.test\r\n\r\n");
    assert!(matches!(stranger.read(&mut [0; 1]), Ok(0) | Err(_)));
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "b'HTTP/1.1 200 OK'\n");
    assert!(child.wait().unwrap().success());
    assert_eq!(host.heard(), ["GET /in HTTP/1.1"]);
}

#[test]
fn hostile_calls_get_the_kernels_errors_and_break_nothing() {
    let host = Host::start();
    let script = r"
def connect(fd, address, length):
    return 'done' if libc.connect(fd, address, length) == 0 else errno.errorcode[ctypes.get_errno()]
good = struct.pack('=HH4s8x', 2, socket.htons(PORT), bytes([127, 0, 0, 1]))
s = socket.socket(); fd = s.fileno()
print(connect(999, good, 16), connect(-1, good, 16), connect(0, good, 16))
print(connect(fd, ctypes.c_void_p(8), 16), connect(fd, good, 5), connect(fd, good, -1), connect(fd, good, 4096), connect(fd, good, 0))
print(connect(fd, struct.pack('=H14s', 1, b'/run/x'), 16), connect(fd, struct.pack('=H26x', 10), 28))
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
print(connect(a.fileno(), struct.pack('=H14s', 1, b'/run/x'), 16))
# Programs that are gone before their answer comes, and many at a time.
for i in range(40):
    pid = os.fork()
    if pid == 0:
        for j in range(4): threading.Thread(target=lambda: [tried(lambda: socket.create_connection(('127.0.0.1', PORT))) for k in range(50)]).start()
        time.sleep(0.005 * (i % 5)); os.kill(os.getpid(), 9)
    if i % 8 == 7: [os.waitpid(-1, 0) for k in range(8)]
open('made', 'w').close()
print(connect(fd, good, 16))
"
    .replace("PORT", &host.port.to_string());
    let outcome = python(
        &granting(&host, &format!("allow = [\"localhost:{}\"]", host.port)),
        &script,
    );
    outcome.success().stdout_is(
        "EBADF EBADF ENOTSOCK\nEFAULT EINVAL EINVAL EINVAL EINVAL\nEAFNOSUPPORT EAFNOSUPPORT\n\
         EACCES\ndone\n",
    );
}

#[test]
fn a_socket_that_a_program_was_started_with_is_not_led_elsewhere() {
    let host = Host::start();
    let wanted = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = wanted.local_addr().unwrap().port();
    let script = format!(
        "import socket, errno\ns = socket.socket(fileno=0)\n\
         def tried(act):\n    try: return act() or 'done'\n    except OSError as e: return errno.errorcode[e.errno]\n\
         print(tried(lambda: s.connect(('127.0.0.1', {port}))), tried(lambda: s.bind(('', 0))))"
    );
    for (granted, expected) in [(true, "ECONNREFUSED EACCES\n"), (false, "EACCES EACCES\n")] {
        let sandbox = granting(&host, "");
        let policy = sandbox.scratch().root().join("policy-1.toml");
        let policy = policy.to_str().unwrap();
        let inherited = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        let output = sandbox
            .command()
            .args(["run", "--best-effort", "--policy"])
            .arg(if granted { policy } else { "default" })
            .args(["--", "python3", "-c", &script])
            .stdin(inherited)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{said}");
    }
    wanted.set_nonblocking(true).unwrap();
    assert!(wanted.accept().is_err(), "it was connected to");
}

#[test]
fn a_thread_connects_after_the_first_one_has_ended() {
    let host = Host::start();
    let script = r"
def work():
    while open('/proc/%d/stat' % os.getpid()).read().split()[2] != 'Z': time.sleep(0.01)
    s = socket.create_connection(('127.0.0.1', PORT)); s.send(b'GET /t HTTP/1.1\r\n\r\n'); s.recv(1)
    os.write(1, b'done\n'); os._exit(0)
threading.Thread(target=work).start()
libc.pthread_exit(None)
"
    .replace("PORT", &host.port.to_string());
    let sandbox = granting(&host, &format!("allow = [\"localhost:{}\"]", host.port));
    python(&sandbox, &script).success().stdout_is("done\n");
}

#[test]
fn what_enters_a_run_and_what_runs_in_a_waiting_sandbox_has_the_same() {
    let host = Host::start();
    let sandbox = granting(&host, "");
    let policy = sandbox.scratch().root().join("policy-1.toml");
    let options = ["--best-effort", "--policy", policy.to_str().unwrap()];
    let curl = format!("{DIRECT} http://a.test/x; {DIRECT} http://b.test/x; echo");
    {
        let words = [
            &["run"],
            &options[..],
            &["--name", "box", "-c", "echo up; cat"],
        ]
        .concat();
        let _run = Background::start(&sandbox, words, "up");
        let outcome = sandbox.bailiwick(["exec", "box", "-c", &curl]);
        outcome.stdout_has("200").stdout_lacks("403");
    }
    let _serve = Background::start(
        &sandbox,
        [&["serve"], &options[..]].concat(),
        "wait for runs",
    );
    for _ in 0..3 {
        let words = [&["run"], &options[..], &["-c", &curl]].concat();
        sandbox
            .bailiwick(words)
            .stdout_has("200")
            .stdout_lacks("403");
    }
    assert_eq!(host.heard().len(), 4, "{:?}", host.heard());
}
