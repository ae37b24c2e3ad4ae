//! Tests of targets that have a harness of their own.

use libtest_mimic::{Failed, Trial};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A test that fails as a function fails: by a panic, whose words are told.
pub(crate) fn trial(name: impl Into<String>, test: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, || {
        catch_unwind(AssertUnwindSafe(test)).map_err(|panic| Failed::from(said(&*panic)))
    })
}

/// What a test that failed said.
pub(crate) fn said(panic: &(dyn Any + Send)) -> String {
    let owned = panic.downcast_ref::<String>().cloned();
    let literal = || panic.downcast_ref::<&str>().map(ToString::to_string);
    owned.or_else(literal).unwrap_or_default()
}
