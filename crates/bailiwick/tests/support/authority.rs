//! Servers prove their names with certificates of a certificate authority that is made on the
//! spot, so that clients verify as they do in earnest and no test turns verification off.

use super::wait::PATIENCE;
use super::{Scratch, host_command, run_to_end};
use std::path::PathBuf;

/// A certificate authority and one certificate for all names of a test.
pub(crate) struct Authority {
    /// What clients must trust, as PEM.
    pub(crate) certificate: PathBuf,
    /// The servers' certificate, as PEM.
    pub(crate) leaf: PathBuf,
    /// The servers' key, as PEM.
    pub(crate) key: PathBuf,
}

impl Authority {
    /// Makes one with the `openssl` command, in the folder `authority` of the test.
    #[track_caller]
    pub(crate) fn new(scratch: &Scratch, names: &[&str]) -> Self {
        let alternatives: Vec<_> = names.iter().map(|name| format!("DNS:{name}")).collect();
        let extensions = scratch.write(
            "authority/leaf.cnf",
            format!("subjectAltName = {}\n", alternatives.join(", ")),
        );
        let folder = extensions.parent().unwrap().to_owned();
        let openssl = |words: &str| {
            let mut command = host_command("openssl");
            command.current_dir(&folder).args(words.split(' '));
            run_to_end(&mut command, &[], PATIENCE).success();
        };
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
        openssl(&format!(
            "req -x509 {key} -days 2 -subj /CN=authority -keyout ca.key -out ca.pem"
        ));
        openssl(&format!(
            "req {key} -subj /CN=server -keyout leaf.key -out leaf.csr"
        ));
        openssl(
            "x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
             -extfile leaf.cnf -out leaf.pem",
        );
        Self {
            certificate: folder.join("ca.pem"),
            leaf: folder.join("leaf.pem"),
            key: folder.join("leaf.key"),
        }
    }
}
