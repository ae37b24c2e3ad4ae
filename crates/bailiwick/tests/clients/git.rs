//! git clones over smart HTTP: a request for the references and posts for the objects.

use crate::client::Client;

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

#[test]
fn git_clones_as_it_does_without_a_sandbox() {
    GIT.works_as_it_does_without_a_sandbox();
}

#[test]
fn git_clones_with_its_tls_inspected() {
    GIT.works_with_its_tls_inspected();
}

#[test]
fn git_clones_without_namespaces() {
    GIT.works_without_namespaces();
}

#[test]
fn git_is_refused_a_host_that_is_not_in_the_policy() {
    GIT.is_refused_a_host_that_is_not_in_the_policy("git.test");
}

#[test]
fn git_is_refused_everything_without_a_policy() {
    GIT.is_refused_everything_without_a_policy();
}
