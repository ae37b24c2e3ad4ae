use crate::testing::{Rig, Script, exchange, read_until, recording, server};
use bailiwick_event::Act;
use proptest::prelude::*;
use std::cmp::Ordering;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const CLOSE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

fn path_of(act: &Act) -> Option<String> {
    match act {
        Act::Http { path, .. } => Some(path.to_string()),
        _ => None,
    }
}

fn denying_path(denied: &'static str) -> Script {
    Script::denying(move |act| path_of(act).is_some_and(|path| path.starts_with(denied)))
}

#[tokio::test]
async fn every_request_of_a_connection_is_decided_anew() {
    let (address, mut told) = recording("", OK).await;
    let rig = Rig::new(denying_path("/secret").mapping("a.test", address)).await;
    let mut stream = rig.to("a.test").await;
    for (path, code) in [("/a", "200"), ("/secret", "403"), ("/b", "200")] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let end = if code == "200" {
            "\r\n\r\nok"
        } else {
            "change the script\n"
        };
        let answer = read_until(&mut stream, end).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {code} ")), "{answer}");
    }
    drop(stream);
    let got = String::from_utf8(told.recv().await.unwrap()).unwrap();
    assert_eq!(
        got,
        "GET /a HTTP/1.1\r\nHost: a.test\r\n\r\nGET /b HTTP/1.1\r\nHost: a.test\r\n\r\n"
    );
}

#[tokio::test]
async fn a_request_is_decided_by_the_host_that_it_names() {
    let (address, _told) = recording("", CLOSE).await;
    let rig = Rig::new(Script::allowing().mapping("a.test", address)).await;
    let mut stream = rig.to("a.test").await;
    exchange(
        &mut stream,
        b"DELETE /x?y HTTP/1.1\r\nHost: Evil.TEST.:99\r\n\r\n",
    )
    .await;
    let act = rig.script.acts().pop().unwrap();
    let Act::Http {
        method,
        host,
        connected,
        path,
        ..
    } = act
    else {
        panic!("{act:?}");
    };
    let said = [method, host, connected, path].map(|text| text.to_string());
    assert_eq!(said, ["DELETE", "evil.test", "a.test", "/x?y"]);
}

#[tokio::test]
async fn a_host_in_the_target_alone_is_the_one_that_the_server_hears() {
    let (address, mut told) = recording("", CLOSE).await;
    let rig = Rig::new(Script::allowing().mapping("a.test", address)).await;
    let mut stream = rig.to("a.test").await;
    exchange(&mut stream, b"GET http://b.test:81/x HTTP/1.0\r\n\r\n").await;
    drop(stream);
    let act = rig.script.acts().pop().unwrap();
    assert!(matches!(&act, Act::Http { host, .. } if host.to_string() == "b.test"));
    let got = String::from_utf8(told.recv().await.unwrap()).unwrap();
    assert_eq!(got, "GET /x HTTP/1.1\r\nhost: b.test:81\r\n\r\n");
}

#[tokio::test]
async fn a_uri_without_a_path_reaches_the_server_as_it_was_decided() {
    let (address, mut told) = recording("", CLOSE).await;
    let rig = Rig::new(Script::allowing().mapping("a.test", address)).await;
    let mut stream = rig.to("a.test").await;
    let request = b"GET http://a.test?q HTTP/1.1\r\nHost: a.test\r\n\r\n";
    exchange(&mut stream, request).await;
    drop(stream);
    let act = rig.script.acts().pop().unwrap();
    assert_eq!(path_of(&act), Some("/?q".to_owned()));
    let got = String::from_utf8(told.recv().await.unwrap()).unwrap();
    assert!(got.starts_with("GET /?q HTTP/1.1\r\n"), "{got}");
}

#[tokio::test]
async fn a_get_keeps_its_body() {
    let (address, mut told) = recording("", CLOSE).await;
    let rig = Rig::new(Script::allowing().mapping("a.test", address)).await;
    let mut stream = rig.to("a.test").await;
    let head = "GET /x HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n";
    exchange(
        &mut stream,
        format!("{head}2\r\nhi\r\n0\r\n\r\n").as_bytes(),
    )
    .await;
    drop(stream);
    let got = String::from_utf8(told.recv().await.unwrap()).unwrap();
    assert!(
        got.to_lowercase()
            .contains("transfer-encoding: chunked\r\n"),
        "{got}"
    );
    assert!(got.ends_with("\r\n\r\n2\r\nhi\r\n0\r\n\r\n"), "{got}");
}

