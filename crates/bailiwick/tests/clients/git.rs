//! git clones over smart HTTP: a request for the references and posts for the objects.

use crate::client::Client;
use crate::support::Backend;

on_every_backend! {
    git_clones_as_it_does_without_a_sandbox,
    git_clones_with_its_tls_inspected,
    git_pushes_as_it_does_without_a_sandbox,
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

/// What it pushes is the same each time, to a branch that is new.
const PUSH: Client = Client {
    environment: &[
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_AUTHOR_NAME", "Test"),
        ("GIT_AUTHOR_EMAIL", "test@example.com"),
        ("GIT_AUTHOR_DATE", "2026-01-02T00:00:00Z"),
        ("GIT_COMMITTER_NAME", "Test"),
        ("GIT_COMMITTER_EMAIL", "test@example.com"),
        ("GIT_COMMITTER_DATE", "2026-01-02T00:00:00Z"),
    ],
    script: "git clone https://git.test/hello.git && cd hello && echo more > more && git add more \
             && git commit --quiet --message more && git push origin HEAD:refs/heads/branch-$(date +%N) \
             && git rev-parse HEAD > ../commit",
    artefacts: &["commit", "hello/more"],
    ..GIT
};

fn git_pushes_as_it_does_without_a_sandbox(on: Backend) {
    PUSH.works_as_it_does_without_a_sandbox(on);
}

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
