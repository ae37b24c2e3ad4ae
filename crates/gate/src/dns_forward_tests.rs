use super::*;
use crate::dns::{Answer, answer};
use crate::dns_serve;
use crate::resolver::testing::{Server, name, no_name, record};
use crate::resolver::{self, Resolver};
use crate::settings::Settings;
use crate::testing::{Here, Script, names};
use hickory_proto::op::Edns;
use hickory_proto::rr::rdata::opt::EdnsOption;
use hickory_proto::rr::rdata::{CNAME, HTTPS, MX, PTR, SRV, SVCB, TXT};
use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;

struct Rig {
    script: Arc<Script>,
    context: Arc<Context>,
}

impl Rig {
    fn new(script: Script, server: SocketAddr) -> Self {
        let script = Arc::new(script);
        let context = Context::new(
            script.clone(),
            Arc::new(Here),
            names(),
            Resolver::new(vec![server]),
            HashSet::new(),
            Settings::default(),
        );
        let context = Arc::new(context);
        Self { script, context }
    }

    async fn ask(&self, asked: &str, kind: RecordType) -> Message {
        self.ask_by(asked, kind, Transport::Udp).await
    }

    async fn ask_by(&self, asked: &str, kind: RecordType, transport: Transport) -> Message {
        let bytes = query(asked, kind).to_vec().unwrap();
        let reply = match answer(&self.context, &bytes, transport) {
            Answer::Now(reply) => reply,
            Answer::Later(forward) => {
                let slot = self.context.resolver.slot();
                forward.ask(&self.context, slot).await
            }
        };
        let reply = Message::from_vec(&reply.unwrap()).unwrap();
        assert_eq!(reply.metadata.id, 0x1234);
        assert_eq!(reply.queries, query(asked, kind).queries);
        assert!(reply.authorities.is_empty() && reply.additionals.is_empty());
        reply
    }
}

fn query(asked: &str, kind: RecordType) -> Message {
    let mut message = Message::query();
    message.metadata.id = 0x1234;
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(name(asked), kind));
    let mut edns = Edns::new();
    edns.set_max_payload(1232);
    message.set_edns(edns);
    message
}

fn shown(reply: &Message) -> Vec<String> {
    reply.answers.iter().map(ToString::to_string).collect()
}

/// The code and text of the extended error.
fn why(reply: &Message) -> (u16, String) {
    let edns = reply.edns.as_ref().unwrap();
    let Some(EdnsOption::Unknown(15, data)) = edns.option(15u16.into()) else {
        panic!("no extended error: {edns:?}");
    };
    let text = String::from_utf8(data[2..].to_vec()).unwrap();
    (u16::from_be_bytes([data[0], data[1]]), text)
}

fn txt(texts: &[&str]) -> RData {
    RData::TXT(TXT::new(
        texts.iter().map(|text| (*text).to_owned()).collect(),
    ))
}

/// A server that knows `a.test.` and what it is an alias of.
async fn server() -> Server {
    Server::new(|reply, _| {
        let owner = reply.queries[0].name().clone();
        let data = match reply.queries[0].query_type() {
            RecordType::TXT => txt(&["v=spf1 ", "-all"]),
            RecordType::MX => RData::MX(MX::new(10, name("mail.test."))),
            RecordType::SRV => RData::SRV(SRV::new(1, 2, 389, name("ldap.test."))),
            RecordType::PTR => RData::PTR(PTR(name("host.test."))),
            RecordType::CNAME => RData::CNAME(CNAME(name("real.test."))),
            RecordType::HTTPS => RData::HTTPS(HTTPS(SVCB::new(1, Name::root(), Vec::new()))),
            _ => return no_name(reply, 60),
        };
        let at = match owner.to_ascii().as_str() {
            "alias.test." => {
                let alias = RData::CNAME(CNAME(name("real.test.")));
                reply.add_answer(record("alias.test.", 60, alias));
                "real.test.".to_owned()
            }
            "no.test." => return no_name(reply, 60),
            other => other.to_owned(),
        };
        reply.add_answer(record(&at, 300, data));
        reply.add_additional(record("evil.test.", 300, txt(&["additional"])));
    })
    .await
}

#[tokio::test]
async fn other_records_of_an_allowed_name_come_from_the_servers() {
    let server = server().await;
    let rig = Rig::new(Script::allowing(), server.address);
    for (asked, kind, expected) in [
        ("A.Test.", RecordType::TXT, "A.Test. 300 IN TXT v=spf1 -all"),
        ("a.test.", RecordType::MX, "a.test. 300 IN MX 10 mail.test."),
        (
            "_ldap._tcp.a.test.",
            RecordType::SRV,
            "_ldap._tcp.a.test. 300 IN SRV 1 2 389 ldap.test.",
        ),
        (
            "a.test.",
            RecordType::CNAME,
            "a.test. 300 IN CNAME real.test.",
        ),
        (
            "8.8.8.8.in-addr.arpa.",
            RecordType::PTR,
            "8.8.8.8.in-addr.arpa. 300 IN PTR host.test.",
        ),
        ("a.test.", RecordType::HTTPS, "a.test. 300 IN HTTPS 1 ."),
    ] {
        let reply = rig.ask(asked, kind).await;
        assert_eq!(shown(&reply), [expected]);
        assert_eq!(reply.metadata.response_code, ResponseCode::NoError);
    }
    // The alias is not shown, and its time counts.
    let reply = rig.ask("alias.test.", RecordType::TXT).await;
    assert_eq!(shown(&reply), ["alias.test. 60 IN TXT v=spf1 -all"]);
    let none = rig.ask("no.test.", RecordType::TXT).await;
    assert_eq!(none.metadata.response_code, ResponseCode::NXDomain);
    assert!(none.answers.is_empty());
}

