//! What the programs of a sandbox trust.
//!
//! Decision: what trusts the machine's authorities outside trusts them inside as well, and those that the policy
//! names (`[network] roots`); where the gate can look into TLS, the authority of the installation too. Their bundle
//! takes the place of the one in the sandbox, and the variables by which programs find one of their own name it. A
//! sandbox that has the machine's files, and whose policy adds nothing to what these trust, needs none of this.
//! Nothing on the host is changed.

mod java;

use bailiwick_event::{Failure, Text};
use bailiwick_gate::Inspection;
use bailiwick_gate::ca::Authority;
use bailiwick_ledger::StateDir;
use bailiwick_policy::inspection::may_inspect;
use bailiwick_policy::{Effective, Sourced};
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
    /// For the gate; none where the policy looks into nothing.
    pub inspection: Option<Inspection>,
    /// For the sandbox.
    pub files: TrustFiles,
}

/// The files of a sandbox whose programs trust more than what is in its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustFiles {
    /// The machine's bundle, the policy's roots and the authority, in PEM.
    pub bundle: Vec<u8>,
    /// Files of the machine that it covers.
    pub over: Vec<PathBuf>,
    /// The same as a key store of Java; empty where the machine has none to cover.
    pub java: Vec<u8>,
    /// Files of the machine that it covers.
    pub over_java: Vec<PathBuf>,
}

impl Trust {
    /// What the policy needs, in a sandbox that has files of its own in the place of the machine's or not; none where
    /// its programs trust all that they need to.
    ///
    /// # Errors
    /// A [`Failure`] where the authority cannot be had, or a file of `[network] roots` not read.
    pub fn of(
        state: &StateDir,
        policy: &Effective,
        own_files: bool,
    ) -> Result<Option<Self>, Failure> {
        let inspects = may_inspect(policy);
        let roots = &policy.network.roots;
        if !inspects && (!reaches_machines(policy) || roots.is_empty() && !own_files) {
            return Ok(None);
        }
        let authority = inspects.then(|| {
            Authority::open(state.path()).map_err(|error| {
                Failure::fault(format!("not started: the policy looks into TLS: {error}"))
            })
        });
        let authority = authority.transpose()?;
        let files = TrustFiles::new(roots, authority.as_ref())?;
        if files.bundle.is_empty() {
            // The machine trusts nobody that it could say.
            return Ok(None);
        }
        let inspection = authority.map(|authority| Inspection {
            authority: Arc::new(authority),
            roots: roots.iter().map(|root| root.value.clone()).collect(),
        });
        Ok(Some(Self { inspection, files }))
    }
}

/// Whether programs may reach another machine, now or by an answer or a rule that comes later.
fn reaches_machines(policy: &Effective) -> bool {
    let network = &policy.network;
    !(network.allow.is_empty()
        && network.hosts.is_empty()
        && policy.rules.is_empty()
        && policy.ask.is_empty())
}

impl TrustFiles {
    fn new(roots: &[Sourced<PathBuf>], authority: Option<&Authority>) -> Result<Self, Failure> {
        let over = real(BUNDLES.iter().map(PathBuf::from));
        let machines = over.first().and_then(|path| fs::read(path).ok());
        let mut bundle = machines.unwrap_or_default();
        let mut add = |pem: &[u8]| {
            if !bundle.is_empty() && !bundle.ends_with(b"\n") {
                bundle.push(b'\n');
            }
            bundle.extend_from_slice(pem);
        };
        for root in roots {
            match fs::read(&root.value) {
                Ok(pem) => add(&pem),
                // It may lie on another machine only, as `policy check` warns.
                Err(_) if authority.is_none() => {}
                Err(error) => {
                    let path = Text::from(root.value.as_os_str());
                    return Err(Failure::usage(format!(
                        "{}: {path} cannot be read: {error}; correct [network] roots",
                        root.origin
                    )));
                }
            }
        }
        if let Some(authority) = authority {
            add(authority.pem().as_bytes());
        }
        let over_java = real(java::stores());
        let java = match over_java.is_empty() {
            true => Vec::new(),
            false => java::store(&bundle),
        };
        Ok(Self {
            bundle,
            over,
            java,
            over_java,
        })
    }
}

/// Those that are files, each once, where they really lie.
fn real(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    let file = |path: PathBuf| fs::canonicalize(path).ok().filter(|path| path.is_file());
    let once = |path: &PathBuf| seen.insert(path.clone());
    paths.filter_map(file).filter(once).collect()
}

/// The variables of a sandbox whose bundle lies there; none of one that has no bundle.
pub fn variables(bundle: &Path) -> impl Iterator<Item = (&'static str, &Path)> {
    VARIABLES.into_iter().map(move |name| (name, bundle))
}
