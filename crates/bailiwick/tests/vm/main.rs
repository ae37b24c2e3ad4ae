//! What a user relies on, tried on virtual machines: the functions that `run` tries on processes, and
//! clients of package registries that lie in the image. Each module is one promise.
//!
//! A tier of its own (`cargo test -p bailiwick --test vm`): it needs QEMU, the image `code` and the
//! guest's binary. Where one of them is missing its tests fail: a test that was skipped looks like one
//! that passed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a helper that cannot do its work fails the test that called it"
)]
#![allow(
    dead_code,
    unused_imports,
    reason = "helpers of tests that are about processes alone"
)]

#[macro_use]
#[path = "../support/mod.rs"]
mod support;

#[path = "../clients/apt.rs"]
mod apt;
mod authorities;
#[path = "../clients/client.rs"]
mod client;
#[path = "../clients/git.rs"]
mod git;
mod installing;
mod measured;
#[path = "../clients/npm.rs"]
mod npm;
#[path = "../clients/pip.rs"]
mod pip;
mod reports;

#[path = "../run/bodies.rs"]
mod bodies;
#[path = "../run/coherent.rs"]
mod coherent;
#[path = "../run/command.rs"]
mod command;
#[path = "../run/dns.rs"]
mod dns;
#[path = "../run/enter.rs"]
mod enter;
#[path = "../run/files.rs"]
mod files;
#[path = "../run/host_programs.rs"]
mod host_programs;
#[path = "../run/inspect.rs"]
mod inspect;
#[path = "../run/limits.rs"]
mod limits;
#[path = "../run/links.rs"]
mod links;
#[path = "../run/models.rs"]
mod models;
#[path = "../run/network.rs"]
mod network;
#[path = "../run/record.rs"]
mod record;
#[path = "../run/repositories.rs"]
mod repositories;
#[path = "../run/rules_held.rs"]
mod rules_held;
#[path = "../run/rules_live.rs"]
mod rules_live;
#[path = "../run/secrets.rs"]
mod secrets;
#[path = "../run/shared.rs"]
mod shared;
#[path = "../run/spares.rs"]
mod spares;
#[path = "../run/terminal.rs"]
mod terminal;
#[path = "../run/within_tls.rs"]
mod within_tls;

use libtest_mimic::{Arguments, Trial};
use support::{Backend, Shared, trial};

/// Every promise that is tried here; what takes longest first, so that none is left alone with the machine
/// at the end.
const ALL: [(&str, &[Shared]); 29] = [
    ("within_tls", within_tls::SHARED),
    ("measured", measured::SHARED),
    ("npm", npm::SHARED),
    ("pip", pip::SHARED),
    ("network", network::SHARED),
    ("host_programs", host_programs::SHARED),
    ("repositories", repositories::SHARED),
    ("apt", apt::SHARED),
    ("git", git::SHARED),
    ("spares", spares::SHARED),
    ("installing", installing::SHARED),
    ("authorities", authorities::SHARED),
    ("bodies", bodies::SHARED),
    ("coherent", coherent::SHARED),
    ("command", command::SHARED),
    ("dns", dns::SHARED),
    ("enter", enter::SHARED),
    ("files", files::SHARED),
    ("inspect", inspect::SHARED),
    ("limits", limits::SHARED),
    ("links", links::SHARED),
    ("models", models::SHARED),
    ("record", record::SHARED),
    ("reports", reports::SHARED),
    ("rules_held", rules_held::SHARED),
    ("rules_live", rules_live::SHARED),
    ("secrets", secrets::SHARED),
    ("shared", shared::SHARED),
    ("terminal", terminal::SHARED),
];

/// Machines at one time: each translates for a processor of the host.
const AT_ONCE: usize = 2;

fn main() {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(AT_ONCE));
    let trials = ALL
        .iter()
        .flat_map(|(module, tests)| tests.iter().map(move |test| shared(module, test)))
        .collect();
    libtest_mimic::run(&arguments, trials).exit();
}

fn shared(module: &str, shared: &'static Shared) -> Trial {
    trial(format!("{module}::{}", shared.name), || {
        (shared.test)(Backend::Vm);
    })
    .with_ignored_flag(shared.gap.is_some())
    .with_kind(shared.gap.unwrap_or_default())
}
