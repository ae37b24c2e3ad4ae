//! Rules that come and go.

use crate::work::{FULL, as_the_reference, compiled, detection, enforcement, realistic};
use bailiwick_rules::{Compiled, Registry, Rule, RuleSet};
use criterion::{BatchSize, Criterion};
use std::hint::black_box;
use std::sync::Arc;

fn build(rules: Vec<Rule>) -> RuleSet {
    RuleSet::new(compiled(rules))
}

pub(crate) fn registry(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("registry");
    for (name, rules) in [
        (
            "as the reference builds them",
            as_the_reference(100, enforcement),
        ),
        ("of two clauses", realistic(100, enforcement)),
    ] {
        let registry = Registry::new(compiled(rules.clone()));
        group.bench_function(format!("compile and update one, 100 {name} present"), |b| {
            b.iter(|| {
                registry
                    .put(enforcement("r00050".into(), black_box(FULL)))
                    .expect("it compiles")
            });
        });
        group.bench_function(format!("the enabled of 100 {name}"), |b| {
            b.iter(|| black_box(&registry).enabled())
        });
        group.bench_function(format!("compile and build 100 {name}"), |b| {
            b.iter_batched(|| rules.clone(), build, BatchSize::SmallInput);
        });
    }
    let detections = as_the_reference(100, detection);
    group.bench_function(
        "compile and build 100 detections as the reference builds them",
        |b| {
            b.iter_batched(|| detections.clone(), build, BatchSize::SmallInput);
        },
    );
    let detections = realistic(100, detection);
    group.bench_function("compile and build 100 detections of two clauses", |b| {
        b.iter_batched(|| detections.clone(), build, BatchSize::SmallInput);
    });
    for (name, make) in [
        (
            "as the reference builds them",
            as_the_reference as fn(usize, fn(String, &str) -> Rule) -> Vec<Rule>,
        ),
        ("of two clauses", realistic),
    ] {
        let both: Vec<_> = make(100, enforcement)
            .into_iter()
            .chain(make(100, detection))
            .collect();
        group.bench_function(format!("compile and build 100 + 100 {name}"), |b| {
            b.iter_batched(|| both.clone(), build, BatchSize::SmallInput);
        });
    }
    let one = Compiled::new(enforcement("r00050".into(), FULL)).expect("it compiles");
    let one = Arc::new(one);
    let registry = Registry::default();
    group.bench_function("install one compiled rule, not yet in force", |b| {
        let mut edit = registry.edit();
        b.iter(|| edit.install(Arc::clone(black_box(&one))));
    });
    let registry = Registry::new(compiled(realistic(100, enforcement)));
    group.bench_function(
        "install one compiled rule and put it into force, 100 of two clauses present",
        |b| {
            b.iter(|| {
                let mut edit = registry.edit();
                edit.install(Arc::clone(black_box(&one)));
                edit.finish();
            });
        },
    );
}
