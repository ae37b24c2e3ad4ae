//! npm asks a registry for a package and another host for its archive.

use crate::client::Client;
use crate::support::Backend;

on_every_backend! {
    npm_installs_as_it_does_without_a_sandbox,
    npm_installs_with_its_tls_inspected,
    npm_is_refused_a_download_host_that_is_not_in_the_policy,
    npm_is_refused_everything_without_a_policy,
}

const NPM: Client = Client {
    kind: "npm",
    program: "npm",
    hosts: &["npm.test", "files.npm.test"],
    secure: true,
    files: &[(
        "package.json",
        "{\"name\": \"project\", \"version\": \"1.0.0\", \"private\": true}\n",
    )],
    environment: &[
        ("npm_config_audit", "false"),
        ("npm_config_cache", "{workspace}/cache"),
        ("npm_config_fetch_retries", "0"),
        ("npm_config_fund", "false"),
        ("npm_config_globalconfig", "{workspace}/global.npmrc"),
        ("npm_config_registry", "https://npm.test/"),
        ("npm_config_update_notifier", "false"),
        ("npm_config_userconfig", "{workspace}/user.npmrc"),
    ],
    trust: &[("npm_config_cafile", "{workspace}/ca.pem")],
    script: "npm install hello-npm",
    artefacts: &["node_modules", "package.json", "package-lock.json"],
};

fn npm_installs_as_it_does_without_a_sandbox(on: Backend) {
    NPM.works_as_it_does_without_a_sandbox(on);
}

fn npm_installs_with_its_tls_inspected(on: Backend) {
    NPM.works_with_its_tls_inspected(on);
}

#[test]
fn npm_installs_without_namespaces() {
    NPM.works_without_namespaces();
}

fn npm_is_refused_a_download_host_that_is_not_in_the_policy(on: Backend) {
    NPM.is_refused_a_host_that_is_not_in_the_policy(on, "files.npm.test");
}

fn npm_is_refused_everything_without_a_policy(on: Backend) {
    NPM.is_refused_everything_without_a_policy(on);
}
