//! The client matrix: real clients through a real sandbox against servers of the loopback, each in
//! every protocol that it speaks, with its TLS looked into and with it left alone. What must be the
//! same is all of it: what the client says that it got, what the server saw, header by header, and
//! what the ledger has. The table is `table.rs`; `matrix CLIENT` runs one client's row.
//!
//! A client that is missing fails its tests: a test that was skipped looks like one that passed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a helper that cannot do its work fails the test that called it"
)]

mod cell;
mod conformance;
mod document;
mod installed;
mod origin;
mod run;
mod step;
#[path = "../support/mod.rs"]
mod support;
mod table;

use cell::Cell;
use libtest_mimic::Arguments;
use support::trial;

fn main() {
    let mut trials = vec![trial("documentation".to_owned(), document::is_current)];
    for row in table::rows() {
        for (protocol, cell) in row.cells() {
            match cell {
                Cell::Runs(what) => trials
                    .push(trial(format!("{}::{protocol}", row.client), move || {
                        run::the_same_inspected_and_opaque(row, what)
                    })),
                Cell::Not(why) => assert!(!why.is_empty(), "{}, {protocol}: why?", row.client),
            }
        }
    }
    let http2 = trial(
        "h2spec".to_owned(),
        conformance::the_gate_reads_http2_as_it_is_specified,
    );
    trials.push(http2.with_ignored_flag(conformance::tool().is_none()));
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    installed::clean_up();
    conclusion.exit();
}
