//! cargo asks a sparse index for a crate and another host for its file.

use crate::client::Client;
use crate::support::Backend;

const CARGO: Client = Client {
    kind: "cargo",
    program: "cargo",
    hosts: &["crates.test", "files.crates.test"],
    secure: true,
    files: &[
        (
            "Cargo.toml",
            "[package]\nname = \"project\"\nversion = \"1.0.0\"\nedition = \"2021\"\n\
             [dependencies]\nhello-crate = \"1\"\n[workspace]\n",
        ),
        ("src/lib.rs", ""),
        (
            "home/config.toml",
            "[source.crates-io]\nreplace-with = \"mirror\"\n\
             [source.mirror]\nregistry = \"sparse+https://crates.test/index/\"\n\
             [net]\nretry = 0\n",
        ),
    ],
    environment: &[("CARGO_HOME", "{workspace}/home")],
    trust: &[("CARGO_HTTP_CAINFO", "{workspace}/ca.pem")],
    script: "cargo fetch",
    artefacts: &["Cargo.lock", "home/registry/cache", "home/registry/src"],
};

#[test]
fn cargo_fetches_as_it_does_without_a_sandbox() {
    CARGO.works_as_it_does_without_a_sandbox(Backend::Process);
}

#[test]
fn cargo_fetches_with_its_tls_inspected() {
    CARGO.works_with_its_tls_inspected(Backend::Process);
}

#[test]
fn cargo_fetches_without_namespaces() {
    CARGO.works_without_namespaces();
}

#[test]
fn cargo_is_refused_a_download_host_that_is_not_in_the_policy() {
    CARGO.is_refused_a_host_that_is_not_in_the_policy(Backend::Process, "files.crates.test");
}

#[test]
fn cargo_is_refused_everything_without_a_policy() {
    CARGO.is_refused_everything_without_a_policy(Backend::Process);
}
