//! The servers that a doctor asks programs to reach: one of TLS, whose authority nobody trusts but the
//! gate, and one without. They remember who has asked.

use bailiwick_event::{Failure, Host};
use bailiwick_gate::ca::{Authority, Leaves};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a program may say nothing.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is at a path: the type and the contents; nothing where none is.
pub(super) type Pages = Box<dyn Fn(&str) -> Option<(&'static str, Vec<u8>)> + Send + Sync>;

/// What is served, and to whom it was.
struct Site {
    pages: Pages,
    asked: Mutex<BTreeSet<String>>,
}

/// A server on the host's loopback.
pub(super) struct Server {
    pub(super) port: u16,
    site: Arc<Site>,
}

#[derive(Debug)]
struct Only(Arc<CertifiedKey>);

impl ResolvesServerCert for Only {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

fn fault(error: &dyn std::fmt::Display) -> Failure {
    Failure::fault(format!("the server: {error}"))
}

impl Server {
    /// Serves a name over TLS; the authority is made in `folder`, and its certificate is returned.
    pub(super) fn tls(folder: &Path, name: &str, pages: Pages) -> Result<(Self, String), Failure> {
        let authority = Arc::new(Authority::rotate(folder).map_err(|e| fault(&e))?);
        let leaves = Leaves::new(Arc::clone(&authority)).map_err(|e| fault(&e))?;
        let leaf = leaves
            .of(&Host::Name(name.to_owned()))
            .map_err(|e| fault(&e))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| fault(&e))?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(Only(leaf)));
        let config = Arc::new(config);
        let server = Self::start(pages, move |stream, site| {
            let Ok(connection) = ServerConnection::new(Arc::clone(&config)) else {
                return;
            };
            let mut stream = StreamOwned::new(connection, stream);
            answer(&mut stream, site);
            stream.conn.send_close_notify();
            let _ = stream.flush();
        })?;
        Ok((server, authority.pem().to_owned()))
    }

    /// Serves without TLS.
    pub(super) fn plain(pages: Pages) -> Result<Self, Failure> {
        Self::start(pages, |mut stream, site| answer(&mut stream, site))
    }

    fn start(
        pages: Pages,
        serve: impl Fn(TcpStream, &Site) + Clone + Send + 'static,
    ) -> Result<Self, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| fault(&e))?;
        let port = listener.local_addr().map_err(|e| fault(&e))?.port();
        let site = Arc::new(Site {
            pages,
            asked: Mutex::default(),
        });
        let shared = Arc::clone(&site);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (serve, site) = (serve.clone(), Arc::clone(&shared));
                std::thread::spawn(move || {
                    let _ = stream.set_read_timeout(Some(PATIENCE));
                    serve(stream, &site);
                });
            }
        });
        Ok(Self { port, site })
    }

    /// Whether something below this folder was asked for.
    pub(super) fn was_asked_by(&self, name: &str) -> bool {
        let asked = self.site.asked.lock();
        asked.unwrap_or_else(PoisonError::into_inner).contains(name)
    }
}

/// Answers one request, and notes the first part of its path.
fn answer(stream: &mut (impl Read + Write), site: &Site) {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    if stream.read_line(&mut line).is_err() {
        return;
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut rest = String::new();
    while stream.read_line(&mut rest).is_ok_and(|n| n > 2) {
        rest.clear();
    }
    let name = path.trim_start_matches('/').split(['/', '?']).next();
    let mut asked = site.asked.lock().unwrap_or_else(PoisonError::into_inner);
    asked.insert(name.unwrap_or_default().to_owned());
    drop(asked);
    let (status, kind, contents) = match (site.pages)(&path) {
        Some((kind, contents)) => ("200 OK", kind, contents),
        None => ("404 Not Found", "text/plain", Vec::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        contents.len()
    );
    let stream = stream.get_mut();
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(&contents))
        .and_then(|()| stream.flush());
}
