//! What the rule engine costs: `cargo bench -p bailiwick-rules --bench engine`.
//!
//! Decision: each figure stands beside the same work by a plain Rust function and, where it can do
//! it, by the `cel` crate, all in one run: what carries over to another machine is the ratio.

// A bench, like a test, ends where it cannot go on.
#![allow(clippy::expect_used, clippy::unwrap_used)]

mod baseline;
mod compile;
mod evaluate;
mod registry;
mod sets;
mod sigma;
mod work;

use criterion::{criterion_group, criterion_main};

criterion_group!(
    engine,
    compile::compile,
    evaluate::evaluate,
    sets::last_match,
    sets::findings,
    registry::registry,
    sigma::sigma,
);
criterion_main!(engine);