#[tokio::test]
async fn what_is_sent_on_is_what_came_and_nothing_is_added() {
    let (address, mut told) = recording("", CLOSE).await;
    let rig = Rig::new(Script::allowing().mapping("a.test", address)).await;
    let mut stream = rig.to("a.test").await;
    let request =
        "POST /a%20b?c=d HTTP/1.1\r\nhOsT: a.test\r\nX-ODD-case: 1\r\nContent-Length: 3\r\n\r\nabc";
    let answer = exchange(&mut stream, request.as_bytes()).await;
    assert_eq!(answer, CLOSE);
    assert_eq!(
        String::from_utf8(told.recv().await.unwrap()).unwrap(),
        request
    );
}

#[tokio::test]
async fn a_malformed_request_is_answered_and_never_sent() {
    let (address, mut told) = recording("", OK).await;
    let rig = Rig::new(Script::allowing().mapping("a.test", address)).await;
    let big = format!(
        "GET / HTTP/1.1\r\nHost: a.test\r\nX: {}\r\n\r\n",
        "x".repeat(70_000)
    );
    let many = format!(
        "GET / HTTP/1.1\r\nHost: a.test\r\n{}\r\n",
        "X: 1\r\n".repeat(101)
    );
    for (request, code) in [
        ("GET / HTTP/1.1\r\n\r\n", "400"),
        (
            "GET / HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n",
            "400",
        ),
        ("GET http://b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", "400"),
        (
            "CONNECT b.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n",
            "400",
        ),
        ("GET /\r\n\r\n", "400"),
        (
            "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "400",
        ),
        (
            "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "400",
        ),
        (&big, "431"),
        (&many, "431"),
    ] {
        let mut stream = rig.to("a.test").await;
        let answer = exchange(&mut stream, request.as_bytes()).await;
        let line = request.lines().next().unwrap();
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {code} ")),
            "{line}: {answer}"
        );
    }
    // Nothing but empty connections reached the server.
    while let Ok(got) = told.try_recv() {
        assert_eq!(got, b"");
    }
    assert!(rig.script.acts().iter().all(|act| path_of(act).is_none()));
}

#[tokio::test]
async fn bodies_stream_in_both_directions() {
    let address = server(|mut stream| async move {
        read_until(&mut stream, "first\r\n").await;
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n";
        stream.write_all(head).await.unwrap();
        read_until(&mut stream, "0\r\n\r\n").await;
        stream.write_all(b"3\r\ntwo\r\n0\r\n\r\n").await.unwrap();
    })
    .await;
    let rig = Rig::new(Script::allowing().mapping("a.test", address)).await;
    let mut stream = rig.to("a.test").await;
    let head =
        b"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n";
    stream.write_all(head).await.unwrap();
    // The answer's first part comes while the request's last part is still unsent.
    read_until(&mut stream, "one\r\n").await;
    stream.write_all(b"0\r\n\r\n").await.unwrap();
    assert_eq!(
        read_until(&mut stream, "0\r\n\r\n").await,
        "3\r\ntwo\r\n0\r\n\r\n"
    );
}

#[tokio::test]
async fn an_expectation_is_met_only_for_an_allowed_request() {
    let (address, _told) = recording("", CLOSE).await;
    let rig = Rig::new(denying_path("/secret").mapping("a.test", address)).await;
    let head = |path| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
        )
    };
    let mut stream = rig.to("a.test").await;
    stream.write_all(head("/a").as_bytes()).await.unwrap();
    assert_eq!(
        read_until(&mut stream, "\r\n\r\n").await,
        "HTTP/1.1 100 Continue\r\n\r\n"
    );
    assert_eq!(exchange(&mut stream, b"abc").await, CLOSE);
    let mut stream = rig.to("a.test").await;
    let answer = exchange(&mut stream, head("/secret").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
}

#[tokio::test]
async fn a_websocket_opens_after_its_decision_and_then_passes_bytes() {
    let address = server(|mut stream| async move {
        let head = read_until(&mut stream, "\r\n\r\n").await;
        assert!(head.to_lowercase().contains("upgrade: websocket"), "{head}");
        let answer = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x02hi";
        stream.write_all(answer).await.unwrap();
        let (mut read, mut write) = stream.split();
        let _ = tokio::io::copy(&mut read, &mut write).await;
    })
    .await;
    let rig = Rig::new(Script::allowing().mapping("a.test", address)).await;
    let mut stream = rig.to("a.test").await;
    let request =
        b"GET /ws HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut all = Vec::new();
    while !all.ends_with(b"\x81\x02hi") {
        assert!(stream.read_buf(&mut all).await.unwrap() > 0);
    }
    assert!(all.starts_with(b"HTTP/1.1 101 "));
    stream.write_all(b"\x81\x02yo").await.unwrap();
    let mut back = [0; 4];
    stream.read_exact(&mut back).await.unwrap();
    assert_eq!(&back, b"\x81\x02yo");
}

