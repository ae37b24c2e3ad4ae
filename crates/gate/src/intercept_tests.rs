use crate::ca::{Authority, Leaves};
use crate::secure::Inspection;
use crate::testing::{Rig, Script, nobody, server};
use bailiwick_event::{Act, Host};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use rustls::server::ResolvesServerCertUsingSni;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::convert::Infallible;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// An authority, and the file of its certificate.
struct World {
    authority: Arc<Authority>,
    roots: tempfile::NamedTempFile,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Arc::new(Authority::open(folder.path()).unwrap());
        let mut roots = tempfile::NamedTempFile::new().unwrap();
        roots.write_all(authority.pem().as_bytes()).unwrap();
        Self { authority, roots }
    }

    /// What a gate needs that has its own authority and trusts this one's servers.
    fn inspection(&self) -> Inspection {
        Inspection {
            authority: World::new().authority,
            roots: vec![self.roots.path().to_owned()],
        }
    }

    /// A server for these names that answers with what it was asked, and how many connections it
    /// had.
    async fn server(&self, names: &[&str], protocols: &[&str]) -> (SocketAddr, Arc<AtomicUsize>) {
        let leaves = Leaves::new(self.authority.clone()).unwrap();
        let mut resolver = ResolvesServerCertUsingSni::new();
        for name in names {
            let leaf = leaves.of(&Host::parse(name).unwrap()).unwrap();
            resolver.add(name, (*leaf).clone()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(resolver));
        config.alpn_protocols = protocols.iter().map(|p| p.as_bytes().to_vec()).collect();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        let address = server(move |stream| {
            let (acceptor, count) = (acceptor.clone(), count.clone());
            async move {
                let Ok(stream) = acceptor.accept(stream).await else {
                    return;
                };
                count.fetch_add(1, Ordering::SeqCst);
                let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                let io = TokioIo::new(stream);
                let _ = match http2 {
                    true => {
                        let builder =
                            hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                        builder.serve_connection(io, service_fn(told)).await
                    }
                    false => {
                        let builder = hyper::server::conn::http1::Builder::new();
                        builder.serve_connection(io, service_fn(told)).await
                    }
                };
            }
        })
        .await;
        (address, connections)
    }
}

/// Answers with the request's version, names and body.
async fn told(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let version = request.version();
    let host = match request.uri().authority() {
        Some(authority) => authority.to_string(),
        None => format!("{:?}", request.headers().get("host")),
    };
    let path = request.uri().path().to_owned();
    let trailers = request.headers().contains_key("te");
    let body = request.into_body().collect().await;
    let body = body.map(|b| b.to_bytes().len()).unwrap_or(0);
    let text = format!("{version:?} {host} {path} {body} {trailers}");
    Ok(Response::new(Full::new(Bytes::from(text))))
}

/// A client that trusts an authority and offers these protocols.
async fn client(
    stream: TcpStream,
    authority: &Authority,
    name: &str,
    protocols: &[&str],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.certificate().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|p| p.as_bytes().to_vec()).collect();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
}

/// Sends one request by HTTP/1.1; gives the status and the body.
async fn ask(stream: &mut TlsStream<TcpStream>, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut all = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&all).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase()
                        .strip_prefix("content-length: ")
                        .map(str::to_owned)
                })
                .and_then(|n| n.parse::<usize>().ok())
                .unwrap_or(0);
            if body.len() >= length {
                let status = head.split(' ').nth(1).unwrap_or_default();
                return format!("{status} {body}");
            }
        }
        let n = stream.read_buf(&mut all).await.unwrap();
        assert!(n > 0, "it ended after {text:?}");
    }
}

