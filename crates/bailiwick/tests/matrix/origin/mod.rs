//! The servers of the matrix: one port of the loopback that speaks what real servers speak, chooses
//! the protocol by the name that it is asked for, and writes down every request as it arrived. What a
//! client did is read here, and not taken from the product's word.

mod answer;
mod connection;
mod grpc;
mod log;
mod model;
mod pieces;
mod served;
mod site;
mod websocket;

pub(crate) use log::{Log, NOTHING_SAID, Request, sha256};
pub(crate) use served::{EVENTS, HEADERS, Served};

use crate::support::Authority;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// A server that runs until this value is gone.
pub(crate) struct Origin {
    pub(crate) port: u16,
    pub(crate) served: Arc<Served>,
    _stop: oneshot::Sender<()>,
}

impl Origin {
    /// Serves `sites`, which has a folder for each name, besides what every name serves.
    pub(crate) fn start(authority: &Authority, sites: &Path) -> Self {
        let served = Arc::new(Served::new(sites));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let tls = Tls::of(authority);
        let (stop, stopped) = oneshot::channel::<()>();
        let shared = Arc::clone(&served);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let accepting =
                    connection::accept(TcpListener::from_std(listener).unwrap(), tls, shared);
                tokio::select! {
                    () = accepting => {}
                    _ = stopped => {}
                }
            });
            // A request that is still served does not hold up the test.
            runtime.shutdown_background();
        });
        Self {
            port,
            served,
            _stop: stop,
        }
    }
}

/// A configuration for each choice of protocols.
#[derive(Clone)]
struct Tls {
    both: Arc<ServerConfig>,
    http1: Arc<ServerConfig>,
    none: Arc<ServerConfig>,
}

impl Tls {
    fn of(authority: &Authority) -> Self {
        let chain = CertificateDer::pem_file_iter(&authority.leaf).unwrap();
        let chain: Vec<_> = chain.map(Result::unwrap).collect();
        let config = |protocols: &[&str]| {
            let key = PrivateKeyDer::from_pem_file(&authority.key).unwrap();
            let mut config = ServerConfig::builder()
                .with_no_client_auth()
                .with_single_cert(chain.clone(), key)
                .unwrap();
            config.alpn_protocols = protocols.iter().map(|p| p.as_bytes().to_vec()).collect();
            Arc::new(config)
        };
        Self {
            both: config(&["h2", "http/1.1"]),
            http1: config(&["http/1.1"]),
            none: config(&[]),
        }
    }

    /// The name says what its server is like: `h1.test` has no HTTP/2, `none.test` no ALPN either;
    /// `brief.test` ends a connection after a few requests.
    fn named(&self, name: &str) -> Arc<ServerConfig> {
        Arc::clone(match name.split('.').next() {
            Some("h1") => &self.http1,
            Some("none") => &self.none,
            _ => &self.both,
        })
    }
}