#[tokio::test]
async fn a_refused_name_is_never_asked_for() {
    let server = server().await;
    let rig = Rig::new(
        Script::denying(|act| matches!(act, Act::Dns { .. })),
        server.address,
    );
    for kind in [RecordType::TXT, RecordType::HTTPS, RecordType::PTR] {
        let reply = rig.ask("secret.evil.test.", kind).await;
        assert_eq!(reply.metadata.response_code, ResponseCode::NXDomain);
        assert!(why(&reply).1.contains("resource secret.evil.test"));
    }
    assert!(server.asked().is_empty(), "{:?}", server.asked());
    assert_eq!(rig.script.acts().len(), 3);
}

#[tokio::test]
async fn an_answer_is_decided_before_it_is_given() {
    let server = server().await;
    let denies = |act: &Act| matches!(act, Act::DnsResponse { answers, .. } if answers[0].to_string().contains("spf"));
    let rig = Rig::new(Script::denying(denies), server.address);
    for _ in 0..2 {
        // From the servers, and then from what is known.
        let reply = rig.ask("a.test.", RecordType::TXT).await;
        assert_eq!(reply.metadata.response_code, ResponseCode::NXDomain);
        assert!(reply.answers.is_empty());
        let (code, text) = why(&reply);
        assert_eq!(code, BLOCKED);
        assert!(
            text.contains("resource the answer to a.test TXT") && !text.contains("spf"),
            "{text}"
        );
    }
    assert_eq!(shown(&rig.ask("a.test.", RecordType::MX).await).len(), 1);
    let acts = rig.script.acts();
    assert_eq!(
        acts[1],
        Act::DnsResponse {
            qname: "a.test".into(),
            qtype: "TXT".into(),
            transport: Transport::Udp,
            code: "NOERROR".into(),
            answers: vec!["v=spf1 -all".into()],
            ttl: Some(300),
        }
    );
    assert_eq!(acts.len(), 6);
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn a_failure_says_why_and_nothing_about_the_host() {
    let server = Server::new(|reply, _| reply.metadata.response_code = ResponseCode::Refused).await;
    let rig = Rig::new(Script::allowing(), server.address);
    let reply = rig.ask("a.test.", RecordType::TXT).await;
    assert_eq!(reply.metadata.response_code, ResponseCode::ServFail);
    assert_eq!(
        why(&reply),
        (0, "the name server says: Query Refused".to_owned())
    );
    let rig = Rig::new(Script::allowing(), crate::testing::nobody());
    let (code, text) = why(&rig.ask("a.test.", RecordType::TXT).await);
    assert_eq!(code, 23);
    assert!(!text.contains("127.0.0.1"), "{text}");
    let _slots: Vec<_> = std::iter::from_fn(|| rig.context.resolver.slot()).collect();
    let (_, text) = why(&rig.ask("b.test.", RecordType::TXT).await);
    assert_eq!(text, "more than 256 questions are on their way");
}

#[tokio::test]
async fn an_answer_that_does_not_fit_a_datagram_fits_a_stream() {
    let server = Server::new(|reply, tcp| match tcp {
        false => reply.metadata.truncation = true,
        true => {
            for _ in 0..20 {
                reply.add_answer(record("a.test.", 60, txt(&["x".repeat(200).as_str()])));
            }
        }
    })
    .await;
    let rig = Rig::new(Script::allowing(), server.address);
    let cut = rig.ask("a.test.", RecordType::TXT).await;
    assert!(cut.metadata.truncation && cut.answers.is_empty());
    let whole = rig.ask_by("a.test.", RecordType::TXT, Transport::Tcp).await;
    assert_eq!(whole.answers.len(), 20);
}

#[tokio::test]
async fn a_question_does_not_wait_for_another() {
    let server = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let rig = Rig::new(Script::allowing(), server.local_addr().unwrap());
    let socket = crate::datagram::tests::socket("127.0.0.1:0".parse().unwrap());
    let at = socket.local_addr().unwrap();
    socket.set_nonblocking(true).unwrap();
    let socket = tokio::net::UdpSocket::from_std(socket).unwrap();
    tokio::spawn(dns_serve::udp(rig.context.clone(), socket));
    let client = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let mut buffer = [0; 512];
    let slow = query("slow.test.", RecordType::TXT).to_vec().unwrap();
    client.send_to(&slow, at).await.unwrap();
    // It is on its way, and is answered after the other.
    let (length, from) = server.recv_from(&mut buffer).await.unwrap();
    let asked = Message::from_vec(&buffer[..length]).unwrap();
    let fast = query("a.test.", RecordType::A).to_vec().unwrap();
    client.send_to(&fast, at).await.unwrap();
    for kind in [RecordType::A, RecordType::TXT] {
        let length = client.recv(&mut buffer).await.unwrap();
        let reply = Message::from_vec(&buffer[..length]).unwrap();
        assert_eq!(reply.queries[0].query_type(), kind);
        assert_eq!(reply.metadata.response_code, ResponseCode::NoError);
        let mut late = resolver::testing::reply(&asked);
        late.add_answer(record("slow.test.", 60, txt(&["late"])));
        server.send_to(&late.to_vec().unwrap(), from).await.unwrap();
    }
}
