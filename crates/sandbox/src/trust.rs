//! What the programs of a sandbox trust.
//!
//! Decision: what trusts the machine's authorities outside trusts them inside as well, and those that the policy
//! names (`[network] roots`); where the gate can look into TLS, the authority of the installation too. Their bundle
//! takes the place of the one in the sandbox, and the variables by which programs find one of their own name it. A
//! sandbox that has the machine's files, and whose policy adds nothing to what these trust, needs none of this.
//! Nothing on the host is changed.

mod java;

use bailiwick_event::Failure;
use bailiwick_gate::Inspection;
use bailiwick_gate::ca::Authority;
use bailiwick_ledger::StateDir;
use bailiwick_policy::inspection::may_inspect;
use bailiwick_policy::{Effective, Sourced, read_regular};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
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

/// Those of them that a sandbox gets whose TLS nobody looks into: of programs that have a list of their own. The others
/// take the machine's list, and a project's own settings would be overruled by a variable.
const OWN_LISTS: [&str; 6] = [
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "AWS_CA_BUNDLE",
    "DENO_CERT",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
];

/// Bytes of the largest file of `[network] roots` whose authorities programs trust.
const LARGEST: u64 = 1 << 20;

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
    /// A [`Failure`] where the authority cannot be had.
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
        let files = TrustFiles::new(roots, authority.as_ref());
        if files.over.is_empty() && authority.is_none() {
            // The machine has no list that could be added to: in its place programs would lose what they trust.
            return Ok(None);
        }
        let inspection = authority.map(|authority| Inspection {
            authority: Arc::new(authority),
            roots: roots.iter().map(|root| root.value.clone()).collect(),
        });
        Ok(Some(Self { inspection, files }))
    }

    /// The variables that name the bundle in such a sandbox, and whether they take the place of the caller's own.
    pub(crate) fn named_by(&self) -> (&'static [&'static str], bool) {
        match self.inspection {
            Some(_) => (&VARIABLES, true),
            None => (&OWN_LISTS, false),
        }
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
    fn new(roots: &[Sourced<PathBuf>], authority: Option<&Authority>) -> Self {
        let over = real(BUNDLES.iter().map(PathBuf::from));
        let machines = over.first().and_then(|path| fs::read(path).ok());
        let mut bundle = machines.unwrap_or_default();
        let mut add = |pem: &[u8]| {
            if !bundle.is_empty() && !bundle.ends_with(b"\n") {
                bundle.push(b'\n');
            }
            bundle.extend_from_slice(pem);
        };
        // Where the gate needs one that cannot be read the run has not come so far, and `policy check` warns of it.
        let read = roots
            .iter()
            .filter_map(|root| read_regular(&root.value, LARGEST).ok());
        read.for_each(|pem| add(&certificates(&pem)));
        if let Some(authority) = authority {
            add(authority.pem().as_bytes());
        }
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

/// The certificates in a text: a file may hold a private key beside them, or be damaged, by which clients would lose
/// all others.
fn certificates(text: &[u8]) -> Vec<u8> {
    const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";
    const END: &[u8] = b"-----END CERTIFICATE-----";
    let is_base64 = |line: &[u8]| {
        let mut bytes = line.iter();
        bytes.all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte))
    };
    let (mut all, mut one) = (Vec::new(), None::<Vec<u8>>);
    for line in text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
        match one.take() {
            _ if line == BEGIN => one = Some([BEGIN, b"\n"].concat()),
            Some(mut found) if line == END => {
                found.extend_from_slice(END);
                found.push(b'\n');
                all.extend(found);
            }
            Some(mut found) if is_base64(line) => {
                found.extend_from_slice(line);
                found.push(b'\n');
                one = Some(found);
            }
            _ => {}
        }
    }
    all
}

/// Those that are files, each once, where they really lie.
fn real(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    let file = |path: PathBuf| fs::canonicalize(path).ok().filter(|path| path.is_file());
    let once = |path: &PathBuf| seen.insert(path.clone());
    paths.filter_map(file).filter(once).collect()
}

#[cfg(test)]
mod tests {
    use super::certificates;

    #[test]
    fn of_a_file_of_roots_the_certificates_are_taken_and_nothing_else() {
        let one = "-----BEGIN CERTIFICATE-----\nMIIB+/=\nAAAA\n-----END CERTIFICATE-----\n";
        let key = "-----BEGIN PRIVATE KEY-----\nSECRET\n-----END PRIVATE KEY-----\n";
        let cut = "-----BEGIN CERTIFICATE-----\nMIIB\n";
        let wrong = "-----BEGIN CERTIFICATE-----\nMI IB\n-----END CERTIFICATE-----\n";
        let text = [
            "a name\n",
            one,
            key,
            wrong,
            cut,
            &one.replace('\n', "\r\n"),
            cut,
        ]
        .concat();
        let found = String::from_utf8(certificates(text.as_bytes())).unwrap();
        assert_eq!(found, [one, one].concat());
        assert!(certificates(&[0x30, 0x82, b'\n']).is_empty());
    }
}
