//! A WebSocket server that sends back every frame, as it was cut.

use super::answer::{Answer, full};
use hyper::http::request::Parts;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

pub(super) fn answer(parts: &Parts, upgrade: OnUpgrade) -> Answer {
    let Some(key) = parts.headers.get("sec-websocket-key") else {
        return full(400, "no WebSocket\n");
    };
    let mut proof = key.as_bytes().to_vec();
    proof.extend(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let proof = base64(digest(&SHA1_FOR_LEGACY_USE_ONLY, &proof).as_ref());
    tokio::spawn(async move {
        if let Ok(stream) = upgrade.await {
            let _ = echo(TokioIo::new(stream)).await;
        }
    });
    let mut answer = full(101, "");
    let headers = answer.headers_mut();
    headers.insert("connection", "Upgrade".parse().unwrap());
    headers.insert("upgrade", "websocket".parse().unwrap());
    headers.insert("sec-websocket-accept", proof.parse().unwrap());
    answer
}

async fn echo(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    loop {
        let first = stream.read_u8().await?;
        let second = stream.read_u8().await?;
        let length = match second & 0x7F {
            126 => u64::from(stream.read_u16().await?),
            127 => stream.read_u64().await?,
            short => u64::from(short),
        };
        // A client's frames are always masked.
        assert!(second & 0x80 != 0, "a frame without a mask");
        let mut mask = [0; 4];
        stream.read_exact(&mut mask).await?;
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        stream.read_exact(&mut payload).await?;
        for (byte, mask) in payload.iter_mut().zip(mask.iter().cycle()) {
            *byte ^= mask;
        }
        let kind = first & 0x0F;
        let kind = if kind == PING { PONG } else { kind };
        stream.write_all(&head(first & 0xF0 | kind, length)).await?;
        stream.write_all(&payload).await?;
        stream.flush().await?;
        if kind == CLOSE {
            return stream.shutdown().await;
        }
    }
}

fn head(first: u8, length: u64) -> Vec<u8> {
    let mut head = vec![first];
    match length {
        0..126 => head.push(u8::try_from(length).unwrap()),
        126..65536 => {
            head.push(126);
            head.extend(u16::try_from(length).unwrap().to_be_bytes());
        }
        _ => {
            head.push(127);
            head.extend(length.to_be_bytes());
        }
    }
    head
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let byte = |n: usize| u32::from(three.get(n).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for n in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * n) & 63) as usize];
            text.push(if n <= three.len() {
                char::from(digit)
            } else {
                '='
            });
        }
    }
    text
}
