//! Serves DNS over UDP and TCP, at whatever address the program thinks its name server is: a
//! program that asks another server is answered by the gate all the same.

use crate::context::Context;
use crate::datagram;
use crate::dns::{self, Answer};
use bailiwick_event::Transport;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, Interest};
use tokio::net::UdpSocket;
use tokio::time::timeout;

/// The largest question that is read, in bytes; what a datagram of EDNS may hold.
const MAX_QUESTION: usize = 4096;
/// How long a TCP client may take for its next question (RFC 7766 §6.2.3).
const IDLE: Duration = Duration::from_secs(10);
/// Keeps a socket whose every read fails from taking the whole thread.
const BACK_OFF: Duration = Duration::from_millis(50);

/// Answers datagrams for ever.
pub(crate) async fn udp(context: Arc<Context>, socket: UdpSocket) {
    let socket = Arc::new(socket);
    let mut buffer = vec![0; MAX_QUESTION];
    loop {
        let received = socket
            .async_io(Interest::READABLE, || {
                datagram::receive(socket.as_fd(), &mut buffer)
            })
            .await;
        let question = match received {
            Ok(question) => question,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => continue,
            Err(_) => {
                tokio::time::sleep(BACK_OFF).await;
                continue;
            }
        };
        if question.cut {
            continue;
        }
        let bytes = &buffer[..question.length];
        // A client that cannot take its answer asks again; nothing here may wait for it.
        let give = move |socket: &UdpSocket, answer: Option<Vec<u8>>| {
            if let Some(answer) = answer {
                let from = question.destination.ip();
                let _ = datagram::send(socket.as_fd(), &answer, from, question.source);
            }
        };
        match dns::answer(&context, bytes, Transport::Udp) {
            Answer::Now(answer) => give(&socket, answer),
            // Nor may another question wait for this one. There are as many tasks as slots.
            Answer::Later(forward) => match context.resolver.slot() {
                Some(slot) => {
                    let (context, socket) = (context.clone(), socket.clone());
                    tokio::spawn(async move {
                        give(&socket, forward.ask(&context, Some(slot)).await);
                    });
                }
                None => give(&socket, forward.ask(&context, None).await),
            },
        }
    }
}

/// Answers the questions of one TCP connection (RFC 7766), one after the other.
pub(crate) async fn tcp<S: AsyncRead + AsyncWrite + Unpin>(context: Arc<Context>, mut stream: S) {
    while let Ok(Ok(question)) = timeout(IDLE, read_question(&mut stream)).await {
        let answer = match dns::answer(&context, &question, Transport::Tcp) {
            Answer::Now(answer) => answer,
            Answer::Later(forward) => {
                let slot = context.resolver.slot();
                forward.ask(&context, slot).await
            }
        };
        let Some(answer) = answer else { return };
        let Ok(length) = u16::try_from(answer.len()) else {
            return;
        };
        let mut framed = length.to_be_bytes().to_vec();
        framed.extend(answer);
        if !matches!(timeout(IDLE, stream.write_all(&framed)).await, Ok(Ok(()))) {
            return;
        }
    }
}

async fn read_question<S: AsyncRead + Unpin>(stream: &mut S) -> io::Result<Vec<u8>> {
    let length = usize::from(stream.read_u16().await?);
    if length > MAX_QUESTION {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut question = vec![0; length];
    stream.read_exact(&mut question).await?;
    Ok(question)
}
