//! apt speaks plain HTTP, which the ledger shows request by request.

use crate::client::Client;
use crate::support::Backend;

on_every_backend! {
    apt_downloads_as_it_does_without_a_sandbox,
    apt_is_refused_a_host_that_is_not_in_the_policy,
    apt_is_refused_everything_without_a_policy,
}

const APT: Client = Client {
    kind: "apt",
    program: "apt-get",
    hosts: &["apt.test"],
    secure: false,
    files: &[
        (
            "apt/sources.list",
            "deb [trusted=yes] http://apt.test/debian ./\n",
        ),
        ("apt/state/status", ""),
        ("apt/state/lists/partial/.keep", ""),
        ("apt/cache/archives/partial/.keep", ""),
        (
            "apt/apt.conf",
            "Dir::Etc \"{workspace}/apt\";\n\
             Dir::Etc::Parts \"parts\";\n\
             Dir::State \"{workspace}/apt/state\";\n\
             Dir::State::Status \"{workspace}/apt/state/status\";\n\
             Dir::Cache \"{workspace}/apt/cache\";\n\
             Acquire::Languages \"none\";\n\
             Acquire::Retries \"0\";\n",
        ),
    ],
    environment: &[("APT_CONFIG", "{workspace}/apt/apt.conf")],
    trust: &[],
    script: "apt-get --error-on=any update && apt-get download hello-apt",
    artefacts: &["hello-apt_1.0_all.deb"],
};

fn apt_downloads_as_it_does_without_a_sandbox(on: Backend) {
    APT.works_as_it_does_without_a_sandbox(on);
}

fn apt_is_refused_a_host_that_is_not_in_the_policy(on: Backend) {
    APT.is_refused_a_host_that_is_not_in_the_policy(on, "apt.test");
}

fn apt_is_refused_everything_without_a_policy(on: Backend) {
    APT.is_refused_everything_without_a_policy(on);
}
