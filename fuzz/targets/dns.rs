//! DNS messages (`U` or `T` for the transport, and the message). The answer is the query's own,
//! fits its transport, and hickory reads in it what the raw bytes of the query asked.
#![no_main]

use bailiwick_event::{Host, Transport};
use bailiwick_gate::fuzzing::dns;
use hickory_proto::op::{Message, MessageType, OpCode, ResponseCode};
use hickory_proto::rr::{DNSClass, RData, RecordType};
use libfuzzer_sys::fuzz_target;

/// Names that the guard refuses.
fn allows(name: &[u8]) -> bool {
    !name.to_ascii_lowercase().ends_with(b"evil.test")
}

fuzz_target!(|data: &[u8]| {
    let Some((kind, bytes)) = data.split_first() else {
        return;
    };
    let transport = match kind {
        b'T' => Transport::Tcp,
        _ => Transport::Udp,
    };
    let done = dns(bytes, transport, allows);
    let query = Message::from_vec(bytes).ok();
    let Some(answer) = &done.answer else {
        assert!(done.told.is_empty(), "decided, but not answered");
        let is_response = bytes.len() >= 12 && bytes[2] & 0x80 != 0;
        assert!(bytes.len() < 12 || is_response, "a query has no answer");
        return;
    };
    // The header, by RFC 1035 §4.1.1 alone.
    assert!(bytes.len() >= 12 && answer.len() >= 12);
    assert_eq!(answer[..2], bytes[..2], "another id");
    assert_eq!(bytes[2] & 0x80, 0, "a response was answered");
    assert_eq!(answer[2] & 0x80, 0x80, "no response");
    assert_eq!(answer[2] & 0x78, bytes[2] & 0x78, "another operation");
    let reply = Message::from_vec(answer).expect("hickory reads our answer");
    let edns = query.as_ref().and_then(|q| q.edns.as_ref());
    let limit = match (transport, edns) {
        (Transport::Tcp, _) => 65_535,
        (_, Some(edns)) => usize::from(edns.max_payload()).clamp(512, 1232),
        (_, None) => 512,
    };
    assert!(answer.len() <= limit, "{} of {limit} bytes", answer.len());
    let Some(query) = query else {
        assert_eq!(reply.metadata.response_code, ResponseCode::FormErr);
        assert!(done.told.is_empty() && reply.answers.is_empty());
        return;
    };
    assert_eq!(query.metadata.message_type, MessageType::Query);
    assert_eq!(reply.edns.is_some(), query.edns.is_some());
    assert!(done.told.len() <= 1, "one question, several acts");
    let version = query.edns.as_ref().map_or(0, |e| e.version());
    let [question] = &query.queries[..] else {
        assert!(reply.answers.is_empty() && done.told.is_empty());
        return;
    };
    if query.metadata.op_code != OpCode::Query || version != 0 {
        assert!(reply.answers.is_empty() && done.told.is_empty());
        return;
    }
    let [asked] = &reply.queries[..] else {
        panic!("the question does not come back");
    };
    assert!(asked.name().eq_case(question.name()), "another name");
    assert_eq!(asked.query_type(), question.query_type());
    assert_eq!(asked.query_class(), question.query_class());
    // The name that is decided is that of the bytes, not only hickory's.
    if let (Some((name, end)), Some((told, _))) = (raw_name(bytes), done.told.first()) {
        assert_eq!(&name, told, "decided by another name");
        let class = &bytes[end + 2..end + 4];
        assert_eq!(class, [0, 1], "decided outside the internet's class");
    }
    for record in &reply.answers {
        assert_eq!(question.query_class(), DNSClass::IN);
        assert_eq!(record.record_type(), question.query_type());
        assert!(record.name.eq_case(question.name()));
        let told = done.told.first();
        let host = told.map(|(name, _)| Host::parse(&String::from_utf8_lossy(name)));
        let ip = match &record.data {
            RData::A(ip) => std::net::IpAddr::from(ip.0),
            RData::AAAA(ip) => std::net::IpAddr::from(ip.0),
            RData::PTR(name) => {
                assert!(told.is_none(), "the own table crosses no boundary");
                assert_eq!(name.to_string(), "bound.test.");
                continue;
            }
            other => panic!("an answer of another kind: {other:?}"),
        };
        let Some(Ok(host)) = host else {
            panic!("an address for what is no host name");
        };
        assert!(host.is_loopback() == Host::from(ip).is_loopback());
        assert!(host.is_loopback() || done.host_of(ip) == host);
    }
    if done.told.iter().any(|(name, _)| !allows(name)) {
        assert!(reply.answers.is_empty(), "a refused name has an answer");
        let code = reply.metadata.response_code;
        assert_eq!(code, ResponseCode::NXDomain, "a refused name exists");
    }
    let allowed = done.told.first().filter(|(name, _)| allows(name));
    if let (Some((name, _)), RecordType::A) = (allowed, question.query_type()) {
        let text = std::str::from_utf8(name).ok();
        let host = text.and_then(|t| Host::parse(t).ok());
        let named = matches!(host, Some(Host::Name(_)));
        assert_eq!(reply.answers.len(), usize::from(named), "{host:?}");
    }
});

/// The first question's name as the gate tells it, and where it ends; none where it is compressed
/// or cut.
fn raw_name(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut at, mut name) = (12, Vec::new());
    loop {
        let length = usize::from(*bytes.get(at)?);
        at += 1;
        match length {
            0 => break,
            1..64 => {}
            _ => return None,
        }
        if !name.is_empty() {
            name.push(b'.');
        }
        for byte in bytes.get(at..at + length)? {
            if matches!(byte, b'.' | b'\\') {
                name.push(b'\\');
            }
            name.push(*byte);
        }
        at += length;
    }
    bytes.get(at..at + 4).map(|_| (name, at))
}
