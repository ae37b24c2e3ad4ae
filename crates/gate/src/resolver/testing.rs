//! A name server on loopback that says what a test has it say.

use super::Question;
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::SOA;
use hickory_proto::rr::{Name, RData, Record, RecordType};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::watch;

/// A server, and what it was asked: the name and type, with `+tcp` or `-edns` where that was so.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    asked: Arc<watch::Sender<Vec<String>>>,
}

/// Sockets of both kinds at one port. A port that is free for datagrams may be a connection's.
async fn both() -> (UdpSocket, TcpListener, SocketAddr) {
    loop {
        let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = udp.local_addr().unwrap();
        if let Ok(tcp) = TcpListener::bind(address).await {
            return (udp, tcp, address);
        }
    }
}

impl Server {
    /// A server that sends what `answer` makes of a question, message by message.
    pub(crate) async fn sending<F>(answer: F) -> Self
    where
        F: Fn(&Message, bool) -> Vec<Vec<u8>> + Send + Sync + 'static,
    {
        let (udp, tcp, address) = both().await;
        let asked = Arc::new(watch::Sender::new(Vec::new()));
        let (answer, log) = (Arc::new(answer), asked.clone());
        let (own, own_log) = (answer.clone(), log.clone());
        tokio::spawn(async move {
            let mut buffer = [0; 4096];
            while let Ok((length, from)) = udp.recv_from(&mut buffer).await {
                let query = note(&own_log, &buffer[..length], false);
                for message in own(&query, false) {
                    udp.send_to(&message, from).await.unwrap();
                }
            }
        });
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = tcp.accept().await {
                let mut message = vec![0; usize::from(stream.read_u16().await.unwrap())];
                stream.read_exact(&mut message).await.unwrap();
                let query = note(&log, &message, true);
                for message in answer(&query, true) {
                    stream.write_u16(message.len() as u16).await.unwrap();
                    stream.write_all(&message).await.unwrap();
                }
            }
        });
        Self { address, asked }
    }

    /// A server whose answers are the replies that `fill` makes.
    pub(crate) async fn new<F>(fill: F) -> Self
    where
        F: Fn(&mut Message, bool) + Send + Sync + 'static,
    {
        Self::sending(move |query, tcp| {
            let mut reply = reply(query);
            fill(&mut reply, tcp);
            vec![reply.to_vec().unwrap()]
        })
        .await
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.borrow().clone()
    }

    /// What it was asked, when that were so many questions.
    pub(crate) async fn asked_times(&self, number: usize) -> Vec<String> {
        let mut asked = self.asked.subscribe();
        let all = asked.wait_for(|all| all.len() >= number).await;
        all.unwrap().clone()
    }
}

fn note(log: &watch::Sender<Vec<String>>, message: &[u8], tcp: bool) -> Message {
    let query = Message::from_vec(message).unwrap();
    let question = &query.queries[0];
    let how = match (tcp, &query.edns) {
        (true, _) => "+tcp",
        (false, None) => "-edns",
        _ => "",
    };
    let line = format!("{} {}{how}", question.name(), question.query_type());
    log.send_modify(|all| all.push(line));
    query
}

/// An answer to a question, without records.
pub(crate) fn reply(query: &Message) -> Message {
    let mut reply = Message::response(query.metadata.id, query.metadata.op_code);
    reply.metadata.recursion_available = true;
    reply.add_queries(query.queries.iter().cloned());
    reply
}

pub(crate) fn name(text: &str) -> Name {
    Name::from_ascii(text).unwrap()
}

pub(crate) fn question(text: &str, kind: RecordType) -> Question {
    Question {
        name: name(text),
        kind,
    }
}

pub(crate) fn record(owner: &str, ttl: u32, data: RData) -> Record {
    Record::from_rdata(name(owner), ttl, data)
}

/// That a name does not exist, for so many seconds.
pub(crate) fn no_name(reply: &mut Message, seconds: u32) {
    reply.metadata.response_code = ResponseCode::NXDomain;
    let soa = SOA::new(name("ns.test."), name("me.test."), 1, 2, 3, 4, seconds);
    reply.add_authority(record("test.", 9999, RData::SOA(soa)));
}
