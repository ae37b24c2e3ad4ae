//! One question to one server. Who can write packets to the host but does not see its own must
//! guess the port, the id and the question at once: each question has a socket of its own, which
//! the kernel gives a random port and connects to the server, and a random id; what does not fit
//! all of them is not looked at further.

use super::{Failure, Question};
use hickory_proto::op::{Message, OpCode, Query, ResponseCode};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

/// The largest datagram that a server is told to send (fits any path without fragments).
const MAX_DATAGRAM: u16 = 1232;
/// What is read of a datagram; a larger one came from a server that does not listen.
const BUFFER: usize = 4096;
const HEADER: usize = 12;

/// A question as bytes.
struct Asked {
    /// With EDNS or without.
    bytes: Vec<u8>,
    /// How many of them are header and question.
    bare: usize,
}

impl Asked {
    fn new(question: &Question, edns: bool) -> Result<Self, Failure> {
        // The id comes from a generator that nobody can foresee.
        let mut message = Message::query();
        message.metadata.recursion_desired = true;
        message.add_query(Query::query(question.name.clone(), question.kind));
        let mut bytes = message.to_vec().map_err(|_| Failure::Malformed)?;
        let bare = bytes.len();
        if edns {
            // RFC 6891 §6.1.2: the root, type 41, the size, and no flags or options.
            let [high, low] = MAX_DATAGRAM.to_be_bytes();
            bytes.extend([0, 0, 41, high, low, 0, 0, 0, 0, 0, 0]);
            bytes[HEADER - 1] = 1;
        }
        Ok(Self { bytes, bare })
    }

    /// Whether these bytes answer it: its id, an answer, and its question and no other.
    fn is_answered_by(&self, bytes: &[u8]) -> bool {
        let Some(header) = bytes.get(..HEADER) else {
            return false;
        };
        if header[..2] != self.bytes[..2] || header[2] & 0xf8 != 0x80 {
            return false;
        }
        // Servers that do not know EDNS may answer with the header alone.
        let format_error = header[3] & 0xf == u16::from(ResponseCode::FormErr) as u8;
        match header[4..6] {
            [0, 0] => format_error,
            [0, 1] => bytes
                .get(HEADER..self.bare)
                .is_some_and(|asked| asked.eq_ignore_ascii_case(&self.bytes[HEADER..self.bare])),
            _ => false,
        }
    }
}

/// Asks, by UDP, and by TCP where the answer did not fit.
pub(super) async fn exchange(server: SocketAddr, question: &Question) -> Result<Message, Failure> {
    let message = ask(server, question, true).await?;
    match message.metadata.response_code {
        ResponseCode::FormErr => ask(server, question, false).await,
        _ => Ok(message),
    }
}

async fn ask(server: SocketAddr, question: &Question, edns: bool) -> Result<Message, Failure> {
    let asked = Asked::new(question, edns)?;
    let failed = |error: io::Error| Failure::Network(error.kind());
    let message = by_udp(server, &asked).await.map_err(failed)?;
    let message = read(&message)?;
    if !message.metadata.truncation {
        return Ok(message);
    }
    let asked = Asked::new(question, edns)?;
    let message = by_tcp(server, &asked).await.map_err(failed)?;
    if !asked.is_answered_by(&message) {
        return Err(Failure::Malformed);
    }
    read(&message)
}

fn read(bytes: &[u8]) -> Result<Message, Failure> {
    match Message::from_vec(bytes) {
        Ok(message) => Ok(message),
        // An answer that was cut in the middle of a record says in its header that it was.
        Err(_) if bytes.get(2).is_some_and(|flags| flags & 0x02 != 0) => {
            let mut cut = Message::response(0, OpCode::Query);
            cut.metadata.truncation = true;
            Ok(cut)
        }
        Err(_) => Err(Failure::Malformed),
    }
}

/// A message that has the question's id, whatever it says in its place.
#[cfg(feature = "fuzzing")]
pub(super) fn read_guessed(message: &[u8], question: &Question) -> Result<Message, Failure> {
    let asked = Asked::new(question, true)?;
    let mut message = message.to_vec();
    if let Some(id) = message.get_mut(..2) {
        id.copy_from_slice(&asked.bytes[..2]);
    }
    match asked.is_answered_by(&message) {
        true => read(&message),
        false => Err(Failure::Malformed),
    }
}

async fn by_udp(server: SocketAddr, asked: &Asked) -> io::Result<Vec<u8>> {
    let any = match server {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    let socket = UdpSocket::bind(any).await?;
    socket.connect(server).await?;
    socket.send(&asked.bytes).await?;
    let mut buffer = vec![0; BUFFER];
    loop {
        let length = socket.recv(&mut buffer).await?;
        if asked.is_answered_by(&buffer[..length]) {
            buffer.truncate(length);
            return Ok(buffer);
        }
    }
}

async fn by_tcp(server: SocketAddr, asked: &Asked) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(server).await?;
    let length = u16::try_from(asked.bytes.len()).map_err(io::Error::other)?;
    let framed = [&length.to_be_bytes()[..], &asked.bytes].concat();
    stream.write_all(&framed).await?;
    let length = usize::from(stream.read_u16().await?);
    let mut message = vec![0; length];
    stream.read_exact(&mut message).await?;
    Ok(message)
}

#[cfg(test)]
#[path = "exchange_tests.rs"]
mod tests;
