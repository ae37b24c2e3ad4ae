//! TLS on both sides of the gate: towards the program it shows a certificate of the installation's
//! own authority, towards the server it demands one that the machine trusts.
//!
//! Decision: it is made when the first connection needs it. To read the machine's authorities takes
//! milliseconds that a session without inspected TLS does not spend.

use crate::ca::{Authority, AuthorityError, Leaves};
use bailiwick_event::Host;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, IpAddr, ServerName};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{CipherSuite, ClientConfig, RootCertStore, ServerConfig};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// What the gate needs to look into TLS.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// In whose name it answers.
    pub authority: Arc<Authority>,
    /// Files of authorities, in PEM, that servers may be certified by beside those that the machine
    /// trusts.
    pub roots: Vec<PathBuf>,
}

/// How the server of a connection is named within TLS, and what it is offered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Secure {
    /// What its certificate must be for.
    pub(crate) name: Host,
    /// The protocols that the program offered (RFC 7301), so that the server sees the same.
    pub(crate) offers: Vec<Vec<u8>>,
}

/// Servers of which it is remembered what they chose.
const KNOWN: usize = 4096;

/// Both sides.
pub(crate) struct Tls {
    leaves: Leaves,
    accepts: ServerConfig,
    dials: ClientConfig,
    known: Mutex<Known>,
}

/// What servers chose, by what they were offered; and those machines of which any chose HTTP.
#[derive(Default)]
struct Known {
    chosen: HashMap<(Secure, u16), Option<Vec<u8>>>,
    http: HashSet<(Host, u16)>,
}

/// The one certificate of a connection.
#[derive(Debug)]
struct Only(Arc<CertifiedKey>);

impl ResolvesServerCert for Only {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

fn wrong(error: impl std::fmt::Display) -> AuthorityError {
    AuthorityError::Certificate(error.to_string())
}

impl Tls {
    pub(crate) fn new(inspection: &Inspection) -> Result<Self, AuthorityError> {
        let provider = Arc::new(ring::default_provider());
        let leaves = Leaves::new(Arc::clone(&inspection.authority))?;
        let dials = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(wrong)?
            .with_root_certificates(roots(&inspection.roots)?)
            .with_no_client_auth();
        Ok(Self {
            accepts: accepts(&provider, &leaves)?,
            leaves,
            dials,
            known: Mutex::default(),
        })
    }

    /// How the gate answers a client that wants this server, after it has agreed on a protocol.
    pub(crate) fn accepting(
        &self,
        name: &Host,
        protocol: Option<&[u8]>,
    ) -> Result<Arc<ServerConfig>, AuthorityError> {
        let mut config = self.accepts.clone();
        config.cert_resolver = Arc::new(Only(self.leaves.of(name)?));
        config.alpn_protocols = protocol.into_iter().map(<[u8]>::to_vec).collect();
        Ok(Arc::new(config))
    }

    /// How the gate asks a server, and for which name.
    pub(crate) fn dialling(&self, to: &Secure) -> (Arc<ClientConfig>, Option<ServerName<'static>>) {
        let mut config = self.dials.clone();
        config.alpn_protocols.clone_from(&to.offers);
        let name = match &to.name {
            Host::Ip(ip) => Some(ServerName::IpAddress(IpAddr::from(*ip))),
            Host::Name(name) => ServerName::try_from(name.clone()).ok(),
        };
        (Arc::new(config), name)
    }

    /// What a server chose the last time that it was offered the same; none where it is not known.
    pub(crate) fn chosen(&self, to: &Secure, port: u16) -> Option<Option<Vec<u8>>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.chosen.get(&(to.clone(), port)).cloned()
    }

    /// Whether a machine has chosen HTTP.
    pub(crate) fn speaks_http(&self, host: &Host, port: u16) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.http.contains(&(host.clone(), port))
    }

    /// Remembers what the server of `host` chose.
    pub(crate) fn remember(&self, host: &Host, to: &Secure, port: u16, chosen: Option<&[u8]>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.chosen.len() >= KNOWN || known.http.len() >= KNOWN {
            *known = Known::default();
        }
        if matches!(chosen, Some(b"h2" | b"http/1.1")) {
            known.http.insert((host.clone(), port));
        }
        let chosen = chosen.map(<[u8]>::to_vec);
        known.chosen.insert((to.clone(), port), chosen);
    }

    /// The next connection asks it anew.
    pub(crate) fn forget(&self, host: &Host, to: &Secure, port: u16) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.chosen.remove(&(to.clone(), port));
        known.http.remove(&(host.clone(), port));
    }
}

fn accepts(provider: &CryptoProvider, leaves: &Leaves) -> Result<ServerConfig, AuthorityError> {
    let any = leaves.of(&Host::from(std::net::IpAddr::from([127, 0, 0, 1])))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(quick_first(provider)))
        .with_safe_default_protocol_versions()
        .map_err(wrong)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Only(any)));
    config.ticketer = rustls::crypto::ring::Ticketer::new().map_err(wrong)?;
    // A client that comes back needs one for each connection that it opens at once; it asks anew.
    config.send_tls13_tickets = 1;
    config.ignore_client_order = true;
    Ok(config)
}

/// The ciphers of 128 bits before those of 256, whatever a client likes best: its side of the gate
/// does not leave the machine. What the server gets is as strong as it would be without a gate.
fn quick_first(provider: &CryptoProvider) -> CryptoProvider {
    let mut provider = provider.clone();
    provider
        .cipher_suites
        .sort_by_key(|suite| !matches!(suite.suite(), CipherSuite::TLS13_AES_128_GCM_SHA256));
    provider
}

/// The machine's own authorities, and those of the policy.
fn roots(files: &[PathBuf]) -> Result<RootCertStore, AuthorityError> {
    let mut roots = RootCertStore::empty();
    // A machine without any trusts nobody, and each connection says so.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for file in files {
        let unreadable =
            |why: String| AuthorityError::Io(format!("[network] roots: {}: {why}", file.display()));
        let found = CertificateDer::pem_file_iter(file).map_err(|e| unreadable(e.to_string()))?;
        let before = roots.len();
        for certificate in found {
            let certificate = certificate.map_err(|e| unreadable(e.to_string()))?;
            roots
                .add(certificate)
                .map_err(|e| unreadable(e.to_string()))?;
        }
        if roots.len() == before {
            return Err(unreadable("there is no certificate in it".into()));
        }
    }
    Ok(roots)
}
