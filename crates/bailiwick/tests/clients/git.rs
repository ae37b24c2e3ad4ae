//! git clones over smart HTTP: a request for the references and posts for the objects.

use crate::client::Client;
use crate::support::Backend;

on_every_backend! {
    git_clones_as_it_does_without_a_sandbox,
    git_clones_with_its_tls_inspected,
    git_is_refused_a_host_that_is_not_in_the_policy,
    git_is_refused_everything_without_a_policy,
}

const GIT: Client = Client {
    kind: "git",
    program: "git",
    hosts: &["git.test"],
    secure: true,
    files: &[],
    environment: &[
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
    ],
    trust: &[("GIT_SSL_CAINFO", "{workspace}/ca.pem")],
    script: "git clone https://git.test/hello.git && git -C hello fsck --strict \
             && git -C hello rev-parse HEAD > commit",
    artefacts: &["commit", "hello/README"],
};

fn git_clones_as_it_does_without_a_sandbox(on: Backend) {
    GIT.works_as_it_does_without_a_sandbox(on);
}

fn git_clones_with_its_tls_inspected(on: Backend) {
    GIT.works_with_its_tls_inspected(on);
}

#[test]
fn git_clones_without_namespaces() {
    GIT.works_without_namespaces();
}

fn git_is_refused_a_host_that_is_not_in_the_policy(on: Backend) {
    GIT.is_refused_a_host_that_is_not_in_the_policy(on, "git.test");
}

fn git_is_refused_everything_without_a_policy(on: Backend) {
    GIT.is_refused_everything_without_a_policy(on);
}
