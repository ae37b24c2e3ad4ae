//! What the programs of a sandbox trust, where the policy can have the gate look into their TLS.
//!
//! Decision: the machine's own bundle with the authority of the installation added takes the place of
//! the bundle in the sandbox, and the variables by which programs find one of their own name it too:
//! what trusts the machine's authorities outside trusts them inside as well, and one more. Nothing on
//! the host is changed, and in a sandbox whose policy looks into nothing there is nothing of this.

mod java;

use bailiwick_event::{Failure, Text};
use bailiwick_gate::Inspection;
use bailiwick_gate::ca::Authority;
use bailiwick_ledger::StateDir;
use bailiwick_policy::Effective;
use bailiwick_policy::inspection::may_inspect;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the bundle is in a sandbox.
pub const BUNDLE: &str = "/run/bailiwick/ca-bundle.pem";

/// The variables by which programs are told of a bundle.
pub const VARIABLES: [&str; 15] = [
    // OpenSSL, and with it Python, Ruby and many others; Go; rustls' readers of the machine's bundle.
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "HTTPLIB2_CA_CERTS",
    "WEBSOCKET_CLIENT_CA_BUNDLE",
    // Adds to the list that Node.js has in itself.
    "NODE_EXTRA_CA_CERTS",
    "npm_config_cafile",
    "CARGO_HTTP_CAINFO",
    "AWS_CA_BUNDLE",
    "DENO_CERT",
    "BUNDLE_SSL_CA_CERT",
    "NIX_SSL_CERT_FILE",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
];

/// Where machines keep their bundle, by distribution.
const BUNDLES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
];

/// What a sandbox is given, and what its gate needs.
pub struct Trust {
    /// For the gate.
    pub inspection: Inspection,
    /// For the sandbox.
    pub files: TrustFiles,
}

/// The files of a sandbox whose programs trust the authority.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustFiles {
    /// The machine's bundle and the authority, in PEM.
    pub bundle: Vec<u8>,
    /// Files of the machine that it covers.
    pub over: Vec<PathBuf>,
    /// The same as a key store of Java; empty where the machine has none to cover.
    pub java: Vec<u8>,
    /// Files of the machine that it covers.
    pub over_java: Vec<PathBuf>,
}

impl Trust {
    /// What the policy needs; none where it looks into nothing.
    ///
    /// # Errors
    /// A [`Failure`] where the authority cannot be had, or a file of `[network] roots` not read.
    pub fn of(state: &StateDir, policy: &Effective) -> Result<Option<Self>, Failure> {
        if !may_inspect(policy) {
            return Ok(None);
        }
        let authority = Authority::open(state.path()).map_err(|error| {
            Failure::fault(format!("not started: the policy looks into TLS: {error}"))
        })?;
        for root in &policy.network.roots {
            fs::File::open(&root.value).map_err(|error| {
                let path = Text::from(root.value.as_os_str());
                Failure::usage(format!(
                    "{}: {path} cannot be read: {error}; correct [network] roots",
                    root.origin
                ))
            })?;
        }
        let roots = policy.network.roots.iter();
        Ok(Some(Self {
            files: TrustFiles::new(&authority),
            inspection: Inspection {
                authority: Arc::new(authority),
                roots: roots.map(|root| root.value.clone()).collect(),
            },
        }))
    }
}

impl TrustFiles {
    fn new(authority: &Authority) -> Self {
        let over = real(BUNDLES.iter().map(PathBuf::from));
        let mut bundle = over
            .first()
            .and_then(|path| fs::read(path).ok())
            .unwrap_or_default();
        if !bundle.is_empty() && !bundle.ends_with(b"\n") {
            bundle.push(b'\n');
        }
        bundle.extend_from_slice(authority.pem().as_bytes());
        let over_java = real(java::stores());
        let java = match over_java.is_empty() {
            true => Vec::new(),
            false => java::store(&bundle),
        };
        Self {
            bundle,
            over,
            java,
            over_java,
        }
    }
}

/// Those that are files, each once, where they really lie.
fn real(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    let file = |path: PathBuf| fs::canonicalize(path).ok().filter(|path| path.is_file());
    let once = |path: &PathBuf| seen.insert(path.clone());
    paths.filter_map(file).filter(once).collect()
}

/// The variables of a sandbox whose bundle lies there.
pub fn variables(bundle: &Path) -> impl Iterator<Item = (&'static str, &Path)> {
    VARIABLES.into_iter().map(move |name| (name, bundle))
}