#[tokio::test]
async fn a_request_within_tls_is_decided_and_arrives_as_it_was_sent() {
    let world = World::new();
    let (address, connections) = world.server(&["a.test"], &["http/1.1"]).await;
    let inspection = world.inspection();
    let authority = inspection.authority.clone();
    let script =
        Script::denying(|act| matches!(act, Act::Http { path, .. } if path.to_string() == "/no"));
    let script = script.mapping("a.test", address).inspecting(inspection);
    let rig = Rig::new(script).await;
    for _ in 0..2 {
        let stream = rig.to("a.test").await;
        let mut stream = client(stream, &authority, "a.test", &["http/1.1"])
            .await
            .unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
        let answer = ask(
            &mut stream,
            "POST /yes HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\nabc",
        )
        .await;
        assert_eq!(answer, "200 HTTP/1.1 Some(\"a.test\") /yes 3 false");
        let answer = ask(&mut stream, "GET /no HTTP/1.1\r\nHost: a.test\r\n\r\n").await;
        assert!(answer.starts_with("403 refused by policy"), "{answer}");
        let answer = ask(&mut stream, "GET /again HTTP/1.1\r\nHost: a.test\r\n\r\n").await;
        assert_eq!(answer, "200 HTTP/1.1 Some(\"a.test\") /again 0 false");
    }
    assert_eq!(
        connections.load(Ordering::SeqCst),
        1,
        "clients share the server's connection"
    );
    let told = rig.script.told();
    let port = rig.port();
    let once = [
        format!("socket a.test:{port}"),
        format!("socket a.test:{port}, inspected"),
        format!("http POST https://a.test:{port}/yes"),
        format!("http GET https://a.test:{port}/no"),
        format!("http GET https://a.test:{port}/again"),
    ];
    assert_eq!(told, [once.clone(), once].concat());
    let answers: Vec<_> = rig.script.noted().iter().map(Act::resource).collect();
    let yes = format!("200 to POST https://a.test:{port}/yes, 36 bytes");
    let again = format!("200 to GET https://a.test:{port}/again, 38 bytes");
    assert_eq!(answers, [yes.clone(), again.clone(), yes, again]);
}

