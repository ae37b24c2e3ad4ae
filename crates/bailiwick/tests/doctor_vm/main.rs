//! The checks of a machine, each where it has to pass and each where it has to fail: a check that cannot
//! fail says nothing. `controls.rs` is the table of what is broken for which check; that a check without
//! a row in it fails a test here.
//!
//! A tier of its own (scripts/test): it needs QEMU, the image `code` and the guest's binary, and fails
//! where one of them is missing.
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

use libtest_mimic::Arguments;
use support::trial;

fn main() {
    let arguments = Arguments::from_args();
    // What takes longest begins first.
    let mut trials = vec![
        trial(
            "a_real_doctor_finds_a_sound_machine",
            real::a_sound_machine_passes,
        ),
        trial("every_check_has_a_control", controls::are_complete),
        trial("a_start_is_shown_stage_by_stage", real::a_start_is_shown),
    ];
    for control in controls::all() {
        trials.push(trial(control.check, move || control.prove()));
    }
    libtest_mimic::run(&arguments, trials).exit();
}
