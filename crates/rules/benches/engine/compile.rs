//! From text to what is enforced.

use crate::work::{FULL, HOST, ON};
use bailiwick_rules::Program;
use criterion::Criterion;
use std::hint::black_box;

pub(crate) fn compile(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("compile");
    let env = cel::Env::stdlib();
    for (name, text) in [("host.contains", HOST), ("full policy", FULL)] {
        group.bench_function(format!("{name}/bailiwick"), |b| {
            b.iter(|| Program::compile(black_box(text), Some(ON)).expect("it compiles"));
        });
        // It parses; it checks no types and knows no fields.
        let text = if text == FULL {
            crate::baseline::FULL_FOR_CEL
        } else {
            text
        };
        group.bench_function(format!("{name}/cel crate"), |b| {
            b.iter(|| env.compile(black_box(text)).expect("it compiles"));
        });
    }
}