#[tokio::test]
async fn http_2_stays_http_2_and_requests_run_side_by_side() {
    let world = World::new();
    let (address, connections) = world.server(&["a.test"], &["h2", "http/1.1"]).await;
    let inspection = world.inspection();
    let authority = inspection.authority.clone();
    let script =
        Script::denying(|act| matches!(act, Act::Http { path, .. } if path.to_string() == "/no"));
    let rig = Rig::new(script.mapping("a.test", address).inspecting(inspection)).await;
    for _ in 0..2 {
        let stream = rig.to("a.test").await;
        let stream = client(stream, &authority, "a.test", &["h2", "http/1.1"])
            .await
            .unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let one = |path: String| {
            let mut sender = sender.clone();
            async move {
                let request = Request::post(format!("https://a.test{path}"));
                let request = request
                    .body(Full::new(Bytes::from(vec![1; 70_000])))
                    .unwrap();
                let answer = sender.send_request(request).await.unwrap();
                assert_eq!(answer.version(), Version::HTTP_2);
                let status = answer.status().as_u16();
                let body = answer.into_body().collect().await.unwrap().to_bytes();
                (status, String::from_utf8_lossy(&body).into_owned())
            }
        };
        let mut all = tokio::task::JoinSet::new();
        for n in 0..20 {
            all.spawn(one(format!("/{n}")));
        }
        let answers = all.join_all().await;
        assert_eq!(answers.len(), 20);
        for (status, body) in answers {
            assert_eq!(status, 200, "{body}");
            assert!(
                body.starts_with("HTTP/2.0 a.test /") && body.contains(" 70000 "),
                "{body}"
            );
        }
        let (status, body) = one("/no".to_owned()).await;
        assert_eq!(status, 403, "{body}");
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_client_gets_the_protocol_that_its_server_would_have_chosen() {
    let world = World::new();
    let (address, _) = world.server(&["a.test"], &["http/1.1"]).await;
    let (plain, _) = world.server(&["b.test"], &[]).await;
    let inspection = world.inspection();
    let authority = inspection.authority.clone();
    let script = Script::allowing()
        .mapping("a.test", address)
        .mapping("b.test", plain);
    let rig = Rig::new(script.inspecting(inspection)).await;
    for (name, protocol) in [("a.test", Some(&b"http/1.1"[..])), ("b.test", None)] {
        for _ in 0..2 {
            let stream = rig.to(name).await;
            let mut stream = client(stream, &authority, name, &["h2", "http/1.1"])
                .await
                .unwrap();
            assert_eq!(stream.get_ref().1.alpn_protocol(), protocol);
            let request = format!("GET / HTTP/1.1\r\nHost: {name}\r\n\r\n");
            assert!(ask(&mut stream, &request).await.starts_with("200 HTTP/1.1"));
        }
    }
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_refused_with_the_reason() {
    let world = World::new();
    let stranger = World::new();
    let (address, _) = stranger.server(&["a.test"], &["h2", "http/1.1"]).await;
    let (other, _) = world
        .server(&["elsewhere.test", "b.test"], &["http/1.1"])
        .await;
    let inspection = world.inspection();
    let authority = inspection.authority.clone();
    let script = Script::allowing()
        .mapping("a.test", address)
        .mapping("c.test", other);
    let rig = Rig::new(script.inspecting(inspection)).await;
    let stream = rig.to("a.test").await;
    let mut stream = client(stream, &authority, "a.test", &["http/1.1"])
        .await
        .unwrap();
    let answer = ask(&mut stream, "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").await;
    assert!(
        answer.starts_with("403 ") && answer.contains("network.certificate"),
        "{answer}"
    );
    assert!(
        answer.contains("UnknownIssuer") && answer.contains("[network] roots"),
        "{answer}"
    );
    // A server that has no certificate for the name ends the handshake itself.
    let stream = rig.to("c.test").await;
    let mut stream = client(stream, &authority, "c.test", &["http/1.1"])
        .await
        .unwrap();
    let answer = ask(&mut stream, "GET / HTTP/1.1\r\nHost: c.test\r\n\r\n").await;
    assert!(
        answer.starts_with("502 could not connect to c.test"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_within_tls() {
    let world = World::new();
    let inspection = world.inspection();
    let authority = inspection.authority.clone();
    let script = Script::allowing().mapping("a.test", nobody());
    let rig = Rig::new(script.inspecting(inspection)).await;
    let stream = rig.to("a.test").await;
    let mut stream = client(stream, &authority, "a.test", &["http/1.1"])
        .await
        .unwrap();
    let answer = ask(&mut stream, "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").await;
    assert!(
        answer.starts_with("502 could not connect to a.test"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_name_that_is_refused_gets_no_certificate() {
    let world = World::new();
    let (address, connections) = world.server(&["a.test", "b.test"], &["http/1.1"]).await;
    let inspection = world.inspection();
    let authority = inspection.authority.clone();
    let script = Script::denying(
        |act| matches!(act, Act::Tls { sni: Some(sni), .. } if sni.to_string() == "b.test"),
    );
    let rig = Rig::new(script.mapping("a.test", address).inspecting(inspection)).await;
    let stream = rig.to("a.test").await;
    assert!(
        client(stream, &authority, "b.test", &["http/1.1"])
            .await
            .is_err()
    );
    assert_eq!(connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn the_host_header_is_decided_and_not_what_the_connection_was_opened_for() {
    let world = World::new();
    let (address, _) = world.server(&["a.test"], &["http/1.1"]).await;
    let inspection = world.inspection();
    let authority = inspection.authority.clone();
    let script = Script::denying(
        |act| matches!(act, Act::Http { host, .. } if host.to_string() != "a.test"),
    );
    let rig = Rig::new(script.mapping("a.test", address).inspecting(inspection)).await;
    let stream = rig.to("a.test").await;
    let mut stream = client(stream, &authority, "a.test", &["http/1.1"])
        .await
        .unwrap();
    for host in ["b.test", "B.TEST.", "b.test:443"] {
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert!(
            ask(&mut stream, &request).await.starts_with("403 "),
            "{host}"
        );
    }
    let absolute = "GET https://b.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n";
    assert!(ask(&mut stream, absolute).await.starts_with("403 "));
    let wrong = "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n";
    assert!(ask(&mut stream, wrong).await.starts_with("400 "));
}

#[tokio::test]
async fn what_is_no_http_within_tls_is_passed_both_ways() {
    let world = World::new();
    let leaves = Leaves::new(world.authority.clone()).unwrap();
    let leaf = leaves.of(&Host::parse("a.test").unwrap()).unwrap();
    let mut resolver = ResolvesServerCertUsingSni::new();
    resolver.add("a.test", (*leaf).clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(resolver));
    let acceptor = TlsAcceptor::from(Arc::new(config));
    // It speaks first.
    let address = server(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let mut stream = acceptor.accept(stream).await.unwrap();
            stream.write_all(b"* OK ready\r\n").await.unwrap();
            let mut line = vec![0; 9];
            stream.read_exact(&mut line).await.unwrap();
            stream.write_all(&line).await.unwrap();
            let _ = stream.shutdown().await;
        }
    })
    .await;
    let inspection = world.inspection();
    let authority = inspection.authority.clone();
    let script = Script::allowing().mapping("a.test", address);
    let rig = Rig::new(script.inspecting(inspection)).await;
    for _ in 0..2 {
        let stream = rig.to("a.test").await;
        let mut stream = client(stream, &authority, "a.test", &[]).await.unwrap();
        let mut greeting = vec![0; 12];
        stream.read_exact(&mut greeting).await.unwrap();
        assert_eq!(greeting, b"* OK ready\r\n");
        stream.write_all(b"a LOGIN\r\n").await.unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"a LOGIN\r\n");
    }
}