#[tokio::test]
async fn a_server_may_not_change_the_protocol_by_itself() {
    let (address, _told) = recording(
        "",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
    )
    .await;
    let rig = Rig::new(Script::allowing().mapping("a.test", address)).await;
    let mut stream = rig.to("a.test").await;
    let request = b"GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";
    let answer = exchange(&mut stream, request).await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
}

#[tokio::test]
async fn the_answer_to_head_has_a_length_and_no_body() {
    let (address, _told) = recording(
        "",
        "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nConnection: close\r\n\r\n",
    )
    .await;
    let rig = Rig::new(Script::allowing().mapping("a.test", address)).await;
    let mut stream = rig.to("a.test").await;
    let answer = exchange(&mut stream, b"HEAD / HTTP/1.1\r\nHost: a.test\r\n\r\n").await;
    assert!(
        answer.contains("Content-Length: 99\r\n") && answer.ends_with("\r\n\r\n"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_server_that_closed_meanwhile_is_dialled_again() {
    let address = server(|mut stream| async move {
        read_until(&mut stream, "\r\n\r\n").await;
        stream.write_all(OK.as_bytes()).await.unwrap();
    })
    .await;
    let rig = Rig::new(Script::allowing().mapping("a.test", address)).await;
    let mut stream = rig.to("a.test").await;
    for _ in 0..5 {
        let request = b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
        stream.write_all(request).await.unwrap();
        assert_eq!(read_until(&mut stream, "\r\n\r\nok").await, OK);
    }
}

#[tokio::test]
async fn a_client_that_has_said_all_still_gets_its_answer() {
    let (address, _told) = recording("", CLOSE).await;
    let rig = Rig::new(Script::allowing().mapping("a.test", address)).await;
    let mut stream = rig.to("a.test").await;
    let request = b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
    stream.write_all(request).await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(exchange(&mut stream, b"").await, CLOSE);
}

#[tokio::test]
async fn trailers_pass_in_both_directions() {
    let address = server(|mut stream| async move {
        let all = read_until(&mut stream, "7\r\n\r\n")
            .await
            .to_ascii_lowercase();
        assert!(all.contains("0\r\nx-sum: 7\r\n"), "{all}");
        let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n\
            2\r\nok\r\n0\r\nX-End: 8\r\n\r\n";
        stream.write_all(answer).await.unwrap();
    })
    .await;
    let rig = Rig::new(Script::allowing().mapping("a.test", address)).await;
    let mut stream = rig.to("a.test").await;
    let request = b"POST / HTTP/1.1\r\nHost: a.test\r\nTE: trailers\r\nTrailer: X-Sum\r\n\
        Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX-Sum: 7\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let all = read_until(&mut stream, "8\r\n\r\n").await;
    let end = "2\r\nok\r\n0\r\nx-end: 8\r\n\r\n";
    assert!(all.to_ascii_lowercase().ends_with(end), "{all}");
}

/// What a server that reads strictly makes of the bytes of one connection.
#[derive(Debug, PartialEq)]
enum Sent {
    /// One request, and nothing after it.
    One,
    /// The beginning of one request, and nothing after it.
    Unfinished,
    /// Two framings, or something after the request.
    Ambiguous(&'static str),
}

fn sent(bytes: &[u8]) -> Sent {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return Sent::Unfinished;
    };
    let head = head.to_ascii_lowercase();
    let values = |name| {
        head.split("\r\n")
            .filter_map(move |line| line.strip_prefix(name))
    };
    let lengths: Vec<_> = values("content-length: ").collect();
    let codings: Vec<_> = values("transfer-encoding: ").collect();
    match (&lengths[..], &codings[..]) {
        ([], []) if body.is_empty() => Sent::One,
        ([], []) => Sent::Ambiguous("a body without a framing"),
        ([length], []) => match body.len().cmp(&length.parse().unwrap()) {
            Ordering::Less => Sent::Unfinished,
            Ordering::Equal => Sent::One,
            Ordering::Greater => Sent::Ambiguous("more than its length"),
        },
        ([], ["chunked"]) => chunks(body),
        _ => Sent::Ambiguous("two framings, or an unknown one"),
    }
}

fn chunks(mut body: &str) -> Sent {
    loop {
        let Some((size, rest)) = body.split_once("\r\n") else {
            return Sent::Unfinished;
        };
        let Ok(size) = usize::from_str_radix(size, 16) else {
            return Sent::Ambiguous("no chunk");
        };
        if size == 0 {
            // Trailers end at an empty line.
            let end = if rest.starts_with("\r\n") {
                Some(2)
            } else {
                rest.find("\r\n\r\n").map(|i| i + 4)
            };
            return match end {
                Some(end) if end == rest.len() => Sent::One,
                Some(_) => Sent::Ambiguous("something after the last chunk"),
                None => Sent::Unfinished,
            };
        }
        let Some((_, after)) = rest.split_at_checked(size) else {
            return Sent::Unfinished;
        };
        match after.strip_prefix("\r\n") {
            Some(after) => body = after,
            None if "\r\n".starts_with(after) => return Sent::Unfinished,
            None => return Sent::Ambiguous("a chunk longer than its size"),
        }
    }
}

#[test]
fn the_strict_reader_of_these_tests_is_strict() {
    let one = |rest: &str| sent(format!("POST / HTTP/1.1\r\n{rest}").as_bytes());
    let chunked = "Transfer-Encoding: chunked\r\n\r\n";
    assert_eq!(one("Content-Length: 2\r\n\r\nab"), Sent::One);
    assert_eq!(one("Content-Length: 3\r\n\r\nab"), Sent::Unfinished);
    assert_eq!(one(&format!("{chunked}2\r\nab\r\n0\r\n\r\n")), Sent::One);
    assert_eq!(one(&format!("{chunked}9\r\n0\r\n\r\n")), Sent::Unfinished);
    for bad in [
        "Content-Length: 1\r\n\r\nab".to_owned(),
        format!("{chunked}0\r\n\r\nGET"),
        format!("Content-Length: 1\r\n{chunked}0\r\n\r\n"),
        format!("{chunked}1\r\nabc"),
    ] {
        assert!(matches!(one(&bad), Sent::Ambiguous(_)), "{bad}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn no_framing_smuggles_a_second_request(
        headers in proptest::collection::vec(prop::sample::select(vec![
            "Content-Length: 0", "Content-Length: 5", "Content-Length: 43", "Content-Length: +5",
            "Content-Length: 5, 5", "Content-Length : 5", "Transfer-Encoding: chunked",
            "Transfer-Encoding: CHUNKED", "Transfer-Encoding : chunked", "Transfer-Encoding:\tchunked",
            "Transfer-Encoding: xchunked", "Transfer-Encoding: chunked, identity",
            "Transfer-Encoding: identity", "Transfer-Encoding: chunked\r\n ", "X: y\nContent-Length: 5",
            "X: y\rTransfer-Encoding: chunked", "Connection: Content-Length", "Connection: Transfer-Encoding",
        ]), 0..4),
        pieces in proptest::collection::vec(prop::sample::select(vec![
            "0\r\n\r\n", "5\r\nabcde\r\n", "abcde", "5;x=y\r\nabcde\r\n", "0\r\nX: y\r\n\r\n", "0\n\n",
            "GET /secret HTTP/1.1\r\nHost: a.test\r\n\r\n", "2\r\nGET /secret HTTP/1.1\r\n", "\r\n",
        ]), 0..4),
        proxied: bool,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (address, mut told) = recording("", CLOSE).await;
            let rig = Rig::new(denying_path("/secret").mapping("a.test", address)).await;
            let mut stream = if proxied { rig.to_proxy().await } else { rig.to("a.test").await };
            let target = if proxied { "http://a.test/open" } else { "/open" };
            let mut request = format!("POST {target} HTTP/1.1\r\nHost: a.test\r\n");
            for header in headers {
                request += header;
                request += "\r\n";
            }
            request += "\r\n";
            request.extend(pieces);
            stream.write_all(request.as_bytes()).await.unwrap();
            let _ = stream.shutdown().await;
            exchange(&mut stream, b"").await;
            drop(stream);
            let allowed = rig.script.acts().iter().any(|act| path_of(act).as_deref() == Some("/open"));
            // What a server that is late is not asked about here does not fail the test.
            while let Ok(Some(got)) = tokio::time::timeout(
                std::time::Duration::from_millis(20), told.recv()).await
            {
                if got.is_empty() {
                    continue;
                }
                assert!(allowed, "{request:?} was not decided, but sent: {}", got.escape_ascii());
                let line = b"POST /open HTTP/1.1\r\n";
                assert!(line.starts_with(&got[..got.len().min(line.len())]), "{}", got.escape_ascii());
                let read = sent(&got);
                assert!(!matches!(read, Sent::Ambiguous(_)), "{request:?}: {read:?}: {}", got.escape_ascii());
            }
        });
    }
}
