//! pip asks an index for a package and another host for its file.

use crate::client::Client;
use crate::support::Backend;

on_every_backend! {
    pip_installs_as_it_does_without_a_sandbox,
    pip_installs_with_its_tls_inspected,
    pip_is_refused_a_download_host_that_is_not_in_the_policy,
    pip_is_refused_everything_without_a_policy,
}

const PIP: Client = Client {
    kind: "pip",
    program: "python3",
    hosts: &["pypi.test", "files.pypi.test"],
    secure: true,
    files: &[],
    environment: &[
        ("PIP_CONFIG_FILE", "/dev/null"),
        ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
        ("PIP_NO_CACHE_DIR", "1"),
        ("PIP_RETRIES", "0"),
    ],
    trust: &[("PIP_CERT", "{workspace}/ca.pem")],
    // The interpreter itself: a version manager's stand-in (pyenv's) writes into its own folder
    // after each installation, and reports a failure where that is read-only.
    script: "\"$(python3 -c 'import sys; print(sys.executable)')\" -m pip install --no-deps --no-compile \
             --index-url https://pypi.test/simple/ --target out hello-wheel",
    artefacts: &["out"],
};

fn pip_installs_as_it_does_without_a_sandbox(on: Backend) {
    PIP.works_as_it_does_without_a_sandbox(on);
}

fn pip_installs_with_its_tls_inspected(on: Backend) {
    PIP.works_with_its_tls_inspected(on);
}

#[test]
fn pip_installs_without_namespaces() {
    PIP.works_without_namespaces();
}

fn pip_is_refused_a_download_host_that_is_not_in_the_policy(on: Backend) {
    PIP.is_refused_a_host_that_is_not_in_the_policy(on, "files.pypi.test");
}

fn pip_is_refused_everything_without_a_policy(on: Backend) {
    PIP.is_refused_everything_without_a_policy(on);
}
