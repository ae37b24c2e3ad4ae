//! One condition on one event.

use crate::baseline::{self, Cel};
use crate::work::{FULL, HEADER, HOST, ON, event};
use bailiwick_event::fields::Record;
use bailiwick_rules::{Outcome, Program};
use criterion::Criterion;
use std::hint::black_box;

type Native = fn(&Record<'_>) -> bool;

pub(crate) fn evaluate(criterion: &mut Criterion) {
    let record = event();
    let subject = record.subject();
    let table: [(&str, &str, &str, Native); 3] = [
        ("host.contains", HOST, HOST, baseline::host),
        (
            "header exists",
            HEADER,
            baseline::HEADER_FOR_CEL,
            baseline::header,
        ),
        ("full policy", FULL, baseline::FULL_FOR_CEL, baseline::full),
    ];
    let mut group = criterion.benchmark_group("evaluate");
    for (name, text, for_cel, native) in table {
        let program = Program::compile(text, Some(ON)).expect("it compiles");
        assert_eq!(program.run(&subject), Outcome::True);
        assert!(program.is_lowered() && native(&record));
        group.bench_function(format!("{name}/native"), |b| {
            b.iter(|| black_box(native)(black_box(&record)));
        });
        group.bench_function(format!("{name}/bailiwick"), |b| {
            b.iter(|| black_box(&program).run(black_box(&subject)));
        });
        group.bench_function(format!("{name}/bailiwick reference evaluator"), |b| {
            b.iter(|| black_box(&program).evaluate(black_box(&subject)));
        });
        let cel = Cel::new(for_cel);
        assert!(cel.run());
        group.bench_function(format!("{name}/cel crate"), |b| {
            b.iter(|| black_box(&cel).run())
        });
    }
    // What the reference makes of an event before any rule sees it.
    group.bench_function("event to context/bailiwick", |b| {
        b.iter(|| black_box(&record).subject())
    });
}
