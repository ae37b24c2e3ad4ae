//! The checks of a machine, each where it has to pass and each where it has to fail: a check that cannot
//! fail says nothing. `controls.rs` is the table of what is broken for which check; that a check without
//! a row in it fails a test here.
//!
//! Slow, and only where there are an image and QEMU: elsewhere the tests are listed as ignored.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a helper that cannot do its work fails the test that called it"
)]

mod controls;
mod filter;
mod host;
mod machine;
mod real;
mod row;
#[path = "../support/mod.rs"]
mod support;

use libtest_mimic::{Arguments, Failed, Trial};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn main() {
    let arguments = Arguments::from_args();
    let here = machine::are_here();
    let mut trials = vec![
        trial("every_check_has_a_control", controls::are_complete),
        trial(
            "a_real_doctor_finds_a_sound_machine",
            real::a_sound_machine_passes,
        ),
        trial("a_start_is_shown_stage_by_stage", real::a_start_is_shown),
    ];
    for control in controls::all() {
        trials.push(trial(control.check, move || control.prove()));
    }
    let trials = trials
        .into_iter()
        .map(|trial| trial.with_ignored_flag(!here));
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn trial(name: &str, test: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, || {
        catch_unwind(AssertUnwindSafe(test)).map_err(|panic| Failed::from(said(&*panic)))
    })
}

/// What a test that failed said.
fn said(panic: &(dyn Any + Send)) -> String {
    let owned = panic.downcast_ref::<String>().cloned();
    let literal = || panic.downcast_ref::<&str>().map(ToString::to_string);
    owned.or_else(literal).unwrap_or_default()
}
