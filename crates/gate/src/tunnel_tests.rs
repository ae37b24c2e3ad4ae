use crate::testing::{Rig, Script, echo, exchange, hello, nobody, read_until, recording, server};
use bailiwick_event::Act;
use std::io::ErrorKind;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn is_reset(stream: &mut TcpStream) -> bool {
    let error = stream.read_to_end(&mut Vec::new()).await.err();
    error.is_some_and(|e| e.kind() == ErrorKind::ConnectionReset)
}

#[tokio::test]
async fn tls_passes_byte_for_byte_once_its_name_is_allowed() {
    let rig = Rig::new(Script::allowing().mapping("a.test", echo().await)).await;
    let mut bytes = hello::naming("a.test");
    bytes.extend(b"and early data");
    let mut stream = rig.to("a.test").await;
    // One byte at a time: the gate must put the hello together and pass it on unchanged.
    stream.set_nodelay(true).unwrap();
    for byte in &bytes {
        stream.write_all(&[*byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    let mut back = vec![0; bytes.len()];
    stream.read_exact(&mut back).await.unwrap();
    assert_eq!(back, bytes);
    let sni = rig.script.acts().into_iter().find_map(|act| match act {
        Act::Tls { sni, host, .. } => Some((sni.unwrap().to_string(), host.to_string())),
        _ => None,
    });
    assert_eq!(sni, Some(("a.test".into(), "a.test".into())));
}

#[tokio::test]
async fn tls_to_a_name_that_is_refused_ends_and_nothing_was_sent() {
    let (address, mut told) = recording("hi\n", "").await;
    let script = Script::denying(|act| matches!(act, Act::Tls { .. })).mapping("a.test", address);
    let rig = Rig::new(script).await;
    let mut stream = rig.to("a.test").await;
    // The server is connected now, and could get something.
    read_until(&mut stream, "hi\n").await;
    stream.write_all(&hello::naming("evil.test")).await.unwrap();
    assert!(is_reset(&mut stream).await);
    assert_eq!(told.recv().await.unwrap(), b"");
}

#[tokio::test]
async fn a_hello_that_cannot_be_read_is_refused_even_where_all_is_allowed() {
    let rig = Rig::new(Script::allowing().mapping("a.test", echo().await)).await;
    let mut stream = rig.to("a.test").await;
    stream.write_all(&[22, 3, 1, 0, 0, 1, 2, 3]).await.unwrap();
    assert!(is_reset(&mut stream).await);
    assert!(
        matches!(rig.script.acts().last(), Some(Act::Tls { sni: Some(sni), .. }) if sni.as_bytes().is_empty())
    );
}

#[tokio::test]
async fn a_server_that_speaks_first_is_heard() {
    let address = server(|mut stream| async move {
        stream.write_all(b"220 hello\r\n").await.unwrap();
        let (mut read, mut write) = stream.split();
        let _ = tokio::io::copy(&mut read, &mut write).await;
    })
    .await;
    let rig = Rig::new(Script::allowing().mapping("mail.test", address)).await;
    let mut stream = rig.to("mail.test").await;
    assert_eq!(read_until(&mut stream, "\n").await, "220 hello\r\n");
    stream.write_all(b"EHLO me\r\n").await.unwrap();
    assert_eq!(read_until(&mut stream, "\n").await, "EHLO me\r\n");
}

#[tokio::test]
async fn a_request_after_the_server_spoke_is_decided_all_the_same() {
    let (address, mut told) = recording("hi\n", "").await;
    let script = Script::denying(|act| matches!(act, Act::Http { .. })).mapping("a.test", address);
    let rig = Rig::new(script).await;
    let mut stream = rig.to("a.test").await;
    assert_eq!(read_until(&mut stream, "\n").await, "hi\n");
    let request = b"GET /secret HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n";
    let answer = exchange(&mut stream, request).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert_eq!(told.recv().await.unwrap(), b"");
}

#[tokio::test]
async fn the_end_of_one_direction_leaves_the_other_open() {
    let address = server(|mut stream| async move {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).await.unwrap();
        all.reverse();
        stream.write_all(&all).await.unwrap();
    })
    .await;
    let rig = Rig::new(Script::allowing().mapping("a.test", address)).await;
    let mut stream = rig.to("a.test").await;
    stream.write_all(b"\0abc").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(exchange(&mut stream, b"").await, "cba\0");
    let mut silent = rig.to("a.test").await;
    silent.shutdown().await.unwrap();
    assert_eq!(exchange(&mut silent, b"").await, "");
}

#[tokio::test]
async fn a_reset_is_passed_on_as_a_reset() {
    let address = server(|mut stream| async move {
        stream.read_u8().await.unwrap();
        stream.set_zero_linger().unwrap();
    })
    .await;
    let rig = Rig::new(Script::allowing().mapping("a.test", address)).await;
    let mut stream = rig.to("a.test").await;
    stream.write_all(b"\0").await.unwrap();
    assert!(is_reset(&mut stream).await);
}

#[tokio::test]
async fn a_refused_connection_is_told_why_in_http_and_reset_otherwise() {
    let (address, mut told) = recording("hi\n", "").await;
    let script = Script::denying(|act| matches!(act, Act::Connect { .. }));
    let rig = Rig::new(script.mapping("a.test", address)).await;
    let mut stream = rig.to("a.test").await;
    let answer = exchange(&mut stream, b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert!(answer.contains("x-bailiwick-rule: test.rule"), "{answer}");
    assert!(answer.contains("remedy: change the script"), "{answer}");
    for bytes in [&hello::naming("a.test")[..], b"\0\0", b"SSH-2.0-x\r\n", b""] {
        let mut stream = rig.to("a.test").await;
        stream.write_all(bytes).await.unwrap();
        assert!(is_reset(&mut stream).await, "{}", bytes.escape_ascii());
    }
    assert!(told.try_recv().is_err(), "it was dialled");
    assert!(
        rig.script
            .acts()
            .iter()
            .all(|act| matches!(act, Act::Connect { .. }))
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_is_no_refusal_by_policy() {
    let rig = Rig::new(Script::allowing().mapping("a.test", nobody())).await;
    let mut stream = rig.to("a.test").await;
    let answer = exchange(&mut stream, b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(answer.contains("could not connect to a.test:"), "{answer}");
    for bytes in [&hello::naming("a.test")[..], b"\0", b""] {
        let mut stream = rig.to("a.test").await;
        stream.write_all(bytes).await.unwrap();
        assert!(is_reset(&mut stream).await, "{}", bytes.escape_ascii());
    }
}

#[tokio::test]
async fn a_name_whose_addresses_are_refused_is_refused() {
    let script = Script::denying(|act| matches!(act, Act::Resolved { .. }));
    let rig = Rig::new(script.without_usable_addresses()).await;
    let mut stream = rig.to_address("127.7.7.7".parse().unwrap()).await;
    let answer = exchange(&mut stream, b"GET / HTTP/1.1\r\nHost: 127.7.7.7\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
}

#[tokio::test]
async fn a_synthetic_address_without_a_name_is_never_dialled() {
    let rig = Rig::new(Script::allowing()).await;
    // Without the check this would be the transparent listener itself, and connect.
    let mut stream = rig.to_address("127.18.9.9".parse().unwrap()).await;
    stream.write_all(b"\0").await.unwrap();
    assert!(is_reset(&mut stream).await);
    let resolved = rig
        .script
        .acts()
        .into_iter()
        .filter(|a| matches!(a, Act::Resolved { .. }));
    assert_eq!(resolved.count(), 1);
}

#[tokio::test]
async fn only_requests_pass_where_only_requests_may() {
    let (address, mut told) = recording("hi\n", "").await;
    let rig = Rig::new(Script::allowing().mapping("a.test", address).http_only()).await;
    let mut stream = rig.to("a.test").await;
    read_until(&mut stream, "hi\n").await;
    stream.write_all(b"\0hidden").await.unwrap();
    assert!(is_reset(&mut stream).await);
    assert_eq!(told.recv().await.unwrap(), b"");
    assert!(matches!(
        rig.script.acts()[..],
        [Act::Connect { .. }, Act::Tls { sni: None, .. }]
    ));
}

#[tokio::test]
async fn http2_without_tls_is_told_to_use_http_1() {
    let rig = Rig::new(Script::allowing().mapping("a.test", echo().await)).await;
    let mut stream = rig.to("a.test").await;
    let answer = exchange(&mut stream, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    let (settings, goaway) = answer.as_bytes().split_at(9);
    assert_eq!(settings, b"\0\0\0\x04\0\0\0\0\0");
    assert_eq!(usize::from(goaway[2]), goaway.len() - 9, "{answer:?}");
    assert_eq!((goaway[3], goaway[16]), (7, 0x0d), "HTTP_1_1_REQUIRED");
    assert!(answer.contains("use HTTP/1.1"), "{answer}");
}
