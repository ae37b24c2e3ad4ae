//! What a user relies on, tried on the real binary. Each module is one promise.
#![allow(missing_docs, reason = "tests are named after what they prove")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a helper that cannot do its work fails the test that called it"
)]

#[macro_use]
#[path = "../support/mod.rs"]
mod support;

mod agents;
mod ask;
mod bad_host;
mod bad_places;
mod bad_servers;
mod bare;
mod bare_network;
mod bench;
mod blinded;
mod bodies;
mod bombs;
mod broker;
mod checkouts;
mod coherent;
mod command;
mod container;
mod crates;
mod death;
mod desync;
mod dns;
mod enter;
mod escapes;
mod files;
mod full_disk;
mod har;
mod host_programs;
mod image;
mod import;
mod inspect;
mod kept;
mod left_behind;
mod limits;
mod links;
mod machines;
mod models;
mod network;
mod outside;
mod policy;
mod pseudo;
mod record;
mod repositories;
mod rules;
mod rules_held;
mod rules_live;
mod secrets;
mod setup;
mod shared;
mod spares;
mod stages;
mod stages_entering;
mod stages_waiting;
mod terminal;
mod toolchains;
mod trust;
mod waiting;
mod within_tls;
