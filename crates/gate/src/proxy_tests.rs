use crate::testing::{Rig, Script, echo, exchange, hello, nobody, read_until, recording};
use bailiwick_event::{Act, Via};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const CLOSE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

async fn socks(rig: &Rig, host: &str, port: u16) -> (TcpStream, u8) {
    let mut stream = rig.to_proxy().await;
    stream.write_all(&[5, 1, 0]).await.unwrap();
    let mut method = [0; 2];
    stream.read_exact(&mut method).await.unwrap();
    assert_eq!(method, [5, 0]);
    let mut request = vec![5, 1, 0, 3, host.len() as u8];
    request.extend(host.as_bytes());
    request.extend(port.to_be_bytes());
    stream.write_all(&request).await.unwrap();
    let mut reply = [0; 10];
    stream.read_exact(&mut reply).await.unwrap();
    assert_eq!((reply[0], reply[2], reply[3]), (5, 0, 1));
    (stream, reply[1])
}

async fn echoes(stream: &mut TcpStream, bytes: &[u8]) {
    stream.write_all(bytes).await.unwrap();
    let mut back = vec![0; bytes.len()];
    stream.read_exact(&mut back).await.unwrap();
    assert_eq!(back, bytes);
}

#[tokio::test]
async fn a_request_with_a_whole_uri_is_sent_without_what_was_said_to_the_proxy() {
    let (address, mut told) = recording("", CLOSE).await;
    let rig = Rig::new(Script::allowing().mapping("a.test", address)).await;
    let mut stream = rig.to_proxy().await;
    let request =
        b"GET http://a.test/x?y HTTP/1.1\r\nHost: a.test\r\nProxy-Connection: keep-alive\r\n\
        Proxy-Authorization: Basic eA==\r\nX-Mine: 1\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let answer = read_until(&mut stream, "\r\n\r\nok").await;
    assert_eq!(answer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    drop(stream);
    let got = String::from_utf8(told.recv().await.unwrap()).unwrap();
    assert_eq!(
        got,
        "GET /x?y HTTP/1.1\r\nHost: a.test\r\nX-Mine: 1\r\n\r\n"
    );
    assert!(
        matches!(
            &rig.script.acts()[..],
            [
                Act::Connect {
                    port: 80,
                    via: Via::Proxy,
                    address: None,
                    ..
                },
                Act::Http {
                    port: 80,
                    via: Via::Proxy,
                    ..
                },
            ]
        ),
        "{:?}",
        rig.script.acts()
    );
}

#[tokio::test]
async fn a_tunnel_is_decided_and_then_its_first_bytes_are() {
    let script = Script::denying(
        |act| matches!(act, Act::Tls { sni: Some(sni), .. } if sni.to_string() != "a.test"),
    );
    let rig = Rig::new(script.mapping("a.test", echo().await)).await;
    for (name, passes) in [("a.test", true), ("evil.test", false)] {
        let mut stream = rig.to_proxy().await;
        stream
            .write_all(b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n")
            .await
            .unwrap();
        let answer = read_until(&mut stream, "\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        if passes {
            echoes(&mut stream, &hello::naming(name)).await;
        } else {
            stream.write_all(&hello::naming(name)).await.unwrap();
            assert!(stream.read_u8().await.is_err());
        }
    }
}

#[tokio::test]
async fn bytes_that_came_with_connect_are_not_lost() {
    let rig = Rig::new(Script::allowing().mapping("a.test", echo().await)).await;
    let mut stream = rig.to_proxy().await;
    let mut bytes = b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n".to_vec();
    bytes.extend(b"\0early");
    stream.write_all(&bytes).await.unwrap();
    let mut all = Vec::new();
    while !all.ends_with(b"\0early") {
        assert!(stream.read_buf(&mut all).await.unwrap() > 0);
    }
}

#[tokio::test]
async fn a_request_inside_a_tunnel_is_decided_as_one() {
    let (address, _told) = recording("", CLOSE).await;
    let script = Script::denying(
        |act| matches!(act, Act::Http { path, .. } if path.to_string() == "/secret"),
    );
    let rig = Rig::new(script.mapping("a.test", address)).await;
    let mut stream = rig.to_proxy().await;
    stream
        .write_all(b"CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80\r\n\r\n")
        .await
        .unwrap();
    read_until(&mut stream, "\r\n\r\n").await;
    let request = b"GET /secret HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n";
    let answer = exchange(&mut stream, request).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
}

#[tokio::test]
async fn what_the_proxy_does_not_do_it_says() {
    let script = Script::denying(
        |act| matches!(act, Act::Connect { host, .. } if host.to_string() == "evil.test"),
    );
    let rig = Rig::new(script.mapping("gone.test", nobody())).await;
    for (request, code, says) in [
        (
            "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443",
            "403",
            "change the script",
        ),
        (
            "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test",
            "403",
            "change the script",
        ),
        (
            "CONNECT gone.test:443 HTTP/1.1\r\nHost: gone.test:443",
            "502",
            "could not connect to gone.test:443",
        ),
        (
            "GET https://a.test/ HTTP/1.1\r\nHost: a.test",
            "400",
            "open a tunnel with CONNECT",
        ),
        (
            "GET / HTTP/1.1\r\nHost: 127.0.0.1",
            "400",
            "This is the proxy",
        ),
        (
            "CONNECT u@a.test:443 HTTP/1.1\r\nHost: a.test:443",
            "400",
            "user name",
        ),
    ] {
        let mut stream = rig.to_proxy().await;
        let answer = exchange(&mut stream, format!("{request}\r\n\r\n").as_bytes()).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {code} ")),
            "{request}: {answer}"
        );
        assert!(answer.contains(says), "{request}: {answer}");
    }
}

#[tokio::test]
async fn socks_carries_a_name_and_replies_what_became_of_it() {
    let script = Script::denying(
        |act| matches!(act, Act::Connect { host, .. } if host.to_string() == "evil.test"),
    );
    let rig = Rig::new(
        script
            .mapping("a.test", echo().await)
            .mapping("gone.test", nobody()),
    )
    .await;
    let (mut stream, reply) = socks(&rig, "a.test", 22).await;
    assert_eq!(reply, 0);
    echoes(&mut stream, b"SSH-2.0-me\r\n").await;
    assert_eq!(socks(&rig, "evil.test", 22).await.1, 2);
    assert_eq!(socks(&rig, "gone.test", 22).await.1, 5);
    assert_eq!(socks(&rig, "not a host", 22).await.1, 4);
    assert!(matches!(
        rig.script.acts()[0],
        Act::Connect {
            port: 22,
            via: Via::Socks5,
            ..
        }
    ));
}

#[tokio::test]
async fn a_synthetic_address_given_to_a_proxy_means_its_name() {
    let rig = Rig::new(Script::allowing().mapping("a.test", echo().await)).await;
    let (address, _) = rig.context.names.bind("a.test").unwrap();
    let (mut stream, reply) = socks(&rig, &address.to_string(), 443).await;
    assert_eq!(reply, 0);
    echoes(&mut stream, &hello::naming("a.test")).await;
}

#[tokio::test]
async fn loopback_through_a_proxy_is_the_sandboxs_own() {
    let own = echo().await.port();
    let rig = Rig::new(Script::denying(|_| true)).await;
    for host in ["localhost", "127.0.0.1", "api.localhost", "0.0.0.0"] {
        let (mut stream, reply) = socks(&rig, host, own).await;
        assert_eq!(reply, 0, "{host}");
        echoes(&mut stream, b"GET / HTTP/1.1\r\n\r\n").await;
    }
    let (address, _told) = recording("", CLOSE).await;
    let mut stream = rig.to_proxy().await;
    let port = address.port();
    let request =
        format!("GET http://localhost:{port}/ HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    assert!(
        read_until(&mut stream, "ok")
            .await
            .starts_with("HTTP/1.1 200 ")
    );
    assert!(rig.script.acts().is_empty(), "{:?}", rig.script.told());
}

#[tokio::test]
async fn old_and_foreign_protocols_are_turned_away() {
    let rig = Rig::new(Script::allowing()).await;
    let mut stream = rig.to_proxy().await;
    stream
        .write_all(&[4, 1, 0, 80, 1, 1, 1, 1, 0])
        .await
        .unwrap();
    let mut reply = [1; 8];
    stream.read_exact(&mut reply).await.unwrap();
    assert_eq!(reply[..2], [0, 0x5b]);
    let mut stream = rig.to_proxy().await;
    stream.write_all(&[5, 1, 2]).await.unwrap();
    let mut reply = [0; 2];
    stream.read_exact(&mut reply).await.unwrap();
    assert_eq!(reply, [5, 0xff]);
    let mut stream = rig.to_proxy().await;
    stream.write_all(&hello::naming("a.test")).await.unwrap();
    assert!(stream.read_u8().await.is_err());
}
