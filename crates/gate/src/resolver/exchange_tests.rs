use super::super::testing::{Server, name, question, record, reply};
use super::*;
use hickory_proto::rr::{RData, RecordType, rdata::TXT};
use proptest::prelude::*;

fn txt(text: &str) -> RData {
    RData::TXT(TXT::new(vec![text.to_owned()]))
}

fn answered(query: &Message, text: &str) -> Message {
    let mut reply = reply(query);
    reply.add_answer(record("a.test.", 60, txt(text)));
    reply
}

fn texts(message: &Message) -> Vec<String> {
    message
        .answers
        .iter()
        .map(|record| record.data.to_string())
        .collect()
}

fn asked() -> Question {
    question("a.test.", RecordType::TXT)
}

#[tokio::test]
async fn only_an_answer_to_the_question_counts() {
    let server = Server::sending(|query, _| {
        let mut all = Vec::new();
        let mut other_id = answered(query, "id");
        other_id.metadata.id ^= 1;
        let mut other_name = answered(query, "name");
        other_name.queries[0].set_name(name("b.test."));
        let mut other_type = answered(query, "type");
        other_type.queries[0].set_query_type(RecordType::MX);
        let mut none = answered(query, "none");
        none.queries.clear();
        let mut two = answered(query, "two");
        two.add_query(two.queries[0].clone());
        let mut no_answer = answered(query, "query");
        no_answer.metadata.message_type = hickory_proto::op::MessageType::Query;
        for message in [other_id, other_name, other_type, none, two, no_answer] {
            all.push(message.to_vec().unwrap());
        }
        all.push(b"short".to_vec());
        // In whatever case the server writes the name.
        let mut good = answered(query, "good");
        good.queries[0].set_name(name("A.TEST."));
        all.push(good.to_vec().unwrap());
        all
    })
    .await;
    let message = exchange(server.address, &asked()).await.unwrap();
    assert_eq!(texts(&message), ["good"]);
}

#[tokio::test]
async fn a_datagram_of_somebody_else_does_not_arrive() {
    let server = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = server.local_addr().unwrap();
    let asked = Asked::new(&asked(), true).unwrap();
    let mut forged = asked.bytes[..asked.bare].to_vec();
    forged[2] |= 0x80;
    forged[11] = 0;
    let mut waiting = std::pin::pin!(by_udp(address, &asked));
    // Somebody else who even knows the port is told by the kernel that nobody hears him there.
    let forging = async {
        let (_, port) = server.recv_from(&mut [0; BUFFER]).await.unwrap();
        let other = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        other.connect(port).await.unwrap();
        other.send(&forged).await.unwrap();
        let told = other.recv(&mut [0]).await.unwrap_err();
        assert_eq!(told.kind(), io::ErrorKind::ConnectionRefused);
        port
    };
    let port = tokio::select! {
        biased;
        answer = &mut waiting => panic!("{answer:?}"),
        port = forging => port,
    };
    // From the server itself the same counts.
    server.send_to(&forged, port).await.unwrap();
    assert_eq!(waiting.await.unwrap(), forged);
}

#[tokio::test]
async fn what_does_not_fit_comes_by_tcp() {
    let long = "x".repeat(250);
    let server = Server::new(move |reply, tcp| {
        if tcp {
            for _ in 0..20 {
                reply.add_answer(record("a.test.", 60, txt(&long)));
            }
        } else {
            reply.metadata.truncation = true;
        }
    })
    .await;
    let message = exchange(server.address, &asked()).await.unwrap();
    assert_eq!(message.answers.len(), 20);
    assert_eq!(server.asked(), ["a.test. TXT", "a.test. TXT+tcp"]);
}

#[tokio::test]
async fn what_was_cut_within_a_record_comes_by_tcp_too() {
    let server = Server::sending(|query, tcp| {
        let mut message = answered(query, "whole");
        message.metadata.truncation = !tcp;
        let bytes = message.to_vec().unwrap();
        vec![if tcp {
            bytes
        } else {
            bytes[..bytes.len() - 3].to_vec()
        }]
    })
    .await;
    let message = exchange(server.address, &asked()).await.unwrap();
    assert_eq!(texts(&message), ["whole"]);
}

#[tokio::test]
async fn a_server_without_edns_is_asked_without() {
    let server = Server::sending(|query, _| {
        let mut reply = answered(query, "plain");
        if query.edns.is_some() {
            reply = Message::error_msg(query.metadata.id, OpCode::Query, ResponseCode::FormErr);
        }
        vec![reply.to_vec().unwrap()]
    })
    .await;
    let message = exchange(server.address, &asked()).await.unwrap();
    assert_eq!(texts(&message), ["plain"]);
    assert_eq!(server.asked(), ["a.test. TXT", "a.test. TXT-edns"]);
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_a_failure_at_once() {
    let server = Server::sending(|query, _| {
        let bytes = answered(query, "whole").to_vec().unwrap();
        vec![bytes[..bytes.len() - 3].to_vec()]
    })
    .await;
    let failure = exchange(server.address, &asked()).await.unwrap_err();
    assert_eq!(failure, Failure::Malformed);
}

#[test]
fn each_question_has_an_id_of_its_own() {
    let ids: std::collections::HashSet<_> = (0..64)
        .map(|_| Asked::new(&asked(), true).unwrap().bytes[..2].to_vec())
        .collect();
    assert!(ids.len() > 60, "{}", ids.len());
}

proptest! {
    #[test]
    fn any_bytes_are_looked_at_without_harm(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), own: bool) {
        let asked = Asked::new(&asked(), true).unwrap();
        if own && bytes.len() > asked.bare {
            bytes[..asked.bare].copy_from_slice(&asked.bytes[..asked.bare]);
            bytes[2] |= 0x80;
        }
        if asked.is_answered_by(&bytes) {
            let _ = read(&bytes);
        }
    }
}
