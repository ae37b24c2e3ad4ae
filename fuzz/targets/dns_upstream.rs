//! What a name server answers (a letter for the asked type, a small one for TCP, and the server's
//! message), and what the program gets of it: its own question, records of the asked type under the
//! asked name that the server did give for that name or an alias of it, and no service record that
//! leads around the name. The records are read by hand.
#![no_main]

use bailiwick_event::Transport;
use bailiwick_gate::fuzzing::upstream;
use hickory_proto::op::{Edns, Message, Query, ResponseCode};
use hickory_proto::rr::{DNSClass, Name, RData, RecordType};
use libfuzzer_sys::fuzz_target;

const ASKED: &str = "A.test.";

fn kind(letter: u8) -> Option<RecordType> {
    Some(match letter.to_ascii_uppercase() {
        b'C' => RecordType::CNAME,
        b'T' => RecordType::TXT,
        b'M' => RecordType::MX,
        b'S' => RecordType::SRV,
        b'P' => RecordType::PTR,
        b'H' => RecordType::HTTPS,
        b'V' => RecordType::SVCB,
        b'N' => RecordType::NS,
        b'A' => RecordType::CAA,
        _ => return None,
    })
}

fuzz_target!(|data: &[u8]| {
    let Some((letter, message)) = data.split_first() else {
        return;
    };
    let Some(kind) = kind(*letter) else { return };
    let transport = match letter.is_ascii_lowercase() {
        true => Transport::Tcp,
        false => Transport::Udp,
    };
    let name = Name::from_ascii(ASKED).expect("a name");
    let mut query = Message::query();
    query.metadata.id = 0x1234;
    query.add_query(Query::query(name.clone(), kind));
    let mut edns = Edns::new();
    edns.set_max_payload(1232);
    query.set_edns(edns);
    let question = query.to_vec().expect("a question");
    let done = upstream(&question, message, transport).expect("it is asked");
    let bytes = done.answer.expect("a question has an answer");
    let limit = match transport {
        Transport::Udp => 1232,
        // Names that are written whole, and what a record costs beside its data.
        Transport::Tcp => (16 << 10) + 128 * 300,
    };
    assert!(bytes.len() <= limit, "{} of {limit} bytes", bytes.len());
    let answer = Message::from_vec(&bytes).expect("hickory reads our answer");
    assert_eq!(answer.metadata.id, 0x1234);
    assert_eq!(answer.queries.len(), 1);
    assert!(answer.queries[0].name().eq_case(&name));
    assert_eq!(answer.queries[0].query_type(), kind);
    assert!(answer.authorities.is_empty() && answer.additionals.is_empty());
    assert!(answer.answers.len() <= 128);
    let code = answer.metadata.response_code;
    let known = [
        ResponseCode::NoError,
        ResponseCode::NXDomain,
        ResponseCode::ServFail,
    ];
    assert!(known.contains(&code), "{code}");
    if code != ResponseCode::NoError {
        assert!(answer.answers.is_empty(), "records beside {code}");
    }
    if !answer.metadata.truncation {
        assert_eq!(answer.answers.len(), done.told.len(), "told and given");
    }
    let server = Message::from_vec(message).ok();
    for record in &answer.answers {
        assert_eq!(record.record_type(), kind);
        assert_eq!(record.dns_class, DNSClass::IN);
        assert!(record.name.eq_case(&name), "another owner");
        assert!(record.ttl <= 3600, "{} seconds", record.ttl);
        let server = server.as_ref().expect("records of what cannot be read");
        assert_eq!(server.metadata.response_code, ResponseCode::NoError);
        let aliases = aliases(server, &name, kind);
        let given = server.answers.iter().any(|theirs| {
            let same = match &theirs.data {
                RData::HTTPS(_) | RData::SVCB(_) => theirs.record_type() == kind,
                data => *data == record.data,
            };
            same && aliases.contains(&theirs.name)
        });
        assert!(given, "nobody gave {record}");
    }
    if matches!(kind, RecordType::HTTPS | RecordType::SVCB) {
        services(&bytes, question.len() - 11, answer.answers.len());
    }
});

/// The name and all that it is said to be an alias of.
fn aliases(message: &Message, name: &Name, kind: RecordType) -> Vec<Name> {
    let mut all = vec![name.clone()];
    let mut at = 0;
    while at < all.len() && kind != RecordType::CNAME {
        for record in &message.answers {
            if let (true, RData::CNAME(target)) = (record.name == all[at], &record.data)
                && !all.contains(&target.0)
            {
                all.push(target.0.clone());
            }
        }
        at += 1;
    }
    all
}

/// The service records of a message, read by RFC 1035 and RFC 9460 alone.
fn services(bytes: &[u8], mut at: usize, count: usize) {
    let number = |at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    for _ in 0..count {
        // The owner: labels, and a pointer or the root at their end.
        loop {
            match bytes[at] {
                0 => break at += 1,
                0xc0.. => break at += 2,
                length => at += 1 + usize::from(length),
            }
        }
        let end = at + 10 + number(at + 8);
        // After the priority, the target.
        assert_eq!(bytes[at + 12], 0, "another name to ask for");
        at += 13;
        let mut last = None;
        while at < end {
            let (key, length) = (number(at), number(at + 2));
            assert!(key <= 3, "key {key} is passed on");
            assert!(last < Some(key), "keys out of order");
            last = Some(key);
            let value = &bytes[at + 4..at + 4 + length];
            if key == 1 {
                let mut rest = value;
                while let [length, after @ ..] = rest {
                    let (id, next) = after.split_at(usize::from(*length));
                    let quic = id.to_ascii_lowercase().starts_with(b"h3");
                    assert!(!quic, "{} is passed on", id.escape_ascii());
                    rest = next;
                }
            }
            at += 4 + length;
        }
        assert_eq!(at, end);
    }
}
