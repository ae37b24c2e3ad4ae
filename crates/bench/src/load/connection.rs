//! One connection of the load client: TCP, TLS with a full handshake, HTTP. Nothing is resumed and
//! nothing is retried, because a second try would hide the error of the first.

use super::job::{Target, What};
use super::page::PAGE;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::fmt::Write as _;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// How a target is reached, made ready once for many connections.
#[derive(Clone)]
pub(super) struct Way {
    config: Arc<ClientConfig>,
    address: SocketAddr,
    proxy: Option<SocketAddr>,
    name: String,
    /// The name as requests have it, with a port that is not the usual one.
    host: String,
    http2: bool,
    plain: bool,
}

enum Sender {
    One(http1::SendRequest<Empty<Bytes>>),
    Two(http2::SendRequest<Empty<Bytes>>),
}

/// A connection that stays.
pub(crate) struct Kept {
    sender: Sender,
    name: String,
    issuer: String,
}

fn say(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Way {
    /// Reads the authorities, and looks the name up where no address is given.
    pub(super) fn to(target: &Target) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        let file = CertificateDer::pem_file_iter(&target.roots)
            .map_err(|error| format!("{}: {error}", target.roots.display()))?;
        for certificate in file {
            roots.add(certificate.map_err(say)?).map_err(say)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(say)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.resumption = rustls::client::Resumption::disabled();
        config.alpn_protocols = vec![match target.http2 {
            true => b"h2".to_vec(),
            false => b"http/1.1".to_vec(),
        }];
        let address = match target.address {
            Some(address) => address,
            None => (target.name.as_str(), target.port)
                .to_socket_addrs()
                .map_err(|error| format!("{}: {error}", target.name))?
                .find(SocketAddr::is_ipv4)
                .ok_or("the name has no address")?,
        };
        let usual = if target.plain { 80 } else { 443 };
        Ok(Self {
            config: Arc::new(config),
            address,
            proxy: target.proxy,
            name: target.name.clone(),
            host: match target.address.is_none() && target.port != usual {
                true => format!("{}:{}", target.name, target.port),
                false => target.name.clone(),
            },
            http2: target.http2,
            plain: target.plain,
        })
    }

    /// A new connection.
    pub(super) async fn connect(&self) -> Result<Kept, String> {
        let address = self.proxy.unwrap_or(self.address);
        let mut stream = TcpStream::connect(address)
            .await
            .map_err(|error| format!("connect: {error}"))?;
        stream.set_nodelay(true).map_err(say)?;
        if self.proxy.is_some() {
            tunnel(&mut stream, &self.address.to_string()).await?;
        }
        if self.plain {
            let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(say)?;
            tokio::spawn(connection);
            return Ok(Kept {
                sender: Sender::One(sender),
                name: self.host.clone(),
                issuer: String::new(),
            });
        }
        let name = ServerName::try_from(self.name.clone()).map_err(say)?;
        let stream = TlsConnector::from(Arc::clone(&self.config))
            .connect(name, stream)
            .await
            .map_err(|error| format!("TLS: {error}"))?;
        let certificates = stream.get_ref().1.peer_certificates();
        let leaf = certificates.and_then(<[_]>::first);
        let issuer = leaf
            .and_then(|leaf| Some(hex(webpki::EndEntityCert::try_from(leaf).ok()?.issuer())))
            .ok_or("the server shows no certificate")?;
        let io = TokioIo::new(stream);
        let sender = if self.http2 {
            let builder = http2::Builder::new(TokioExecutor::new());
            let (sender, connection) = builder.handshake(io).await.map_err(say)?;
            tokio::spawn(connection);
            Sender::Two(sender)
        } else {
            let (sender, connection) = http1::handshake(io).await.map_err(say)?;
            tokio::spawn(connection);
            Sender::One(sender)
        };
        Ok(Kept {
            sender,
            name: self.host.clone(),
            issuer,
        })
    }
}

/// Asks a proxy for a way to a server.
async fn tunnel(stream: &mut TcpStream, server: &str) -> Result<(), String> {
    let request = format!("CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.map_err(say)?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.map_err(say)?);
        if answer.len() > 4096 {
            return Err("the proxy answers without end".to_owned());
        }
    }
    match answer.get(9..12) {
        Some(b"200") => Ok(()),
        _ => Err(format!(
            "the proxy says {}",
            String::from_utf8_lossy(&answer)
        )),
    }
}

impl Kept {
    /// Who certified the server.
    pub(super) fn issuer(&self) -> String {
        self.issuer.clone()
    }

    /// Sends a request; the answer's body has not been read.
    pub(super) async fn send(&mut self, path: &str) -> Result<Response<Incoming>, String> {
        let request = Request::builder();
        let request = match self.sender {
            Sender::One(_) => request.uri(path).header("host", &self.name),
            Sender::Two(_) => request.uri(format!("https://{}{path}", self.name)),
        };
        let request = request.body(Empty::new()).map_err(say)?;
        let sent = match &mut self.sender {
            Sender::One(sender) => {
                sender.ready().await.map_err(say)?;
                sender.send_request(request).await
            }
            Sender::Two(sender) => {
                sender.ready().await.map_err(say)?;
                sender.send_request(request).await
            }
        };
        sent.map_err(|error| format!("{path}: {error}"))
    }

    /// Sends a request and reads its answer, which has to be exactly what it should be.
    pub(super) async fn ask(&mut self, what: &What) -> Result<(), String> {
        let response = self.send(&what.path).await?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(say)?.to_bytes();
        match &what.refused_by {
            None if head.status == StatusCode::OK && *body == *PAGE.as_bytes() => Ok(()),
            Some(rule) if is_refusal(&head, &body, rule) => Ok(()),
            _ => Err(format!(
                "{}: status {}, {} bytes: {}",
                what.path,
                head.status,
                body.len(),
                String::from_utf8_lossy(&body[..body.len().min(200)])
            )),
        }
    }
}

fn is_refusal(head: &hyper::http::response::Parts, body: &[u8], rule: &str) -> bool {
    let named = head.headers.get("x-bailiwick-rule");
    let said = format!("rule: {rule} (");
    head.status == StatusCode::FORBIDDEN
        && named.is_some_and(|value| value.as_bytes().starts_with(rule.as_bytes()))
        && body.starts_with(b"refused by policy: GET https://")
        && body.windows(said.len()).any(|part| part == said.as_bytes())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
